"""A linear system fitted to its path: matrix exponentials, LU factors, and gradients through both."""

import torch

from shared import device, normal, report

true = torch.tensor([[-0.1, 2.0, 0.0], [-2.0, -0.1, 0.5], [0.0, 0.3, -0.4]])
times = torch.linspace(0.1, 2.0, 12)
start = torch.tensor([1.0, 0.0, 0.5])
path = torch.stack([torch.linalg.matrix_exp(t * true) @ start for t in times]).to(device)
times, start = times.to(device), start.to(device)

A = (true.to(device) + 0.3 * normal(3, 3)).requires_grad_()
optimizer = torch.optim.Adam([A], lr=0.05, betas=(0.8, 0.95))
for step in range(4):
    optimizer.zero_grad()
    found = torch.matrix_exp(times[:, None, None] * A) @ start
    loss = (found - path).square().sum()
    loss.backward()
    optimizer.step()
    report(step, loss)

rest = torch.linalg.lu_solve(*torch.linalg.lu_factor(A.cpu()), start.cpu()[:, None])
rest.square().sum().backward()
print(f"rest {float(rest.sum()):.5g}")
print(f"slope {float(A.grad.abs().sum()):.5g}")
slopes = torch.gradient(path.cpu(), spacing=(times.cpu(),), dim=0)[0]
print(f"speed {float(slopes.norm()):.5g}")
