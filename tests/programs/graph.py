"""Graphs: two graph convolutions with a dense adjacency, dropout off, and metric learning with cdist."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import device, fill, integers, normal, report


class GraphConvolution(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.weight = nn.Parameter(torch.FloatTensor(inside, outside))
        self.bias = nn.Parameter(torch.FloatTensor(outside))

    def forward(self, x, adjacency):
        return torch.mm(adjacency, torch.mm(x, self.weight)) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(6, 12), GraphConvolution(12, 4)

    def forward(self, x, adjacency):
        x = F.dropout(F.relu(self.first(x, adjacency)), 0.0, training=self.training)
        return self.second(x, adjacency)


n = 15
edges = (normal(n, n, seed=8) > 0.7).float()
adjacency = ((edges + edges.t()) > 0).float().fill_diagonal_(1)
degree = adjacency.sum(1).pow(-0.5)
adjacency = torch.einsum("i,ij,j->ij", degree, adjacency, degree)
model, x, labels = fill(GCN()), normal(n, 6), integers(4, n)
train = torch.zeros(n, dtype=torch.bool, device=device)
train[:9] = True
optimizer = torch.optim.Adamax(model.parameters(), lr=0.02, weight_decay=5e-4)
for step in range(6):
    out = model(x, adjacency)
    distances = torch.cdist(out, out)
    alike = labels[:, None] == labels[None, :]
    push = F.relu(1 - distances)[~alike].mean()
    pull = distances[alike & ~torch.eye(n, dtype=torch.bool, device=device)].mean()
    loss = F.nll_loss(F.log_softmax(out, dim=1)[train], labels[train]) + 0.1 * (push + pull)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
