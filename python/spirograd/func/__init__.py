"""Functions that make functions: gradients, Jacobians and products with them, and loops over examples."""

from ..autograd import transforms
from ..autograd.transforms import *  # noqa: F403
from .control_flow import associative_scan, cond, scan, while_loop
from .functional_call import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .vmap import vmap

__all__ = ["associative_scan", "cond", "functional_call", "replace_all_batch_norm_modules_", "scan"]
__all__ += ["stack_module_state", "vmap", "while_loop"]
__all__ += transforms.__all__
