"""Gradient clipping. Norms and factors stay on the device, and nothing is read back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ... import _core
from ..._core import Tensor
from ...base.docstrings import described_by
from ...base.grad_mode import no_grad
from ...base.keywords import naming_keywords
from ...base.stand_in import StandIn
from ...base.whole import Whole

Tensors: TypeAlias = Tensor | Iterable[Tensor]

_ARGUMENTS = """
Args:
    parameters: one or several tensors; those without a gradient are skipped.
    max_norm: the largest norm that is not changed.
    norm_type: the order of the norm; float("inf") is the largest magnitude.
    error_if_nonfinite: whether to read the norm, and raise an error if it is infinite or NaN.
    foreach: accepted for compatibility with PyTorch.
"""


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, (Tensor, StandIn)) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _wide(t: Tensor) -> Tensor:
    return t.float() if t.element_size() < 4 else t


def _euclidean(tensors: list[Tensor]) -> Tensor:
    total = _core.square(_wide(tensors[0])).sum()
    for t in tensors[1:]:
        total = total + _core.square(_wide(t)).sum().to(total.device)
    return total.sqrt()


def _of_order(tensors: list[Tensor], order: float) -> Tensor:
    norms = [_core.norm(_wide(t), order).to(tensors[0].device) for t in tensors]
    return _core.norm(_core.stack(norms), order)


@described_by(_ARGUMENTS)
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Returns the norm of all elements of all tensors.

    Args:
        tensors: one or several tensors, of any shapes.

    Returns:
        A scalar on the device of the first tensor; float32 for half types.

    Raises:
        Error: error_if_nonfinite is set, and the norm is infinite or NaN.

    Example:
        >>> sg.nn.utils.get_total_norm([sg.tensor([3.0]), sg.tensor([[4.0]])]).item()
        5.0
    """
    each = _listed(tensors)
    if not each:
        return _core.zeros(())
    with no_grad():
        each = [t.abs() if _core.is_complex(t) else t for t in each]
        order = float(norm_type)  # also of the text "inf"
        total = _euclidean(each) if order == 2 else _of_order(each, order)
    if error_if_nonfinite and not total.isfinite().item():
        raise _core.Error(
            f"get_total_norm: the norm of order {norm_type} is {total.item()}; find its cause, or leave out "
            "error_if_nonfinite"
        )
    return total


@described_by(_ARGUMENTS)
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiplies gradients in place by max_norm / total_norm, if that is less than 1.

    Args:
        total_norm: the norm that get_total_norm() returned.

    Example:
        >>> w = sg.zeros(2, requires_grad=True)
        >>> w.grad = sg.tensor([3.0, 4.0])
        >>> sg.nn.utils.clip_grads_with_norm_(w, 1.0, sg.tensor(10.0))
        >>> [round(x, 4) for x in w.grad.tolist()]
        [0.3, 0.4]
    """
    gradients = _gradients(parameters)
    if not gradients:
        return
    with no_grad(), Whole(gradients):
        factor = _core.clamp(max_norm / (total_norm + 1e-6), max=1.0)
        for g in gradients:
            g.mul_(factor.to(g.device))


@naming_keywords
@described_by(_ARGUMENTS)
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales gradients in place so that their total norm is at most max_norm.

    Returns:
        The norm before, a scalar; reading it runs the pending work.

    Raises:
        Error: error_if_nonfinite is set, and the norm is infinite or NaN; nothing was changed.

    Example:
        >>> w = sg.zeros(2, requires_grad=True)
        >>> w.grad = sg.tensor([3.0, 4.0])
        >>> sg.nn.utils.clip_grad_norm_([w], max_norm=1.0).item()
        5.0
        >>> [round(x, 4) for x in w.grad.tolist()]
        [0.6, 0.8]
    """
    each = _listed(parameters)
    total = get_total_norm(_gradients(each), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(each, max_norm, total)
    return total


@naming_keywords
@described_by(_ARGUMENTS)
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps each element of the gradients to [-clip_value, clip_value], in place.

    Args:
        clip_value: the largest magnitude.

    Example:
        >>> w = sg.zeros(2, requires_grad=True)
        >>> w.grad = sg.tensor([-3.0, 0.5])
        >>> sg.nn.utils.clip_grad_value_(w, 1.0)
        >>> w.grad.tolist()
        [-1.0, 0.5]
    """
    gradients = _gradients(parameters)
    with no_grad(), Whole(gradients):
        for g in gradients:
            g.clamp_(-clip_value, clip_value)
