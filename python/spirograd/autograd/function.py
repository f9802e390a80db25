"""Operations with a gradient of your own."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Error, Tensor, _as_output, _record_function, _written_at, is_grad_enabled, zeros
from ..base.grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

_state = threading.local()
_grad_fn = vars(Tensor)["grad_fn"].__get__  # as the core has it
Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


def open_hooks() -> list[Hooks]:
    """The pairs (pack, unpack) of the saved_tensors_hooks that are open in this thread; the last one counts."""
    if not hasattr(_state, "hooks"):
        _state.hooks = []
    found: list[Hooks] = _state.hooks
    return found


class _Packed:
    """What a hook made of a saved tensor."""

    def __init__(self, t: Tensor, hooks: Hooks, is_output: bool) -> None:
        self.source: Any = None  # where gradients of the tensor go, which knows none of its values
        if t.requires_grad and not is_output:
            place = zeros(t.shape, dtype=t.dtype, device=t.device)  # never computed
            _record_function("SavedTensor", [t], [place], lambda arrived, wanted, node: arrived, lambda: None)
            self.source = _grad_fn(place)
        with no_grad():
            self.value = hooks[0](t)
        self.unpack = hooks[1]

    def tensor(self) -> Tensor:
        """The tensor again."""
        t = self.unpack(self.value)
        if not isinstance(t, Tensor):
            raise TypeError(f"saved_tensors_hooks: unpack_hook gave a {type(t).__name__}; it must give a tensor")
        return t if self.source is None or not is_grad_enabled() else _as_output(t, self.source, 0)


class FunctionCtx:
    """Passes values from forward() to backward(); any attributes may be added.

    Attributes:
        needs_input_grad: for each argument of apply(), whether its gradient is wanted.
    """

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self, name: str) -> None:
        self._name = name
        self._to_save: tuple[Tensor | None, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._materialize = True
        # tensor, version, number of output or -1
        self._saved: list[tuple[Tensor | _Packed | None, int, int]] | None = []
        self._node: Any = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for backward(), which finds them in saved_tensors.

        Args:
            tensors: inputs, outputs or others; None is allowed.

        Raises:
            TypeError: something else is among them; keep it as an attribute.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward: a {type(t).__name__} is not a tensor; keep it as an attribute of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """For jvp() in PyTorch. It is not called here, where tangents are computed from backward().

        Args:
            tensors: as for save_for_backward().
        """

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of save_for_backward().

        Raises:
            Error: they were freed by an earlier backward, or overwritten in place since.
        """
        if self._saved is None:
            raise Error(
                f"backward: the values saved by {self._name} were freed by an earlier backward; "
                "pass retain_graph=True to the first one"
            )
        found: list[Tensor | None] = []
        for kept, version, output in self._saved:
            tensor = kept.tensor() if isinstance(kept, _Packed) else kept
            if kept is tensor and tensor is not None and tensor._version != version:
                raise Error(
                    f"backward: a value that {self._name} saved was overwritten in place"
                    f"{_written_at(tensor)} (version {version} was saved, now it is {tensor._version}); "
                    "write to a clone()"
                )
            if output >= 0 and tensor is not None and self._node is not None and is_grad_enabled():
                tensor = _as_output(tensor, self._node, output)
            found.append(tensor)
        return tuple(found)

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Marks outputs that get no gradient."""
        self._constant = outputs

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Marks inputs that forward() wrote in place; they must be outputs as well."""
        self._dirty = inputs

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward() gets None, not zeros, for outputs that nothing was made from."""
        self._materialize = value


def _place(t: Tensor, among: Any) -> int:
    return next((i for i, other in enumerate(among) if other is t), -1)


class Function:
    """An operation whose gradient is written by hand.

    A subclass has two static methods. `forward(ctx, *args)` computes tensors from tensors and anything else; nothing
    in it is recorded. `backward(ctx, *grads)` takes the gradient of each output and gives one for each argument, None
    where there is none; made of tensor operations, it has gradients itself. With setup_context(ctx, inputs, output),
    forward takes no ctx. Use apply() to call it.

    Example:
        >>> class Cube(sg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return g * 3 * x * x
        >>> x = sg.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad.item()
        12.0
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs: `forward(ctx, *args)`, or `forward(*args)` beside a setup_context."""
        raise NotImplementedError("Function: forward is missing; write it as a static method")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what backward() needs."""
        raise NotImplementedError("Function: setup_context is missing")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of the arguments from those of the outputs."""
        raise NotImplementedError("Function: backward is missing; write it as a static method")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls the operation.

        Args:
            args: what forward() takes, without ctx.

        Returns:
            What forward() returned; its tensors are part of gradients.

        Raises:
            Error: later, in backward(): a wrong number of gradients, or saved values are gone.
        """
        ctx: Any = FunctionCtx(cls.__name__)
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        recording = is_grad_enabled() and any(ctx.needs_input_grad)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                made = cls.forward(ctx, *args)
            else:
                made = cls.forward(*args)
                cls.setup_context(ctx, args, made)
        if not recording:
            return made
        several = isinstance(made, (tuple, list))
        raw = tuple(made) if several else (made,)
        outputs = cls._connected(ctx, args, raw)
        return tuple(outputs) if several else outputs[0]

    @classmethod
    def _connected(cls, ctx: Any, args: tuple[Any, ...], raw: tuple[Any, ...]) -> list[Any]:
        """Connects the outputs to the gradient graph."""
        _check_dirty(cls.__name__, ctx._dirty, raw)
        outputs = [
            t if not isinstance(t, Tensor) or _place(t, ctx._dirty) >= 0 else t.detach() if t.is_floating_point() else t
            for t in raw
        ]
        differentiable = [
            out if isinstance(out, Tensor) and out.is_floating_point() and _place(t, ctx._constant) < 0 else None
            for t, out in zip(raw, outputs, strict=True)
        ]
        facts = [(t.shape, t.dtype, t.device) if t is not None else None for t in differentiable]
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx._saved = _saved(ctx._to_save, raw, differentiable)
        ctx._to_save = ctx._dirty = ctx._constant = ()

        # These two live as long as the graph behind the outputs, so they know none of the tensors themselves.
        def back(arrived: list[Tensor | None], wanted: tuple[bool, ...], node: Any) -> list[Tensor | None]:
            grads: list[Any] = arrived + [None] * (len(facts) - len(arrived))
            if ctx._materialize:
                for i, fact in enumerate(facts):
                    if grads[i] is None and fact is not None:
                        grads[i] = zeros(fact[0], dtype=fact[1], device=fact[2])
            needs = dict(zip(places, wanted, strict=True))
            ctx.needs_input_grad = tuple(needs.get(i, False) for i in range(len(args_kinds)))
            ctx._node = node
            try:
                found = cls.backward(ctx, *grads)
            finally:
                ctx._node = None
            return _checked(cls.__name__, found, args_kinds)

        def free() -> None:
            ctx._saved = None

        args_kinds = [tuple(a.shape) if isinstance(a, Tensor) else None for a in args]
        inputs = [args[i] for i in places]
        name = f"{cls.__name__}Backward"
        _record_function(name, inputs, differentiable, back, free)
        return outputs


def _check_dirty(name: str, dirty: Sequence[Tensor], raw: tuple[Any, ...]) -> None:
    for t in dirty:
        if _place(t, raw) < 0:
            raise Error(f"{name}: a tensor of mark_dirty is not an output; return it")
        if t.is_leaf and t.requires_grad:
            raise Error(f"{name}: a leaf that requires grad cannot be written in place; pass a clone() of it")


def _saved(
    tensors: Sequence[Tensor | None], raw: tuple[Any, ...], differentiable: list[Any]
) -> list[tuple[Tensor | _Packed | None, int, int]]:
    """Each with its version and, when it is a differentiable output, the number of that; else -1."""
    saved: list[tuple[Tensor | _Packed | None, int, int]] = []
    hooks = open_hooks()
    for t in tensors:
        number = -1 if t is None else _place(t, raw)
        if t is not None and number >= 0:
            t = t.detach()  # connected again when it is asked for: an output holds ctx
        number = number if number >= 0 and differentiable[number] is not None else -1
        if t is not None and hooks:
            saved.append((_Packed(t, hooks[-1], number >= 0), 0, number))
        else:
            saved.append((t, 0 if t is None else t._version, number))
    return saved


def _checked(name: str, found: Any, shapes: list[tuple[int, ...] | None]) -> list[Tensor | None]:
    """The gradients of the arguments that are tensors."""
    grads = list(found) if isinstance(found, (tuple, list)) else [found]
    while len(grads) > len(shapes) and grads[-1] is None:
        grads.pop()
    if len(grads) != len(shapes):
        raise Error(f"{name}: backward gave {len(grads)} gradients for {len(shapes)} arguments; give one for each")
    for i, (g, shape) in enumerate(zip(grads, shapes, strict=True)):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"{name}: gradient {i} is a {type(g).__name__}; give a tensor or None")
        if g is not None and shape is None:
            raise Error(f"{name}: backward gave a gradient for argument {i}, which is not a tensor; give None")
        if g is not None and shape is not None and not _reaches(tuple(g.shape), shape):
            raise Error(f"{name}: gradient {i} has shape {list(g.shape)}, the argument {list(shape)}")
    return [g for g, shape in zip(grads, shapes, strict=True) if shape is not None]


def _reaches(have: tuple[int, ...], want: tuple[int, ...]) -> bool:
    """Whether `have` is what `want` broadcasts to."""
    extra = len(have) - len(want)
    return extra >= 0 and all(w in (1, h) for h, w in zip(have[extra:], want, strict=True))


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """For a backward() that must not be differentiated itself: a gradient through it is an error.

    Example:
        >>> class Double(sg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @sg.autograd.function.once_differentiable
        ...     def backward(ctx, g):
        ...         return g * 2
    """

    @functools.wraps(backward)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            found = backward(ctx, *grads)
        sources = [g for g in grads if isinstance(g, Tensor) and g.requires_grad]
        if not is_grad_enabled() or not sources:
            return found
        several = isinstance(found, (tuple, list))
        ends = [g.detach() if isinstance(g, Tensor) else None for g in (found if several else (found,))]

        def refuse(*_: Any) -> Any:
            raise Error(f"{ctx._name}: its backward is marked once_differentiable; remove the mark")

        _record_function("OnceDifferentiable", sources, ends, refuse, lambda: None)
        return tuple(ends) if several else ends[0]

    return wrapped
