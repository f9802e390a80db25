"""The names of torch.nn that spirograd lacks or has in another form."""

from __future__ import annotations

from ....nn.functional import LinearCrossEntropyOptions
from ....nn.parallel import DataParallel
from ....nn.recurrent import RNNBase

__all__ = ["DataParallel", "LinearCrossEntropyOptions", "RNNBase"]
