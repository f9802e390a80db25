"""torch.fx.proxy: names in annotations."""

from . import Proxy

__all__ = ["Proxy"]
