"""Random numbers: the published words of Philox, the same bits on every device, and the right distribution."""

from __future__ import annotations

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
    u = (words(1000, 5) >> np.uint64(8)).astype(np.float64) / 2**24
    want = np.sqrt(-2 * np.log(1 - u[0::2])) * np.cos(2 * np.pi * u[1::2])
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


def test_nothing_random_is_in_the_key(device: sg.Device) -> None:
    sg.rand(33, device=device).numpy()
    before = sg.stats()
    sg.manual_seed(99)
    sg.rand(33, device=device).numpy()
    sg.rand(33, device=device).numpy()
    after = sg.stats()
    assert after["plan_misses"] == before["plan_misses"]
    assert after["plan_hits"] == before["plan_hits"] + 2
