"""Contrastive learning: NT-Xent over two views, a projection head, LARS-like scaling left out."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import fill, integers, normal, report


class ResNetSimCLR(nn.Module):
    def __init__(self, out_dim):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((1, 1)),
            nn.Flatten(),
            nn.Linear(8, 16),
        )
        dim_mlp = self.backbone[-1].out_features
        self.backbone[-1] = nn.Sequential(nn.Linear(8, dim_mlp), nn.ReLU(), nn.Linear(dim_mlp, out_dim))

    def forward(self, x):
        return self.backbone(x)


def info_nce_loss(features, n_views=2, temperature=0.5):
    batch_size = features.shape[0] // n_views
    labels = torch.cat([torch.arange(batch_size) for i in range(n_views)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float().to(features.device)
    features = F.normalize(features, dim=1)
    similarity_matrix = torch.matmul(features, features.T)
    mask = torch.eye(labels.shape[0], dtype=torch.bool).to(features.device)
    labels = labels[~mask].view(labels.shape[0], -1)
    similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)
    positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)
    negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1)
    labels = torch.zeros(logits.shape[0], dtype=torch.long).to(features.device)
    return logits / temperature, labels


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


model = fill(ResNetSimCLR(8))
optimizer = torch.optim.Adam(model.parameters(), 3e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5, eta_min=0, last_epoch=-1)
criterion = torch.nn.CrossEntropyLoss()
images = normal(6, 3, 10, 10)
for step in range(5):
    left = torch.roll(images, shifts=(1, step), dims=(2, 3))
    right = torch.flip(images, dims=[3]) * (1 + 0.1 * integers(5, 6, 1, 1, 1, seed=step).float())
    logits, labels = info_nce_loss(model(torch.cat([left, right], dim=0)))
    loss = criterion(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    report(step, loss)
top1, top3 = accuracy(logits, labels, topk=(1, 3))
report("top1", top1[0])
report("top3", top3[0])
