"""torch.masked: functions with a mask, and their gradients."""

import pytest
import torch
from torch import masked

from checking import check

x = torch.sin(torch.arange(24, dtype=torch.float64) * 1.7).reshape(2, 3, 4)
whole = (x * 10).int()
full = (torch.arange(24) % 3 != 0).reshape(2, 3, 4)
full[0, 1] = False
MASKS = {"none": None, "full": full, "row": torch.tensor([True, False, True, True])}
every = pytest.mark.parametrize("mask", MASKS)


def check_with_gradient(function, *args, **options):
    a = x.clone().requires_grad_()
    v = function(a, *args, **options)
    check(v)
    if v.requires_grad:
        weight = torch.cos(torch.arange(v.numel(), dtype=torch.float64)).reshape(v.shape)
        torch.where(torch.isfinite(v), v * weight, 0.0).sum().backward()
        check(a.grad)


@every
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "logsumexp", "var", "std"])
def test_reduction(name, mask):
    for dim in (None, 0, -1, (0, 2), ()):
        check_with_gradient(getattr(masked, name), dim, mask=MASKS[mask])
    check_with_gradient(getattr(masked, name), 1, keepdim=True, mask=MASKS[mask])


@every
def test_corrections(mask):
    check_with_gradient(masked.var, -1, False, mask=MASKS[mask])
    check_with_gradient(masked.std, -1, correction=2, mask=MASKS[mask])


@every
@pytest.mark.parametrize("order", [2.0, 1, 3, float("inf"), float("-inf")])
def test_norm(order, mask):
    check_with_gradient(masked.norm, order, 1, mask=MASKS[mask])


ALONG = ["softmax", "log_softmax", "softmin", "cumsum", "cumprod", "argmax", "argmin", "median"]


@every
@pytest.mark.parametrize("name", ALONG)
def test_along_a_dimension(name, mask):
    check_with_gradient(getattr(masked, name), 0, mask=MASKS[mask])
    check_with_gradient(getattr(masked, name), -1, mask=MASKS[mask])


@every
def test_normalize(mask):
    check_with_gradient(masked.normalize, 2.0, -1, mask=MASKS[mask])


@every
def test_logaddexp(mask):
    check_with_gradient(masked.logaddexp, x * 2, input_mask=MASKS[mask], other_mask=full)


@every
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "var", "argmax"])
def test_integers(name, mask):
    check(getattr(masked, name)(whole, -1, mask=MASKS[mask]))


@every
def test_softmax_of_another_type(mask):
    check(masked.softmax(x.float(), -1, dtype=torch.float64, mask=MASKS[mask]).dtype)


def test_mean_of_integers_is_refused():
    with pytest.raises(ValueError):
        masked.mean(whole, -1, mask=full)
