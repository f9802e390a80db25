"""torch.ao: see torch.ao.quantization."""

__all__: list[str] = []
