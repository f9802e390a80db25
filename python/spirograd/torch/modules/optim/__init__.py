"""torch.optim: parts that other people's optimisers import."""
