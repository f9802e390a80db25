"""An anchor-free detector (FCOS): a feature pyramid, focal and GIoU losses, peaks, suppression of doubles."""

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.utils import _pair

from shared import device, fill, report


class Boxes(NamedTuple):
    boxes: torch.Tensor
    labels: torch.Tensor


class ConvBN(nn.Sequential):
    def __init__(self, cin, cout, k=3, s=1):
        k = _pair(k)
        conv = nn.Conv2d(cin, cout, k, s, padding=tuple(n // 2 for n in k), bias=False)
        super().__init__(
            OrderedDict(conv=conv, bn=nn.BatchNorm2d(cout, momentum=0.03), act=nn.LeakyReLU(0.1, inplace=True))
        )


class Pyramid(nn.Module):
    def __init__(self, channels, out=12):
        super().__init__()
        self.inner_blocks = nn.ModuleList(nn.Conv2d(c, out, 1) for c in channels)
        self.layer_blocks = nn.ModuleList(nn.Conv2d(out, out, 3, padding=1, padding_mode="replicate") for _ in channels)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_uniform_(m.weight, a=1)
                nn.init.constant_(m.bias, 0)

    def forward(self, x: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        names, x = list(x.keys()), list(x.values())
        last = self.inner_blocks[-1](x[-1])
        results = [self.layer_blocks[-1](last)]
        for idx in range(len(x) - 2, -1, -1):
            lateral = self.inner_blocks[idx](x[idx])
            last = lateral + F.interpolate(last, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[idx](last))
        return OrderedDict([(k, v) for k, v in zip(names, results, strict=False)])


class Scale(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([value], dtype=torch.float32))

    def forward(self, x):
        return torch.exp(self.scale * x)


class Detector(nn.Module):
    strides = (4, 8)

    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Sequential(ConvBN(3, 8, s=2), ConvBN(8, 12, s=2))
        self.deep = nn.Sequential(ConvBN(12, 16, (3, 1), 2), nn.Dropout2d(0.0), ConvBN(16, 16, (1, 3)))
        self.fpn = Pyramid([12, 16])
        self.tower = nn.Sequential(nn.Conv2d(12, 12, 3, 1, 1), nn.GroupNorm(4, 12), nn.ReLU(inplace=True))
        self.cls, self.reg, self.ctr = (nn.Conv2d(12, n, 3, padding="same") for n in (classes, 4, 1))
        self.scales = nn.ModuleList([Scale(1.0) for _ in self.strides])

    def forward(self, x):
        c1 = self.stem(x)
        features = self.fpn({"p2": c1, "p3": self.deep(c1)})
        heads: list[torch.Tensor] = []
        for scale, f in zip(self.scales, features.values(), strict=False):
            t = self.tower(f)
            out = torch.cat([self.cls(t), scale(self.reg(t)), self.ctr(t)], dim=1)
            heads.append(out.flatten(start_dim=2).transpose(1, 2))
        return torch.cat(heads, 1).split((3, 4, 1), dim=-1)

    def locations(self, size):
        made = []
        for s in self.strides:
            shifts = torch.arange(0, size, step=s, dtype=torch.float32, device=device)
            y, x = torch.meshgrid(shifts, shifts, indexing="ij")
            made.append(torch.stack((x.reshape(-1), y.reshape(-1)), dim=1).add(s // 2))
        return torch.cat(made), torch.tensor(list(self.strides), device=device).repeat_interleave(
            torch.tensor([len(m) for m in made], device=device)
        )


def focal(logits, targets, alpha=0.25, gamma=2.0):
    p = logits.sigmoid()
    ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    return ((alpha * targets + (1 - alpha) * (1 - targets)) * ce * ((1 - p_t) ** gamma)).sum()


def around(at, d):
    return torch.cat([at - d[:, :2], at + d[:, 2:]], -1)


def giou(a, b, eps=1e-7):
    lt, rb = torch.max(a[..., :2], b[..., :2]), torch.min(a[..., 2:], b[..., 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda x: (x[..., 2:] - x[..., :2]).prod(dim=-1)  # noqa: E731
    union = area(a) + area(b) - inter
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).clamp_(min=0).prod(-1)
    return inter / (union + eps) - (hull - union) / (hull + eps)


def iou_matrix(a, b):
    wh = torch.minimum(a[:, None, 2:], b[:, 2:]).sub(torch.maximum(a[:, None, :2], b[:, :2])).clamp_min_(0)
    inter = wh[..., 0] * wh[..., 1]
    sizes = [(x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (a, b)]
    return inter / (sizes[0].unsqueeze(1) + sizes[1] - inter)


def nms(boxes, scores, threshold=0.5):
    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:
        keep.append(order[0].item())
        ious = iou_matrix(boxes[order[:1]], boxes[order[1:]]).squeeze(0)
        order = order[1:][ious.le(threshold)]
    return torch.as_tensor(keep, dtype=torch.int64, device=boxes.device)


def scene(seed):
    random = np.random.RandomState(seed)
    image = random.rand(3, 32, 32).astype(np.float32) * 0.2
    corners, labels = [], []
    for _ in range(1 + seed % 2):
        (x, y), (w, h), kind = random.randint(1, 14, 2), random.randint(6, 16, 2), random.randint(3)
        image[kind, y : y + h, x : x + w] += 1
        corners.append([x, y, x + w, y + h])
        labels.append(kind)
    return torch.from_numpy(image), Boxes(torch.tensor(corners, dtype=torch.float), torch.tensor(labels))


def assign(points, strides, target):
    boxes, labels = target.boxes.to(device), target.labels.to(device)
    x, y = points.unbind(dim=1)
    ltrb = torch.stack(
        [x[:, None] - boxes[:, 0], y[:, None] - boxes[:, 1], boxes[:, 2] - x[:, None], boxes[:, 3] - y[:, None]], dim=2
    )
    inside = ltrb.amin(dim=2) > 0
    largest = ltrb.amax(dim=2)
    fits = torch.where(strides[:, None] == 4, largest < 9, largest >= 9)
    areas = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).expand(len(points), -1)
    areas = areas.masked_fill(~(inside & fits), float("inf"))
    smallest, which = areas.min(dim=1)
    kinds = torch.where(torch.isinf(smallest), -1, labels[which])
    return kinds, torch.gather(ltrb, 1, which.view(-1, 1, 1).expand(-1, -1, 4)).squeeze(1)


model = fill(Detector())
with torch.no_grad():
    model.cls.bias.fill_(-torch.log(torch.tensor((1 - 0.01) / 0.01)).item())
optimizer = torch.optim.Adam(
    [{"params": model.fpn.parameters()}, {"params": model.scales.parameters(), "lr": 1e-3}], lr=5e-3
)
optimizer.add_param_group({"params": [p for n, p in model.named_parameters() if not n.startswith(("fpn", "scales"))]})
points, strides = model.locations(32)
for step in range(5):
    images, targets = zip(*[scene(4 * step + i) for i in range(4)], strict=False)
    images = torch.stack(images).to(device).contiguous(memory_format=torch.channels_last)
    cls, reg, ctr = model(images)
    kinds, distances = map(torch.stack, zip(*(assign(points, strides, t) for t in targets), strict=False))
    positive = kinds.ge(0).nonzero(as_tuple=True)
    wanted = torch.zeros_like(cls)
    wanted[positive[0], positive[1], kinds[positive]] = 1.0
    count = max(positive[0].numel(), 1)
    ltrb = distances[positive]
    centre = ltrb[:, [0, 2]].amin(-1) / ltrb[:, [0, 2]].amax(-1) * (ltrb[:, 1::2].amin(-1) / ltrb[:, 1::2].amax(-1))
    centre = centre.sqrt()
    at, scale = points[positive[1]], strides[positive[1]].unsqueeze(-1)
    loss_reg = torch.sum((1 - giou(around(at, reg[positive] * scale), around(at, ltrb))) * centre).div(
        centre.sum().clamp(min=1e-6)
    )
    loss_ctr = F.binary_cross_entropy_with_logits(ctr[positive].squeeze(-1), centre)
    loss = focal(cls, wanted) / count + loss_reg + loss_ctr
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
    print("positive", count, f"{loss_reg.item():.5f}")

model.eval()
with torch.no_grad():
    cls, reg, ctr = model(images[:1])
    scores, kinds = cls.sigmoid().mul_(ctr.sigmoid()).squeeze(0).max(dim=-1)
    top, index = scores.topk(12)
    boxes = torch.cat([points - reg[0, :, :2] * strides[:, None], points + reg[0, :, 2:] * strides[:, None]], -1)[index]
    keep = nms(boxes.clamp(0, 32), top, 0.6)
    heat = cls[0, :64].sigmoid().t().reshape(1, 3, 8, 8)
    peaks = heat.eq(F.max_pool2d(heat, 3, stride=1, padding=1)).float().sum()
    print("kept", len(keep) > 0, f"{top[0].item():.5f} {boxes[0].sum().item():.4f} peaks {peaks.item():.1f}")
