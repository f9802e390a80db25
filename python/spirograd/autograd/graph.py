"""Edges, hooks of several tensors, and what a `Function` saves for its backward() in another form.

What operations keep is chosen by the graph itself, and no hook sees it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._core import Device, Tensor
from ..base.grad_mode import enable_grad
from .function import open_hooks

__all__ = ["GradientEdge", "disable_saved_tensors_hooks", "get_gradient_edge", "register_multi_grad_hook"]
__all__ += ["save_on_cpu", "saved_tensors_hooks"]

_state = threading.local()


def _refusals() -> list[str]:
    """What the contexts say in which this thread refuses hooks; the last one counts."""
    if not hasattr(_state, "refusals"):
        _state.refusals = []
    found: list[str] = _state.refusals
    return found


class saved_tensors_hooks:
    """A context in which tensors that save_for_backward() gets are kept in another form.

    Args:
        pack_hook: makes anything of a tensor.
        unpack_hook: makes the tensor again, in backward().

    Example:
        >>> with sg.autograd.graph.saved_tensors_hooks(lambda x: x.half(), lambda x: x.float()):
        ...     y = sg.ones(2) * 2
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _refusals():
            raise RuntimeError(_refusals()[-1])
        open_hooks().append((self.pack_hook, self.unpack_hook))

    def __exit__(self, *args: object) -> None:
        open_hooks().pop()


def _to_cpu(x: Tensor) -> tuple[Device, Tensor]:
    return x.device, x.cpu()


class save_on_cpu(saved_tensors_hooks):
    """A context in which tensors that save_for_backward() gets wait on the CPU.

    Args:
        pin_memory: has no effect, uploads have their own pinned memory.
        device_type: has no effect, there is one kind of GPU.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_to_cpu, lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks:
    """A context in which saved_tensors_hooks is an error.

    Args:
        error_message: what it says.
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if open_hooks():
            raise RuntimeError(self.error_message)
        _refusals().append(self.error_message)

    def __exit__(self, *args: object) -> None:
        _refusals().pop()


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor is computed; grad() and backward() take it like the tensor.

    `node` is the operation that made the tensor, or where a leaf's gradient is added up, `output_nr` says which of its
    outputs the tensor is, and `ownership_token` is the tensor, which an edge keeps.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradientEdge) and self[:2] == other[:2]

    def __hash__(self) -> int:
        return hash(self[:2])


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor.

    Raises:
        RuntimeError: it does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "get_gradient_edge: the tensor does not require grad; call requires_grad_() before it is used"
        )
    with enable_grad():
        node, number = (tensor * 1).grad_fn.next_functions[0]  # type: ignore[union-attr]
    return GradientEdge(node, number, tensor)


def tensor_of(x: Any) -> Any:
    """The tensor of an edge; other things as they are."""
    if not isinstance(x, GradientEdge):
        return x
    if x.ownership_token is None:
        raise TypeError("grad: an edge without its tensor; use get_gradient_edge()")
    return x.ownership_token


# ---- hooks of several tensors ----------------------------------------------------------------------------------------
class _Pass:
    """One backward pass: what the hooks of several tensors have got in it."""

    def __init__(self) -> None:
        self.got: dict[_Several, dict[int, Tensor]] = {}

    def finish(self) -> None:
        for hook, grads in self.got.items():
            hook.call(grads)


def in_a_pass(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs one backward pass, with the hooks of several tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _Several.there:
            return function(*args, **kwargs)
        own = _Pass()
        _passes().append(own)
        try:
            result = function(*args, **kwargs)
        finally:
            _passes().pop()
        own.finish()
        return result

    return call


def _passes() -> list[_Pass]:
    """The passes that this thread is in, the innermost last."""
    if not hasattr(_state, "passes"):
        _state.passes = []
    found: list[_Pass] = _state.passes
    return found


class _Several:
    """A hook that gets the gradients of several tensors, or the first of them."""

    there = False  # whether there ever was one

    def __init__(self, count: int, fn: Callable[..., Any], mode: str) -> None:
        self.count, self.fn, self.first = count, fn, mode == "any"

    def arrives(self, number: int, grad: Tensor) -> None:
        if not _passes():
            raise RuntimeError("register_multi_grad_hook: a pass of another function; use backward() or grad()")
        got = _passes()[-1].got
        grads = got.setdefault(self, {})
        if self.first:
            if not grads:
                self.fn(grad)
            grads[number] = grad
        else:
            grads[number] = grad
            if len(grads) == self.count:
                self.call(got.pop(self))

    def call(self, grads: dict[int, Tensor]) -> None:
        if not self.first:
            self.fn([grads.get(number) for number in range(self.count)])


class _Handles:
    """Removes the hook from each tensor."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *args: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _Handles:
    """Calls a function with the gradients of several tensors, once in each backward pass that reaches any.

    Args:
        tensors: those whose gradients it gets.
        fn: gets a list of gradients, with None for tensors that were not reached, after the last one; with "any", the
            first gradient. If some were not reached, it is called after the pass.
        mode: "all" or "any".

    Returns:
        A handle; its remove() takes the hook away.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode {mode!r} is unknown; use all or any")
    if not _Several.there:
        _Several.there = True
        Tensor.backward = in_a_pass(Tensor.backward)  # type: ignore[method-assign]
    hook = _Several(len(tensors), fn, mode)
    numbered = [(i, x) for i, x in enumerate(tensors) if mode == "all" or x.requires_grad]
    return _Handles([x.register_hook(functools.partial(hook.arrives, i)) for i, x in numbered])
