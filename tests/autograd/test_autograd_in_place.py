"""Writes in place as part of gradients: histories of bases and views, versions, and what is refused."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.table import ROWS, Row


def leaf(values: Any, device: sg.Device) -> sg.Tensor:
    return sg.tensor(values, device=device, requires_grad=True)


def test_a_write_is_part_of_the_gradient(device: sg.Device) -> None:
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * 2
    y[0] = 5.0
    y[1:].mul_(x[:2])
    (y * y).sum().backward()
    # y = [5, 2 x1 x0, 2 x2 x1]
    assert x.grad.tolist() == [2 * 4 * 4, 2 * 4 * 2 + 2 * 12 * 6, 2 * 12 * 4]


def test_base_and_other_views_have_the_new_history(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    base = sg.zeros(3, device=device)
    early = base.view(3, 1)
    assert not early.requires_grad
    base[1:] = x * 3
    for seen in (base, early, base[1:], base.view(1, 3)):
        assert seen.requires_grad and not seen.is_leaf
        (g,) = sg.autograd.grad(seen.sum(), x, retain_graph=True)
        assert g.tolist() == [3, 3]


def test_a_value_written_over_gets_no_gradient(device: sg.Device) -> None:
    x, w = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    y = x * 1
    y.copy_(w)
    y.sum().backward(inputs=[w])
    assert w.grad.tolist() == [1, 1]
    assert sg.autograd.grad((x * 1).fill_(2.0).sum() + x.sum(), x)[0].tolist() == [1, 1]


def test_in_place_operators_keep_the_object(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = same = x * 1
    y += x
    y *= y.detach().clone()
    y /= 2
    y -= 1
    y **= 2
    assert y is same
    y.sum().backward()
    v = np.array([1.0, 2.0])  # y = (2 v * c / 2 - 1)^2 with c = 2 v held constant
    np.testing.assert_allclose(x.grad.numpy(), 2 * (2 * v * v - 1) * 2 * v, rtol=1e-6)


def test_a_chain_of_ops_in_place_needs_no_old_value(device: sg.Device) -> None:
    x = leaf([0.5, 1.0], device)
    y = x * 1
    y.mul_(3).add_(x).mul_(x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * np.array([0.5, 1.0]), rtol=1e-6)


def test_second_derivatives_through_a_write(device: sg.Device) -> None:
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * x
    y[1:] = y[:2].clone() * x[1:]
    (g,) = sg.autograd.grad((y * x).sum(), x, create_graph=True)
    (h,) = sg.autograd.grad(g.sum(), x)
    # x0^3 + x0^2 x1^2 + x1^2 x2^2
    a, b, c = 1.0, 2.0, 3.0
    np.testing.assert_allclose(
        h.numpy(),
        [6 * a + 2 * b * b + 4 * a * b, 4 * a * b + 2 * a * a + 2 * c * c + 4 * b * c, 4 * b * c + 2 * b * b],
        rtol=1e-6,
    )


def test_a_detached_view_is_a_base_of_its_own(device: sg.Device) -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    y = x * 1
    turned = y.detach().transpose(0, 1)  # not row-major
    mine = turned.detach()
    mine[0].mul_(x[0])
    mine.sum().backward()
    assert x.grad.tolist() == [[1, 3], [0, 0]]
    assert y.tolist() == [[1, 2], [6, 4]]  # the memory is shared, the history is not


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x[1:].zero_(),
        lambda x: x.view(3, 1).mul_(2),
        lambda x: x.__iadd__(1),
    ],
)
def test_a_leaf_that_requires_grad_is_not_written(write: Any, device: sg.Device) -> None:
    x = leaf([1.0, 2.0, 3.0], device)
    with pytest.raises(sg.Error, match="leaf that requires grad cannot be written in place"):
        write(x)
    assert x.tolist() == [1, 2, 3] and x._version == 0
    with sg.no_grad():
        write(x)
    assert x.is_leaf and x.requires_grad and x._version == 1


def test_versions_count_writes(device: sg.Device) -> None:
    x = sg.zeros(4, device=device)
    assert x._version == 0
    x[0] = 1
    x.add_(1)
    view = x.view(2, 2)
    view.mul_(2)
    assert x._version == view._version == x.detach()._version == 3
    x.data.zero_()
    assert x._version == 3
    assert (x + 1)._version == 0


def test_an_overwritten_value_is_named_with_both_lines(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = x.exp()
    z = y * y  # SAVES
    y.add_(1)  # WRITES
    lines = Path(__file__).read_text().splitlines()
    saves = next(i for i, line in enumerate(lines, 1) if "# SAVES" in line)
    writes = next(i for i, line in enumerate(lines, 1) if "# WRITES" in line)
    with pytest.raises(sg.Error, match="overwritten in place") as caught:
        z.sum().backward()
    words = str(caught.value)
    assert f"mul at {__file__}:{saves} " in words and f"in place at {__file__}:{writes} " in words
    assert isinstance(caught.value, RuntimeError)


def test_a_write_of_the_output_is_seen_too(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(sg.Error, match=r"exp at .* needs was overwritten"):
        y.sum().backward()
    y = x * 1
    y.mul_(2)  # saves numbers only
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_an_old_value_that_no_gradient_needs_may_go(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    w = sg.tensor([3.0, 4.0], device=device)
    y = x + w
    w.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_retained_grad_moves_with_the_tensor(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    assert y.grad.tolist() == [12, 24]
    assert x.grad.tolist() == [72, 144]


# ---- views whose elements share a place -----------------------------------------------------------------------------
OVERLAPS: dict[str, tuple[Any, list[float]]] = {  # of four elements: how often each is seen
    "unfold": (lambda y: y.unfold(0, 2, 1), [1, 2, 2, 1]),
    "unfold twice": (lambda y: y.unfold(0, 3, 1).unfold(1, 2, 1), [1, 3, 3, 1]),
    "as_strided": (lambda y: y.as_strided((3, 2), (1, 1)), [1, 2, 2, 1]),
    "as_strided, repeated": (lambda y: y.as_strided((3, 2, 5), (1, 1, 0)), [5, 10, 10, 5]),
    "expand": (lambda y: y.expand(3, 4), [3, 3, 3, 3]),
    "expand of a part": (lambda y: y[1:3].unsqueeze(1).expand(2, 7), [0, 7, 7, 0]),
    "of columns": (lambda y: y.reshape(2, 2).T.unfold(0, 2, 1), [1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_what_a_view_shows_twice_has_both_gradients(name: str, device: sg.Device) -> None:
    view, times = OVERLAPS[name]
    x = leaf([1.0, 2.0, 3.0, 4.0], device)
    y = x * 1
    seen = view(y)
    y.mul_(3.0)  # the view's history is made anew, through the memory
    (g,) = sg.autograd.grad((seen * seen).sum(), x, create_graph=True)
    v = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(g.tolist(), 18 * v * times)
    np.testing.assert_allclose(sg.autograd.grad((g * g).sum(), x)[0].tolist(), 2 * 18 * 18 * v * np.square(times))


@pytest.mark.parametrize("name", [n for n in OVERLAPS if n != "of columns"])
def test_elements_that_share_a_place_are_not_written(name: str, device: sg.Device) -> None:
    y = sg.arange(4.0, device=device)
    with pytest.raises(ValueError, match=r"elements of the target .* share memory"):
        OVERLAPS[name][0](y).add_(1.0)
    assert y.tolist() == [0, 1, 2, 3] and y._version == 0


def test_a_view_beyond_its_tensor_has_no_history_of_it(device: sg.Device) -> None:
    w = leaf([2.0], device)
    part = sg.arange(6.0, device=device)[2:4].detach()
    around = part.as_strided((6,), (1,), 0)
    part.mul_(w)
    with pytest.raises(sg.Error, match="as_strided: the view reaches elements that are not those of its tensor"):
        around.sum()
    with pytest.raises(sg.Error, match="reaches elements that are not those of the tensor"):
        part.detach().as_strided((6,), (1,), 0).mul_(w)
    assert around.detach().tolist() == [0, 1, 4, 6, 4, 5]


# ---- results of every op ---------------------------------------------------------------------------------------------
DIFFERENTIABLE = [row for row in ROWS if row.differentiable and "float64" in row.dtypes]


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_a_write_to_a_result_is_part_of_the_gradient(row: Row) -> None:
    """The same as a write to a product of the result with 1, which is a base beyond doubt."""
    shapes = next((s for s in row.shapes if all(np.prod(shape) > 1 for shape in s)), row.shapes[0])
    arrays = row.inputs(shapes, "float64")
    found = []
    for again in (False, True):
        inputs = [sg.tensor(a).requires_grad_() for a in arrays]
        w = sg.tensor(3.0, dtype=sg.float64, requires_grad=True)
        y = row.op(*(x * 1 for x in inputs))
        if not y.requires_grad or y.numel() == 0:
            pytest.skip("no gradient")
        if row.name.startswith(("expand", "broadcast", "unfold", "as_strided", "meshgrid")):
            pytest.skip("shows elements twice, and is not written")
        if again:
            y = y * 1
        part = y[: (y.shape[0] + 1) // 2] if y.ndim else y
        try:
            part.copy_((w * w).expand(part.shape))
            loss = (y * y).sum()
            found.append(sg.autograd.grad(loss, [*inputs, w], allow_unused=True))
        except sg.Error as e:
            assert not again and "overwritten in place" in str(e)  # the formula reads its result
            return
    for a, b in zip(*found, strict=True):
        if a is None or b is None:
            assert a is b or not (b if a is None else a).any()
        else:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_a_gradient_is_of_the_values_that_were_read_or_an_error(row: Row) -> None:
    shapes = next((s for s in row.shapes if all(np.prod(shape) > 1 for shape in s)), row.shapes[0])
    arrays = row.inputs(shapes, "float64")
    for place in range(len(arrays)):
        found = []
        for written in (False, True):
            inputs = [sg.tensor(a).requires_grad_() for a in arrays]
            values = [x * 1 for x in inputs]
            y = row.op(*values)
            if not y.requires_grad:
                return
            total = (y * y).sum()
            if written:
                values[place].mul_(1.5)
            try:
                found.append(sg.autograd.grad(total, inputs, allow_unused=True))
            except sg.Error as e:
                assert written and "overwritten in place" in str(e)
        for a, b in zip(found[0], found[-1], strict=True):
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("name", ["median", "nanmedian", "sort", "topk", "kthvalue", "max", "min", "cummax", "cummin"])
def test_a_chosen_value_written_over_gets_no_gradient(name: str, device: sg.Device) -> None:
    x = leaf([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]], device)
    arguments = (2,) if name in ("topk", "kthvalue") else ()
    values = getattr(x, name)(*arguments, dim=1)[0]
    values[0:1] = 0.0
    values.sum().backward()
    assert not x.grad[0].any() and x.grad[1].any()


@pytest.mark.parametrize("name", ["median", "nanmedian", "sort", "cummax"])
def test_a_chosen_value_can_take_a_history(name: str, device: sg.Device) -> None:
    w = leaf([2.0], device)
    for x in (sg.ones(2, 3, device=device), sg.ones(2, 3, device=device).requires_grad_()):
        values = getattr(x, name)(dim=1)[0]
        values[0:1] = w * 3
        assert sg.autograd.grad(values.sum(), w)[0].item() == 3 * values[0].numel()


# ---- against PyTorch -------------------------------------------------------------------------------------------------
VIEWS = [
    lambda t: t,
    lambda t: t[1:],
    lambda t: t[0],
    lambda t: t.view(6),
    lambda t: t.transpose(0, 1),
    lambda t: t.view(6)[::2],
    lambda t: t.transpose(0, 1)[1],
    lambda t: t.unsqueeze(0)[0, :, 1:],
]
WRITES = [
    lambda t, s: t.add_(s),
    lambda t, s: t.mul_(s),
    lambda t, s: t.zero_(),
    lambda t, s: t.copy_(t * s),
    lambda t, s: t.fill_(2.0),
    lambda t, s: t.div_(s),
    lambda t, s: t.sub_(s * s),
]


def program(lib: Any, seed: int) -> tuple[Any, ...]:
    """A random program of views and writes: its value, its gradients, or the class of its error."""
    choose = random.Random(seed)
    x = lib.tensor(np.linspace(0.5, 1.5, 6).reshape(2, 3).tolist(), dtype=lib.float64, requires_grad=True)
    s = lib.tensor(1.5, dtype=lib.float64, requires_grad=True)
    base = x * 1 if choose.random() < 0.8 else lib.zeros(2, 3, dtype=lib.float64)
    tensors = [base]
    try:
        for _ in range(choose.randint(2, 6)):
            what, t = choose.random(), choose.choice(tensors)
            if what < 0.35:
                view = choose.choice(VIEWS)(base)
                tensors.append(view)
            elif what < 0.85:
                choose.choice(WRITES)(t, s)
            else:
                tensors.append(t * s)
        total = sum(((t * t).sum() for t in tensors), lib.zeros((), dtype=lib.float64))
        grads = lib.autograd.grad(total, [x, s], allow_unused=True, create_graph=True)
        second = [
            None
            if g is None or not g.requires_grad
            else lib.autograd.grad(g.sum(), x, allow_unused=True, retain_graph=True)[0]
            for g in grads
        ]
    except RuntimeError:
        return ("error",)
    return (total.item(), *(None if g is None else g.tolist() for g in (*grads, *second)))


def flat(value: Any) -> list[float]:
    return [] if value is None else np.asarray(value, dtype=float).ravel().tolist()


@pytest.mark.parametrize("block", range(6))
def test_random_programs_agree_with_pytorch(block: int) -> None:
    torch = pytest.importorskip("torch")
    for seed in range(block * 40, block * 40 + 40):
        ours, theirs = program(sg, seed), program(torch, seed)
        # PyTorch also walks to what was written over as a whole, and may find a fault there; we need not.
        assert ours[0] != "error" or theirs[0] == "error", f"seed {seed}: {ours} {theirs}"
        if "error" in (ours[0], theirs[0]):
            continue
        for a, b in itertools.zip_longest(map(flat, ours), map(flat, theirs)):
            a, b = a or [0.0] * len(b), b or [0.0] * len(a)  # no path is a gradient of 0
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=f"seed {seed}")
