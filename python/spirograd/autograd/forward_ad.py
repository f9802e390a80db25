"""Changes of results along directions of inputs, computed from the gradient graph.

A dual tensor is a start of the graph with a direction beside it. The change of a result is the gradient of its
vector-Jacobian product by the vector, so functions of dual tensors need gradients of gradients.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from .._core import Tensor, _depends_on_others, _grad, _set_grad_enabled, is_grad_enabled, zeros_like
from ..base.grad_mode import enable_grad

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, which is None where it depends on no dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class _Dual(NamedTuple):
    start: Tensor  # what gradients are taken by
    made: Tensor  # what the program has
    version: int
    tangent: Tensor
    is_new: bool  # whether nothing but the dual tensor itself is behind it


class _Level:
    """What is open between enter_dual_level() and exit_dual_level()."""

    def __init__(self) -> None:
        self.duals: list[_Dual] = []
        self.recorded = is_grad_enabled()

    def released(self, t: Tensor) -> Tensor:
        """The tensor without a history that leads to nothing but dual tensors."""
        new = [d.start for d in self.duals if d.is_new]
        return t if t.requires_grad and _depends_on_others(t, new) else t.detach()


_state = threading.local()


def _open_level(op: str, level: int | None) -> _Level | None:
    if level not in (None, -1, 0):
        raise RuntimeError(f"{op}: level {level}; there is one level, 0")
    found: _Level | None = getattr(_state, "level", None)
    return found


def enter_dual_level() -> int:
    """Opens a level, in which make_dual() works, and gives its number. Operations are recorded from here on.

    Raises:
        RuntimeError: one is open already.
    """
    if _open_level("enter_dual_level", None) is not None:
        raise RuntimeError("enter_dual_level: a level is open already, and they do not nest; use func.jvp() inside")
    _state.level = _Level()
    _set_grad_enabled(True)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level: dual tensors have no tangents any more.

    Args:
        level: what enter_dual_level() gave.

    Raises:
        RuntimeError: none is open.
    """
    found = _open_level("exit_dual_level", level)
    if found is None:
        raise RuntimeError("exit_dual_level: no level is open; call enter_dual_level() first")
    _state.level = None
    _set_grad_enabled(found.recorded)


class dual_level(ContextDecorator):
    """A context in which make_dual() works.

    Example:
        >>> forward_ad = sg.autograd.forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(sg.tensor(3.0), sg.tensor(1.0))
        ...     print(forward_ad.unpack_dual(x * x).tangent)
        tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *args: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a direction: results of it have tangents, which unpack_dual() gives.

    Args:
        tensor: of a floating type.
        tangent: of its shape.
        level: 0, the only one.

    Raises:
        RuntimeError: no level is open, or operations are not recorded.
        ValueError: the tangent does not fit.
    """
    found = _open_level("make_dual", level)
    if found is None:
        raise RuntimeError("make_dual: no level is open; use it inside of dual_level()")
    for name, t in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor) or not t.is_floating_point():
            kind = t.dtype.name if isinstance(t, Tensor) else type(t).__name__
            raise ValueError(f"make_dual: the {name} is {kind}; give a tensor of a floating type")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise RuntimeError(
            f"make_dual: a tangent of shape {list(tangent.shape)} for a tensor of {list(tensor.shape)}; they must agree"
        )
    if not is_grad_enabled():
        raise RuntimeError(
            "make_dual: gradients are off, so nothing is recorded; open dual_level() inside of no_grad()"
        )
    start = tensor.clone() if tensor.requires_grad else tensor.detach().requires_grad_()
    made = start.view(tensor.shape) if start.is_contiguous() else start.clone()
    found.duals.append(_Dual(start, made, made._version, tangent, not tensor.requires_grad))
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor and its tangent.

    Args:
        tensor: a dual tensor, a result of some, or another one.
        level: 0, the only one.

    Raises:
        NotImplementedError: an operation between has no gradient of its gradient.
    """
    found = _open_level("unpack_dual", level)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    for dual in found.duals:
        if dual.made is tensor and tensor._version == dual.version:
            return UnpackedDualTensor(found.released(tensor), dual.tangent)
    if not tensor.requires_grad or not found.duals:
        return UnpackedDualTensor(tensor, None)
    with enable_grad():
        tangent = _tangent(tensor, found.duals)
    return UnpackedDualTensor(found.released(tensor), None if tangent is None else found.released(tangent))


def _tangent(y: Tensor, duals: list[_Dual]) -> Tensor | None:
    """The change of y when each dual tensor moves along its direction; None if it depends on none of them."""
    weight = zeros_like(y.detach()).requires_grad_()
    pulled = _grad([y], [d.start for d in duals], [weight], True, True)
    if all(p is None for p in pulled):
        return None
    pairs: list[tuple[Any, Tensor]] = [
        (p, d.tangent.to(p.dtype)) for p, d in zip(pulled, duals, strict=True) if p is not None and p.requires_grad
    ]
    if not pairs:
        return zeros_like(y.detach())
    (change,) = _grad([p for p, _ in pairs], [weight], [t for _, t in pairs], True, True)
    return zeros_like(y.detach()) if change is None else change
