"""torch.nn.modules.linear: a name of PyTorch's for the last layer of its attention."""

from .....nn import Linear

__all__ = ["NonDynamicallyQuantizableLinear"]

NonDynamicallyQuantizableLinear = Linear
