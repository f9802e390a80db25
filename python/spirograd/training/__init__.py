"""fit: the training loop. A step is one submission; between steps, only the progress bar reads a value now and then."""

from .fit import evaluate, fit
from .state import History, Training

__all__ = ["History", "Training", "evaluate", "fit"]
