"""The names of torch.utils that spirograd lacks."""

__all__: list[str] = []
