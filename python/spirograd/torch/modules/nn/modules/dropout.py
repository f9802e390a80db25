"""torch.nn.modules.dropout: what dropouts begin with."""

from .....nn.dropout import _Dropout as _DropoutNd

__all__ = ["_DropoutNd"]
