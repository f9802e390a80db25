"""Shifted windows over images (Swin), with drop path, mixed labels, warm-up and a ladder of learning rates by depth."""

import itertools
from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data as data

from shared import device, fill, report

torch.backends.cudnn.benchmark = True


def to_2tuple(x):
    return x if isinstance(x, tuple) else (x, x)


def window_partition(x, window):
    B, H, W, C = x.shape
    x = x.view(B, H // window, window, W // window, window, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window, window, C)


def window_reverse(windows, window, H, W):
    B = int(windows.shape[0] / (H * W / window / window))
    x = windows.view(B, H // window, W // window, window, window, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


class DropPath(nn.Module):
    """Drops whole samples; which ones, a table says instead of chance."""

    calls = itertools.count()

    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if self.drop_prob == 0.0 or not self.training:
            return x
        keep_prob = 1 - self.drop_prob
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        chance = np.random.RandomState(next(self.calls)).rand(*shape).astype(np.float32)
        return x.div(keep_prob) * torch.as_tensor(chance, device=x.device).add_(keep_prob).floor_()

    def extra_repr(self):
        return f"drop_prob={round(self.drop_prob, 3):0.3f}"


class WindowAttention(nn.Module):
    def __init__(self, dim, window_size, num_heads):
        super().__init__()
        self.dim, self.window_size, self.num_heads = dim, window_size, num_heads
        self.scale = (dim // num_heads) ** -0.5
        size = (2 * window_size[0] - 1) * (2 * window_size[1] - 1)
        self.relative_position_bias_table = nn.Parameter(torch.zeros(size, num_heads))
        coords = torch.stack(torch.meshgrid([torch.arange(n) for n in window_size], indexing="ij"))
        flat = torch.flatten(coords, 1)
        relative = (flat[:, :, None] - flat[:, None, :]).permute(1, 2, 0).contiguous()
        relative[:, :, 0] += window_size[0] - 1
        relative[:, :, 1] += window_size[1] - 1
        relative[:, :, 0] *= 2 * window_size[1] - 1
        self.register_buffer("relative_position_index", relative.sum(-1), persistent=False)
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x, mask=None):
        B_, N, C = x.shape
        qkv = self.qkv(x).reshape(B_, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)].view(N, N, -1)
        attn = attn + bias.permute(2, 0, 1).contiguous().unsqueeze(0)
        if mask is not None:
            nW = mask.shape[0]
            attn = attn.view(B_ // nW, nW, self.num_heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
            attn = attn.view(-1, self.num_heads, N, N)
        return self.proj((self.softmax(attn) @ v).transpose(1, 2).reshape(B_, N, C))


class Block(nn.Module):
    def __init__(self, dim, resolution, heads, window=4, shift=0, drop_path=0.0, norm_layer=nn.LayerNorm):
        super().__init__()
        self.resolution, self.window, self.shift = resolution, window, shift
        self.norm1, self.norm2 = norm_layer(dim), norm_layer(dim)
        self.attn = WindowAttention(dim, to_2tuple(window), heads)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(2 * dim, dim))
        self.gamma = nn.Parameter(0.1 * torch.ones(dim), requires_grad=True)
        mask = None
        if shift > 0:
            H, W = resolution
            image = torch.zeros((1, H, W, 1))
            slices = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
            for count, (h, w) in enumerate(itertools.product(slices, slices)):
                image[:, h, w, :] = count
            windows = window_partition(image, window).view(-1, window * window)
            mask = windows.unsqueeze(1) - windows.unsqueeze(2)
            mask = mask.masked_fill(mask != 0, (-100.0)).masked_fill(mask == 0, 0.0)
        self.register_buffer("attn_mask", mask)

    def forward(self, x):
        (H, W), (B, L, C) = self.resolution, x.shape
        assert L == H * W, "input feature has wrong size"
        shortcut, x = x, self.norm1(x).view(B, H, W, C)
        if self.shift > 0:
            x = torch.roll(x, shifts=(-self.shift, -self.shift), dims=(1, 2))
        windows = window_partition(x, self.window).view(-1, self.window**2, C)
        windows = self.attn(windows, mask=self.attn_mask).view(-1, self.window, self.window, C)
        x = window_reverse(windows, self.window, H, W)
        if self.shift > 0:
            x = torch.roll(x, shifts=(self.shift, self.shift), dims=(1, 2))
        x = shortcut + self.drop_path(x.view(B, H * W, C))
        return x + self.drop_path(self.gamma * self.mlp(self.norm2(x)))


class Merging(nn.Module):
    def __init__(self, resolution, dim):
        super().__init__()
        self.resolution = resolution
        self.reduction, self.norm = nn.Linear(4 * dim, 2 * dim, bias=False), nn.LayerNorm(4 * dim)

    def forward(self, x):
        x = x.view(x.shape[0], *self.resolution, -1)
        x = torch.cat([x[:, i::2, j::2, :] for j in (0, 1) for i in (0, 1)], -1)
        return self.reduction(self.norm(x.view(x.shape[0], -1, x.shape[-1])))


class Swin(nn.Module):
    def __init__(self, classes=5, dim=12, size=8):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=2, stride=2)
        self.absolute = nn.Parameter(torch.zeros(1, dim, 4, 4))
        rates = [x.item() for x in torch.linspace(0, 0.3, 4)]
        norm = partial(nn.LayerNorm, eps=1e-6)
        stage = [Block(dim, (size, size), 2, 4, 2 * (i % 2), rates[i], norm) for i in range(2)]
        self.stage1 = nn.Sequential(*stage, Merging((size, size), dim))
        self.stage2 = nn.Sequential(*(Block(2 * dim, (4, 4), 4, 4, 0, rates[2 + i], norm) for i in range(2)))
        self.norm, self.avgpool = norm(2 * dim), nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(2 * dim, classes) if classes > 0 else nn.Identity()
        nn.init.trunc_normal_(self.head.weight, std=0.02, a=-2.0, b=2.0)

    @torch.jit.ignore
    def no_weight_decay(self):
        return {"absolute"}

    def forward(self, x):
        x = self.patch_embed(x)
        x = x + F.interpolate(self.absolute, size=x.shape[-2:], mode="bicubic", align_corners=False)
        x = self.stage2(self.stage1(x.flatten(2).transpose(1, 2)))
        return self.head(torch.flatten(self.avgpool(self.norm(x).transpose(1, 2)), 1))


