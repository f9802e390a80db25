"""functorch: torch.func before it had that name, and functions of modules as it had them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Tensor
from ...func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from ...nn import Module
from ..modules.func import functionalize

__all__ = ["combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev"]
__all__ += ["jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap"]

_Tensors = tuple[Tensor, ...]


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], _Tensors, _Tensors]:
    """A function of parameters, buffers and inputs, then copies of the parameters and of the buffers."""
    own = copy.deepcopy(model)
    parameters, buffers = dict(own.named_parameters()), dict(own.named_buffers())
    if disable_autograd_tracking:
        own.requires_grad_(False)

    def call(params: Sequence[Tensor], buffs: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module with these parameters and buffers."""
        given = dict(zip(parameters, params, strict=True)) | dict(zip(buffers, buffs, strict=True))
        return functional_call(own, given, args, kwargs)

    return call, tuple(parameters.values()), tuple(buffers.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Callable[..., Any], _Tensors]:
    """A function of parameters and inputs, then copies of the parameters.

    Raises:
        RuntimeError: the module has buffers.
    """
    call, parameters, buffers = make_functional_with_buffers(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError("make_functional: the module has buffers; use make_functional_with_buffers()")
    return lambda params, *args, **kwargs: call(params, (), *args, **kwargs), parameters


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Callable[..., Any], _Tensors, _Tensors]:
    """make_functional_with_buffers() of several modules, whose parameters and buffers are stacked for vmap()."""
    parameters, buffers = stack_module_state(models)
    return make_functional_with_buffers(models[0])[0], tuple(parameters.values()), tuple(buffers.values())
