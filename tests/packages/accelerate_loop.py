import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from shared import filled, numbers

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=1)
model = filled(torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.Linear(16, 3)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(numbers(24, 6), torch.arange(24) % 3), batch_size=8)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 3)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for x, label in loader:
    with accelerator.accumulate(model), accelerator.autocast():
        loss = torch.nn.functional.cross_entropy(model(x), label)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    print(f"{accelerator.gather(loss.detach()).item():.6f}")
