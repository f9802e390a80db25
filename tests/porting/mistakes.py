"""What programs get wrong and PyTorch lets pass, mostly with a warning."""

import warnings

import torch
import torch.nn.functional as F

a, b = torch.linspace(0.1, 0.9, 3).reshape(3, 1).requires_grad_(), torch.linspace(0.25, 0.7, 3)
for name in (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "hinge_embedding_loss",
    "cosine_embedding_loss", "binary_cross_entropy", "soft_margin_loss",
):  # fmt: skip
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            a.grad = None
            loss = F.cosine_embedding_loss(a, b[None], torch.ones(3)) if "cosine" in name else getattr(F, name)(a, b)
            loss.backward()
            print(name, loss.detach(), a.grad.flatten() if name[0] != "c" else "", *(str(w.message) for w in told))
        except (ValueError, RuntimeError):
            print(name, "error")
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(torch.nn.MSELoss(reduction="sum")(a, b[:1]).detach(), torch.nn.L1Loss()(b, b).item(), len(told))
    try:
        F.mse_loss(a, torch.zeros(2, 2))
    except RuntimeError:
        print("shapes that do not broadcast")
