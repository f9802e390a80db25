"""Gradients of chosen tensors, operations with gradients of your own, and checks of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Error, Tensor, _backward, _grad, stack, zeros_like
from ..base.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ..base.stand_in import StandIn
from . import forward_ad, function, functional, graph
from .anomaly_mode import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .graph import GradientEdge, in_a_pass, tensor_of
from .parts import put_together, taken_apart, with_starts

__all__ = ["Function", "GradcheckError", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function"]
__all__ += ["functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_anomaly_enabled"]
__all__ += ["no_grad", "set_detect_anomaly", "set_grad_enabled"]

Tensors = Tensor | Sequence[Tensor]
Starts = Tensor | Sequence[Tensor | None] | None


def _listed(tensors: Any) -> list[Any]:
    """Tensors, and those of edges."""
    several = [tensors] if isinstance(tensors, (Tensor, StandIn, GradientEdge)) else list(tensors)
    return [tensor_of(x) for x in several]


def _starts(op: str, name: str, roots: list[Tensor], given: Starts) -> list[Tensor | None]:
    if given is None:
        return [None] * len(roots)
    starts: list[Tensor | None] = _listed(given)
    if len(starts) != len(roots):
        raise ValueError(f"{op}: {len(starts)} {name} for {len(roots)} outputs; give one for each")
    return starts


@in_a_pass
def backward(
    tensors: Tensors,
    grad_tensors: Starts = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of tensors to the .grad of every leaf they were made from, in one pass.

    Args:
        tensors: one tensor or several, or their edges.
        grad_tensors: the gradient of each; None for tensors of one element.
        retain_graph: keep what another pass needs; default: the value of create_graph.
        create_graph: record the gradients themselves, for gradients of higher order.
        inputs: only these collect a .grad, and only what leads to them is computed.

    Raises:
        Error: values were freed by an earlier pass, or overwritten in place since.
        ValueError: a gradient is missing or of another shape.

    Example:
        >>> x = sg.tensor(3.0, requires_grad=True)
        >>> sg.autograd.backward([x * 2, x * x])
        >>> x.grad.item()
        8.0
    """
    roots = _listed(tensors)
    if inputs is not None:
        inputs = taken_apart(_listed(inputs))
        if not inputs:
            raise Error("backward: inputs is empty; leave it out to reach every leaf")
    roots, starts = with_starts("backward", roots, _starts("backward", "grad_tensors", roots, grad_tensors))
    _backward(roots, starts, create_graph if retain_graph is None else retain_graph, create_graph, inputs)


@in_a_pass
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Starts = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of outputs with respect to inputs; no .grad is touched.

    Args:
        outputs: one tensor or several; their gradients are added.
        inputs: one tensor or several, leaves or not, or edges. Only what leads to them is computed.
        grad_outputs: the gradient of each output; None for outputs of one element.
        retain_graph: keep what another pass needs; default: the value of create_graph.
        create_graph: record the gradients themselves, for gradients of higher order.
        allow_unused: None for inputs that no output was made from, instead of an error.
        is_grads_batched: grad_outputs have one dimension more, along which there are several of each; so have the
            gradients.
        materialize_grads: zeros for inputs that no output was made from.

    Returns:
        A gradient for each input, of its shape.

    Raises:
        Error: an input was not used, or values were freed or overwritten.

    Example:
        >>> x = sg.tensor(3.0, requires_grad=True)
        >>> (g,) = sg.autograd.grad(x**3, x, create_graph=True)
        >>> sg.autograd.grad(g, x)[0].item()
        18.0
    """
    if is_grads_batched:
        batch = [] if grad_outputs is None else _listed(grad_outputs)
        options = (create_graph, allow_unused, False, materialize_grads)
        rows = [grad(outputs, inputs, list(row), True, *options) for row in zip(*batch, strict=True)]
        return tuple(None if parts[0] is None else stack(parts) for parts in zip(*rows, strict=True))
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads needs allow_unused; leave allow_unused out")
    roots, wanted = _listed(outputs), _listed(inputs)
    roots, starts = with_starts("grad", roots, _starts("grad", "grad_outputs", roots, grad_outputs))
    retain = create_graph if retain_graph is None else retain_graph
    found = put_together(wanted, _grad(roots, taken_apart(wanted), starts, retain, create_graph))
    unused = [i for i, g in enumerate(found) if g is None]
    if unused and not allow_unused and not materialize_grads:
        raise Error(f"grad: no output was made from inputs {unused}; pass allow_unused=True to get None for them")
    if materialize_grads:
        found = [zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)]
    return tuple(found)
