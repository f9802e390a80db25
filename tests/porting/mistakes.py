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


# ---- what PyTorch refuses ----
def refused(call):
    try:
        return call()
    except RuntimeError as error:
        return any(words in str(error) for words in ("same", "expected scalar type", "ZeroDivision")) or error


wide, lin = torch.ones(4, 3, dtype=torch.float64), torch.nn.Linear(3, 2)
for call in (
    lambda: lin(wide),
    lambda: lin(torch.ones(4, 3, dtype=torch.int64)),
    lambda: lin(torch.ones(4, 3, dtype=torch.bfloat16)),
    lambda: lin.double()(wide).dtype,
    lambda: torch.nn.Conv1d(3, 2, 1)(wide[..., None]),
    lambda: torch.nn.ConvTranspose2d(3, 2, 1)(wide[..., None, None]),
    lambda: wide @ torch.ones(3, 2),
    lambda: torch.bmm(wide[None], torch.ones(1, 3, 2)),
    lambda: torch.tensordot(wide, torch.ones(3, 2), 1),
    lambda: (wide * torch.ones(3)).dtype,
    lambda: F.scaled_dot_product_attention(wide[None], wide[None], wide[None]).dtype,
):
    print(refused(call))
for name in ("floor_divide", "remainder", "fmod"):
    print(name, refused(lambda name=name: getattr(torch, name)(torch.tensor([1, 2]), 0)))
print(refused(lambda: torch.tensor([1, 2]) // 0), torch.tensor([1.0, -2]) // 0, torch.tensor([1, 2]) // 0.0)
print(refused(lambda: torch.div(torch.tensor([1, 2]), 0, rounding_mode="trunc")))


def outside(*values):
    try:
        return F.binary_cross_entropy(*map(torch.tensor, values)).item()
    except RuntimeError as error:
        return "between 0 and 1" in str(error) or "[0, 1]" in str(error)


print(outside([1.5, 0.2], [1.0, 0.0]), outside([0.5, 0.2], [2.0, 0.0]), outside([0.0, 1.0], [0.0, 0.0]))
print(outside([float("nan")], [1.0]))
