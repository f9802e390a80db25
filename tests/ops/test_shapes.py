"""Shapes, joining, reductions and products beyond the table: pairs of results, special values, errors, gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from spirograd.nn import functional as F

NAN, INF = float("nan"), float("inf")


def gradient(f: Callable[[sg.Tensor], sg.Tensor], values: list[float], device: sg.Device) -> list[float]:
    x = sg.tensor(values, device=device, requires_grad=True)
    f(x).sum().backward()
    return list(x.grad.tolist())


# ---- extremes and their places --------------------------------------------------------------------------------------
def test_the_first_of_equals_is_chosen_and_nan_wins(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 3.0, 3.0], [NAN, 9.0, NAN], [-INF, -INF, -INF]], device=device)
    assert x.argmax(1).tolist() == [1, 0, 0]
    assert x.argmin(1).tolist() == [0, 0, 0]
    assert x.argmax().item() == 3
    values, indices = x.max(1)
    assert indices.dtype == sg.int64 and indices.tolist() == [1, 0, 0]
    np.testing.assert_array_equal(values.numpy(), np.array([3, np.nan, -np.inf], np.float32))
    assert sg.tensor([2, 7, 7], device=device).argmax().item() == 1
    assert sg.tensor([False, True, True], device=device).argmax(0).item() == 1


def test_an_extreme_and_its_place_are_one_kernel(device: sg.Device) -> None:
    x = sg.randn(64, 100, device=device)
    x.realize()
    values, indices = x.max(1)
    kernels = [step for step in (values + indices).plan() if "max" in step.name]
    assert len(kernels) == 1


def test_max_is_three_functions(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 5.0], [7.0, 2.0]], device=device)
    assert x.max().item() == 7
    assert x.max(0).values.tolist() == [7, 5]
    assert x.min(dim=-1, keepdim=True).indices.tolist() == [[0], [1]]
    assert sg.max(x, x.T).tolist() == [[1, 7], [7, 2]]
    with pytest.raises(TypeError, match="both a tensor and a dimension"):
        sg.max(x, 0, other=x)


def test_who_takes_the_gradient_of_an_extreme(device: sg.Device) -> None:
    assert gradient(lambda x: x.max(0).values, [3.0, 1.0, 3.0], device) == [1, 0, 0]
    assert gradient(lambda x: x.max(), [3.0, 1.0, 3.0], device) == [0.5, 0, 0.5]
    assert gradient(lambda x: x.min(0, keepdim=True).values, [2.0, 1.0, 1.0], device) == [0, 1, 0]
    assert gradient(lambda x: x.max(0).values, [1.0, NAN, 2.0], device) == [0, 1, 0]


def test_medians_of_nan_and_of_two() -> None:
    x = sg.tensor([[4.0, NAN, 1.0, 2.0], [4.0, 3.0, 1.0, 2.0]])
    assert x.median(1).indices.tolist() == [1, 3] and math.isnan(x.median().item())
    assert x.nanmedian(1).values.tolist() == [2, 2] and x.nanmedian().item() == 2
    assert sg.tensor([3, 1, 2, 2]).median().item() == 2
    assert gradient(lambda x: x.median(), [2.0, 1.0, 2.0, 5.0], sg.Device.cpu()) == [0.5, 0, 0.5, 0]
    assert gradient(lambda x: x.median(0).values, [2.0, 1.0, 3.0], sg.Device.cpu()) == [1, 0, 0]


# ---- other folds ----------------------------------------------------------------------------------------------------
def test_the_gradient_of_a_product_beside_zeros(device: sg.Device) -> None:
    assert gradient(sg.prod, [2.0, 3.0, 4.0], device) == [12, 8, 6]
    assert gradient(sg.prod, [2.0, 0.0, 4.0], device) == [0, 8, 0]
    assert gradient(sg.prod, [0.0, 0.0, 4.0], device) == [0, 0, 0]


def test_the_second_gradient_of_a_product_beside_zeros(device: sg.Device) -> None:
    x = sg.tensor([[2.0, 0.0, 3.0], [1.0, 5.0, 2.0]], device=device, requires_grad=True)
    (g,) = sg.autograd.grad(x.prod(1).sum(), x, create_graph=True)
    assert g.tolist() == [[0, 6, 0], [10, 2, 5]]
    (h,) = sg.autograd.grad(g.sum(), x)
    # d/dx_j of the sum over i of the product of the others: the sum of the products of what is left of two.
    assert h.tolist() == [[3, 5, 2], [7, 3, 6]]


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_the_second_gradient_of_a_product_of_one_is_there(device: sg.Device, value: float) -> None:
    x = sg.tensor([[value]], device=device, requires_grad=True)
    (g,) = sg.autograd.grad(x.prod(1).sum(), x, create_graph=True)
    (h,) = sg.autograd.grad(g.sum(), x)
    assert (g.tolist(), h.tolist()) == ([[1]], [[0]])


def test_empty_folds(device: sg.Device) -> None:
    x = sg.zeros(0, 3, device=device)
    assert x.prod(0).tolist() == [1, 1, 1]
    assert x.any(0).tolist() == [False] * 3
    assert x.all(0).tolist() == [True] * 3
    assert x.logsumexp(0).tolist() == [-INF] * 3
    assert all(math.isnan(v) for v in x.var(0).tolist())
    assert x.norm().item() == 0
    with pytest.raises(IndexError, match="no elements"):
        x.argmax()
    with pytest.raises(ValueError, match="no elements"):
        x.amax()


def test_spread_of_one_element(device: sg.Device) -> None:
    x = sg.tensor([3.0], device=device)
    assert math.isnan(x.var().item())
    assert x.var(correction=0).item() == x.std(unbiased=False).item() == x.var(False).item() == 0
    assert gradient(lambda x: x.std(correction=0), [1.0, 1.0], device) == [0, 0]
    assert gradient(lambda x: x.norm(), [0.0, 0.0], device) == [0, 0]


def test_logsumexp_of_infinities(device: sg.Device) -> None:
    x = sg.tensor([[-INF, -INF], [INF, 1.0], [1000.0, 1000.0], [-INF, 2.0]], device=device)
    np.testing.assert_allclose(x.logsumexp(1).numpy(), [-INF, INF, 1000 + math.log(2), 2], rtol=1e-6)


def test_half_types_are_folded_in_float32(device: sg.Device) -> None:
    x = sg.full((4096,), 200.0, dtype=sg.float16, device=device)
    assert x.mean().item() == 200  # the sum is beyond float16
    assert x.var().item() == 0
    assert x.norm().dtype == sg.float16
    y = sg.full((4096,), 20.0, dtype=sg.float16, device=device)
    assert y.norm().item() == 1280


def test_types_of_folds(device: sg.Device) -> None:
    x = sg.tensor([1, 2], dtype=sg.int32, device=device)
    assert x.sum().dtype == x.prod().dtype == x.count_nonzero().dtype == sg.int64
    assert x.sum(dtype=sg.int32).dtype == sg.int32
    assert x.prod(dtype=sg.float64).dtype == sg.float64
    assert x.amax().dtype == x.max(0).values.dtype == sg.int32
    assert x.any().dtype == x.all().dtype == sg.bool


# ---- views and joining ----------------------------------------------------------------------------------------------
def test_views_share_memory(device: sg.Device) -> None:
    x = sg.zeros(4, 4, device=device)
    x.diagonal().fill_(1)
    x.unfold(0, 2, 2)[0, 3].fill_(5)
    x.split(2)[1][0].fill_(7)
    x.as_strided((2,), (5,), 10).add_(3)
    want = np.eye(4)
    want[:2, 3] = 5
    want[2] = 7
    want[2, 2] += 3
    want[3, 3] += 3
    np.testing.assert_array_equal(x.numpy(), want)


def test_each_element_has_its_repeats(device: sg.Device) -> None:
    x = sg.tensor([[1, 2], [3, 4]], device=device)
    times = sg.tensor([0, 2], device=device)
    assert x.repeat_interleave(times, dim=0).tolist() == [[3, 4], [3, 4]]
    assert x.repeat_interleave(sg.tensor([1, 0, 2, 1], device=device)).tolist() == [1, 3, 3, 4]
    with pytest.raises(ValueError, match="one for each element"):
        x.repeat_interleave(sg.tensor([1, 2, 3], device=device), 0)
    with pytest.raises(ValueError, match="negative repeats"):
        x.repeat_interleave(sg.tensor([1, -1], device=device), 0)


def test_cuts_and_products_in_place(device: sg.Device) -> None:
    x = sg.ones(2, 2, device=device)
    assert x.tril_() is x and x.tolist() == [[1, 0], [1, 1]]
    x.masked_fill_(x == 0, 5)
    assert x.tolist() == [[1, 5], [1, 1]]
    x.addmm_(sg.ones(2, 1, device=device), sg.ones(1, 2, device=device), beta=2)
    assert x.triu_().tolist() == [[3, 11], [0, 3]]


def test_copies_do_not_share_memory(device: sg.Device) -> None:
    x = sg.arange(4.0, device=device)
    for y in (x.flip(0), x.roll(0), x.repeat(1), sg.cat([x]), sg.pad(x, (0, 0)), x.repeat_interleave(1)):
        y.zero_()
    assert x.tolist() == [0, 1, 2, 3]


def test_overlapping_windows_add_their_gradients(device: sg.Device) -> None:
    assert gradient(lambda x: x.unfold(0, 3, 1), [1.0] * 5, device) == [1, 2, 3, 2, 1]
    assert gradient(lambda x: x.as_strided((3, 2), (0, 1), 1), [1.0] * 4, device) == [0, 3, 3, 0]
    x = sg.ones(3, 4, device=device, requires_grad=True)
    x.unfold(0, 2, 1).unfold(1, 2, 1).sum().backward()
    assert x.grad.tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [1, 2, 2, 1]]


def test_windows_on_turned_tensors_have_gradients(device: sg.Device) -> None:
    whole = sg.arange(24.0, device=device).reshape(2, 3, 4).requires_grad_()
    turned = whole.permute(2, 0, 1)  # as_strided() looks at memory, whatever the order of dimensions
    windows = turned.as_strided((5, 8), (4, 1))
    assert windows.tolist() == [list(range(4 * i, 4 * i + 8)) for i in range(5)]
    windows.sum().backward()
    assert whole.grad.tolist() == [[[1] * 4, [2] * 4, [2] * 4], [[2] * 4, [2] * 4, [1] * 4]]


def test_as_strided_stays_in_memory(device: sg.Device) -> None:
    x = sg.arange(6, device=device)
    with pytest.raises(ValueError, match="reaches element 6 of memory of 6"):
        x.as_strided((2, 2), (4, 1), 1)
    y = sg.ones(6, device=device, requires_grad=True)
    with pytest.raises(ValueError, match="not the tensor's own"):
        y[1:3].as_strided((3,), (1,), 0)


def test_cat_promotes_and_skips_nothing(device: sg.Device) -> None:
    a, b = sg.tensor([1, 2], device=device), sg.tensor([0.5], device=device)
    assert sg.cat([a, b]).tolist() == [1, 2, 0.5]
    assert sg.cat([sg.zeros(0, device=device), sg.ones(2, 3, device=device)]).shape == (2, 3)
    with pytest.raises(ValueError, match="only the joined dimension"):
        sg.cat([sg.zeros(2, 2), sg.zeros(2, 3)])
    with pytest.raises(ValueError, match="empty list"):
        sg.cat([])
    with pytest.raises(ValueError, match="stack"):
        sg.cat([sg.tensor(1.0), sg.tensor(2.0)])


def test_the_graph_of_a_long_cat_is_shallow(device: sg.Device) -> None:
    parts = [sg.full((2,), float(i), device=device, requires_grad=True) for i in range(50)]
    (sg.cat(parts) * sg.arange(100.0, device=device)).sum().backward()
    for i, x in enumerate(parts):
        assert x.grad.tolist() == [2 * i, 2 * i + 1]


def test_a_cat_writes_each_element_once(device: sg.Device) -> None:
    parts = [sg.randn(1000, device=device) for _ in range(4)]
    whole = sg.cat(parts)
    np.testing.assert_array_equal(whole.numpy(), np.concatenate([p.numpy() for p in parts]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.flip(0, 0), ValueError, "twice"),
        (lambda x: x.repeat(2), ValueError, "one for each dimension"),
        (lambda x: x.split([1, 2]), ValueError, "add up to 3"),
        (lambda x: x.chunk(0), ValueError, "0 chunks"),
        (lambda x: x.unfold(0, 5, 1), ValueError, "windows of 5"),
        (lambda x: x.unfold(0, 1, 0), ValueError, "a step of 0"),
        (lambda x: x.diagonal(0, 1, 1), ValueError, "no matrix"),
        (lambda x: x.narrow(0, 1, 5), IndexError, "stay inside"),
        (lambda x: x.select(0, 2), IndexError, "out of range"),
        (lambda x: x.moveaxis((0, 1), (0, 0)), ValueError, "a dimension twice"),
        (lambda x: x.unflatten(1, (2, 2)), ValueError, "do not make up"),
        (lambda x: x[0].tril(), ValueError, "no matrix"),
        (lambda x: sg.pad(x, (1,)), ValueError, "two for each"),
        (lambda x: sg.pad(x, (3, 0), "reflect"), ValueError, "use at most 2"),
        (lambda x: sg.pad(x, (1, 1), "mirror"), ValueError, "is unknown"),
        (lambda x: x.masked_fill(x, 1.0), TypeError, "mask of type bool"),
        (lambda x: sg.einsum("ij,jk->ik", x), ValueError, "1 operand"),
        (lambda x: sg.einsum("ijk->i", x), ValueError, "does not fit shape"),
        (lambda x: sg.einsum("ij->iz", x), ValueError, "in no operand"),
        (lambda x: sg.einsum("ij,jk->ik", x, x), ValueError, "'j' is 3 and 2"),
        (lambda x: sg.mm(x, x[0]), ValueError, "2 dimension"),
        (lambda x: sg.bmm(x[None], x.T.expand(2, 3, 2)), ValueError, "batch sizes differ"),
        (lambda x: sg.tensordot(x, x, dims=1), ValueError, "do not pair"),
        (lambda x: sg.meshgrid(x, indexing="ij"), ValueError, "no vector"),
        (lambda x: x.norm("nuc"), ValueError, "is unknown"),
        (lambda x: sg.cov(x[None]), ValueError, "no rows"),
        (lambda x: x.sum((0, 0)), ValueError, "twice"),
        (lambda x: x.sum(2), IndexError, "out of range"),
    ],
)
def test_mistakes_are_named(call: Callable[[sg.Tensor], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(sg.ones(2, 3))


# ---- read at once ---------------------------------------------------------------------------------------------------
def test_equal_and_close(device: sg.Device) -> None:
    x = sg.tensor([1.0, NAN, INF], device=device)
    assert not x.equal(x)
    assert x[::2].equal(x[::2])
    before = sg.stats()
    assert not x.equal(x[:2])
    assert sg.stats() == before, "shapes that differ need no run"
    assert not x.allclose(x) and x.allclose(x, equal_nan=True)
    assert not sg.allclose(sg.tensor([INF]), sg.tensor([1.0])) and not sg.allclose(sg.tensor([1.0]), sg.tensor([INF]))
    assert sg.tensor([1, 2], device=device).equal(sg.tensor([1, 2], device=device))


def test_broadcast_shapes() -> None:
    assert sg.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(ValueError, match="do not broadcast"):
        sg.broadcast_shapes((2,), (3,))


def test_one_hot_counts_classes_and_finds_bad_ones(device: sg.Device) -> None:
    assert F.one_hot(sg.tensor([0, 2], device=device)).tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(IndexError, match=r"one_hot.*3"):
        F.one_hot(sg.tensor([0, 3], device=device), 3).numpy()


def test_functions_of_models(device: sg.Device) -> None:
    a = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    x, y = sg.tensor(a, device=device), sg.tensor(a[::-1].copy(), device=device)
    e = np.exp(-a - (-a).max(1, keepdims=True))
    np.testing.assert_allclose(F.softmin(x, 1).numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)
    length = np.sqrt((a * a).sum(1, keepdims=True))
    np.testing.assert_allclose(F.normalize(x).numpy(), a / length, rtol=1e-5)
    cosine = (a * a[::-1]).sum(1) / (length[:, 0] * length[::-1, 0])
    np.testing.assert_allclose(F.cosine_similarity(x, y).numpy(), cosine, rtol=1e-5)
    tall, rows = sg.tensor([[1.0], [2.0]]), sg.tensor([[3.0, 6.0], [4.0, 8.0]])  # [1, 1] and [2, 2] beside the rows
    np.testing.assert_allclose(F.cosine_similarity(tall, rows).numpy(), [9 / 90**0.5] * 2, rtol=1e-6)
    assert F.normalize(sg.zeros(2, 2, device=device)).tolist() == [[0, 0], [0, 0]]
    assert F.pad(x, (1, 0)).shape == (3, 6)


@pytest.mark.parametrize("shape", [(33, 65), (64, 64), (100, 37), (3, 40, 70), (2, 33, 5, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bool"])
def test_transposed_reads_of_many_elements(shape: tuple[int, ...], dtype: str, device: sg.Device) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    t = sg.tensor(x, device=device)
    for order in itertools.permutations(range(len(shape))):
        assert np.array_equal(t.permute(*order).contiguous().numpy(), x.transpose(order)), order


def test_transposed_reads_beside_others(device: sg.Device) -> None:
    a, b = np.random.default_rng(1).standard_normal((2, 70, 90)).astype(np.float32)
    x, y = sg.tensor(a, device=device), sg.tensor(b, device=device)
    got = x.T * 2 + y.T + sg.tensor(b[0, :70], device=device)
    assert np.array_equal(got.numpy(), a.T * 2 + b.T + b[0, :70])


def test_tensordot_repeats_a_dimension_of_one_element(device: sg.Device) -> None:
    a, b = sg.ones(3, 1, device=device, requires_grad=True), sg.arange(6.0, device=device).reshape(2, 3)
    y = sg.tensordot(a, b, ([1], [0]))
    assert y.tolist() == [[3, 5, 7]] * 3
    y.sum().backward()
    assert a.grad is not None and a.grad.tolist() == [[15]] * 3
    assert sg.tensordot(b, a, ([0], [1])).tolist() == [[3, 3, 3], [5, 5, 5], [7, 7, 7]]
    whole = sg.ones(1, 2, dtype=sg.int32, device=device)
    assert sg.tensordot(whole, sg.ones(3, dtype=sg.int32, device=device), ([0], [0])).dtype == sg.int32
