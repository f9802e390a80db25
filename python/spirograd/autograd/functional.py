"""Jacobians, Hessians and products with them, of a function at a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor, ones_like
from ..base.docstrings import described_by
from ..base.stand_in import StandIn
from ..base.tree import transform
from . import transforms

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_COMMON = """
Args:
    func: a function of the inputs that returns a tensor or a tuple of tensors.
    inputs: a tensor or several.
    create_graph: whether the result has a gradient.
    strict: accepted for compatibility with PyTorch; where there is no path, the result is 0.
    vectorize: accepted for compatibility with PyTorch.
"""
_OF_A_NUMBER = """
Args:
    func: a function of the inputs that returns a tensor of one element.
    v: the vector, in the shape of the inputs.

Returns:
    The output, and the product, in the shape of the inputs.
"""
Inputs = Tensor | Sequence[Tensor]
Function = Callable[..., Any]


def _is_one(x: Any) -> bool:
    return isinstance(x, (Tensor, StandIn))


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if _is_one(x) else tuple(x)


def _finish(tree: Any, create_graph: bool) -> Any:
    return tree if create_graph else transform(lambda t: t.detach() if _is_one(t) else t, tree)


def _start(op: str, v: Any, like: Any) -> tuple[Any, ...]:
    """The vector of a product; ones for a single element."""
    targets = _as_tuple(like)
    if v is None:
        if len(targets) != 1 or targets[0].numel() != 1:
            raise ValueError(f"{op}: v is needed, of the shape of what it is multiplied with")
        return (ones_like(targets[0]),)
    given = _as_tuple(v)
    if [tuple(t.shape) for t in given] != [tuple(t.shape) for t in targets]:
        raise ValueError(f"{op}: v does not have the shape of what it is multiplied with")
    return given


def _is_forward(op: str, strategy: str) -> bool:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"{op}: strategy {strategy!r}; use 'reverse-mode' or 'forward-mode'")
    return strategy == "forward-mode"


@described_by(_COMMON)
def jacobian(
    func: Function,
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of func at inputs.

    Args:
        func: a function of the inputs that returns a tensor or a tuple of tensors, which are real in reverse mode.
        inputs: a tensor or several. For complex ones, the rows are gradients, or in forward mode changes along the real
            parts.
        strategy: "reverse-mode" makes a pass for each element of the output, "forward-mode" one for each of the input.

    Returns:
        output shape + input shape; a tuple for each of several outputs or inputs.

    Raises:
        ValueError: the strategy is unknown.

    Example:
        >>> sg.autograd.functional.jacobian(sg.square, sg.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    several = not _is_one(inputs)
    args = _as_tuple(inputs)
    by = transforms.jacobian(func, tuple(range(len(args))) if several else 0, _is_forward("jacobian", strategy))
    return _finish(by(*args), create_graph)


@described_by(_OF_A_NUMBER, _COMMON)
def hessian(
    func: Function,
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of func at inputs.

    Args:
        outer_jacobian_strategy: the strategy of the Jacobian of the gradient; see jacobian().

    Returns:
        input shape + input shape; a tuple of tuples for several inputs.

    Raises:
        ValueError: the strategy is unknown.

    Example:
        >>> sg.autograd.functional.hessian(lambda x: (x**3).sum(), sg.tensor([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    several = not _is_one(inputs)
    args = _as_tuple(inputs)
    numbers = tuple(range(len(args))) if several else 0
    gradient = transforms.grad(func, numbers)
    by = transforms.jacfwd if _is_forward("hessian", outer_jacobian_strategy) else transforms.jacrev
    return _finish(by(gradient, numbers)(*args), create_graph)


@described_by(_COMMON)
def vjp(func: Function, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """v times the Jacobian of func.

    Args:
        v: the vector, in the shape of the output; it may be left out if that has one element.

    Returns:
        The output, and the product: one for each input.

    Example:
        >>> y, g = sg.autograd.functional.vjp(lambda x: (x**2).sum(), sg.tensor([1.0, 2.0]))
        >>> g.tolist()
        [2.0, 4.0]
    """
    output, pull = transforms.vjp(func, *_as_tuple(inputs))
    weights = _start("vjp", v, output)
    found = pull(*weights)
    return _finish((output, found[0] if _is_one(inputs) else found), create_graph)


@described_by(_COMMON)
def jvp(func: Function, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The Jacobian of func times v.

    Args:
        v: the vector, in the shape of the inputs; it may be left out if they have one element.

    Returns:
        The output, and the product, of the shape of the output.

    Example:
        >>> y, dy = sg.autograd.functional.jvp(sg.square, sg.tensor([1.0, 2.0]), sg.tensor([1.0, 0.0]))
        >>> dy.tolist()
        [2.0, 0.0]
    """
    return _finish(transforms.jvp(func, _as_tuple(inputs), _start("jvp", v, inputs)), create_graph)


@described_by(_OF_A_NUMBER, _COMMON)
def vhp(func: Function, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """v times the second derivatives of func.

    Example:
        >>> y, h = sg.autograd.functional.vhp(lambda x: (x**3).sum(), sg.tensor([1.0]), sg.tensor([2.0]))
        >>> h.tolist()
        [12.0]
    """
    args = _as_tuple(inputs)
    weights = _start("vhp", v, inputs)
    _, pull, output = transforms.vjp(transforms.grad_and_value(func, tuple(range(len(args)))), *args, has_aux=True)
    found = pull(tuple(weights))
    return _finish((output, found[0] if _is_one(inputs) else found), create_graph)


@described_by(_OF_A_NUMBER, _COMMON)
def hvp(func: Function, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The second derivatives of func times v: the same as vhp, because they are symmetric.

    Example:
        >>> y, h = sg.autograd.functional.hvp(lambda x: (x**3).sum(), sg.tensor([1.0]), sg.tensor([2.0]))
        >>> h.tolist()
        [12.0]
    """
    return vhp(func, inputs, v, create_graph, strict)
