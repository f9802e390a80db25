"""Logs for TensorBoard as people write them: scalars, histograms, images, the graph, hyperparameters."""

import glob
import os
import tempfile
from datetime import datetime

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter

from shared import fill, integers, normal, report


class GarmentClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(4 * 3 * 3, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        return self.fc1(x.view(-1, 4 * 3 * 3))


def make_grid(images, padding=1):
    n, c, h, w = images.shape
    grid = images.new_zeros(c, h, n * (w + padding))
    for i, image in enumerate(images):
        grid[:, :, i * (w + padding) : i * (w + padding) + w] = image
    return grid


model = fill(GarmentClassifier())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
images, labels = normal(8, 1, 8, 8), integers(10, 8)
with tempfile.TemporaryDirectory() as folder:
    timestamp = datetime.now().strftime("%Y%m%d_%H%M%S")
    writer = SummaryWriter(os.path.join(folder, f"fashion_trainer_{timestamp}"))
    writer.add_image("images", make_grid(images))
    for epoch in range(4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        writer.add_scalar("Loss/train", loss, epoch)
        writer.add_scalars("Training vs. Validation Loss", {"Training": loss.item(), "Validation": 1.0}, epoch + 1)
        for name, param in model.named_parameters():
            writer.add_histogram(name, param.clone().cpu().data.numpy(), epoch)
            writer.add_histogram(f"{name}.grad", param.grad, epoch)
        report(epoch, loss)
    writer.add_text("notes", "a **small** network")
    writer.add_hparams({"lr": 0.05, "bsize": 8}, {"hparam/loss": loss.item()})
    writer.add_graph(model, images)
    writer.flush()
    writer.close()
    files = glob.glob(os.path.join(folder, "**", "events.out.tfevents.*"), recursive=True)
    print(len(files) > 1, all(os.path.getsize(f) > 50 for f in files))
