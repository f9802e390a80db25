"""torch.nn.modules: the layers by the files that PyTorch has them in."""

__all__: list[str] = []
