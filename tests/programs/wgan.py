"""A WGAN with a gradient penalty: the gradient of a norm of a gradient."""

import torch
import torch.autograd as autograd
import torch.nn as nn
from torch.autograd import Variable

from shared import fill, normal, report

cuda = True if torch.cuda.is_available() else False  # noqa: SIM210
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()  # noqa: UP008

        def block(in_feat, out_feat, normalize=True):
            layers = [nn.Linear(in_feat, out_feat)]
            if normalize:
                layers.append(nn.BatchNorm1d(out_feat, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(*block(6, 16, normalize=False), *block(16, 24), nn.Linear(24, 16), nn.Tanh())

    def forward(self, z):
        img = self.model(z)
        return img.view(img.shape[0], *(1, 4, 4))


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()  # noqa: UP008
        self.model = nn.Sequential(
            nn.Linear(16, 20, bias=False), nn.LeakyReLU(0.2, inplace=True), nn.Linear(20, 1, bias=False)
        )

    def forward(self, img):
        return self.model(img.view(img.shape[0], -1))


def compute_gradient_penalty(D, real_samples, fake_samples, alpha):
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = Variable(Tensor(real_samples.shape[0], 1).fill_(1.0), requires_grad=False)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=fake,
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


generator, discriminator = fill(Generator()), fill(Discriminator(), seed=2)
if cuda:
    generator.cuda()
    discriminator.cuda()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
real_imgs = Variable(normal(8, 1, 4, 4).type(Tensor))
for i in range(5):
    optimizer_D.zero_grad()
    z = normal(8, 6, seed=i)
    fake_imgs = generator(z)
    alpha = normal(8, 1, 1, 1, seed=50 + i).sigmoid()
    penalty = compute_gradient_penalty(discriminator, real_imgs.data, fake_imgs.data, alpha)
    d_loss = -torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs)) + 10 * penalty
    d_loss.backward()
    optimizer_D.step()
    report(i, d_loss.item())
    optimizer_G.zero_grad()
    if i % 2 == 0:
        g_loss = -torch.mean(discriminator(generator(z)))
        g_loss.backward()
        optimizer_G.step()
        report("generator", g_loss.item())
