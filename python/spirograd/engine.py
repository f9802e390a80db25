"""micrograd's module of this name: `from spirograd.engine import Value` works where `from micrograd.engine` did."""

from ._core import Value

__all__ = ["Value"]
