"""The names of torch.utils.data that spirograd lacks."""

__all__: list[str] = []
