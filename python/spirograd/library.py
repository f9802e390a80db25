"""Operations of your own under names, as in torch.library: Python functions, with gradients of their own.

Example:
    >>> twice = sg.library.custom_op("mine::twice", lambda x: x * 2)
    >>> twice.register_autograd(lambda ctx, g: g * 2)
    >>> x = sg.tensor(3.0, requires_grad=True)
    >>> twice(x).backward()
    >>> x.grad.item()
    2.0
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ._core import Tensor
from .autograd import Function

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "register_autograd"]
__all__ += ["namespaces", "operations", "register_fake", "register_kernel"]

Implementation = Callable[..., Any]
_known: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operation: a call runs its function, and backward() the one of register_autograd()."""

    def __init__(self, name: str, function: Implementation) -> None:
        self._qualname, self._function = name, function
        self._kernels: dict[str, Implementation] = {}  # of kinds of devices
        self._differentiable: type[Function] | None = None
        functools.update_wrapper(self, function)
        if "::" not in name:
            raise ValueError(f"custom_op: {name!r} has no namespace; use a name such as 'mine::operation'")
        _known[name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._differentiable is None:
            return self._run(*args, **kwargs)
        return self._differentiable.apply(*inspect.signature(self._function).bind(*args, **kwargs).args)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """The function for the device of the first tensor among the arguments."""
        first = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
        kind = "" if first is None else str(first.device).partition(":")[0]
        return self._kernels.get(kind, self._function)(*args, **kwargs)

    @property
    def default(self) -> CustomOpDef:
        """The operation itself: it has one form."""
        return self

    def register_fake(self, fn: Implementation) -> Implementation:
        """Accepted: shapes come from the operation itself."""
        return fn

    def register_kernel(self, device_types: Any = None, fn: Implementation | None = None) -> Any:
        """The function to run for tensors of "cpu", of "cuda", of a list of these, or of all (None or "default")."""
        device_types = None if device_types == "default" else device_types
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        if device_types is None:
            self._function = fn
        for kind in [device_types] if isinstance(device_types, str) else device_types or ():
            self._kernels[kind] = fn
        return fn

    def register_autograd(self, backward: Implementation, *, setup_context: Implementation | None = None) -> None:
        """What backward() runs.

        Args:
            backward: of a context and the gradients of results; the gradients of arguments.
            setup_context: of the context, the arguments and the results; keeps on the context what is needed.
        """

        def forward(ctx: Any, *args: Any) -> Any:
            out = self._run(*args)
            if setup_context is not None:
                setup_context(ctx, args, out)
            return out

        body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        self._differentiable = type(self._qualname.rpartition("::")[2], (Function,), body)


def custom_op(
    name: str, fn: Implementation | None = None, /, *, mutates_args: Any = (), device_types: Any = None,
    schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """An operation of the name "namespace::name", also torch.ops.namespace.name.

    Args:
        fn: what it computes; without it, a decorator.
        mutates_args, device_types, schema, tags: accepted.

    Raises:
        ValueError: a name without a namespace.
    """
    return CustomOpDef(name, fn) if fn is not None else functools.partial(CustomOpDef, name)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """An operation of the name "namespace::name" whose functions register_kernel() gives.

    Args:
        schema, lib, tags: accepted.

    Raises:
        ValueError: a name without a namespace.
    """

    def undefined(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"library: {qualname} has no function for these tensors; give one, register_kernel()")

    CustomOpDef(qualname, undefined)


class Library:
    """Operations of one namespace.

    Args:
        ns: the namespace.
        kind: "DEF", "FRAGMENT" or "IMPL"; accepted.
        dispatch_key: what impl() takes where it names none.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.dispatch_key = ns, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """An operation, whose functions impl() gives; its name."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Implementation, dispatch_key: str = "", **options: Any) -> None:
        """The function for a kind of device; of "Meta" and "Autograd" it is not called."""
        name = op_name if isinstance(op_name, str) else op_name._qualname.rpartition("::")[2]
        impl(f"{self.ns}::{name.rpartition('::')[2]}", dispatch_key or self.dispatch_key or "default", fn)


def namespaces() -> list[str]:
    """The namespaces that have operations."""
    return sorted({name.partition("::")[0] for name in _known})


def operations(namespace: str) -> dict[str, CustomOpDef]:
    """The operations of a namespace, by name."""
    return {name.partition("::")[2]: op for name, op in _known.items() if name.startswith(f"{namespace}::")}


def _of(op: Any) -> CustomOpDef:
    found = op if isinstance(op, CustomOpDef) else _known.get(op)
    if found is None:
        raise RuntimeError(f"library: there is no operation {op!r}; make it with custom_op()")
    return found


def register_fake(op: Any, func: Implementation | None = None, /, **options: Any) -> Any:
    """Accepted: shapes come from the operation itself."""
    return (lambda f: f) if func is None else func


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Implementation | None = None, /, **options: Any) -> Any:
    """The function that an operation runs; see CustomOpDef.register_kernel()."""
    return _of(op).register_kernel(device_types, func)


def impl(qualname: str, types: Any, func: Implementation | None = None, *, lib: Any = None) -> Any:
    """register_kernel() by its older name, with kinds of devices such as "CPU"."""
    kinds = [types] if isinstance(types, str) else list(types)
    everywhere = any(kind.lower().startswith(("default", "composite")) for kind in kinds)
    return register_kernel(qualname, None if everywhere else [kind.lower() for kind in kinds], func)


def register_autograd(
    op: Any, backward: Implementation, /, *, setup_context: Implementation | None = None, lib: Any = None
) -> None:
    """What backward() runs for an operation; see CustomOpDef.register_autograd()."""
    _of(op).register_autograd(backward, setup_context=setup_context)
