"""Trading time for memory: values that a part of a model needs for its gradient are computed again instead of kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Error, Tensor, _Checkpoint, _random_state, _set_random_state, _written_at, is_grad_enabled

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Runs `function(*args, **kwargs)` without keeping what its gradient needs; backward() runs it again for that.

    The function must do the same both times. Gradients of any order pass through, to arguments as well as to tensors
    that the function finds elsewhere, such as parameters.

    Args:
        function: made of tensor operations.
        args: its arguments.
        use_reentrant: accepted for PyTorch's sake; both ways are one here.
        preserve_rng_state: give the second run the random numbers of the first.
        kwargs: its arguments by name.

    Returns:
        What the function returned.

    Raises:
        Error: in backward(), when the second run did something else or an argument was overwritten in place.

    Example:
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> sg.utils.checkpoint.checkpoint(lambda x: x.exp().tanh().sum(), x).backward()
        >>> x.grad.shape
        (2,)
    """
    if not is_grad_enabled():
        return function(*args, **kwargs)
    before, types = _random_state(), _core._autocast()
    tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
    versions = [t._version for t in tensors]

    def again() -> None:
        for t, version in zip(tensors, versions, strict=True):
            if t._version != version:
                raise Error(
                    f"checkpoint: an argument was overwritten in place{_written_at(t)} before it was needed again; "
                    "pass a clone()"
                )
        now, types_now = _random_state(), _core._autocast()
        try:
            if preserve_rng_state:
                _set_random_state(before)
            _core._set_autocast(*types)
            function(*args, **kwargs)
        finally:
            _core._set_autocast(*types_now)
            if preserve_rng_state:
                _set_random_state(now)

    with _Checkpoint(again):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
) -> Any:
    """Runs functions one after another in segments, of which only the inputs are kept; see checkpoint.

    Args:
        functions: a Sequential, or a sequence of functions of one argument.
        segments: how many parts; the last one is not run again.
        input: of the first function.
        use_reentrant: accepted for PyTorch's sake.
        preserve_rng_state: give each second run the random numbers of the first.

    Returns:
        What the last function returned.

    Raises:
        ValueError: more segments than functions, or none.

    Example:
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> sg.utils.checkpoint.checkpoint_sequential([sg.exp, sg.tanh, sg.sum], 2, x).backward()
    """
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(len(steps), 1):
        raise ValueError(f"checkpoint_sequential: {segments} segments of {len(steps)} functions; use 1 to {len(steps)}")
    size = len(steps) // segments

    def run(part: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def all_of(x: Any) -> Any:
            for step in part:
                x = step(x)
            return x

        return all_of

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(
            run(steps[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return run(steps[last:])(input)
