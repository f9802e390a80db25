"""torch.nn.modules.pooling: what poolings begin with."""

from .....nn.pooling import _AdaptiveMaxPool as _AdaptiveMaxPoolNd
from .....nn.pooling import _AvgPool as _AvgPoolNd
from .....nn.pooling import _LPPool as _LPPoolNd
from .....nn.pooling import _MaxPool as _MaxPoolNd
from .....nn.pooling import _MaxUnpool as _MaxUnpoolNd

__all__ = ["_AdaptiveMaxPoolNd", "_AvgPoolNd", "_LPPoolNd", "_MaxPoolNd", "_MaxUnpoolNd"]
