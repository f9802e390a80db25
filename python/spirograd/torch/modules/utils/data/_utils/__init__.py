"""torch.utils.data._utils: how batches are made."""

__all__: list[str] = []
