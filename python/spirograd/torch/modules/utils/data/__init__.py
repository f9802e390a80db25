"""The names of torch.utils.data that spirograd lacks."""

from .....utils.data import DataLoader

__all__: list[str] = []

DataLoader._get_iterator = DataLoader.__iter__  # type: ignore[attr-defined]
