"""Mixed precision: products in a half type, everything that adds up in float32, and losses scaled so that small
gradients survive. The table of types is on the page "Mixed precision" of the documentation."""

from .autocast_mode import autocast, get_autocast_dtype, is_autocast_available, is_autocast_enabled
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]
