"""torch.fx: what torchvision imports of it; the rest is spirograd.fx."""
