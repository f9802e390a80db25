"""torch.optim: the names are spirograd's."""

__all__: list[str] = []
