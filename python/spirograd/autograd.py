"""Gradients of chosen tensors, and checks of gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._core import Error, Tensor, _grad, float64, tensor
from ._grad_mode import no_grad

Tensors = Tensor | Sequence[Tensor]


def _several(x: Tensors) -> list[Tensor]:
    return [x] if isinstance(x, Tensor) else list(x)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of outputs with respect to inputs; no .grad is touched.

    Args:
        outputs: one tensor or several; their gradients are added.
        inputs: one tensor or several, leaves or not.
        grad_outputs: the gradient of each output; None for outputs of one element.
        retain_graph: keep what another pass needs; default: the value of create_graph.
        create_graph: record the gradients themselves, for gradients of higher order.
        allow_unused: None for inputs that no output was made from, instead of an error.

    Returns:
        A gradient for each input, of its shape.

    Raises:
        Error: an input was not used, or the graph was freed.

    Example:
        >>> x = sg.tensor(3.0, requires_grad=True)
        >>> (g,) = sg.autograd.grad(x**3, x, create_graph=True)
        >>> sg.autograd.grad(g, x)[0].item()
        18.0
    """
    roots, wanted = _several(outputs), _several(inputs)
    starts: list[Tensor | None]
    if grad_outputs is None:
        starts = [None] * len(roots)
    else:
        starts = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    if len(starts) != len(roots):
        raise ValueError(f"grad: {len(starts)} grad_outputs for {len(roots)} outputs; give one for each")
    root, start = roots[0], starts[0]
    if len(roots) > 1:
        # One scalar whose gradient is the sum of all.
        parts = []
        for out, weight in zip(roots, starts, strict=True):
            if weight is None and out.numel() != 1:
                raise ValueError(f"grad: an output has shape {list(out.shape)}; give its gradient in grad_outputs")
            parts.append(out.sum() if weight is None else (out * weight).sum())
        root, start = parts[0], None
        for part in parts[1:]:
            root = root + part
    retain = create_graph if retain_graph is None else retain_graph
    found = _grad(root, wanted, start, retain, create_graph)
    if not allow_unused and any(g is None for g in found):
        at = [i for i, g in enumerate(found) if g is None]
        raise Error(f"grad: no output was made from inputs {at}; pass allow_unused=True to get None for them")
    return tuple(found)


def _outputs(f: Callable[..., Any], inputs: Sequence[Tensor]) -> list[Tensor]:
    return _several(f(*inputs))


def _numeric(f: Callable[..., Any], inputs: Sequence[Tensor], i: int, eps: float) -> list[np.ndarray[Any, Any]]:
    """Central differences: for each output the matrix d output / d input i."""
    values = inputs[i].detach().numpy()
    columns: list[list[np.ndarray[Any, Any]]] = []
    for position in np.ndindex(*values.shape):
        sides = []
        for sign in (1, -1):
            moved = values.copy()
            moved[position] += sign * eps
            others = list(inputs)
            others[i] = tensor(moved, device=inputs[i].device, requires_grad=True)
            sides.append([y.detach().numpy().ravel() for y in _outputs(f, others)])
        columns.append([(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)])
    count = len(_outputs(f, inputs))
    return [np.stack([c[k] for c in columns], axis=1) for k in range(count)] if columns else []


def _analytic(y: Tensor, x: Tensor) -> np.ndarray[Any, Any]:
    rows = []
    for position in np.ndindex(*y.shape):
        one = np.zeros(y.shape)
        one[position] = 1
        (g,) = grad(y, x, tensor(one, device=y.device), retain_graph=True, allow_unused=True)
        rows.append(np.zeros(x.numel()) if g is None else g.detach().numpy().ravel())
    return np.stack(rows) if rows else np.zeros((0, x.numel()))


def gradcheck(
    f: Callable[..., Any], inputs: Tensors, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """Compares the gradients of f with finite differences.

    Args:
        f: a function of the inputs that returns a tensor or several.
        inputs: float64 tensors; those with requires_grad are checked.
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.

    Returns:
        True.

    Raises:
        TypeError: an input to check is not float64.
        AssertionError: a gradient differs; the message names the input and the largest difference.

    Example:
        >>> x = sg.tensor([0.5, 1.0], dtype=sg.float64, requires_grad=True)
        >>> sg.autograd.gradcheck(sg.tanh, x)
        True
    """
    tensors = _several(inputs)
    for i, x in enumerate(tensors):
        if x.requires_grad and x.dtype != float64:
            raise TypeError(f"gradcheck: input {i} is {x.dtype.name}; use float64, differences need it")
    ys = _outputs(f, tensors)
    for i, x in enumerate(tensors):
        if not x.requires_grad or x.numel() == 0:
            continue
        for k, (y, expected) in enumerate(zip(ys, _numeric(f, tensors, i, eps), strict=True)):
            got = _analytic(y, x) if y.requires_grad else np.zeros_like(expected)
            if not np.allclose(got, expected, rtol=rtol, atol=atol, equal_nan=True):
                worst = np.nanmax(np.abs(got - expected))
                raise AssertionError(
                    f"gradcheck: output {k} by input {i} differs from finite differences by up to {worst:.3g} "
                    f"(atol {atol}, rtol {rtol})\nanalytic\n{got}\nnumeric\n{expected}"
                )
    return True


def gradgradcheck(
    f: Callable[..., Any], inputs: Tensors, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """gradcheck of the gradient of f: checks second derivatives.

    Args:
        f: a function of the inputs that returns a tensor or several.
        inputs: float64 tensors; those with requires_grad are checked.
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.

    Returns:
        True.

    Raises:
        TypeError: an input to check is not float64.
        AssertionError: a second derivative differs.

    Example:
        >>> x = sg.tensor([0.5, 1.0], dtype=sg.float64, requires_grad=True)
        >>> sg.autograd.gradgradcheck(sg.tanh, x)
        True
    """
    tensors = _several(inputs)
    random = np.random.default_rng(0)
    with no_grad():
        shapes = [(y.shape, y.device) for y in _outputs(f, tensors)]
    weights = [tensor(random.uniform(0.5, 1.5, shape), device=device) for shape, device in shapes]

    def first(*xs: Tensor) -> list[Tensor]:
        ys = _outputs(f, xs)
        wanted = [x for x in xs if x.requires_grad]
        used = [(y, w) for y, w in zip(ys, weights, strict=True) if y.requires_grad]
        found = grad([y for y, _ in used], wanted, [w for _, w in used], create_graph=True, allow_unused=True)
        return [g for g in found if g is not None]

    return gradcheck(first, tensors, eps, atol, rtol)
