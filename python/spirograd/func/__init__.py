"""Functions that make functions: gradients, Jacobians and products with them, and loops over examples."""

from ..autograd import transforms
from ..autograd.transforms import *  # noqa: F403
from .functional_call import functional_call, stack_module_state
from .vmap import vmap

__all__ = ["functional_call", "stack_module_state", "vmap"]
__all__ += transforms.__all__
