"""Functions that make functions: gradients, Jacobians and products with them, and loops over examples."""

from ..autograd.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
from .functional_call import functional_call
from .vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "value_and_grad",
    "vjp",
    "vmap",
]
