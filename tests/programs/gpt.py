"""Language: a decoder with causal attention, tied weights, AdamW groups and a warm-up."""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F

from shared import fill, integers, report


class Attention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class GPT(nn.Module):
    def __init__(self, vocabulary=40, width=32, heads=4, depth=2, context=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(1, context, width))
        layer = lambda: nn.ModuleDict(  # noqa: E731
            {
                "ln1": nn.LayerNorm(width),
                "attention": Attention(width, heads, context),
                "ln2": nn.LayerNorm(width),
                "mlp": nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)),
            }
        )
        self.blocks = nn.ModuleList([layer() for _ in range(depth)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens, targets=None):
        x = self.embed(tokens) + self.position[:, : tokens.size(1)]
        for block in self.blocks:
            x = x + block["attention"](block["ln1"](x))
            x = x + block["mlp"](block["ln2"](x))
        logits = self.head(self.ln(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1)


model = fill(GPT())
decay = [p for p in model.parameters() if p.dim() >= 2]
rest = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95)
)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 3))
model = torch.compile(model, mode="default")
data = integers(40, 6, 17)
for step in range(6):
    batch = data[step % 2 :: 2]
    _, loss = model(batch[:, :-1], batch[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    report(step, loss.item())
