"""A function called for each example of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core import Error, Generator, Tensor, _generator_of_thread, _random_state, _set_random_state, stack
from ..base.stand_in import StandIn
from ..base.tree import flatten

__all__ = ["vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls func for each example and stacks the results.

    It calls func once for each example. That is right for every function, and as fast as a loop whose operations are
    all pending before any of them runs.

    Args:
        func: takes and gives tensors without the dimension of the examples.
        in_dims: the dimension of the examples in each argument; None: the same for all. One for all arguments, or a
            tuple of the shape of the arguments.
        out_dims: where the dimension goes in each output.
        randomness: "error": random numbers are refused; "different" for each example; "same" for all.
        chunk_size: accepted for PyTorch's sake.

    Returns:
        A function of batched arguments.

    Raises:
        ValueError: sizes differ, or no argument has examples.
        Error: func draws random numbers, and randomness is "error".

    Example:
        >>> dot = sg.func.vmap(lambda a, b: (a * b).sum())
        >>> dot(sg.ones(2, 3), sg.ones(2, 3)).tolist()
        [3.0, 3.0]
    """
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"vmap: randomness is {randomness!r}; use 'error', 'different' or 'same'")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        flat, rebuild = flatten(list(args))
        dims = _dims_of(in_dims, list(args))
        state = _random_state()
        call = _undrawn(func) if randomness == "error" else func
        results = []
        for i in range(_count_examples(flat, dims)):
            if randomness == "same":
                _set_random_state(state)
            example = [t if d is None else _select(t, d, i) for t, d in zip(flat, dims, strict=True)]
            results.append(call(*rebuild(example), **kwargs))
        return _stacked(results, out_dims)

    return wrapped


def _undrawn(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which must draw no random numbers. Other threads may: it has a generator of its own meanwhile."""

    def call(*args: Any, **kwargs: Any) -> Any:
        state, own = _random_state(), Generator()
        own._go_to(*state)
        before = _generator_of_thread(own)
        try:
            result = func(*args, **kwargs)
            if _random_state() != state:
                raise Error("vmap: the function draws random numbers; pass randomness='different' or 'same'")
        finally:
            _generator_of_thread(before)
        return result

    return call


def _count_examples(flat: list[Any], dims: list[int | None]) -> int:
    sizes = set()
    for t, d in zip(flat, dims, strict=True):
        if d is None:
            continue
        if not isinstance(t, (Tensor, StandIn)) or not -t.ndim <= d < t.ndim:
            what = f"a tensor of shape {list(t.shape)}" if isinstance(t, Tensor) else f"a {type(t).__name__}"
            raise ValueError(f"vmap: in_dims has {d} for {what}; use None or one of its dimensions")
        sizes.add(t.shape[d])
    if len(sizes) != 1:
        found = "no argument has examples" if not sizes else f"numbers of examples differ, {sorted(sizes)}"
        raise ValueError(f"vmap: {found}; check in_dims")
    (count,) = sizes
    if count == 0:
        raise ValueError("vmap: there are no examples, so the shape of the result is unknown")
    return int(count)


def _stacked(results: list[Any], out_dims: Any) -> Any:
    """The results of the calls, each tensor with a dimension of the examples."""
    first, rebuild = flatten(results[0])
    columns = [flatten(r)[0] for r in results]
    where = _dims_of(out_dims, results[0]) if not isinstance(out_dims, int) else [out_dims] * len(first)
    outputs = []
    for k, d in enumerate(where):
        parts = [c[k] for c in columns]
        if not isinstance(parts[0], (Tensor, StandIn)):
            raise TypeError(f"vmap: the function gave a {type(parts[0]).__name__}; it must give tensors")
        outputs.append(parts[0] if d is None else stack(parts, dim=d))
    return rebuild(outputs)


def _select(t: Tensor, dim: int, i: int) -> Tensor:
    return t[(slice(None),) * (dim % t.ndim) + (i,)]


def _dims_of(dims: Any, tree: Any) -> list[int | None]:
    """A dimension for each leaf: one stands for all leaves below it."""
    if isinstance(tree, (tuple, list)) and isinstance(dims, (tuple, list)):
        if len(dims) != len(tree):
            raise ValueError(f"vmap: {len(dims)} dims for {len(tree)} values; give one for each")
        return [d for spec, part in zip(dims, tree, strict=True) for d in _dims_of(spec, part)]
    if isinstance(tree, dict) and isinstance(dims, dict):
        return [d for key, part in tree.items() for d in _dims_of(dims[key], part)]
    return [
        dims if dims is None or isinstance(leaf, (Tensor, StandIn)) or dims != 0 else None for leaf in flatten(tree)[0]
    ]
