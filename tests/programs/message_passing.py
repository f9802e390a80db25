"""A graph network of scatter, index_add and index_reduce: attention over edges, gated updates, pooled graphs."""

import torch
import torch.nn.functional as F
from torch import nn


def scatter(src, index, dim_size, reduce="sum"):
    size = [dim_size, *src.shape[1:]]
    idx = index.view([-1] + [1] * (src.dim() - 1)).expand_as(src)
    if reduce == "sum":
        return src.new_zeros(size).scatter_add_(0, idx, src)
    if reduce == "mean":
        count = src.new_zeros(dim_size).scatter_add_(0, index, src.new_ones(src.size(0))).clamp_(min=1)
        return src.new_zeros(size).scatter_add_(0, idx, src) / count.view([-1] + [1] * (src.dim() - 1))
    return src.new_full(size, -1e9).scatter_reduce(0, idx, src, "amax", include_self=False)


def segment_softmax(x, index, n):
    top = torch.full((n, *x.shape[1:]), float("-inf")).index_reduce_(0, index, x, "amax")
    e = (x - top[index]).exp()
    return e / torch.zeros_like(top).index_add_(0, index, e).index_select(0, index).add(1e-16)


class Attention(nn.Module):
    def __init__(self, inputs, outputs, heads):
        super().__init__()
        self.heads, self.outputs = heads, outputs
        self.lin = nn.Linear(inputs, heads * outputs, bias=False)
        self.score = nn.ParameterDict({side: nn.Parameter(torch.empty(1, heads, outputs)) for side in ("src", "dst")})

    def forward(self, x, edges):
        x = self.lin(x).view(-1, self.heads, self.outputs)
        source, target = edges
        e = (x * self.score["src"]).sum(-1)[source] + (x * self.score["dst"]).sum(-1)[target]
        weight = segment_softmax(F.leaky_relu(e, 0.2), target, x.size(0))
        out = torch.zeros_like(x).index_add(0, target, x[source] * weight.unsqueeze(-1))
        return out.flatten(1), weight


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Attention(5, 4, 2), Attention(8, 3, 1)
        self.norm = nn.GroupNorm(2, 8)
        self.edge = nn.Bilinear(3, 3, 2)
        self.gate = nn.GRUCell(3, 3)
        self.out = nn.Linear(9, 3)

    def forward(self, x, edges, batch):
        h, weight = self.first(x, edges)
        h, _ = self.second(F.elu(self.norm(h)), edges)
        h = self.gate(scatter(h[edges[0]], edges[1], h.size(0), "mean"), h)
        links = self.edge(h[edges[0]], h[edges[1]]).sigmoid()
        graphs = torch.cat([scatter(h, batch, 3, r) for r in ("sum", "mean", "max")], 1)
        return self.out(graphs), links, weight


n = 12
edges = torch.tensor([[i, (i * 5 + j * 3 + 1) % n] for i in range(n) for j in range(3)]).t()
edges = torch.unique(torch.cat([edges, edges.flip(0), torch.arange(n).repeat(2, 1)], 1), dim=1)
batch, y = torch.arange(n) // 4, torch.tensor([0, 2, 1])
x = torch.cos(torch.arange(n * 5.0) * 0.31).view(n, 5)

net = Net()
for k, p in enumerate(net.parameters()):  # in order
    p.data = 0.4 * torch.sin(torch.arange(p.nelement()).float() * 0.77 + k).reshape(p.shape)
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05, lr_decay=0.01)
print("edges", edges.shape[1])
for step in range(5):
    out, links, weight = net(x, edges, batch)
    loss = F.nll_loss(out.log_softmax(-1), y)
    loss += 0.1 * F.binary_cross_entropy(links[:, 0], (edges[0] % 2 == 0).float())
    loss += 0.01 * F.kl_div(links.log_softmax(1), torch.full_like(links, 0.5), reduction="batchmean")
    loss += 0.001 * sum(p.pow(2).sum() for p in net.parameters())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", step, f"{loss.item():.6f}")
    print("spread", step, f"{weight.std().item():.6f}")
