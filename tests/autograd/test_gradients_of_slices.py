"""Gradients of a tensor that was taken apart: those of its slices are put together, each element written once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg


def leaf(*shape: int, device: sg.Device | str = "cpu", dtype: sg.dtype = sg.float32, seed: int = 0) -> sg.Tensor:
    values = np.random.default_rng(seed).standard_normal(shape)
    return sg.tensor(values, dtype=dtype, device=device, requires_grad=True)


def moved(work: Callable[[], object]) -> tuple[int, int]:
    """Bytes that the kernels of some work read and write, and how many kernels there are."""
    sg.synchronize()
    with sg.profiler.profile() as profile:
        kept = work()
        sg.synchronize()
    del kept
    steps = [e for e in profile.events() if e.category in ("step", "kernel")]
    return sum(e.bytes for e in steps), len(steps)


def upstream(parts: list[sg.Tensor]) -> list[sg.Tensor]:
    return [sg.randn(p.shape, device=p.device) for p in parts]


TILED: dict[str, Callable[[sg.Tensor], tuple[sg.Tensor, ...]]] = {
    "chunk": lambda x: x.chunk(3, -1),
    "unbind": lambda x: x.unbind(1),
    "rows": lambda x: tuple(x[i] for i in range(4)),
    "steps": lambda x: (x[..., ::2], x[..., 1::2]),
    "heads": lambda x: x.reshape(4, 3, 3, 2, 2).permute(2, 0, 3, 1, 4).unbind(0),
    "split": lambda x: x.split([2, 4, 6], 2),
}


@pytest.mark.parametrize("name", TILED)
def test_parts_that_tile_a_tensor_are_read_and_written_once(name: str, device: sg.Device) -> None:
    x = leaf(4, 3, 12, device=device)
    parts = TILED[name](x)
    g = upstream(parts)
    got, kernels = moved(lambda: sg.autograd.grad(parts, x, g, retain_graph=True))
    assert (got, kernels) == (2 * x.numel() * 4, 3 if name == "split" else 1)  # one for parts of one shape


def test_each_layer_of_overlapping_parts_is_written_once(device: sg.Device) -> None:
    x = leaf(40, 8, device=device)
    parts = [x[i : i + 4] for i in range(37)]  # four layers
    g = upstream(parts)
    want = np.zeros((40, 8), np.float32)
    for i in range(37):
        want[i : i + 4] += g[i].numpy()
    (got,) = sg.autograd.grad(parts, x, g, retain_graph=True)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)
    _, kernels = moved(lambda: sg.autograd.grad(parts, x, g, retain_graph=True))
    assert kernels <= 37 + 2 * 4 + 1  # parts, their gaps at both ends, one sum


def test_nodes_of_many_rows_grow_with_their_number() -> None:
    x = leaf(1000, 4)
    rows = x.unbind(0)
    g = upstream(list(rows))
    sg.synchronize()
    sg.reset_stats()
    (got,) = sg.autograd.grad(rows, x, g)
    sg.synchronize()
    assert sg.stats()["nodes"] <= 1010
    np.testing.assert_array_equal(got.numpy(), np.stack([v.numpy() for v in g]))


def random_parts(random: np.random.Generator, shape: tuple[int, ...]) -> list[tuple[slice | int, ...]]:
    """Keys of slices: overlapping, with gaps, of steps, empty, single rows, and of several dimensions at once."""
    keys = []
    for _ in range(random.integers(1, 9)):
        key: list[slice | int] = [slice(None)] * len(shape)
        for d in random.permutation(len(shape))[: random.integers(1, 3)]:
            begin, end = sorted(random.integers(0, shape[d] + 1, 2))
            choice = random.integers(4)
            if choice == 0:
                key[d] = int(random.integers(shape[d]))
            elif choice == 1:
                step = int(random.integers(2, 4))
                key[d] = slice(int(random.integers(step)), None, step)
            else:
                key[d] = slice(int(begin), int(end))
        keys.append(tuple(key))
    return keys


@pytest.mark.parametrize("seed", range(20))
def test_any_parts_have_the_gradient_of_each_alone(seed: int, device: sg.Device) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(1, 7, random.integers(1, 4)))
    order = [int(d) for d in random.permutation(len(shape))]
    x = leaf(*shape, device=device, seed=seed)
    seen = x.permute(*order) if seed % 2 else x * 1.0  # of a leaf's view, and of a result
    keys = random_parts(random, tuple(seen.shape))
    parts = [seen[key] for key in keys]
    g = upstream(parts)
    want = np.zeros(seen.shape, np.float32)
    for key, v in zip(keys, g, strict=True):
        want[key] += v.numpy()
    if seed % 3 == 0:  # beside a use of the whole
        parts.append(seen * 2)
        g.append(sg.ones_like(seen))
        want += 2
    (got,) = sg.autograd.grad(parts, x, g)
    want = want.transpose(np.argsort(order)) if seed % 2 else want
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*TILED, "overlap", "gaps", "step with a rest"])
def test_gradients_of_parts_have_gradients(name: str) -> None:
    others: dict[str, Callable[[sg.Tensor], tuple[sg.Tensor, ...]]] = {
        "overlap": lambda x: (x[:3], x[1:], x[:, 1:]),
        "gaps": lambda x: (x[0], x[2], x[:, :, 3:5], x[:, :, 6:7]),
        "step with a rest": lambda x: (x[..., ::5], x[..., 1::2], x[..., 3::6]),
    }
    take = (TILED | others)[name]

    def f(x: sg.Tensor) -> sg.Tensor:
        first, *rest = take(x)
        y = (first * first * first).sum()
        for i, part in enumerate(rest):
            y = y + (part.sin() * (i + 2)).sum() * first.sum()
        return y

    x = leaf(4, 3, 12, dtype=sg.float64)
    assert sg.autograd.gradcheck(f, (x,))
    assert sg.autograd.gradgradcheck(f, (x,))


def test_hooks_and_kept_gradients_of_parts_and_of_the_whole(device: sg.Device) -> None:
    x = leaf(6, device=device)
    whole = x * 1.0
    a, b = whole.chunk(2)
    seen = []
    whole.register_hook(lambda g: seen.append(g.tolist()))
    a.register_hook(lambda g: g * 10)
    whole.retain_grad()
    b.retain_grad()
    (a.sum() + (b * 2).sum()).backward()
    assert seen == [[10, 10, 10, 2, 2, 2]]
    assert whole.grad.tolist() == x.grad.tolist() == seen[0]
    assert b.grad.tolist() == [2, 2, 2]


def test_gradients_by_parts_and_by_the_whole_at_once(device: sg.Device) -> None:
    x = leaf(6, device=device)
    a, b = x.chunk(2)
    loss = (a * b).sum()
    of_x, of_a = sg.autograd.grad(loss, [x, a])
    values = x.detach().numpy()
    np.testing.assert_array_equal(of_a.numpy(), values[3:])
    np.testing.assert_array_equal(of_x.numpy(), np.concatenate([values[3:], values[:3]]))


def test_a_part_of_a_written_tensor_has_its_own_gradient(device: sg.Device) -> None:
    x = leaf(6, device=device)
    y = x * 1.0
    a, b = y.chunk(2)
    a.mul_(3.0)
    (y.sum() + a.sum() * 2 + b.sum()).backward()
    assert x.grad.tolist() == [9, 9, 9, 2, 2, 2]


PUT_TOGETHER: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "slices": lambda x: x[1:].sum() + x[:1].sum(),
    "roll": lambda x: x.roll(1).sum(),
    "cat": lambda x: sg.cat([x[1:], x[:1]]).sum(),
    "split": lambda x: sum((p.sum() for p in x.split(2)), sg.zeros((), device=x.device)),
    "hstack": lambda x: sg.hstack([x[2:], x[:2]]).sum(),
    "unbind": lambda x: sum(x.unbind(), sg.zeros((), device=x.device)),
    "steps": lambda x: x[::2].sum() + x[1::2].sum(),
    "a part": lambda x: x[1:].sum(),
}


@pytest.mark.parametrize("name", PUT_TOGETHER)
def test_a_gradient_put_together_depends_on_the_one_that_arrived(name: str, device: sg.Device) -> None:
    x = sg.arange(4.0, device=device).requires_grad_()
    u = sg.tensor(3.0, device=device, requires_grad=True)
    (g,) = sg.autograd.grad(PUT_TOGETHER[name](x), x, u, create_graph=True)
    weights = sg.tensor([1.0, 10.0, 100.0, 1000.0], device=device)
    (d,) = sg.autograd.grad((g * weights).sum(), u)
    want = 1110 if name == "a part" else 1111
    assert d.item() == want
    assert sg.func.jvp(PUT_TOGETHER[name], (x.detach(),), (weights,))[1].item() == want
    assert sg.autograd.functional.jvp(PUT_TOGETHER[name], x.detach(), weights)[1].item() == want


def test_a_hessian_through_rolls(device: sg.Device) -> None:
    y = sg.tensor([1.0, 2.0, 3.0], device=device)

    def f(x: sg.Tensor) -> sg.Tensor:
        return (y.outer(x).sum(0) * x.roll(1).sum()).sum()

    assert sg.func.hessian(f)(sg.ones(3, device=device)).tolist() == [[12.0] * 3] * 3
    assert sg.func.vmap(sg.func.hessian(f))(sg.ones(2, 3, device=device)).tolist() == [[[12.0] * 3] * 3] * 2
