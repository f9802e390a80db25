"""Metrics of models: functions of tensors, and accumulators over many batches. Nothing waits until you read it.

Scores are [n, classes, ...] with classes [n, ...] as target. Scores of the shape of the target mean yes and no: those
above a threshold say yes (0 suits logits, 0.5 probabilities), and so do targets above it, so that both 0 and 1 and -1
and 1 will do. Integers of the shape of the target are classes themselves. Results are tensors on the device of the
input, so that a training loop does not wait for them; `.item()` reads one.
"""

from . import accumulators, functions
from .accumulators import *  # noqa: F403
from .functions import *  # noqa: F403

__all__: list[str] = []
__all__ += accumulators.__all__
__all__ += functions.__all__
