"""torch._dynamo.eval_frame: the class of compiled modules."""

from .. import OptimizedModule

__all__ = ["OptimizedModule"]
