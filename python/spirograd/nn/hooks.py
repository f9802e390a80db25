"""Functions that run before and after the forward and backward pass of a module."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import Tensor, is_grad_enabled
from ..autograd import Function

__all__ = ["RemovableHandle"]

_numbers = itertools.count()


class RemovableHandle:
    """The handle of a registered hook. As a context manager, it removes the hook at the end of the block.

    Attributes:
        id: the number of the hook.

    Example:
        >>> layer = sg.nn.Identity()
        >>> with layer.register_forward_hook(lambda module, args, output: output + 1):
        ...     layer(sg.zeros(1)).tolist()
        [1.0]
        >>> layer(sg.zeros(1)).tolist()
        [0.0]
    """

    def __init__(self, hooks: dict[int, Any], number: int | None = None) -> None:
        self._hooks = hooks
        self.id = next(_numbers) if number is None else number

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *args: Any) -> None:
        self.remove()


class Hook(NamedTuple):
    """A hook, and the options of its calls."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class Hooks:
    """The hooks of one module, of each kind in the order of their calls."""

    def __init__(self) -> None:
        self.forward_pre: dict[int, Hook] = {}
        self.forward: dict[int, Hook] = {}
        self.backward_pre: dict[int, Hook] = {}
        self.backward: dict[int, Hook] = {}
        self.state_pre: dict[int, Hook] = {}
        self.state: dict[int, Hook] = {}
        self.load_pre: dict[int, Hook] = {}
        self.load: dict[int, Hook] = {}

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls module.forward() and the hooks around it."""
        done: set[int] = set()
        try:
            for hook in list(self.forward_pre.values()):
                args, kwargs = _replaced_arguments(hook, module, args, kwargs)
            watch = _Watch(module, self) if (self.backward or self.backward_pre) and is_grad_enabled() else None
            if watch:
                args = watch.inputs(args)
            result = module.forward(*args, **kwargs)
            for number, hook in list(self.forward.items()):
                done.add(number)
                result = _replaced_result(hook, module, args, kwargs, result)
            return watch.outputs(result) if watch else result
        except BaseException:
            for number, hook in list(self.forward.items()):
                if hook.always_call and number not in done:
                    _replaced_result(hook, module, args, kwargs, None)
            raise


def register(hooks: dict[int, Hook], hook: Hook, prepend: bool) -> RemovableHandle:
    """Adds a hook after the others, or before them."""
    number = next(_numbers)
    others = dict(hooks) if prepend else {}
    for key in others:
        del hooks[key]
    hooks[number] = hook
    hooks.update(others)
    return RemovableHandle(hooks, number)


def _replaced_arguments(
    hook: Hook, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        made = hook.function(module, args)
        return (args if made is None else made if isinstance(made, tuple) else (made,)), kwargs
    made = hook.function(module, args, kwargs)
    if made is None:
        return args, kwargs
    if not (isinstance(made, tuple) and len(made) == 2):
        raise TypeError(f"forward pre-hook: it returned a {type(made).__name__}; return None or (args, kwargs)")
    return made


def _replaced_result(hook: Hook, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    made = hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)
    return result if made is None else made


class _Pass(Function):
    """Passes tensors unchanged; their gradients go through one function of all of them."""

    @staticmethod
    def forward(ctx: Any, react: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.react = react
        ctx.mark_non_differentiable(*(t for t in tensors if not t.requires_grad))
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        wanted = ctx.needs_input_grad[1:]
        return (None, *ctx.react(tuple(g if need else None for g, need in zip(grads, wanted, strict=True))))


class _Watch:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Any, hooks: Hooks) -> None:
        self.module, self.hooks = module, hooks
        self.count = 0  # the number of tensors among the arguments
        self.follows = False  # whether any of them gets a gradient
        self.grad_outputs: tuple[Tensor | None, ...] = ()

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.count = sum(isinstance(a, Tensor) for a in args)
        self.follows = any(isinstance(a, Tensor) and a.requires_grad for a in args)
        return _passed(self.input_grads, args)

    def outputs(self, result: Any) -> Any:
        if isinstance(result, Tensor):
            return _passed(self.output_grads, (result,))[0]
        return type(result)(_passed(self.output_grads, result)) if type(result) in (tuple, list) else result

    def output_grads(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in list(self.hooks.backward_pre.values()):
            grads = _replaced_grads("backward pre-hook", hook.function(self.module, grads), grads)
        self.grad_outputs = grads
        if not self.follows:
            nothing: tuple[Tensor | None, ...] = (None,) * self.count
            for hook in list(self.hooks.backward.values()):
                if hook.function(self.module, nothing, grads) is not None:
                    raise ValueError("backward hook: no input needs a gradient; return None")
        return grads

    def input_grads(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in list(self.hooks.backward.values()):
            grads = _replaced_grads("backward hook", hook.function(self.module, grads, self.grad_outputs), grads)
        return grads


def _passed(react: Callable[..., Any], values: Any) -> tuple[Any, ...]:
    """The values, with their tensors passed through _Pass."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not any(t.requires_grad for t in tensors):
        return tuple(values)
    passed = iter(_Pass.apply(react, *tensors))
    return tuple(next(passed) if isinstance(v, Tensor) else v for v in values)


def _replaced_grads(name: str, made: Any, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    if made is None:
        return grads
    given: tuple[Tensor | None, ...] = made if isinstance(made, tuple) else (made,)
    if len(given) != len(grads):
        raise ValueError(f"{name}: it returned {len(given)} gradients for {len(grads)} tensors; return one for each")
    return given
