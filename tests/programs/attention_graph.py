"""A graph attention network over a dense adjacency, with early stopping and the best weights kept."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import device, fill, integers, normal, report


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha=0.2, concat=True):
        super().__init__()
        self.out_features, self.concat = out_features, concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        Wh1 = torch.matmul(Wh, self.a[: self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features :, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.dropout(F.softmax(attention, dim=1), 0.0, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.W.shape[0]} -> {self.out_features})"


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, nheads):
        super().__init__()
        self.attentions = [GraphAttentionLayer(nfeat, nhid) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module(f"attention_{i}", attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, concat=False)

    def forward(self, x, adj):
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        return F.log_softmax(F.elu(self.out_att(x, adj)), dim=1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    return preds.eq(labels).double().sum() / len(labels)


n = 20
adj = normal(n, n, seed=8).gt(0.8).float()
adj = adj + adj.t().mul(adj.t() > adj) - adj.mul(adj.t() > adj) + torch.eye(n, device=device)
features, labels = F.normalize(normal(n, 8).abs(), p=1, dim=1), integers(3, n)
idx_train, idx_val = torch.arange(12, device=device), torch.LongTensor(range(12, 20)).to(device)
model = fill(GAT(8, 6, 3, 2))
print(len(list(model.parameters())), model.out_att)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
best, best_state = float("inf"), None
for epoch in range(6):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        output = model(features, adj)
        loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    report(epoch, loss_train.data.item())
    report("validation", loss_val)
    if loss_val < best:
        best, best_state = loss_val.item(), copy.deepcopy(model.state_dict())
model.load_state_dict(best_state)
report("accuracy", accuracy(model(features, adj), labels))
