"""Siamese networks: a contrastive loss on pairs, then triplets with the hardest negatives."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import fill, integers, normal, report


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn1 = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(1, 4, kernel_size=3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(4),
            nn.Dropout2d(p=0.0),
            nn.ReflectionPad2d(1),
            nn.Conv2d(4, 8, kernel_size=3, stride=2),
            nn.PReLU(),
        )
        self.fc1 = nn.Sequential(nn.Linear(8 * 4 * 4, 16), nn.Sigmoid(), nn.Linear(16, 4))

    def forward_once(self, x):
        output = self.cnn1(x)
        return self.fc1(output.view(output.size()[0], -1))

    def forward(self, input1, input2):
        return self.forward_once(input1), self.forward_once(input2)


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2)
        return torch.mean(
            (1 - label) * torch.pow(euclidean_distance, 2)
            + label * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2)
        )


net = fill(SiameseNetwork())
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
first, second, label = normal(6, 1, 8, 8), normal(6, 1, 8, 8, seed=1), integers(2, 6).float()
criterion = ContrastiveLoss()
for step in range(4):
    optimizer.zero_grad()
    loss = criterion(*net(first, second), label)
    loss.backward()
    optimizer.step()
    report(step, loss)
triplet = nn.TripletMarginLoss(margin=1.0, p=2, swap=True)
cosine = nn.CosineEmbeddingLoss(margin=0.2)
names = torch.tensor([0, 1, 2, 0, 1, 2], device=first.device)
for _ in range(4):
    optimizer.zero_grad()
    embedded = net.forward_once(torch.cat([first, second]))
    anchor, other = embedded[:6], embedded[6:]
    distances = torch.cdist(anchor, other)
    distances = distances.masked_fill(names[:, None] == names[None, :], float("inf"))
    hardest = distances.argmin(dim=1)
    loss = triplet(anchor, other, other.index_select(0, hardest)) + cosine(anchor, other, 2 * label - 1)
    loss = loss + F.margin_ranking_loss(anchor[:, 0], other[:, 0], 1 - 2 * label)
    loss.backward()
    optimizer.step()
    report("triplet", loss)
