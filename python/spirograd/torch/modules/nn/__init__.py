"""The names of torch.nn that spirograd lacks or has in another form."""

from __future__ import annotations

from ....nn.functional import LinearCrossEntropyOptions
from ....nn.parallel import DataParallel
from ....nn.recurrent import RNNBase
from .modules.loss import NLLLoss2d

__all__ = ["DataParallel", "LinearCrossEntropyOptions", "NLLLoss2d", "RNNBase"]
