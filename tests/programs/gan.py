"""Generative: a GAN with transposed convolutions."""

import torch
import torch.nn as nn
from torch.autograd import Variable

from shared import device, fill, normal, report

generator = fill(
    nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(True),
        nn.ConvTranspose2d(16, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )
)
discriminator = fill(
    nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0, bias=False),
        nn.Flatten(),
    ),
    seed=2,
)
criterion = nn.BCEWithLogitsLoss()
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
real = Variable(normal(8, 1, 8, 8).clamp(-1, 1))
ones, zeros = torch.ones(8, 1, device=device), torch.zeros(8, 1, device=device)
for step in range(4):
    fake = generator(normal(8, 8, 1, 1, seed=20 + step))
    opt_d.zero_grad()
    loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = criterion(discriminator(fake), ones)
    loss_g.backward()
    opt_g.step()
    report(step, loss_d.data)
    report(step, loss_g.item())
