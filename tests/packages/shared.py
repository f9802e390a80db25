"""Weights and data that do not depend on random numbers, and three steps."""

import math

import torch


def numbers(*shape, start=1.0):
    """Numbers between -1 and 1 that look random."""
    return (
        (torch.arange(math.prod(shape), dtype=torch.float64).add(start).mul(12.9898).sin() * 43.5453)
        .sin()
        .reshape(shape)
        .float()
    )


def filled(model):
    """The model, with the same weights everywhere, and without dropout."""
    with torch.no_grad():
        for i, (name, p) in enumerate(model.named_parameters()):
            if p.requires_grad or "lora" not in name:
                p.copy_(numbers(*p.shape, start=i) * 0.2 + (1.0 if p.ndim == 1 and name.endswith("weight") else 0.0))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model


def three_steps(model, loss_of, lr=1e-2):
    """Prints the loss of each step."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    for step in range(3):
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")
