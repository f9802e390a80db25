"""Functions that make functions: gradients, Jacobians and products with them.

All are made of the gradient graph, so they nest in any way and reach any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor, _depends_on_others, _grad, _record_function, stack, zeros_like
from ..base.grad_mode import enable_grad
from ..base.stand_in import StandIn
from ..base.tree import flatten, transform
from .parts import put_together, taken_apart, with_starts

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp"]

Argnums = int | tuple[int, ...]


class _Inputs:
    """Tensors to differentiate by: new ones on the same values, still connected to whatever made the given ones."""

    def __init__(self, op: str, trees: Sequence[Any]) -> None:
        flat, self.rebuild = flatten(list(trees))
        self.tensors: list[Any] = []
        self._made_here: list[Tensor] = []
        for t in flat:
            if not isinstance(t, (Tensor, StandIn)):
                raise TypeError(f"{op}: an argument to differentiate by is a {type(t).__name__}; give tensors")
            parts = [self._new(op, part) for part in taken_apart([t])]
            self.tensors.append(type(t)(*parts) if isinstance(t, StandIn) else parts[0])
        self.parts: list[Tensor] = taken_apart(self.tensors)

    def _new(self, op: str, t: Tensor) -> Tensor:
        if not t.is_floating_point():
            raise TypeError(f"{op}: an argument to differentiate by is {t.dtype.name}; use a floating type")
        if t.requires_grad:
            return t.clone()
        made = t.detach().requires_grad_()
        self._made_here.append(made)
        return made

    def own(self, tensors: Sequence[Tensor]) -> None:
        """Leaves made on the way, to which no history needs to lead."""
        self._made_here += tensors

    def trees(self) -> list[Any]:
        """The new tensors in the places of the given ones."""
        made: list[Any] = self.rebuild(list(self.tensors))
        return made

    def release(self, tree: Any) -> Any:
        """The same tensors, without a history when it leads to nothing but our own inputs."""

        def released(t: Any) -> Any:
            if isinstance(t, StandIn) and t.requires_grad:
                made: Any = type(t)
                return made(*map(released, t.parts()))
            if not isinstance(t, Tensor) or not t.requires_grad or _depends_on_others(t, self._made_here):
                return t
            return t.detach()

        return transform(released, tree)

    def connected(self, change: Tensor) -> Tensor:
        """A change along a direction: its derivative by given tensors is 0 where it has no other."""
        given = [x for x in self.parts if not x.is_leaf]
        if not given:
            return change
        made = change.detach()
        _record_function(
            "ChangeAlong",
            [change, *given],
            [made],
            lambda arrived, *_: [*arrived, *map(zeros_like, given)],
            lambda: None,
        )
        return made

    def pull_parts(self, ys: Sequence[Tensor], weights: Sequence[Tensor | None]) -> list[Tensor]:
        """The gradient of sum(weights * ys) by each part of an input; zeros where there is no path."""
        used = [(y, w) for y, w in zip(ys, weights, strict=True) if y.requires_grad]
        found: Sequence[Tensor | None] = [None] * len(self.parts)
        if used:
            found = _grad([y for y, _ in used], self.parts, [w for _, w in used], True, True)
        return [zeros_like(x) if g is None else g for x, g in zip(self.parts, found, strict=True)]

    def pull(self, ys: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        """The same by each input."""
        return put_together(self.tensors, self.pull_parts(*with_starts("grad", ys, weights)))


def _places(op: str, argnums: Argnums, count: int) -> tuple[int, ...]:
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for p in places:
        if not -count <= p < count:
            raise ValueError(f"{op}: argnums is {argnums}, and there are {count} positional arguments")
    return tuple(p % count for p in places)


def _with_inputs(op: str, args: tuple[Any, ...], argnums: Argnums) -> tuple[_Inputs, list[Any]]:
    places = _places(op, argnums, len(args))
    inputs = _Inputs(op, [args[p] for p in places])
    all_args = list(args)
    for p, tree in zip(places, inputs.trees(), strict=True):
        all_args[p] = tree
    return inputs, all_args


def _split_aux(op: str, made: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not isinstance(made, tuple) or len(made) != 2:
        raise TypeError(f"{op}: with has_aux the function gives a pair (output, aux)")
    return made


def _tensors(op: str, tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    leaves, rebuild = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, (Tensor, StandIn)):
            raise TypeError(f"{op}: the function gave a {type(leaf).__name__}; it must give tensors")
    return leaves, rebuild


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of func, and its value.

    Args:
        func: gives a tensor of one element.
        argnums: which positional arguments to differentiate by; a tuple gives a tuple of gradients. An argument may
            be a tuple, list or dict of tensors.
        has_aux: func gives (output, aux); the result then is (gradient, (output, aux)).

    Returns:
        A function of the same arguments.

    Example:
        >>> g, y = sg.func.grad_and_value(lambda x: x**3)(sg.tensor(2.0))
        >>> g.item(), y.item()
        (12.0, 8.0)
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            inputs, all_args = _with_inputs("grad", args, argnums)
            output, aux = _split_aux("grad", func(*all_args, **kwargs), has_aux)
            if not isinstance(output, Tensor) or output.numel() != 1:
                shape = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
                raise ValueError(f"grad: the function gave {shape}; it must give a real tensor of one element")
            gradients = inputs.rebuild(inputs.pull([output], [None]))
            result = gradients[0] if isinstance(argnums, int) else tuple(gradients)
            return inputs.release((result, (output, aux) if has_aux else output))

    return wrapped


def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the value of func, and its gradient: grad_and_value the other way round.

    Args:
        func: gives a tensor of one element.
        argnums: which positional arguments to differentiate by; a tuple gives a tuple of gradients.
        has_aux: func gives (output, aux); the result then is ((output, aux), gradient).

    Returns:
        A function of the same arguments.

    Example:
        >>> y, g = sg.func.value_and_grad(lambda x: x**3)(sg.tensor(2.0))
        >>> y.item(), g.item()
        (8.0, 12.0)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return wrapped


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of func.

    Args:
        func: gives a tensor of one element.
        argnums: which positional arguments to differentiate by; a tuple gives a tuple of gradients.
        has_aux: func gives (output, aux); the result then is (gradient, aux).

    Returns:
        A function of the same arguments.

    Raises:
        ValueError: func gave more than one element.

    Example:
        >>> sg.func.grad(sg.func.grad(sg.sin))(sg.tensor(0.0)).item()
        -0.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of func, and a function from a gradient of its output to those of its arguments.

    Args:
        func: gives tensors.
        primals: its arguments: tensors, or tuples, lists, dicts of them.
        has_aux: func gives (output, aux).

    Returns:
        (output, vjp_fn), or (output, vjp_fn, aux). vjp_fn takes what func gives, and returns a tuple with a gradient
        for each argument, or the gradient alone when there is one.

    Example:
        >>> y, pull = sg.func.vjp(sg.sin, sg.zeros(3))
        >>> pull(sg.ones(3))[0].tolist()
        [1.0, 1.0, 1.0]
    """
    with enable_grad():
        inputs = _Inputs("vjp", primals)
        made, aux = _split_aux("vjp", func(*inputs.trees()), has_aux)
        ys, _ = _tensors("vjp", made)

    def vjp_fn(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        weights, _ = _tensors("vjp", given)
        if len(weights) != len(ys):
            raise ValueError(f"vjp: {len(weights)} gradients for {len(ys)} outputs")
        with enable_grad():
            return inputs.release(tuple(inputs.rebuild(inputs.pull(ys, weights))))

    output, rest = inputs.release((made, aux))
    return (output, vjp_fn, rest) if has_aux else (output, vjp_fn)


def _push(ys: Sequence[Any], inputs: _Inputs, tangents: Sequence[Any]) -> list[Any]:
    """J @ tangents, for each output: the gradient of a vector-Jacobian product by its vector."""
    parts = taken_apart(ys)
    weights = [zeros_like(y).requires_grad_() if y.is_floating_point() else None for y in parts]
    pulled, (_, directions) = inputs.pull_parts(parts, weights), with_starts("jvp", inputs.tensors, tangents)
    used = [(p, t) for p, t in zip(pulled, directions, strict=True) if p.requires_grad]
    wanted = [w for w in weights if w is not None]
    inputs.own(wanted)
    found: Sequence[Tensor | None] = [None] * len(wanted)
    if used and wanted:
        found = _grad([p for p, _ in used], wanted, [t for _, t in used], True, True)
    by_weight = dict(zip(map(id, wanted), found, strict=True))
    changes = []
    for y, w in zip(parts, weights, strict=True):
        change = by_weight.get(id(w))
        changes.append(
            inputs.connected(zeros_like(y) if change is None else change) if y.requires_grad else zeros_like(y)
        )
    return put_together(ys, changes)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of func, and its change along a direction.

    Args:
        func: gives tensors; its gradients must have gradients.
        primals: a tuple of arguments.
        tangents: a tuple of directions, of the shapes of the arguments.
        strict: accepted for PyTorch's sake; where there is no path the change is 0.
        has_aux: func gives (output, aux).

    Returns:
        (output, change of the output), or (output, change, aux).

    Raises:
        ValueError: tangents do not fit the primals.

    Example:
        >>> y, dy = sg.func.jvp(sg.sin, (sg.zeros(2),), (sg.ones(2),))
        >>> dy.tolist()
        [1.0, 1.0]
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise TypeError("jvp: primals and tangents are tuples, with one entry for each argument")
    with enable_grad():
        inputs = _Inputs("jvp", primals)
        directions, _ = _tensors("jvp", list(tangents))
        if [tuple(t.shape) for t in directions] != [tuple(x.shape) for x in inputs.tensors]:
            raise ValueError("jvp: tangents do not have the shapes of the primals")
        made, aux = _split_aux("jvp", func(*inputs.trees()), has_aux)
        ys, rebuild = _tensors("jvp", made)
        output, change, rest = inputs.release((made, rebuild(_push(ys, inputs, directions)), aux))
    return (output, change, rest) if has_aux else (output, change)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of func, and a function that gives its change along directions of the arguments.

    Args:
        func: gives tensors; its gradients must have gradients.
        primals: its arguments.

    Example:
        >>> y, change = sg.func.linearize(sg.sin, sg.zeros(2))
        >>> change(sg.ones(2)).tolist()
        [1.0, 1.0]
    """

    def change(*tangents: Any) -> Any:
        """What jvp() gives as a change."""
        return jvp(func, primals, tangents)[1]

    return func(*primals), change


def _basis(x: Any) -> list[Any]:
    """For each element of x a tensor of its shape that is 1 there and 0 elsewhere."""
    rows = []
    for i in range(x.numel()):
        one = zeros_like(x).detach().reshape(-1)
        one[i] = 1.0
        rows.append(one.reshape(x.shape))
    return rows


def _empty(y: Any, x: Any) -> Any:
    return zeros_like(x.detach()).expand(*y.shape, *x.shape)


Rows = Callable[[_Inputs, list[Any]], list[list[Any]]]


def _pulled(inputs: _Inputs, ys: list[Any]) -> list[list[Any]]:
    """The Jacobian of each output by each input, one backward pass for each element of an output."""
    found = []
    for y in ys:
        pulled = [inputs.pull([y], [one]) for one in _basis(y)]
        found.append(
            [
                stack([p[i] for p in pulled]).reshape((*y.shape, *x.shape)) if pulled else _empty(y, x)
                for i, x in enumerate(inputs.tensors)
            ]
        )
    return found


def _pushed(inputs: _Inputs, ys: list[Any]) -> list[list[Any]]:
    """The same, one direction for each element of an input."""
    by_input = []
    for i, x in enumerate(inputs.tensors):
        directions = [
            [one if k == i else zeros_like(other) for k, other in enumerate(inputs.tensors)] for one in _basis(x)
        ]
        by_input.append([_push(ys, inputs, d) for d in directions])
    return [
        [
            stack([column[k] for column in columns], dim=-1).reshape((*y.shape, *x.shape)) if columns else _empty(y, x)
            for x, columns in zip(inputs.tensors, by_input, strict=True)
        ]
        for k, y in enumerate(ys)
    ]


def _need_real(op: str, what: str, tensors: Sequence[Any]) -> None:
    for t in tensors:
        if isinstance(t, StandIn):
            raise TypeError(f"{op}: an {what} is {t.dtype.name}; use vjp() or jvp(), or the parts")


def _jacobian(
    op: str, func: Callable[..., Any], argnums: Argnums, has_aux: bool, rows: Rows, only_real: bool = True
) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            inputs, all_args = _with_inputs(op, args, argnums)
            if only_real:
                _need_real(op, "argument to differentiate by", inputs.tensors)
            made, aux = _split_aux(op, func(*all_args, **kwargs), has_aux)
            ys, rebuild = _tensors(op, made)
            if only_real or rows is _pulled:
                _need_real(op, "output", ys)
            matrices = []
            for by_input in rows(inputs, ys):
                trees = inputs.rebuild(by_input)
                matrices.append(trees[0] if isinstance(argnums, int) else tuple(trees))
            result = rebuild(matrices)
            return inputs.release((result, aux) if has_aux else result)

    return wrapped


def jacobian(func: Callable[..., Any], argnums: Argnums, forward: bool) -> Callable[..., Any]:
    """jacfwd or jacrev, also by complex arguments: their gradients, and the changes along their real parts."""
    return _jacobian("jacobian", func, argnums, False, _pushed if forward else _pulled, False)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that gives the Jacobian of func, one backward pass for each element of the output.

    Args:
        func: gives a tensor, or a tuple, list or dict of them.
        argnums: which positional arguments to differentiate by.
        has_aux: func gives (output, aux); the result then is (Jacobian, aux).
        chunk_size: accepted for PyTorch's sake.

    Returns:
        A function of the same arguments: output shape + input shape, for each output and input.

    Example:
        >>> sg.func.jacrev(sg.square)(sg.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacrev", func, argnums, has_aux, _pulled)


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that gives the Jacobian of func, one direction for each element of the input; arguments as in jacrev.

    Args:
        randomness: accepted for PyTorch's sake; func runs once.

    Example:
        >>> sg.func.jacfwd(sg.square)(sg.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacfwd", func, argnums, has_aux, _pushed)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of func: jacfwd(jacrev(func)).

    Args:
        func: gives a tensor.
        argnums: which positional arguments to differentiate by.

    Returns:
        A function of the same arguments: output shape + input shape + input shape.

    Example:
        >>> sg.func.hessian(lambda x: (x**3).sum())(sg.tensor([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)
