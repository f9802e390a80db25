"""Gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Error, Tensor, _grad, float64, tensor
from ..base.grad_mode import no_grad

Array = np.ndarray[Any, Any]


class GradcheckError(Error, AssertionError):
    """A gradient differs from finite differences."""


def _arguments(inputs: Any) -> list[Any]:
    return [inputs] if isinstance(inputs, Tensor) else list(inputs)


def _outputs(f: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    """The results of f that are tensors of a floating type."""
    made = f(*inputs)
    made = [made] if isinstance(made, Tensor) else list(made)
    return [y for y in made if isinstance(y, Tensor) and y.is_floating_point()]


def _values(f: Callable[..., Any], inputs: Sequence[Any]) -> list[Array]:
    return [y.detach().numpy() for y in _outputs(f, inputs)]


def _is_checked(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _with(inputs: Sequence[Any], i: int, values: Array) -> list[Any]:
    """The inputs, with new values in the i-th."""
    x = inputs[i]
    moved = tensor(values, dtype=x.dtype, device=x.device).requires_grad_()
    return [moved if k == i else other for k, other in enumerate(inputs)]


def _difference(f: Callable[..., Any], inputs: Sequence[Any], i: int, step: Array, eps: float) -> list[Array]:
    """The change of each output along `step` of input i, by central differences."""
    at = inputs[i].detach().numpy().astype(np.float64)
    ahead, behind = (_values(f, _with(inputs, i, at + sign * eps * step)) for sign in (1, -1))
    return [(a.astype(np.float64) - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]


def _numeric(f: Callable[..., Any], inputs: Sequence[Any], i: int, eps: float) -> list[Array]:
    """For each output the matrix d output / d input i."""
    columns = []
    shape = tuple(inputs[i].shape)
    for position in np.ndindex(*shape):
        step = np.zeros(shape)
        step[position] = 1
        columns.append([d.ravel() for d in _difference(f, inputs, i, step, eps)])
    return [np.stack(c, axis=1) for c in zip(*columns, strict=True)]


def _pulled(y: Tensor, x: Tensor, weight: Array) -> Array:
    """The gradient of sum(weight * y) by x."""
    (g,) = _grad([y], [x], [tensor(weight, dtype=y.dtype, device=y.device)], True, False) if y.requires_grad else [None]
    if g is None:
        return np.zeros(tuple(x.shape))
    if tuple(g.shape) != tuple(x.shape) or g.dtype != x.dtype:
        raise GradcheckError(f"gradcheck: a gradient is {g.dtype.name} {list(g.shape)}, its input {list(x.shape)}")
    return g.detach().numpy()


def _analytic(y: Tensor, x: Tensor) -> Array:
    rows = []
    for position in np.ndindex(*y.shape):
        one = np.zeros(tuple(y.shape))
        one[position] = 1
        rows.append(_pulled(y, x, one).ravel())
    return np.stack(rows) if rows else np.zeros((0, x.numel()))


def _compare(what: str, got: Array, want: Array, atol: float, rtol: float) -> None:
    if got.shape == want.shape and np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        return
    worst = np.nanmax(np.abs(got - want)) if got.shape == want.shape else np.nan
    raise GradcheckError(
        f"gradcheck: {what} differs from finite differences by up to {worst:.3g} (atol {atol}, rtol {rtol})\n"
        f"analytic\n{got}\nnumeric\n{want}"
    )


def _check(
    f: Callable[..., Any], inputs: list[Any], eps: float, atol: float, rtol: float, nondet_tol: float, fast: bool
) -> None:
    if not any(_is_checked(x) for x in inputs):
        raise ValueError("gradcheck: no input requires grad; set requires_grad=True on those to check")
    for i, x in enumerate(inputs):
        if _is_checked(x) and x.dtype != float64 and not fast:
            raise TypeError(f"gradcheck: input {i} is {x.dtype.name}; use float64, differences need it")
    ys = _outputs(f, inputs)
    random = np.random.default_rng(0)
    for i, x in enumerate(inputs):
        if not _is_checked(x) or x.numel() == 0:
            continue
        if fast:
            step = random.standard_normal(tuple(x.shape))
            step /= np.linalg.norm(step) or 1.0
            for k, (y, change) in enumerate(zip(ys, _difference(f, inputs, i, step, eps), strict=True)):
                weight = random.uniform(0.5, 1.5, tuple(y.shape))
                got = np.asarray((_pulled(y, x, weight) * step).sum())
                _compare(f"output {k} by input {i}", got, np.asarray((weight * change).sum()), atol, rtol)
            continue
        for k, (y, want) in enumerate(zip(ys, _numeric(f, inputs, i, eps), strict=True)):
            got = _analytic(y, x)
            _compare(f"output {k} by input {i}", got, want, atol, rtol)
            if np.abs(got - _analytic(y, x)).max(initial=0) > nondet_tol:
                raise GradcheckError(f"gradcheck: output {k} by input {i} changes from pass to pass")


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    fast_mode: bool = False,
) -> bool:
    """Compares the gradients of func with finite differences.

    Args:
        func: takes the inputs, gives a tensor or several.
        inputs: a tensor, or a sequence of tensors and other arguments; those that require grad are checked.
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: False: return False instead of raising GradcheckError.
        nondet_tol: by how much a second pass may differ.
        fast_mode: compare along one random direction; inputs may be float32, with a larger eps and tolerances.

    Returns:
        Whether the gradients agree.

    Raises:
        TypeError: an input to check is not float64.
        GradcheckError: a gradient differs; the message names the input and the largest difference.

    Example:
        >>> x = sg.tensor([0.5, 1.0], dtype=sg.float64, requires_grad=True)
        >>> sg.autograd.gradcheck(sg.tanh, x)
        True
    """
    try:
        _check(func, _arguments(inputs), eps, atol, rtol, nondet_tol, fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    fast_mode: bool = False,
) -> bool:
    """gradcheck of the gradient of func: checks second derivatives, also by the gradients of its outputs.

    Args:
        func: takes the inputs, gives a tensor or several.
        inputs: a tensor, or a sequence of tensors and other arguments; those that require grad are checked.
        grad_outputs: the gradient of each output; random by default.
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: False: return False instead of raising GradcheckError.
        nondet_tol: by how much a second pass may differ.
        fast_mode: compare along one random direction.

    Returns:
        Whether the second derivatives agree.

    Raises:
        TypeError: an input to check is not float64.
        GradcheckError: a second derivative differs.

    Example:
        >>> x = sg.tensor([0.5, 1.0], dtype=sg.float64, requires_grad=True)
        >>> sg.autograd.gradgradcheck(sg.tanh, x)
        True
    """
    arguments = _arguments(inputs)
    with no_grad():
        ys = _outputs(func, arguments)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        weights = [
            tensor(random.uniform(0.5, 1.5, tuple(y.shape)), dtype=y.dtype, device=y.device).requires_grad_()
            for y in ys
        ]
    else:
        weights = _arguments(grad_outputs)
    count = len(arguments)

    def first(*values: Any) -> list[Tensor]:
        made = _outputs(func, values[:count])
        used = [(y, w) for y, w in zip(made, values[count:], strict=True) if y.requires_grad]
        wanted = [x for x in values[:count] if _is_checked(x)]
        found = _grad([y for y, _ in used], wanted, [w for _, w in used], True, True)
        return [g for g in found if g is not None]

    return gradcheck(
        first,
        arguments + weights,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        fast_mode=fast_mode,
    )
