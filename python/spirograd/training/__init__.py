"""fit: the training loop. A step is one submission; nothing is read between steps but what a bar shows now and then."""

from .fit import evaluate, fit
from .state import History, Training

__all__ = ["History", "Training", "evaluate", "fit"]
