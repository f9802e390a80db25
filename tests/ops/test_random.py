"""Random numbers: the published words of Philox, the same bits on every device, and the right distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 (Salmon et al., 2011), written out."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(n: int, seed: int, block: int = 0) -> np.ndarray:  # type: ignore[type-arg]
    """n words of the stream: counter (index / 4, offset), key seed, 64 bits each."""
    out: list[int] = []
    for i in range((n + 3) // 4):
        out += philox([i, 0, block & 0xFFFFFFFF, block >> 32], [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF])
    return np.array(out[:n], np.uint64)


def test_known_answers() -> None:
    # Random123's known answers for philox4x32-10.
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 12345])
def test_uniforms_are_the_upper_24_bits(seed: int, device: sg.Device) -> None:
    sg.manual_seed(seed)
    x = sg.rand(1001, device=device).numpy()
    want = (words(1001, seed) >> np.uint64(8)).astype(np.float64) / 2**24
    np.testing.assert_array_equal(x.astype(np.float64), want)


@pytest.mark.needs("float64")
def test_uniforms_of_float64_have_53_bits(device: sg.Device) -> None:
    half = (words(2002, 7) & np.uint64(2**31 - 1)).reshape(-1, 2)
    want = (((half[:, 0] << np.uint64(31)) | half[:, 1]) >> np.uint64(9)).astype(np.float64) / 2**53
    x = sg.zeros(1001, dtype=sg.float64, device=device)
    draws: dict[str, Callable[[], sg.Tensor]] = {
        "rand": lambda: sg.rand(1001, dtype=sg.float64, device=device),
        "rand_like": lambda: sg.rand_like(x),
        "uniform_": lambda: x.uniform_(),
        "exponential_": lambda: -sg.expm1(-x.exponential_()),
    }
    for name, draw in draws.items():
        sg.manual_seed(7)
        np.testing.assert_allclose(draw().numpy(), want, rtol=0 if name != "exponential_" else 1e-15, err_msg=name)
    assert (want * 2**24 % 1 != 0).mean() > 0.99


@pytest.mark.needs("float64")
def test_normals_of_float64_are_made_of_its_uniforms(device: sg.Device) -> None:
    sg.manual_seed(7)
    u, v = (sg.rand(1001, dtype=sg.float64).numpy() for _ in range(2))
    want = np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v)
    x = sg.zeros(1001, dtype=sg.float64, device=device)
    draws: dict[str, Callable[[], sg.Tensor]] = {
        "randn": lambda: sg.randn(1001, dtype=sg.float64, device=device),
        "randn_like": lambda: sg.randn_like(x),
        "normal_": lambda: x.normal_(),
        "normal": lambda: sg.normal(x.zero_(), 1.0),
    }
    for name, draw in draws.items():
        sg.manual_seed(7)
        np.testing.assert_allclose(draw().numpy(), want, rtol=1e-12, atol=1e-15, err_msg=name)
    assert (want != want.astype(np.float32)).all()


def test_the_stream_goes_on(device: sg.Device) -> None:
    sg.manual_seed(7)
    sg.rand(5, device=device)  # two blocks of four words
    y = sg.rand(9, device=device).numpy()
    want = (words(9, 7, block=2) >> np.uint64(8)).astype(np.float64) / 2**24
    np.testing.assert_array_equal(y.astype(np.float64), want)
    sg.manual_seed(7)
    a = sg.rand(4, device=device)
    b = sg.rand(4, device=device)
    assert not np.array_equal(a.numpy(), b.numpy())


def test_shape_and_fusion_change_no_bit(device: sg.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    sg.manual_seed(3)
    flat = sg.rand(60, device=device).numpy()
    sg.manual_seed(3)
    shaped = (sg.rand(3, 4, 5, device=device).permute(2, 0, 1) * 1).numpy()
    np.testing.assert_array_equal(shaped, flat.reshape(3, 4, 5).transpose(2, 0, 1))
    for make in (sg.rand, sg.randn):
        results = []
        for fuse in "10":
            monkeypatch.setenv("SPIROGRAD_FUSE", fuse)
            sg.manual_seed(3)
            results.append((make(60, device=device) * 2 + 1).numpy())
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    "draw", [sg.rand, sg.randn, lambda n, device: sg.randint(0, 2**40, (n,), device=device)], ids=["u", "n", "i"]
)
@pytest.mark.parametrize("part", [slice(3, None), slice(5, 6), slice(1, None, 3), slice(None, None, 2)], ids=str)
def test_a_part_has_the_same_bits(draw: Callable[..., sg.Tensor], part: slice, device: sg.Device) -> None:
    sg.manual_seed(5)
    whole = draw(3001, device=device).numpy()
    sg.manual_seed(5)
    np.testing.assert_array_equal((draw(3001, device=device)[part] + 0).numpy(), whole[part])


def test_devices_agree(device: sg.Device) -> None:
    sg.manual_seed(11)
    here = [sg.rand(10_001, device=device).numpy(), sg.randn(10_001, device=device).numpy()]
    sg.manual_seed(11)
    there = [sg.rand(10_001, device="cpu").numpy(), sg.randn(10_001, device="cpu").numpy()]
    np.testing.assert_array_equal(here[0], there[0])
    np.testing.assert_array_max_ulp(here[1], there[1], maxulp=4)


def test_normals_are_box_and_muller(device: sg.Device) -> None:
    sg.manual_seed(5)
    x = sg.randn(500, device=device).numpy()
    u = (words(500, 5) >> np.uint64(8)).astype(np.float64) / 2**24
    radius, angle = np.sqrt(-2 * np.log(1 - u[0::2])), 2 * np.pi * u[1::2]
    want = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()
    np.testing.assert_allclose(x, want, rtol=2e-6, atol=2e-6)


def test_moments(device: sg.Device) -> None:
    n = 200_000
    sg.manual_seed(0)
    u = sg.rand(n, device=device).numpy().astype(np.float64)
    z = sg.randn(n, device=device).numpy().astype(np.float64)
    assert u.min() >= 0 and u.max() < 1
    five = 5 / np.sqrt(n)  # five standard errors
    assert abs(u.mean() - 0.5) < five * np.sqrt(1 / 12)
    assert abs(u.var() - 1 / 12) < five * np.sqrt(1 / 180)
    assert abs(z.mean()) < five
    assert abs(z.var() - 1) < five * np.sqrt(2)
    assert abs((z**3).mean()) < five * np.sqrt(15)
    assert abs((z**4).mean() - 3) < five * np.sqrt(96)
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < five
    counts = np.bincount((u * 64).astype(int), minlength=64)
    assert ((counts - n / 64) ** 2 / (n / 64)).sum() < 63 + 5 * np.sqrt(2 * 63)


def bits(n: int, seed: int) -> list[int]:
    """62 bits from two words each: the upper one as is, both without their sign bit."""
    w = [int(v) & 0x7FFFFFFF for v in words(2 * n, seed)]
    return [w[2 * i] << 31 | w[2 * i + 1] for i in range(n)]


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (0, 2), (-5, 5), (0, 256), (3, 2**31 + 2), (-(2**40), 2**41 + 12345), (0, 2**62), (2**61, 2**62)],
)
def test_integers_are_scaled_bits(low: int, high: int, device: sg.Device) -> None:
    sg.manual_seed(9)
    x = sg.randint(low, high, (300,), device=device)
    assert x.dtype == sg.int64
    assert x.tolist() == [low + (b * (high - low) >> 62) for b in bits(300, 9)]


def test_integers(device: sg.Device) -> None:
    x = sg.randint(6, (3, 4), device=device, dtype=sg.int32)
    assert x.dtype == sg.int32 and x.shape == (3, 4) and x.device == device
    assert sg.randint(high=3, size=(2,)).shape == (2,) and sg.randint(1, 3, 2).shape == (2,)
    like = sg.randint_like(x, 5, 6)
    assert like.dtype == sg.int32 and like.tolist() == [[5] * 4] * 3 and sg.randint_like(x, 1).tolist() == [[0] * 4] * 3
    counts = np.bincount(sg.randint(0, 10, (100_000,), device=device).numpy(), minlength=10)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 9 + 5 * np.sqrt(18)
    assert sg.empty(9, device=device).random_(3, 4).tolist() == [3] * 9
    assert sg.empty(9, dtype=sg.uint8, device=device).random_().dtype == sg.uint8
    assert 0 <= sg.empty(99, device=device).random_(2).amax().item() <= 1
    for bad in ((3, 3), (4, 3), (-(2**62), 1)):
        with pytest.raises(ValueError, match=r"randint: the range .* is empty or too long"):
            sg.randint(*bad, (2,))
    with pytest.raises(TypeError, match="randint: an argument is missing"):
        sg.randint(3)


def test_permutations() -> None:
    sg.manual_seed(2)
    x = sg.randperm(1000)
    assert x.dtype == sg.int64 and sorted(x.tolist()) == list(range(1000)) and x.tolist() != sorted(x.tolist())
    assert x.tolist() == np.argsort(bits(1000, 2), kind="stable").tolist()
    assert sg.randperm(5, dtype=sg.int32).dtype == sg.int32 and sg.randperm(0).shape == (0,)
    with pytest.raises(ValueError, match="randperm: n is -1"):
        sg.randperm(-1)


def test_multinomial() -> None:
    weights = sg.tensor([1.0, 0.0, 3.0, 4.0])
    x = sg.multinomial(weights, 40_000, replacement=True)
    assert x.dtype == sg.int64
    share = np.bincount(x.numpy(), minlength=4) / 40_000
    np.testing.assert_allclose(share, np.array([1, 0, 3, 4]) / 8, atol=5 * 0.5 / 200)
    rows = sg.multinomial(weights.expand(20_000, 4), 2)
    assert rows.shape == (20_000, 2) and (rows[:, 0] == rows[:, 1]).long().sum().item() == 0 and 1 not in rows
    first = np.bincount(rows[:, 0].numpy(), minlength=4) / 20_000
    np.testing.assert_allclose(first, np.array([1, 0, 3, 4]) / 8, atol=5 * 0.5 / 141)
    assert sg.multinomial(sg.ones(2, 3), 5, replacement=True).shape == (2, 5)
    with pytest.raises(ValueError, match="multinomial: cannot draw 3 of 2 categories"):
        sg.multinomial(sg.ones(2), 3)
    with pytest.raises(TypeError, match="multinomial: dtype int64 has no such numbers"):
        sg.multinomial(sg.tensor([1, 2]), 1)


def test_distributions(device: sg.Device) -> None:
    n = 100_000
    five = 5 / np.sqrt(n)
    x = sg.empty(n, device=device)
    u = x.uniform_(-2, 4).numpy().copy()
    assert u.min() >= -2 and u.max() <= 4 and abs(u.mean() - 1) < five * np.sqrt(3)
    z = x.normal_(3, 0.5).numpy().copy()
    assert abs(z.mean() - 3) < five * 0.5 and abs(z.var() - 0.25) < five * 0.25 * np.sqrt(2)
    e = x.exponential_(4).numpy().copy()
    assert e.min() >= 0 and np.isfinite(e).all() and abs(e.mean() - 0.25) < five * 0.25
    assert abs(x.bernoulli_(0.3).mean().item() - 0.3) < five * 0.46
    assert set(x.bernoulli_(sg.full_like(x, 0.5)).tolist()) == {0, 1}
    assert sg.bernoulli(sg.tensor([0.0, 1.0], device=device)).tolist() == [0, 1]
    assert sg.bernoulli(sg.zeros(3, device=device), 1.0).tolist() == [1, 1, 1]
    m = sg.normal(sg.tensor([0.0, 100.0], device=device), sg.tensor([1e-3, 1e-3], device=device))
    assert abs(m - sg.tensor([0.0, 100.0], device=device)).amax().item() < 0.01
    assert sg.normal(5.0, 0.0, (2, 3), device=device).tolist() == [[5] * 3] * 2
    y = sg.ones(3, dtype=sg.float64, device=device)
    assert sg.rand_like(y).dtype == sg.float64 and sg.randn_like(y).shape == (3,) and y.normal_().dtype == sg.float64
    for call, text in [
        (lambda: x.uniform_(1, 0), "uniform_: from 1.0* lies above to"),
        (lambda: x.normal_(0, -1), "normal_: std -1.0* is negative"),
        (lambda: x.exponential_(0), "exponential_: lambd 0.0* is not above 0"),
        (lambda: x.bernoulli_(2.0), "bernoulli_: p 2.0* is no probability"),
        (lambda: sg.normal(0.0, -1.0, (2,)), "normal: std -1.0* is negative"),
        (lambda: sg.normal(0.0, -1, (2,)), "normal: std -1.0* is negative"),
        (lambda: sg._core._set_random_state([1]), "_set_random_state: 1 numbers"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="normal_: dtype int64 has no such numbers"):
        sg.zeros(2, dtype=sg.int64).normal_()


def test_generators(device: sg.Device) -> None:
    g = sg.Generator(device)
    assert g.manual_seed(5) is g and g.initial_seed() == 5 and g.device == device
    common = sg.get_rng_state().tolist()
    a = [f(generator=g) for f in (
        lambda **k: sg.rand(5, device=device, **k), lambda **k: sg.randn(5, device=device, **k),
        lambda **k: sg.randint(9, (5,), device=device, **k), lambda **k: sg.empty(5, device=device).normal_(**k),
        lambda **k: sg.bernoulli(sg.full((5,), 0.5, device=device), **k), lambda **k: sg.normal(0.0, 1.0, (5,), **k),
    )]  # fmt: skip
    assert sg.get_rng_state().tolist() == common, "the common stream stays where it is"
    state = g.get_state()
    x = sg.rand(3, generator=g)
    g.set_state(state)
    assert sg.rand(3, generator=g).tolist() == x.tolist()
    sg.manual_seed(5)
    assert sg.rand(5, device=device).tolist() == a[0].tolist()
    assert g.manual_seed(2**64 - 1).initial_seed() == 2**64 - 1
    assert g.seed() == g.initial_seed() and sg.seed() == sg.initial_seed()
    state = sg.get_rng_state()
    x = sg.randn(3)
    sg.set_rng_state(state)
    assert sg.randn(3).tolist() == x.tolist()
    assert isinstance(sg.manual_seed(0), sg.Generator)
    with pytest.raises(TypeError, match=r"rand: generator is a int; give a spirograd.Generator"):
        sg.rand(2, generator=3)
    with pytest.raises(ValueError, match=r"set_state: a tensor .* is no state"):
        sg.set_rng_state(sg.zeros(2))


def test_nothing_random_is_in_the_key(device: sg.Device) -> None:
    sg.synchronize(device)  # nothing else in the first plan
    sg.rand(33, device=device).numpy()
    before = sg.stats()
    sg.manual_seed(99)
    sg.rand(33, device=device).numpy()
    sg.rand(33, device=device).numpy()
    after = sg.stats()
    assert after["plan_misses"] == before["plan_misses"]
    assert after["plan_hits"] == before["plan_hits"] + 2


def test_draws_of_classes_follow_their_logits_and_pass_gradients(device: sg.Device) -> None:
    x = sg.tensor([[0.0, 1.0, 2.0]], device=device, requires_grad=True)
    drawn = sg.nn.functional.gumbel_softmax(x.expand(20_000, 3), hard=True)
    assert set(drawn.detach().flatten().tolist()) <= {0.0, 1.0}
    np.testing.assert_allclose(drawn.detach().mean(0).tolist(), x.detach().softmax(1)[0].tolist(), atol=0.02)
    (drawn * sg.tensor([1.0, 0.0, 0.0], device=device)).mean().backward()
    assert x.grad[0, 0].item() > 0 > x.grad[0, 1].item()
    soft = sg.nn.functional.gumbel_softmax(x.detach(), tau=100.0, dim=1)
    np.testing.assert_allclose(soft.tolist(), [[1 / 3] * 3], atol=0.1)


BAD: dict[str, tuple[Any, str]] = {
    "bernoulli": (lambda t: sg.bernoulli(t(0.5, 1.5)), "bernoulli: a probability is not in"),
    "bernoulli, NaN": (lambda t: sg.bernoulli(t(0.5, math.nan)), "bernoulli: a probability is not in"),
    "bernoulli of a number": (lambda t: sg.bernoulli(t(0.5), 1.5), "bernoulli: p 1.5"),
    "bernoulli_": (lambda t: sg.zeros_like(t(0.5)).bernoulli_(t(-0.5)), "bernoulli_: a probability is not in"),
    "multinomial": (lambda t: sg.multinomial(t(0.5, -1.0), 1), "multinomial: a weight is negative"),
    "multinomial, NaN": (lambda t: sg.multinomial(t(0.5, math.nan), 1, True), "multinomial: a weight is negative"),
    "multinomial, infinite": (lambda t: sg.multinomial(t(0.5, math.inf), 1), "multinomial: a weight is negative"),
    "multinomial, a row of zeros": (lambda t: sg.multinomial(sg.stack([t(1.0, 2.0), t(0.0, 0.0)]), 1), "all of a row"),
    "normal": (lambda t: sg.normal(t(0.0, 0.0), t(1.0, -1.0)), "normal: a std is negative"),
    "normal, a mean": (lambda t: sg.normal(1.0, t(math.nan)), "normal: a std is negative"),
}


@pytest.mark.parametrize("name", BAD)
def test_parameters_out_of_range_raise_at_the_next_read(name: str, device: sg.Device) -> None:
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call(lambda *values: sg.tensor(list(values), device=device)).tolist()
    assert sg.bernoulli(sg.tensor([0.0, 1.0], device=device)).tolist() == [0.0, 1.0]


def test_tiny_weights_are_weights(device: sg.Device) -> None:
    weights = sg.tensor([0.0, 1e-37, 0.0], device=device)
    assert sg.multinomial(weights, 20, replacement=True).eq(1).all()
    assert sg.multinomial(sg.tensor([0.0, 3e38, 3e38], device=device), 20, replacement=True).ne(0).all()
