"""A vision transformer written with einops, trained with mixed labels and a cosine with warm-up."""

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from einops.layers.torch import Rearrange
from torch import einsum, nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from shared import fill, integers, normal, report


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs)


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(heads * dim_head, dim), nn.Dropout(0.0))

    def forward(self, x):
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), qkv)
        dots = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        out = einsum("b h i j, b h j d -> b h i d", dots.softmax(dim=-1), v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))


class ViT(nn.Module):
    def __init__(self, *, image_size=12, patch_size=4, classes=5, dim=24, depth=2):
        super().__init__()
        assert image_size % patch_size == 0, "the image must be divisible into patches"
        count = (image_size // patch_size) ** 2
        self.to_patch_embedding = nn.Sequential(
            Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=patch_size, p2=patch_size),
            nn.Linear(3 * patch_size**2, dim),
        )
        self.pos_embedding = nn.Parameter(torch.randn(1, count + 1, dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            feed_forward = nn.Sequential(nn.Linear(dim, 48), nn.GELU(), nn.Linear(48, dim))
            self.layers.append(nn.ModuleList([PreNorm(dim, Attention(dim)), PreNorm(dim, feed_forward)]))
        self.mlp_head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, img):
        x = self.to_patch_embedding(img)
        b, n, _ = x.shape
        cls_tokens = repeat(self.cls_token, "() n d -> b n d", b=b)
        x = torch.cat((cls_tokens, x), dim=1)
        x += self.pos_embedding[:, : (n + 1)]
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return self.mlp_head(x[:, 0])


model = fill(ViT())
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
warmup = LinearLR(optimizer, start_factor=0.1, total_iters=2)
scheduler = SequentialLR(optimizer, [warmup, CosineAnnealingLR(optimizer, T_max=6)], milestones=[2])
images, labels = normal(8, 3, 12, 12), F.one_hot(integers(5, 8), 5).float()
for step in range(6):
    lam = 0.3 + 0.1 * step
    mixed = lam * images + (1 - lam) * images.flip(0)
    target = lam * labels + (1 - lam) * labels.flip(0)
    loss = F.cross_entropy(model(mixed), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    report(f"{optimizer.param_groups[0]['lr']:.6f}", loss)
