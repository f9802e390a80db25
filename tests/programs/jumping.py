"""Graphs in batches: GIN, attention by segments, a walk's sparse powers, jumping knowledge, links."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from shared import device, fill, normal, report


def scatter(src: Tensor, index: Tensor, dim_size: int, reduce: str = "sum") -> Tensor:
    index = index.view(-1, *([1] * (src.dim() - 1))).expand_as(src)
    out = src.new_zeros((dim_size, *src.shape[1:]))
    if reduce == "sum":
        return out.scatter_add_(0, index, src)
    return out.scatter_reduce_(0, index, src, reduce={"max": "amax", "mean": "mean"}[reduce], include_self=False)


def softmax(src: Tensor, index: Tensor, num_nodes: int) -> Tensor:
    out = src - scatter(src.detach(), index, num_nodes, "max")[index]
    out = out.exp()
    return out / (scatter(out, index, num_nodes)[index] + 1e-16)


def add_self_loops(edge_index: Tensor, n: int) -> Tensor:
    loop = torch.arange(0, n, dtype=torch.long, device=edge_index.device)
    return torch.cat([edge_index, loop.unsqueeze(0).repeat(2, 1)], dim=1)


def coalesce(edge_index: Tensor, n: int) -> Tensor:
    number = torch.unique(edge_index[0] * n + edge_index[1])
    return torch.stack([torch.div(number, n, rounding_mode="floor"), number.remainder(n)])


class GINConv(nn.Module):
    def __init__(self, cin: int, cout: int):
        super().__init__()
        self.nn = nn.Sequential(nn.Linear(cin, cout), nn.BatchNorm1d(cout), nn.ReLU(), nn.Linear(cout, cout))
        self.eps = Parameter(torch.empty(1))
        self.eps.data.fill_(0.0)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        row, col = edge_index
        out = torch.zeros_like(x).index_add_(0, col, x.index_select(0, row), alpha=0.5)
        return self.nn((1 + self.eps) * x + out)


class GATv2(nn.Module):
    def __init__(self, cin: int, cout: int, heads: int = 2, edge_dim: int | None = None):
        super().__init__()
        self.heads, self.cout = heads, cout
        self.lin_l, self.lin_r = nn.Linear(cin, heads * cout), nn.Linear(cin, heads * cout)
        self.att = Parameter(torch.empty(1, heads, cout))
        self.lin_edge = nn.Linear(edge_dim, heads * cout, bias=False) if edge_dim is not None else None
        if self.lin_edge is None:
            self.register_parameter("bias", None)
        else:
            self.bias = Parameter(torch.empty(cout))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        H, C = self.heads, self.cout
        left, right = self.lin_l(x).view(-1, H, C), self.lin_r(x).view(-1, H, C)
        j, i = edge_index
        message = left[j] + right[i]
        if edge_attr is not None:
            message = message + self.lin_edge(edge_attr).view(-1, H, C)
        alpha = (F.leaky_relu(message, negative_slope=0.2) * self.att).sum(dim=-1)
        alpha = softmax(alpha, i, x.size(0))
        out = scatter(left[j] * alpha.unsqueeze(-1), i, x.size(0)).mean(dim=1)
        return out if self.bias is None else out + self.bias


class Net(nn.Module):
    def __init__(self, features: int, hidden: int = 12, classes: int = 3):
        super().__init__()
        self.convs = nn.ModuleList([GINConv(features, hidden), GINConv(hidden, hidden)])
        self.gat = GATv2(hidden, hidden, edge_dim=2)
        self.norm = nn.InstanceNorm1d(hidden, affine=True)
        self.lstm = nn.LSTM(hidden, 4, bidirectional=True, batch_first=True)
        self.jump = nn.Linear(8, 1)
        self.lin = nn.Linear(3 * hidden, classes)

    def encode(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        xs = []
        for conv in self.convs:
            x = conv(x, edge_index).relu_()
            xs += [x]
        x = self.gat(x, edge_index, edge_attr)
        xs.append(self.norm(x.t().unsqueeze(0)).squeeze(0).t())
        stacked = torch.stack(xs, dim=1)
        alpha, _ = self.lstm(stacked)
        alpha = torch.softmax(self.jump(alpha).squeeze(-1), dim=-1)
        return (stacked * alpha.unsqueeze(-1)).sum(dim=1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x, n = self.encode(x, edge_index, edge_attr), int(batch.max()) + 1
        lengths = torch.bincount(batch, minlength=n)
        pooled = [torch.segment_reduce(x, reduce, lengths=lengths, axis=0) for reduce in ("mean", "max")]
        ends = lengths.cumsum(0) - 1
        return self.lin(torch.cat([*pooled, x[ends]], dim=-1))


def graphs(seed: int, count: int = 4):
    random = np.random.RandomState(seed)
    edges, batch, base = [], [], 0
    for g in range(count):
        n = random.randint(5, 9)
        ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
        more = random.randint(0, n, (2, n))
        edges.append(np.concatenate([ring, ring[::-1], more], 1) + base)
        batch += [g] * n
        base += n
    edge_index = torch.from_numpy(np.concatenate(edges, 1)).long().to(device)
    return coalesce(edge_index, base), torch.LongTensor(batch).to(device), base


model = fill(Net(6))
optimizer = torch.optim.RAdam(model.parameters(), lr=1e-2, decoupled_weight_decay=True, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=0, threshold=0.5)
for step in range(5):
    edge_index, batch, n = graphs(step)
    adj = torch.sparse_coo_tensor(edge_index, torch.ones(edge_index.size(1), device=device), (n, n)).coalesce()
    degree = torch.sparse.sum(adj, dim=1).to_dense()
    walk = torch.sparse_coo_tensor(adj.indices(), adj.values() / degree[adj.indices()[0]], adj.size())
    power, returns = walk, []
    for _ in range(3):  # how likely a walk is back after so many steps
        power = torch.sparse.mm(power, walk)
        returns.append(power.to_dense().diagonal())
    x = torch.cat([torch.stack(returns, dim=-1), normal(n, 2, seed=step), degree.log1p().unsqueeze(-1)], dim=-1)
    looped = add_self_loops(edge_index, n)
    weights = torch.cat([walk.coalesce().values(), torch.ones(n, device=device)])
    edge_attr = torch.stack([weights, weights.square()], dim=-1)
    out = model(x, looped, edge_attr, batch)
    target = (torch.bincount(batch) % 3).to(device)
    loss = F.multi_margin_loss(out, target, p=2) + F.cross_entropy(out, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step(loss.item())
    report(step, loss)
print("rate", scheduler.get_last_lr(), "eps", f"{model.convs[0].eps.item():.5f}")

# links: those that are there against those that are not
z = model.encode(x, looped, edge_attr)
dense = torch.zeros(n, n, dtype=torch.bool, device=device).index_put_(
    (edge_index[0], edge_index[1]), torch.tensor(True, device=device)
)
apart = (~dense).triu(1).nonzero().t()[:, ::3]
linked = edge_index[:, edge_index[0] < edge_index[1]]
logits = torch.cat([(z[a] * z[b]).sum(-1) for a, b in (linked, apart)])
labels = torch.cat([torch.ones(linked.size(1)), torch.zeros(apart.size(1))]).to(device)
ratio = apart.size(1) / linked.size(1)
report("links", F.binary_cross_entropy_with_logits(logits, labels, pos_weight=torch.tensor(ratio, device=device)))
order = torch.argsort(logits, descending=True, stable=True)
hits = labels[order].cumsum(0)
auc = torch.trapezoid(hits / hits[-1], (1 - labels[order]).cumsum(0) / (1 - labels).sum())
report("auc", auc)
print("power", power.is_sparse, tuple(power.shape), f"{power.to_dense().sum().item():.3f}")
