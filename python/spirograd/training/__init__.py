"""fit: the training loop. A step is one submission; between steps, only the progress bar reads a value now and then."""

from .fit import evaluate, fit, predict
from .lr_finder import LRFinder, lr_find
from .state import History, Training

__all__ = ["History", "LRFinder", "Training", "evaluate", "fit", "lr_find", "predict"]
