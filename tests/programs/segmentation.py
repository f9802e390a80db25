"""Segmentation: a U-shaped network with atrous pooling, focal and Dice losses, EMA weights and a confusion matrix."""

import copy
from collections import OrderedDict
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shared import device, fill, integers, normal, report


@dataclass
class Config:
    channels: list[int] = field(default_factory=lambda: [6, 8, 12])
    rates: tuple[int, ...] = (1, 2, 3)
    classes: int = 4


class SeparableConv2d(nn.Sequential):
    def __init__(self, cin, cout, stride=1, dilation=1):
        super().__init__(
            OrderedDict(
                depthwise=nn.Conv2d(cin, cin, 3, stride, padding=dilation, dilation=dilation, groups=cin, bias=False),
                pointwise=nn.Conv2d(cin, cout, 1, bias=False),
                norm=nn.GroupNorm(2, cout),
                act=nn.Hardswish(inplace=True),
            )
        )


class ASPP(nn.Module):
    def __init__(self, cin, cout, rates):
        super().__init__()
        self.convs = nn.ModuleList([SeparableConv2d(cin, cout, dilation=r) for r in rates])
        self.pooling = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(cin, cout, 1), nn.ReLU())
        self.project = nn.Conv2d(cout * (len(rates) + 1), cout, 1)

    def forward(self, x: Tensor) -> Tensor:
        found = [conv(x) for conv in self.convs]
        found.append(F.interpolate(self.pooling(x), size=x.shape[-2:], mode="bilinear", align_corners=False))
        return self.project(torch.cat(found, dim=1))


class SqueezeExcite(nn.Module):
    def __init__(self, c, r=2):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(c, c // r), nn.SiLU(), nn.Linear(c // r, c), nn.Hardsigmoid())

    def forward(self, x):
        n, c, *_ = x.size()
        return x * self.fc(x.mean((2, 3))).view(n, c, 1, 1)


class Net(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        a, b, c = config.channels
        self.stem = SeparableConv2d(3, a)
        self.down1 = nn.Sequential(SeparableConv2d(a, b, stride=2), SqueezeExcite(b))
        self.down2 = SeparableConv2d(b, c, stride=2)
        self.aspp = ASPP(c, c, config.rates)
        self.up1 = nn.ConvTranspose2d(c, b, 2, stride=2)
        self.up2 = nn.Sequential(nn.Conv2d(2 * b, 4 * a, 3, padding=1, padding_mode="reflect"), nn.PixelShuffle(2))
        self.head = nn.Conv2d(2 * a, config.classes, 1)

    def forward(self, x):
        s1 = self.stem(x)
        s2 = self.down1(s1)
        h = self.aspp(self.down2(s2))
        h = torch.cat((self.up1(h), s2), 1)
        return self.head(torch.cat((self.up2(h), s1), 1))


def dice_loss(logits, target, eps=1.0):
    p = logits.softmax(1)
    y = F.one_hot(target, p.size(1)).permute(0, 3, 1, 2).type_as(p)
    both = torch.einsum("nchw,nchw->nc", p, y)
    return (1 - (2 * both + eps) / (p.sum((2, 3)) + y.sum((2, 3)) + eps)).mean()


class FocalLoss(nn.Module):
    def __init__(self, alpha, gamma=2.0):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("alpha", torch.as_tensor(alpha))

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, weight=self.alpha, reduction="none", ignore_index=255)
        return ((1 - torch.exp(-ce)) ** self.gamma * ce).mean()


@torch.no_grad()
def update_ema(ema, model, decay):
    for e, p in zip(ema.state_dict().values(), model.state_dict().values(), strict=True):
        if e.dtype.is_floating_point:
            e.mul_(decay).add_(p, alpha=1 - decay)


@torch.inference_mode()
def confusion(model, x, y, classes):
    model.eval()
    guess = model(x).argmax(1)
    keep = y != 255
    counts = torch.bincount(classes * y[keep] + guess[keep], minlength=classes**2).reshape(classes, classes)
    iou = counts.diag() / (counts.sum(0) + counts.sum(1) - counts.diag()).clamp_min(1)
    model.train()
    return counts, iou


config = Config()
model = Net(config).to(device)
fill(model)
ema = copy.deepcopy(model).requires_grad_(False)
focal = FocalLoss([0.5, 1.0, 1.0, 2.0]).to(device)
optimizer = torch.optim.NAdam(model.parameters(), lr=4e-3)
images = normal(3, 3, 16, 16)
labels = integers(4, 3, 16, 16, seed=2)
masked = labels.masked_fill(integers(10, 3, 16, 16, seed=3) == 0, 255)
for step in range(5):
    for group in optimizer.param_groups:
        group["lr"] = 4e-3 * (1 - step / 5) ** 0.9
    optimizer.zero_grad()
    logits = model(images)
    loss = focal(logits, masked) + dice_loss(logits, labels)
    loss.backward()
    optimizer.step()
    update_ema(ema, model, 0.8)
    report(step, loss)
counts, iou = confusion(ema, images, masked, config.classes)
print("pixels", int(counts.sum()), int((masked != 255).sum()))
report("ema", F.cross_entropy(ema(images), masked, ignore_index=255))
