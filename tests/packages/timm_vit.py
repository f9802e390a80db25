import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2

from shared import filled, numbers

model = filled(
    timm.create_model(
        "vit_tiny_patch16_224", img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=2, num_classes=3
    )
).train()
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-2, weight_decay=0.05)
criterion = LabelSmoothingCrossEntropy(0.1)
for step in range(3):
    loss = criterion(model(numbers(4, 3, 16, 16, start=step)), torch.tensor([0, 2, 1, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
