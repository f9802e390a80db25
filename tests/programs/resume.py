"""Checkpoints: a training is interrupted, and a new process's objects go on from the file with the same losses."""

import os
import shutil
import tempfile

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from shared import device, fill, integers, normal, report


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        fmtstr = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return fmtstr.format(**self.__dict__)


def make():
    model = nn.Sequential(nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.Hardswish(), nn.Linear(16, 4)).to(device)
    optimizer = optim.NAdam(model.parameters(), lr=1e-2)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2)
    return model, optimizer, scheduler, AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))


def save_checkpoint(state, is_best, folder, filename="checkpoint.pth.tar"):
    path = os.path.join(folder, filename)
    torch.save(state, path)
    if is_best:
        shutil.copyfile(path, os.path.join(folder, "model_best.pth.tar"))


def train(model, optimizer, scheduler, ema, start, stop, losses):
    for epoch in range(start, stop):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update_parameters(model)
        scheduler.step(epoch)
        losses.update(loss.item(), x.size(0))
        report(f"epoch {epoch}", loss)


x, y = normal(12, 6), integers(4, 12)
with tempfile.TemporaryDirectory() as folder:
    model, optimizer, scheduler, ema = make()
    fill(model)
    losses = AverageMeter("Loss", ":.4f")
    train(model, optimizer, scheduler, ema, 0, 3, losses)
    state = {
        "epoch": 3,
        "arch": "mlp",
        "state_dict": model.state_dict(),
        "best_acc1": losses.avg,
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "ema": ema.state_dict(),
        "rng": torch.get_rng_state(),
    }
    save_checkpoint(state, True, folder)
    train(model, optimizer, scheduler, ema, 3, 6, losses)
    model, optimizer, scheduler, ema = make()
    checkpoint = torch.load(os.path.join(folder, "model_best.pth.tar"), map_location=device, weights_only=False)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    ema.load_state_dict(checkpoint["ema"])
    torch.set_rng_state(checkpoint["rng"].cpu())
    print("=> loaded checkpoint (epoch {})".format(checkpoint["epoch"]))
    train(model, optimizer, scheduler, ema, checkpoint["epoch"], 6, losses)
    print(losses)
    ema.eval()
    report("ema", nn.functional.cross_entropy(ema(x), y))
    missing = model.load_state_dict({"0.weight": torch.zeros(16, 6)}, strict=False)
    print(missing.unexpected_keys, len(missing.missing_keys))
