"""The names of torch.autograd that spirograd lacks."""

from __future__ import annotations

from typing import Any

from .... import autograd
from ...._core import Tensor

__all__ = ["Variable", "grad"]


def grad(*args: Any, only_inputs: bool = True, **kwargs: Any) -> tuple[Any, ...]:
    """spirograd's grad(), taking PyTorch's old argument `only_inputs` as well, which must be True as there."""
    if not only_inputs:
        raise ValueError("grad: only_inputs=False is not there; use backward()")
    return autograd.grad(*args, **kwargs)


class _Variables(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
        return data if data.requires_grad and not requires_grad else data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_Variables):
    """The tensor itself: since PyTorch 0.4 tensors have gradients.

    Args:
        data: a tensor.
        requires_grad: whether backward() reaches it.
        volatile: accepted, and without effect, as in PyTorch since 0.4.
    """
