"""A graph convolutional network over a sparse adjacency, as the paper's own code has it."""

import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter

from shared import fill, integers

parser = argparse.ArgumentParser()
parser.add_argument("--no-cuda", action="store_true", default=False, help="Disables CUDA training.")
parser.add_argument("--seed", type=int, default=42, help="Random seed.")
parser.add_argument("--epochs", type=int, default=5)
args = parser.parse_args()
args.cuda = not args.no_cuda and torch.cuda.is_available()
np.random.seed(args.seed)
torch.manual_seed(args.seed)
if args.cuda:
    torch.cuda.manual_seed(args.seed)


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.in_features) + " -> " + str(self.out_features) + ")"


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def sparse_tensor(dense):
    """A normalised adjacency, from the places of its edges."""
    rows, columns = np.nonzero(dense)
    degree = dense.sum(1)
    values = torch.from_numpy((dense[rows, columns] / degree[rows]).astype(np.float32))
    indices = torch.from_numpy(np.vstack((rows, columns)).astype(np.int64))
    return torch.sparse_coo_tensor(indices, values, torch.Size(dense.shape))


n = 30
edges = np.random.RandomState(3).rand(n, n) > 0.85
adj = sparse_tensor((edges | edges.T | np.eye(n, dtype=bool)).astype(np.float64))
features = torch.from_numpy(np.random.RandomState(4).rand(n, 12).astype(np.float32))
features = features / features.sum(1, keepdim=True)
labels = integers(4, n).cpu()
idx_train, idx_val = torch.arange(15), torch.arange(15, 30)
model = fill(GCN(12, 8, 4, dropout=0.0))
optimizer = optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
if args.cuda:
    model.cuda()
    features, adj, labels = features.cuda(), adj.cuda(), labels.cuda()
    idx_train, idx_val = idx_train.cuda(), idx_val.cuda()
print(model.gc1, tuple(adj.shape), adj.is_sparse)
for epoch in range(args.epochs):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    model.eval()
    output = model(features, adj)
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    print(f"Epoch: {epoch + 1:04d} loss_train: {loss_train.item():.6g}")
    print(f"loss_val: {loss_val.item():.6g}")
