"""What the programs here share: weights and data that do not depend on anybody's random numbers."""

import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def normal(*shape, seed=0):
    """Normal numbers, the same everywhere."""
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape).astype(np.float32)).to(device)


def integers(high, *shape, seed=0):
    """Whole numbers below a bound, the same everywhere."""
    return torch.from_numpy(np.random.RandomState(seed).randint(0, high, shape).astype(np.int64)).to(device)


def fill(module, seed=1):
    """Gives a model its first weights."""
    random = np.random.RandomState(seed)
    with torch.no_grad():
        for p in module.parameters():
            scale = 1 / np.sqrt(max(p[0].numel(), 1)) if p.dim() > 1 else 0.1
            p.copy_(torch.from_numpy((random.randn(*p.shape) * scale).astype(np.float32)))
    return module.to(device)


def report(step, loss):
    print(f"{step} {float(loss):.6g}")
