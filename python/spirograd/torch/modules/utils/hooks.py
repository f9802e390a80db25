"""torch.utils.hooks: what registering a hook returns."""

from ....nn.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
