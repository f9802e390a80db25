"""A mixture of experts and a selective state space, two newer layers, in one small language model."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from shared import fill, integers, report

torch.set_float32_matmul_precision("high")
torch.backends.cuda.matmul.allow_tf32 = False


class MoE(nn.Module):
    def __init__(self, dim: int, hidden: int, experts: int = 4, top_k: int = 2):
        super().__init__()
        self.gate, self.top_k = nn.Linear(dim, experts, bias=False), top_k
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim)) for _ in range(experts)]
        )

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        squashed = inputs.view(-1, inputs.shape[-1])
        gate_logits = self.gate(squashed)
        weights, selected = torch.topk(gate_logits, self.top_k)
        weights = F.softmax(weights, dim=1, dtype=torch.float).type_as(inputs)
        results = torch.zeros_like(squashed)
        for i, expert in enumerate(self.experts):
            batch_idx, nth_expert = torch.where(selected == i)
            results[batch_idx] += weights[batch_idx, nth_expert, None] * expert(squashed[batch_idx])
        share = F.one_hot(selected, len(self.experts)).float().mean(dim=(0, 1))
        balance = len(self.experts) * (share * gate_logits.softmax(-1).mean(0)).sum()
        return results.view_as(inputs), balance


class SSM(nn.Module):
    def __init__(self, dim: int, state: int = 4):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, 3, groups=dim, padding=2)
        self.x_proj, self.dt = nn.Linear(dim, 2 * state, bias=False), nn.Linear(dim, dim)
        A = torch.arange(1, state + 1, dtype=torch.float32).repeat(dim, 1)
        self.A_log, self.D = nn.Parameter(torch.log(A)), nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        (b, length, d), n = x.shape, self.A_log.shape[1]
        x = F.silu(self.conv(x.transpose(1, 2))[..., :length]).transpose(1, 2)
        B, C = self.x_proj(x).split([n, n], dim=-1)
        delta = F.softplus(self.dt(x))
        decay = torch.exp(torch.einsum("bld,dn->bldn", delta, -torch.exp(self.A_log)))
        drive = torch.einsum("bld,bln,bld->bldn", delta, B, x)
        h, ys = torch.zeros(b, d, n, device=x.device), []
        for t in range(length):
            h = decay[:, t] * h + drive[:, t]
            ys.append(torch.einsum("bdn,bn->bd", h, C[:, t]))
        return torch.stack(ys, dim=1) + x * self.D


class Model(nn.Module):
    def __init__(self, vocab: int = 30, dim: int = 16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.ssm, self.moe = SSM(dim), MoE(dim, 24)
        self.n1, self.n2 = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embed(tokens)
        x = x + self.ssm(self.n1(x))
        y, balance = self.moe(self.n2(x))
        return F.linear(x + y, self.embed.weight), balance


model = fill(Model())
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
tokens = integers(30, 3, 9)
for step in range(5):
    logits, balance = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
report("balance", balance)
