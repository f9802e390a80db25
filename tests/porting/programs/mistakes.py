"""What programs get wrong and PyTorch lets pass, mostly with a warning."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

from checking import check

a, b = torch.linspace(0.1, 0.9, 3).reshape(3, 1).requires_grad_(), torch.linspace(0.25, 0.7, 3)
LOSSES = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "hinge_embedding_loss"]
LOSSES += ["cosine_embedding_loss", "binary_cross_entropy", "soft_margin_loss"]


@pytest.mark.parametrize("name", LOSSES)
def test_a_target_of_another_shape(name):
    a.grad = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            loss = F.cosine_embedding_loss(a, b[None], torch.ones(3)) if "cosine" in name else getattr(F, name)(a, b)
        except (ValueError, RuntimeError):
            check("error")
            return
        loss.backward()
    check(loss, a.grad if name[0] != "c" else None, [str(w.message) for w in told])


def test_layers_warn_too():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check(torch.nn.MSELoss(reduction="sum")(a, b[:1]), torch.nn.L1Loss()(b, b), len(told))


@pytest.mark.filterwarnings("ignore")
def test_shapes_that_do_not_broadcast():
    with pytest.raises(RuntimeError):
        F.mse_loss(a, torch.zeros(2, 2))


# ---- what PyTorch refuses --------------------------------------------------------------------------------------------
WIDE, LINEAR = torch.ones(4, 3, dtype=torch.float64), torch.nn.Linear(3, 2)
OF_TWO_TYPES = {
    "linear": lambda: LINEAR(WIDE),
    "of integers": lambda: LINEAR(torch.ones(4, 3, dtype=torch.int64)),
    "of halves": lambda: LINEAR(torch.ones(4, 3, dtype=torch.bfloat16)),
    "conv1d": lambda: torch.nn.Conv1d(3, 2, 1)(WIDE[..., None]),
    "conv_transpose2d": lambda: torch.nn.ConvTranspose2d(3, 2, 1)(WIDE[..., None, None]),
    "matmul": lambda: WIDE @ torch.ones(3, 2),
    "bmm": lambda: torch.bmm(WIDE[None], torch.ones(1, 3, 2)),
    "tensordot": lambda: torch.tensordot(WIDE, torch.ones(3, 2), 1),
}


@pytest.mark.parametrize("name", OF_TWO_TYPES)
def test_products_of_two_types(name):
    with pytest.raises(RuntimeError, match=r"same|expected scalar type"):
        OF_TWO_TYPES[name]()


def test_products_of_one_type():
    check(torch.nn.Linear(3, 2).double()(WIDE).dtype, (WIDE * torch.ones(3)).dtype)
    check(F.scaled_dot_product_attention(WIDE[None], WIDE[None], WIDE[None]).dtype)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_divided_by_0(name):
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        getattr(torch, name)(torch.tensor([1, 2]), 0)
    check(getattr(torch, name)(torch.tensor([1.0, -2]), 0), getattr(torch, name)(torch.tensor([1, 2]), 0.0))


def test_quotients_by_0_that_are_cut_off():
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        torch.div(torch.tensor([1, 2]), 0, rounding_mode="trunc")


@pytest.mark.parametrize(("input", "target"), [([1.5, 0.2], [1.0, 0.0]), ([0.5, 0.2], [2.0, 0.0]), ([math.nan], [1.0])])
def test_probabilities_out_of_range(input, target):
    with pytest.raises(RuntimeError, match=r"between 0 and 1|\[0, 1\]"):
        F.binary_cross_entropy(torch.tensor(input), torch.tensor(target)).item()


def test_probabilities_of_0_and_1():
    check(F.binary_cross_entropy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.0])))
