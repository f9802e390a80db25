"""Forms of arguments that programs of PyTorch's first years use: reductions without names, arrays in lists."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from checking import check

warnings.filterwarnings("ignore")

# ---- reductions without names ----------------------------------------------------------------------------------------
a, b = torch.sigmoid(torch.arange(6.0).reshape(3, 2) - 2), torch.full((3, 2), 0.7)
classes, signs = torch.tensor([0, 1, 1]), torch.tensor([1, -1, 1])
weight = torch.tensor([1.0, 2.0])
LOSSES = {
    "mse_loss": lambda *old: F.mse_loss(a, b, *old),
    "l1_loss": lambda *old: F.l1_loss(a, b, *old),
    "kl_div": lambda *old: F.kl_div(a, b, *old),
    "smooth_l1_loss": lambda *old: F.smooth_l1_loss(a, b, *old),
    "soft_margin_loss": lambda *old: F.soft_margin_loss(a, b, *old),
    "binary_cross_entropy": lambda *old: F.binary_cross_entropy(a, b, None, *old),
    "binary_cross_entropy_with_logits": lambda *old: F.binary_cross_entropy_with_logits(a, b, weight, *old),
    "hinge_embedding_loss": lambda *old: F.hinge_embedding_loss(a, (a - 0.5).sign(), 0.5, *old),
    "margin_ranking_loss": lambda *old: F.margin_ranking_loss(a, b, b.sign(), 0.1, *old),
    "multi_margin_loss": lambda *old: F.multi_margin_loss(a, classes, 1, 1.0, None, *old),
    "multilabel_soft_margin_loss": lambda *old: F.multilabel_soft_margin_loss(a, b, None, *old),
    "triplet_margin_loss": lambda *old: F.triplet_margin_loss(a, b, b * 2, 1.0, 2, 1e-6, False, *old),
    "cosine_embedding_loss": lambda *old: F.cosine_embedding_loss(a, b, signs, 0.0, *old),
    "MSELoss": lambda *old: nn.MSELoss(*old)(a, b),
    "BCELoss": lambda *old: nn.BCELoss(None, *old)(a, b),
    "KLDivLoss": lambda *old: nn.KLDivLoss(*old)(a, b),
}
OF_CLASSES = {
    "cross_entropy": lambda *old: F.cross_entropy(a, classes, weight, *old),
    "nll_loss": lambda *old: F.nll_loss(a, classes, None, *old),
    "CrossEntropyLoss": lambda *old: nn.CrossEntropyLoss(weight, *old)(a, classes),
    "NLLLoss": lambda *old: nn.NLLLoss(None, *old)(a, classes),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_reduction_without_a_name(loss):
    for old in ((False,), (True, False), (None, None, "sum"), (None, False), (True, True), ()):
        check(str(old), LOSSES[loss](*old))


@pytest.mark.parametrize("loss", OF_CLASSES)
def test_size_average_comes_before_ignore_index(loss):
    for old in ((), (False,), (None, 1), (False, 1, True), (True, -100, None, "sum")):
        check(str(old), OF_CLASSES[loss](*old))


def test_poisson_nll_loss():
    check(F.poisson_nll_loss(a, b, True, False, False), F.poisson_nll_loss(a, b, False, True, None, 0.1))


def test_huber_loss():
    check(F.huber_loss(a, b, "sum", 0.1), nn.HuberLoss("none", 0.2)(a, b))


@pytest.mark.parametrize(
    "wrong",
    [lambda: F.mse_loss(a, b, False, reduce=True, size_average=False), lambda: nn.L1Loss(None, None, "sum", 1)],
    ids=["twice", "too many"],
)
def test_wrong_arguments(wrong):
    with pytest.raises(TypeError):
        wrong()


# ---- tensors of lists of arrays --------------------------------------------------------------------------------------
def test_tensors_of_lists_of_arrays():
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    check(torch.tensor(rows), torch.tensor([rows[0], [3.0, 4.0]]), torch.tensor([[rows[0]], [rows[1]]]).shape)
    check(torch.tensor([np.array([1, 2], np.uint8)] * 2), torch.tensor([np.array([1], np.float32), np.array([2])]))
    check(torch.tensor(tuple(rows), dtype=torch.float32), torch.tensor([np.array([True]), np.array([False])]))


def test_a_norm_by_its_name():
    p = nn.Parameter(torch.ones(3))
    (p * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    check(nn.utils.clip_grad_norm_(p, 1.5, norm_type="inf"), p.grad)


# ---- names that few programs use -------------------------------------------------------------------------------------
def test_in_place_functions():
    check(torch.selu_(torch.tensor([-1.0, 2.0])), torch.celu_(torch.tensor([-1.0, 2.0])))
    check(torch.threshold_(torch.tensor([-1.0, 2.0]), 0.0, 5.0), torch.tensor([3.0]).mvlgamma_(2))
    check(torch.tensor([4, 6]).gcd_(torch.tensor([6, 9])), torch.tensor([4, 6]).lcm_(torch.tensor([6, 9])))


def test_settings():
    check(torch.get_deterministic_debug_mode(), torch.is_warn_always_enabled())


def test_hooks_of_all_optimisers():
    weight = nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    optimizers = torch.optim.SGD([weight], 0.1), torch.optim.Adam([weight], 0.1)
    handles = [
        register_optimizer_step_pre_hook(lambda opt, args, kwargs: check("before", type(opt).__name__)),
        register_optimizer_step_post_hook(lambda opt, args, kwargs: check("after", type(opt).__name__)),
    ]
    optimizers[0].register_step_pre_hook(lambda opt, args, kwargs: check("its own"))
    for optimizer in optimizers:
        optimizer.step()
    for handle in handles:
        handle.remove()
    optimizers[0].step()
    check(weight.data)


def test_replace_all_batch_norm_modules():
    net = torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)).eval())
    check(net(torch.tensor([[1.0, 2.0], [3.0, 5.0]])), list(net.state_dict()))


def test_consume_prefix_in_state_dict_if_present():
    state = {"module.a": 1, "b": 2}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    check(sorted(state))


def test_make_tensor():
    made = torch.testing.make_tensor((2, 3), dtype=torch.float32, device="cpu", low=1, high=2)
    check(made.shape, bool((made >= 1).all() and (made <= 2).all()))
    check(torch.testing.make_tensor(3, dtype=torch.bool, device="cpu").dtype)


# ---- the order of dimensions in memory -------------------------------------------------------------------------------
def test_memory_format():
    x = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    check(torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride())
    check(torch.zeros_like(x, memory_format=torch.preserve_format).stride())
    check(torch.ones_like(x, memory_format=torch.contiguous_format).stride())
    check(torch.full_like(x.contiguous(), 3.0, memory_format=torch.channels_last).stride())
    check(torch.zeros_like(x, requires_grad=True, memory_format=torch.channels_last).requires_grad)
