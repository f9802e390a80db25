"""Forms of arguments that programs of PyTorch's first years use: reductions without names, arrays in lists."""

import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

warnings.filterwarnings("ignore")


def show(label, *values):
    print(label, *[v.detach() if isinstance(v, torch.Tensor) else v for v in values])


# ---- reductions without names ----
a, b = torch.sigmoid(torch.arange(6.0).reshape(3, 2) - 2), torch.full((3, 2), 0.7)
classes, signs = torch.tensor([0, 1, 1]), torch.tensor([1, -1, 1])
weight = torch.tensor([1.0, 2.0])
for old in ((False,), (True, False), (None, None, "sum"), (None, False), (True, True), ()):
    for name in ("mse_loss", "l1_loss", "kl_div", "smooth_l1_loss", "soft_margin_loss"):
        show(f"{name} {old}", getattr(F, name)(a, b, *old))
    show(f"binary_cross_entropy {old}", F.binary_cross_entropy(a, b, None, *old))
    show(f"with logits {old}", F.binary_cross_entropy_with_logits(a, b, weight, *old))
    show(f"hinge_embedding_loss {old}", F.hinge_embedding_loss(a, (a - 0.5).sign(), 0.5, *old))
    show(f"margin_ranking_loss {old}", F.margin_ranking_loss(a, b, b.sign(), 0.1, *old))
    show(f"multi_margin_loss {old}", F.multi_margin_loss(a, classes, 1, 1.0, None, *old))
    show(f"multilabel_soft_margin_loss {old}", F.multilabel_soft_margin_loss(a, b, None, *old))
    show(f"triplet_margin_loss {old}", F.triplet_margin_loss(a, b, b * 2, 1.0, 2, 1e-6, False, *old))
    show(f"cosine_embedding_loss {old}", F.cosine_embedding_loss(a, b, signs, 0.0, *old))
    show(f"MSELoss {old}", nn.MSELoss(*old)(a, b))
    show(f"BCELoss {old}", nn.BCELoss(None, *old)(a, b))
    show(f"KLDivLoss {old}", nn.KLDivLoss(*old)(a, b))
# `size_average` comes before `ignore_index`
for old in ((), (False,), (None, 1), (False, 1, True), (True, -100, None, "sum")):
    show(f"cross_entropy {old}", F.cross_entropy(a, classes, weight, *old))
    show(f"nll_loss {old}", F.nll_loss(a, classes, None, *old))
    show(f"CrossEntropyLoss {old}", nn.CrossEntropyLoss(weight, *old)(a, classes))
    show(f"NLLLoss {old}", nn.NLLLoss(None, *old)(a, classes))
show("poisson_nll_loss", F.poisson_nll_loss(a, b, True, False, False), F.poisson_nll_loss(a, b, False, True, None, 0.1))
show("huber_loss", F.huber_loss(a, b, "sum", 0.1), nn.HuberLoss("none", 0.2)(a, b))
for wrong in (
    lambda: F.mse_loss(a, b, False, reduce=True, size_average=False),
    lambda: nn.L1Loss(None, None, "sum", 1),
):
    try:
        wrong()
    except TypeError:
        print("TypeError")

# ---- tensors of lists of arrays ----
rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
print(torch.tensor(rows), torch.tensor([rows[0], [3.0, 4.0]]), torch.tensor([[rows[0]], [rows[1]]]).shape)
print(torch.tensor([np.array([1, 2], np.uint8)] * 2), torch.tensor([np.array([1], np.float32), np.array([2])]))
print(torch.tensor(tuple(rows), dtype=torch.float32), torch.tensor([np.array([True]), np.array([False])]))

# ---- a norm by its name ----
p = nn.Parameter(torch.ones(3))
(p * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(nn.utils.clip_grad_norm_(p, 1.5, norm_type="inf"), p.grad)

# ---- names that few programs use ----
print(
    torch.selu_(torch.tensor([-1.0, 2.0])), torch.celu_(torch.tensor([-1.0, 2.0])), torch.get_deterministic_debug_mode()
)
print(torch.threshold_(torch.tensor([-1.0, 2.0]), 0.0, 5.0), torch.is_warn_always_enabled())
print(torch.tensor([4, 6]).gcd_(torch.tensor([6, 9])), torch.tensor([4, 6]).lcm_(torch.tensor([6, 9])))
print(torch.tensor([3.0]).mvlgamma_(2))
weight = nn.Parameter(torch.ones(1))
weight.grad = torch.ones(1)
optimizers = torch.optim.SGD([weight], 0.1), torch.optim.Adam([weight], 0.1)
handles = [
    register_optimizer_step_pre_hook(lambda opt, args, kwargs: print("before", type(opt).__name__)),
    register_optimizer_step_post_hook(lambda opt, args, kwargs: print("after", type(opt).__name__)),
]
optimizers[0].register_step_pre_hook(lambda opt, args, kwargs: print("its own"))
for optimizer in optimizers:
    optimizer.step()
for handle in handles:
    handle.remove()
optimizers[0].step()
print(weight.data)
net = torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)).eval())
show("batch norm", net(torch.tensor([[1.0, 2.0], [3.0, 5.0]])), list(net.state_dict()))
state = {"module.a": 1, "b": 2}
nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
print(sorted(state))
made = torch.testing.make_tensor((2, 3), dtype=torch.float32, device="cpu", low=1, high=2)
print(
    made.shape,
    bool((made >= 1).all() and (made <= 2).all()),
    torch.testing.make_tensor(3, dtype=torch.bool, device="cpu").dtype,
)

# ---- the order of dimensions in memory ----
x = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
print(torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride())
print(torch.zeros_like(x, memory_format=torch.preserve_format).stride())
print(torch.ones_like(x, memory_format=torch.contiguous_format).stride())
print(torch.full_like(x.contiguous(), 3.0, memory_format=torch.channels_last).stride())
print(torch.zeros_like(x, requires_grad=True, memory_format=torch.channels_last).requires_grad)
