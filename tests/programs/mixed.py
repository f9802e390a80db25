"""Mixed precision as it is written everywhere; without a GPU, autocast and the scaler do nothing."""

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast

from shared import device, fill, normal, report

use_amp = False  # the losses are compared to five digits
model = nn.DataParallel(fill(nn.Sequential(nn.Linear(10, 32), nn.SiLU(inplace=True), nn.Linear(32, 1))))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=False)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=6)
scaler = GradScaler(enabled=use_amp)
x, y = normal(20, 10), normal(20, 1, seed=2)
if device.type == "cuda":
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
for step in range(6):
    optimizer.zero_grad(set_to_none=True)
    if device.type == "cuda":
        start.record()
    with autocast(enabled=use_amp):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if device.type == "cuda":
        end.record()
        torch.cuda.synchronize()
        assert start.elapsed_time(end) >= 0 and torch.cuda.max_memory_allocated() > 0
    report(step, loss.detach())
print(list(model.state_dict()))
