"""torch.fx.experimental: what libraries ask of PyTorch's tracer, which does not run here."""

__all__: list[str] = []