class Pictures(data.Dataset):
    def __init__(self, n=24):
        random = np.random.RandomState(0)
        self.images = (random.rand(n, 16, 16, 3) * 255).astype(np.uint8)
        self.labels = random.randint(0, 5, n)
        for image, label in zip(self.images, self.labels, strict=False):
            image[label : label + 4, ::2] = 40 * label

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index].transpose((2, 0, 1))).to(torch.float32).div(255)
        return (image - image.new_tensor([0.485, 0.456, 0.406])[:, None, None]) / 0.225, int(self.labels[index])

    def __len__(self):
        return len(self.labels)


model = fill(Swin())
print(model.stage1[1].drop_path, "buffers", [n for n, _ in model.named_buffers()], "saved", len(model.state_dict()))
groups = {}
for name, p in model.named_parameters():
    depth = 0 if name.startswith(("patch", "absolute")) else 1 if name.startswith("stage1") else 2
    decay = 0.0 if p.ndim == 1 or name in model.no_weight_decay() else 0.05
    group = groups.setdefault((depth, decay), {"params": [], "lr": 0.1 * 0.7 ** (2 - depth), "weight_decay": decay})
    group["params"].append(p)
optimizer = torch.optim.SGD(list(groups.values()), lr=0.1, momentum=0.9, nesterov=True)
warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=2)
fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, fall], milestones=[2])
loader = data.DataLoader(Pictures(), batch_size=8, sampler=data.SequentialSampler(Pictures()), drop_last=True)
step = 0
for _epoch in range(2):
    model.train()
    for images, labels in loader:
        images, labels = images.to(device, non_blocking=True), labels.to(device)
        lam = 0.3 + 0.1 * step
        targets = F.one_hot(labels, 5).float()
        images = images.mul(lam).add_(images.flip(0).mul_(1.0 - lam))
        targets = targets * lam + targets.flip(0) * (1.0 - lam)
        loss = torch.sum(-targets * F.log_softmax(model(images), dim=-1), dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        report(step, loss)
        step += 1
print("rates", " ".join(f"{group['lr']:.5f}" for group in optimizer.param_groups))
model.eval()
with torch.no_grad():
    images, labels = next(iter(data.DataLoader(Pictures(), batch_size=24)))
    output = model(images.to(device))
    _, pred = output.topk(2, 1, True, True)
    correct = pred.t().eq(labels.to(device).view(1, -1).expand_as(pred.t()))
    top1, top2 = (correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / len(labels)) for k in (1, 2))
    print(f"top1 {top1.item():.2f} top2 {top2.item():.2f}")
