"""The names of torch.nn that spirograd lacks or has in another form."""

from __future__ import annotations

from ....nn.recurrent import RNNBase
from .parallel import DataParallel
from .rare import FractionalMaxPool2d, TripletMarginWithDistanceLoss

__all__ = ["DataParallel", "FractionalMaxPool2d", "RNNBase", "TripletMarginWithDistanceLoss"]
