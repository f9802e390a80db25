"""A selective state space model (Mamba) that learns to copy characters: groups of weights, warm restarts."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from shared import device, fill, integers, report


@dataclass
class Config:
    d_model: int = 16
    n_layer: int = 2
    vocab_size: int = 12
    d_state: int = 4
    expand: int = 2
    d_conv: int = 3
    dt_rank: int | None = None
    pad_vocab_size_multiple: int = 8

    def __post_init__(self):
        self.d_inner = self.expand * self.d_model
        self.dt_rank = self.dt_rank or math.ceil(self.d_model / 16)
        if self.vocab_size % self.pad_vocab_size_multiple:
            self.vocab_size += self.pad_vocab_size_multiple - self.vocab_size % self.pad_vocab_size_multiple


class RMSNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Mixer(nn.Module):
    def __init__(self, args: Config):
        super().__init__()
        self.args = args
        self.in_proj = nn.Linear(args.d_model, args.d_inner * 2, bias=False)
        self.conv1d = nn.Conv1d(
            args.d_inner, args.d_inner, args.d_conv, groups=args.d_inner, padding=args.d_conv - 1, bias=True
        )
        self.x_proj = nn.Linear(args.d_inner, args.dt_rank + args.d_state * 2, bias=False)
        self.dt_proj = nn.Linear(args.dt_rank, args.d_inner)
        A = torch.arange(1, args.d_state + 1, dtype=torch.float32).repeat(args.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(args.d_inner))
        self.D._no_weight_decay = self.A_log._no_weight_decay = True
        self.out_proj = nn.Linear(args.d_inner, args.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        _b, length, _ = x.shape
        x, res = self.in_proj(x).split(split_size=[self.args.d_inner, self.args.d_inner], dim=-1)
        x = F.silu(self.conv1d(x.mT)[:, :, :length].mT)
        return self.out_proj(self.ssm(x) * F.silu(res))

    def ssm(self, x: Tensor) -> Tensor:
        n = self.A_log.shape[1]
        A = -torch.exp(self.A_log.float())
        delta, B, C = self.x_proj(x).split([self.args.dt_rank, n, n], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        dBu = torch.einsum("bld,bln,bld->bldn", delta, B, x)
        state = x.new_zeros(x.size(0), x.size(2), n)
        ys = []
        for t in range(x.size(1)):
            state = torch.addcmul(dBu[:, t], dA[:, t], state)
            ys.append(torch.einsum("bdn,bn->bd", state, C[:, t]))
        return torch.stack(ys, dim=1) + x * self.D


class Block(nn.Module):
    def __init__(self, args: Config):
        super().__init__()
        self.mixer, self.norm = Mixer(args), RMSNorm(args.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.mixer(self.norm(x)) + x


class Mamba(nn.Module):
    def __init__(self, args: Config):
        super().__init__()
        self.embedding = nn.Embedding(args.vocab_size, args.d_model)
        self.layers = nn.ModuleList([Block(args) for _ in range(args.n_layer)])
        self.norm_f = RMSNorm(args.d_model)
        self.lm_head = nn.Linear(args.d_model, args.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm_f(x))


args = Config(vocab_size=10)
model = fill(Mamba(args))
kept = {n: p for n, p in model.named_parameters() if p.requires_grad}
plain = [p for n, p in kept.items() if p.dim() < 2 or getattr(p, "_no_weight_decay", False)]
optimizer = torch.optim.AdamW([p for p in kept.values() if all(p is not q for q in plain)], lr=3e-2, betas=(0.9, 0.95))
optimizer.add_param_group({"params": plain, "weight_decay": 0.0, "lr": 1e-2})
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2, eta_min=1e-4)
print("parameters", sum(p.numel() for p in model.parameters()), "tied", model.lm_head.weight is model.embedding.weight)
print("groups", [len(g["params"]) for g in optimizer.param_groups])

for step in range(6):
    ids = integers(args.vocab_size - 2, 6, 14, seed=step) + 2
    ids[:, 7] = 1
    ids[:, 8:] = ids[:, :6]
    logits = model(ids[:, :-1])
    losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(ids.size(0), -1)
    wanted = torch.zeros_like(losses).index_fill_(1, torch.arange(7, 13, device=device), 1.0)
    loss = (losses * wanted).sum() / wanted.sum()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    total = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
    optimizer.step()
    scheduler.step(step + 0.5)
    report(step, loss)
    report("norm", total)
print("rates", " ".join(f"{rate:.5f}" for rate in scheduler.get_last_lr()))
with torch.inference_mode():
    ids = integers(args.vocab_size - 2, 1, 5, seed=9) + 2
    for _ in range(3):
        probs = F.softmax(model(ids)[:, -1] / 0.8, dim=-1)
        values, places = torch.sort(probs, descending=True)
        values[torch.cumsum(values, -1) - values > 0.9] = 0.0
        ids = torch.cat((ids, places.gather(-1, values.argmax(-1, keepdim=True))), dim=1)
    print(
        "perplexity", f"{torch.exp(-torch.log_softmax(model(ids)[:, :-1], -1).gather(2, ids[:, 1:, None]).mean()):.4f}"
    )
