"""The names of torch.nn that spirograd lacks or has in another form."""

from __future__ import annotations

from ....nn.recurrent import RNNBase
from .linear_loss import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from .parallel import DataParallel
from .rare import CrossMapLRN2d, FractionalMaxPool2d, FractionalMaxPool3d, TripletMarginWithDistanceLoss

__all__ = ["CrossMapLRN2d", "DataParallel", "FractionalMaxPool2d", "FractionalMaxPool3d", "LinearCrossEntropyLoss"]
__all__ += ["LinearCrossEntropyOptions", "RNNBase", "TripletMarginWithDistanceLoss"]
