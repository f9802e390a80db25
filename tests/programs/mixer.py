"""An MLP mixer whose layers are einops layers, accumulated gradients, and a moving average of the weights."""

import copy
from functools import partial

import torch
from einops import asnumpy, pack, parse_shape, rearrange, reduce, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

from shared import fill, integers, normal, report


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x)) + x


def FeedForward(dim, expansion_factor=2, dropout=0.0, dense=nn.Linear):
    inner_dim = int(dim * expansion_factor)
    return nn.Sequential(dense(dim, inner_dim), nn.GELU(), nn.Dropout(dropout), dense(inner_dim, dim))


def MLPMixer(*, image_size, channels, patch_size, dim, depth, num_classes):
    num_patches = (image_size // patch_size) ** 2
    chan_first, chan_last = partial(nn.Conv1d, kernel_size=1), nn.Linear
    return nn.Sequential(
        Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=patch_size, p2=patch_size),
        nn.Linear((patch_size**2) * channels, dim),
        *[
            nn.Sequential(
                PreNormResidual(dim, FeedForward(num_patches, dense=chan_first)),
                PreNormResidual(dim, FeedForward(dim, dense=chan_last)),
            )
            for _ in range(depth)
        ],
        EinMix("b n (h c) -> b n (h d)", weight_shape="h c d", bias_shape="h d", h=2, c=dim // 2, d=dim // 2),
        nn.LayerNorm(dim),
        Reduce("b n c -> b c", "mean"),
        nn.Linear(dim, num_classes),
    )


model = fill(MLPMixer(image_size=12, channels=3, patch_size=4, dim=16, depth=2, num_classes=4))
ema = copy.deepcopy(model)
optimizer = torch.optim.RAdam(model.parameters(), lr=1e-2)
images, labels = normal(8, 3, 12, 12), integers(4, 8)
for step in range(5):
    for part, target in zip(images.split(4), labels.chunk(2), strict=True):
        loss = nn.functional.cross_entropy(model(part), target) / 2
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), model.parameters(), strict=True):
            p.mul_(0.9).add_(q, alpha=0.1)
    report(step, loss)
report("average", nn.functional.cross_entropy(ema(images), labels))
packed, shapes = pack([images, images[:, :1]], "b * h w")
first, second = unpack(packed, shapes, "b * h w")
print(tuple(packed.shape), tuple(second.shape), parse_shape(images, "b c _ _"))
pooled = reduce(images, "b c (h 2) (w 2) -> b h w c", "max")
report("pooled", rearrange(pooled, "b h w c -> (b h w c)").sum())
print(asnumpy(pooled).shape)
