"""Optimisers. A step updates all parameters in one launch and submits everything that is pending."""

from . import lr_scheduler, swa_utils
from .adam import LAMB, Adam, Adamax, AdamW, Lion, NAdam, RAdam
from .elementwise import ASGD, Adafactor, Rprop
from .lbfgs import LBFGS
from .lookahead import Lookahead
from .muon import Muon
from .optimizer import Optimizer
from .rmsprop import Adadelta, Adagrad, RMSprop
from .rule import RuleOptimizer
from .sgd import LARS, SGD
from .sparse_adam import SparseAdam
from .zero import ZeroRedundancyOptimizer

__all__ = ["ASGD", "LAMB", "LARS", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax"]
__all__ += ["Lion", "Lookahead", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "RuleOptimizer"]
__all__ += ["SparseAdam", "ZeroRedundancyOptimizer", "lr_scheduler", "swa_utils"]
