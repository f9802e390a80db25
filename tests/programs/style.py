"""Style transfer: Gram matrices of features that in-place activations change, and LBFGS on the picture."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import fill, normal, report

cnn = fill(
    nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(6, 8, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(inplace=True),
    )
).eval()
for parameter in cnn.parameters():
    parameter.requires_grad_(False)


def features(x):
    kept = []
    for layer in cnn:
        x = layer(x)
        if isinstance(layer, nn.Conv2d):
            kept.append(x)
    return kept


def gram(x):
    n, c, h, w = x.size()
    flat = x.view(n * c, h * w)
    return torch.mm(flat, flat.t()).div(n * c * h * w)


with torch.no_grad():
    wanted = [gram(f) for f in features(normal(1, 3, 12, 12))]
    content = features(normal(1, 3, 12, 12, seed=1))[-1]
picture = normal(1, 3, 12, 12, seed=1).clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([picture], max_iter=4)
for step in range(3):

    def closure():
        optimizer.zero_grad()
        found = features(picture)
        style = sum(F.mse_loss(gram(f), g) for f, g in zip(found, wanted))  # noqa: B905
        loss = 1e3 * style + F.mse_loss(found[-1], content)
        loss.backward()
        return loss

    report(step, optimizer.step(closure))
