"""What each op of spirograd is in ONNX. An entry is called like the op, with values in place of tensors."""

from . import elementwise, folds, places, windows  # noqa: F401  (they fill the table)
from .call import FRESH, IGNORED, OPERATIONS, VIEWS, Call

__all__ = ["FRESH", "IGNORED", "OPERATIONS", "VIEWS", "Call"]
