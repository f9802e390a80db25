"""torch.nn.modules.padding: what paddings begin with."""

from .....nn.padding import _CircularPad as _CircularPadNd
from .....nn.padding import _ConstantPad as _ConstantPadNd
from .....nn.padding import _ReflectionPad as _ReflectionPadNd
from .....nn.padding import _ReplicationPad as _ReplicationPadNd

__all__ = ["_CircularPadNd", "_ConstantPadNd", "_ReflectionPadNd", "_ReplicationPadNd"]
