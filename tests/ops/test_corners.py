"""What PyTorch says at the corners of operations, where a formula alone leaves a choice.

Found by test_torch_oracle.py, which needs PyTorch; these hold without it, and on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.nn import functional as F


def of(device: sg.Device, values: Any, dtype: sg.dtype | None = None) -> sg.Tensor:
    return sg.tensor(values, dtype=dtype, device=device)


def test_the_result_in_place_takes_the_type_of_the_tensor(device: sg.Device) -> None:
    half, wide = of(device, [0.5, 1.5], sg.float16), of(device, [1.0, 2.0])
    assert half.add_(wide).dtype == sg.float16 and half.tolist() == [1.5, 3.5]
    half *= wide
    assert half.dtype == sg.float16 and half.tolist() == [1.5, 7.0]
    small = of(device, [250, 3], sg.uint8)
    assert small.add_(of(device, [10, 1])).tolist() == [4, 4], "wraps around"
    assert of(device, [1.5]).mul_(of(device, [2])).tolist() == [3.0]
    x = of(device, [1.0, 2.0]).requires_grad_()
    y = x.clone().to(sg.float16)
    y.mul_(x)
    y.float().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    for tensor, other in ((of(device, [1]), 0.5), (of(device, [True]), 1), (of(device, [1]), of(device, [0.5]))):
        with pytest.raises(TypeError, match=r"add_: the result is .*; convert the tensor first"):
            tensor.add_(other)


def test_alpha_scales_a_number_and_in_the_type_of_the_result(device: sg.Device) -> None:
    x = of(device, [1.0, 2.0])
    assert sg.add(x, 3, alpha=2).tolist() == [7.0, 8.0] and sg.sub(x, 1.5, alpha=2).tolist() == [-2.0, -1.0]
    assert sg.add(of(device, [1]), 3, alpha=2).tolist() == [7]
    bytes_ = of(device, [200, 1], sg.uint8)
    assert sg.add(x, bytes_, alpha=2).tolist() == [401.0, 4.0]
    assert sg.add(of(device, [1, 1]), bytes_, alpha=-1).tolist() == [-199, 0]
    single = of(device, 2.0, sg.float64)
    assert x.addcmul(bytes_, single).dtype == x.addcdiv(x, single, value=2).dtype == sg.float32
    assert sg.add(of(device, 1.5, sg.bfloat16), of(device, [1.0], sg.float16), alpha=2).dtype == sg.float16


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_whole_numbers_to_powers_below_zero_are_fractions(dtype: str, device: sg.Device) -> None:
    base = of(device, [0, 1, 2, 3], getattr(sg, dtype))
    power = of(device, [-1, -2, -1, -3], sg.int64)
    assert (base**power).tolist() == [0, 1, 0, 0]
    if dtype != "uint8":
        base = of(device, [-1, -1, -2, -1], getattr(sg, dtype))
        assert (base**power).tolist() == [-1, 1, 0, -1]


def test_whole_numbers_to_a_float_are_floats(device: sg.Device) -> None:
    x = of(device, [1, 2, 3])
    assert (x**2.0).dtype == (x**3.0).dtype == sg.float32 and (x**2.0).tolist() == [1.0, 4.0, 9.0]
    assert (x**2).dtype == sg.int64
    flags = of(device, [True, False])
    assert flags.square().dtype == (flags**2).dtype == sg.int64 and flags.square().tolist() == [1, 0]


def test_small_whole_numbers_meet_a_number_as_int32(device: sg.Device) -> None:
    """A number that the type does not hold is taken as it is, where PyTorch would wrap it first."""
    x = of(device, [1, 255], sg.uint8)
    assert (x >= -2).tolist() == [True, True] and (x < -2).tolist() == [False, False]
    assert sg.maximum(x, of(device, -2)).tolist() == [254, 255]  # a tensor wraps
    assert x.clamp(-2, 200).tolist() == [1, 200]
    assert (of(device, [50], sg.int8) < 300).tolist() == [True]


def test_numbers_become_truth_values_by_being_unequal_to_zero(device: sg.Device) -> None:
    x = sg.zeros(2, dtype=sg.bool, device=device)
    assert sg.full_like(x, 0.5).tolist() == x.new_full((2,), 0.5).tolist() == [True, True]
    assert sg.full((1,), 0.25, dtype=sg.bool, device=device).tolist() == [True]
    assert x.clone().fill_(0.5).tolist() == [True, True]
    assert x.masked_fill(of(device, [True, False]), 0.5).tolist() == [True, False]
    assert x.scatter(0, of(device, [1]), -0.25).tolist() == [False, True]


def test_a_mask_leaves_large_whole_numbers_alone(device: sg.Device) -> None:
    x = of(device, [2**62 + 1, 5])
    mask = of(device, [False, True])
    assert x.masked_fill(mask, 1.5).tolist() == [2**62 + 1, 1]
    assert x.clone().masked_fill_(mask, of(device, 2.5)).tolist() == [2**62 + 1, 2]
    y = x.clone()
    y[mask] = 3.5
    assert y.tolist() == [2**62 + 1, 3]


def test_conditions_of_any_type_do_not_change_the_result(device: sg.Device) -> None:
    condition = of(device, [2, 0])
    small = of(device, [1, 2], sg.int8)
    assert sg.where(condition, small, small).dtype == sg.int8
    assert sg.where(condition, 1.5, small).tolist() == [1.5, 2.0]


def test_quantiles_of_one_number_and_of_none(device: sg.Device) -> None:
    x = of(device, 2.0)
    assert x.quantile(0.5, dim=0, keepdim=True).shape == ()
    assert x.quantile(of(device, [0.25, 0.75]), dim=0, keepdim=True).shape == (2,)
    for q in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"quantile: q is .*; give a number from 0 to 1"):
            x.quantile(q)
    with pytest.raises(ValueError, match=r"quantile: no elements in \[2, 0, 1\]"):
        sg.zeros(2, 0, 1, device=device).quantile(0.5, dim=0)
    ends = of(device, [-np.inf, 2.0, 3.0])
    assert ends.quantile(0.25, interpolation="midpoint").item() == -np.inf


def test_one_variable_has_one_covariance(device: sg.Device) -> None:
    x = of(device, [[1.0, 2.0, 4.0]])
    assert x.cov().shape == x.corrcoef().shape == () and x.corrcoef().item() == 1.0
    assert sg.ones(2, 3, device=device).cov().shape == (2, 2)


@pytest.mark.parametrize("correction", [0, 1])
def test_observations_may_be_weighted(device: sg.Device, correction: int) -> None:
    x, often, much = np.random.default_rng(0).normal(size=(3, 5)), np.array([1, 3, 2, 1, 4]), np.arange(1, 6) / 3
    y = sg.tensor(x, dtype=sg.float32, device=device)
    f, a = sg.tensor(often, device=device), sg.tensor(much, dtype=sg.float32, device=device)
    for ours, theirs in (({"fweights": f}, {"fweights": often}), ({"aweights": a}, {"aweights": much})):
        want = np.cov(x, ddof=correction, **theirs)
        np.testing.assert_allclose(y.cov(correction=correction, **ours).numpy(), want, rtol=1e-4, atol=1e-5)
    want = np.cov(x, ddof=correction, fweights=often, aweights=much)
    np.testing.assert_allclose(y.cov(correction=correction, fweights=f, aweights=a).numpy(), want, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="cov: fweights are float32; use integers, or aweights"):
        y.cov(fweights=a)
    with pytest.raises(ValueError, match=r"cov: aweights \[4\] for 5 observations"):
        y.cov(aweights=a[1:])


def test_block_diag_and_diff_promote_as_arithmetic_does(device: sg.Device) -> None:
    assert sg.block_diag(of(device, 1, sg.int8), of(device, [3, 3], sg.uint8)).dtype == sg.uint8
    none = sg.zeros(0, dtype=sg.bool, device=device)
    assert none.diff(append=of(device, [3, 5])).tolist() == [2]


def test_zero_to_the_power_zero_is_flat_in_the_exponent(device: sg.Device) -> None:
    exponent = of(device, [0.0, 2.0]).requires_grad_()
    (of(device, [0.0, 0.0]) ** exponent).sum().backward()
    assert exponent.grad is not None and exponent.grad.tolist() == [0.0, 0.0]


def test_softmax_converts_first(device: sg.Device) -> None:
    x = of(device, [0, 0], sg.int8)
    assert x.softmax(0, dtype=sg.float64).dtype == x.log_softmax(0, dtype=sg.float64).dtype == sg.float64
    assert F.softmax(x, 0, dtype=sg.float64).tolist() == [0.5, 0.5]


def test_a_ceiling_admits_a_kernel_beyond_the_image(device: sg.Device) -> None:
    x = of(device, [[[1.0, 3.0]]]).requires_grad_()
    assert F.max_pool1d(x, 3, ceil_mode=True).tolist() == [[[3.0]]]
    y = F.avg_pool1d(x, 3, ceil_mode=True)
    assert y.tolist() == [[[2.0]]], "what is beside the image does not count"
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[[0.5, 0.5]]]
    with pytest.raises(ValueError, match="use a smaller kernel, or more padding"):
        F.max_pool1d(x, 3)
    with pytest.raises(ValueError, match="use at most half of the kernel"):
        F.max_pool1d(sg.ones(1, 1, 9, device=device), 3, padding=2, dilation=2)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.expand(-1), ValueError, r"expand: \[\] does not expand to \[-1\]"),
        (lambda x: x.broadcast_to((-1, 2)), ValueError, r"does not expand to"),
        (lambda x: x.gather(5, sg.zeros((), dtype=sg.int64)), IndexError, "gather: dimension 5 out of range"),
        (lambda x: sg.one_hot(sg.tensor([0]), 0), ValueError, "one_hot: num_classes is 0; give 1 or more"),
        (lambda x: sg.zeros(0).unflatten(0, (0, -1)), ValueError, "unflatten: sizes .* do not make up"),
        (lambda x: sg.arange(3, 1, -0.5, dtype=sg.int64), ValueError, "arange: step 0"),
    ],
)
def test_refused(call: Callable[[sg.Tensor], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(sg.tensor(1.0))


def test_bounds_of_whole_ranges_are_whole(device: sg.Device) -> None:
    assert sg.arange(-3, 2.5, dtype=sg.int64, device=device).tolist() == [-3, -2, -1, 0, 1]
    assert sg.linspace(1, 3.5, 7, dtype=sg.int64, device=device).tolist() == [1, 1, 1, 2, 2, 2, 3]


def test_small_leniencies(device: sg.Device) -> None:
    x = of(device, [np.nan, 1.0])
    assert x.nan_to_num(nan=None).tolist() == [0.0, 1.0]
    y = sg.zeros(3, device=device)
    y[1] = of(device, [5.0])
    assert y.tolist() == [0.0, 5.0, 0.0]
    values, places = of(device, 7.0).topk(0)
    assert values.item() == 7.0 and places.item() == 0
    flags = of(device, [True, False]).index_add(0, of(device, [1]), of(device, [True]))
    assert flags.dtype == sg.bool and flags.tolist() == [True, True]


def test_truth_values_in_sums_of_products_are_counted(device: sg.Device) -> None:
    mask = sg.tensor([[True, True], [True, True], [False, True]], device=device)
    x = sg.tensor([1.0, 2.0], device=device)
    assert sg.einsum("ab,c->c", mask, x).tolist() == [5, 10]
    assert sg.einsum("ab,b->b", mask, x).tolist() == [2, 6]
    assert sg.einsum("ab,b->a", mask, x).tolist() == [3, 3, 2]
    assert sg.einsum("ab,ab,b->", mask, mask, x).item() == 8
    for equation, want in (("ab->", 5), ("ab->b", [2, 3]), ("ab->a", [2, 2, 1])):
        counted = sg.einsum(equation, mask)
        assert counted.dtype == sg.int64 and counted.tolist() == want
    assert sg.einsum("a,b->ab", mask[2], mask[2]).dtype == sg.bool
    for products in (
        lambda: sg.einsum("ab,ab->", mask, mask),
        lambda: sg.einsum("ab,cb->ac", mask, mask),
        lambda: sg.tensordot(mask, mask.T, 1),
        lambda: mask @ mask.T,
    ):
        with pytest.raises(TypeError, match="booleans have no product"):
            products()


def test_small_whole_numbers_do_not_wrap_in_einsum(device: sg.Device) -> None:
    many = sg.full((300,), 200, dtype=sg.uint8, device=device)
    assert sg.einsum("a->", many).item() == many.sum().item() == 60000
