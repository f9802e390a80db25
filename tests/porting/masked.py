"""torch.masked: functions with a mask, and their gradients."""

import torch
from torch import masked

x = torch.sin(torch.arange(24, dtype=torch.float64) * 1.7).reshape(2, 3, 4)
full = (torch.arange(24) % 3 != 0).reshape(2, 3, 4)
full[0, 1] = False
MASKS = {"none": None, "full": full, "row": torch.tensor([True, False, True, True])}


def numbers(v):
    return [round(t, 5) + 0.0 for t in v.detach().double().flatten().tolist()]


def show(title, function, *args, **options):
    a = x.clone().requires_grad_()
    v = function(a, *args, **options)
    print(title, tuple(v.shape), v.dtype, numbers(v))
    if v.requires_grad:
        weight = torch.cos(torch.arange(v.numel(), dtype=torch.float64)).reshape(v.shape)
        torch.where(torch.isfinite(v), v * weight, 0.0).sum().backward()
        print("  grad", numbers(a.grad))


for name, mask in MASKS.items():
    for kind in ("sum", "prod", "mean", "amax", "amin", "logsumexp", "var", "std"):
        for dim in (None, 0, -1, (0, 2), ()):
            show(f"{kind} {name} {dim}", getattr(masked, kind), dim, mask=mask)
        show(f"{kind} {name} keepdim", getattr(masked, kind), 1, keepdim=True, mask=mask)
    show(f"var {name}", masked.var, -1, False, mask=mask)
    show(f"std {name}", masked.std, -1, correction=2, mask=mask)
    for order in (2.0, 1, 3, float("inf"), float("-inf")):
        show(f"norm {name} {order}", masked.norm, order, 1, mask=mask)
    for kind in ("softmax", "log_softmax", "softmin", "cumsum", "cumprod", "argmax", "argmin", "median"):
        show(f"{kind} {name} 0", getattr(masked, kind), 0, mask=mask)
        show(f"{kind} {name} -1", getattr(masked, kind), -1, mask=mask)
    show(f"normalize {name}", masked.normalize, 2.0, -1, mask=mask)
    show(f"logaddexp {name}", masked.logaddexp, x * 2, input_mask=mask, other_mask=full)
    whole = (x * 10).int()
    for kind in ("sum", "prod", "amax", "amin", "var", "argmax"):
        v = getattr(masked, kind)(whole, -1, mask=mask)
        print(kind, name, v.dtype, numbers(v))
    print(masked.softmax(x.float(), -1, dtype=torch.float64, mask=mask).dtype)
try:
    masked.mean(whole, -1, mask=full)
except ValueError:
    print("ValueError")
