"""Parameters that are computed from others each time they are read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..._core import Tensor
from ...base.grad_mode import no_grad
from ..containers import ModuleDict
from ..module import Module, Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

_cache: dict[tuple[int, str], Tensor] | None = None


class ParametrizationList(Module):
    """The modules that make a tensor, and what they make it from: `original`, or `original0`, `original1` ...

    Args:
        modules: each on the result of the one before.
        original: the tensor before.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor) -> None:
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, str(i), module)
        self._count, self._several = len(modules), 0
        first = modules[0]
        values = first.right_inverse(original) if hasattr(first, "right_inverse") else original
        if isinstance(values, (tuple, list)):
            self._several = len(values)
            for i, value in enumerate(values):
                setattr(self, f"original{i}", Parameter(value.detach().clone()))
        else:
            self.original = original if values is original else Parameter(values.detach().clone())

    def add(self, module: Module) -> None:
        """Adds a module behind the others."""
        setattr(self, str(self._count), module)
        self._count += 1

    def forward(self) -> Tensor:
        first = getattr(self, "0")
        inputs = [getattr(self, f"original{i}") for i in range(self._several)] or [self.original]
        value = first(*inputs)
        for i in range(1, self._count):
            value = getattr(self, str(i))(value)
        return value  # type: ignore[no-any-return]


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed once.

    Example:
        >>> with sg.nn.utils.parametrize.cached():
        ...     pass
    """
    global _cache
    before, _cache = _cache, {}
    try:
        yield
    finally:
        _cache = before


def _property(name: str) -> property:
    def get(self: Any) -> Tensor:
        made: Module = self.parametrizations[name]
        if _cache is None:
            return made()  # type: ignore[no-any-return]
        key = id(self), name
        if key not in _cache:
            _cache[key] = made()
        return _cache[key]

    return property(get)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Computes a parameter of a module by another module from now on.

    Its value before becomes `module.parametrizations.NAME.original`, through the parametrization's right_inverse() if
    it has one.

    Args:
        module: whose parameter it is.
        tensor_name: its name.
        parametrization: from the original to the value.
        unsafe: accepted; shapes are not checked.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such parameter.

    Example:
        >>> class Symmetric(sg.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = sg.nn.utils.parametrize.register_parametrization(sg.nn.Linear(3, 3), "weight", Symmetric())
        >>> sg.equal(layer.weight, layer.weight.mT)
        True
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].add(parametrization)  # type: ignore[attr-defined]
        return module
    original = vars(module).get(tensor_name)
    if not isinstance(original, Tensor):
        raise ValueError(f"register_parametrization: {type(module).__name__} has no tensor '{tensor_name}'")
    if not is_parametrized(module):
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
        module.parametrizations = ModuleDict()  # type: ignore[attr-defined]
    del vars(module)[tensor_name]
    setattr(type(module), tensor_name, _property(tensor_name))
    made = ParametrizationList([parametrization], original)
    module.parametrizations[tensor_name] = made  # type: ignore[attr-defined]
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or one of its tensors, is parametrized.

    Example:
        >>> sg.nn.utils.parametrize.is_parametrized(sg.nn.Linear(1, 1))
        False
    """
    lists = vars(module).get("parametrizations")
    return lists is not None and (tensor_name is None or tensor_name in lists)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor an ordinary parameter again.

    Args:
        module: whose tensor it is.
        tensor_name: its name.
        leave_parametrized: it gets the computed value; False: the original.

    Returns:
        The module.

    Raises:
        ValueError: it is not parametrized.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: '{tensor_name}' of {type(module).__name__} is not parametrized")
    made = module.parametrizations[tensor_name]  # type: ignore[attr-defined]
    with no_grad():
        value = made() if leave_parametrized else made.original
    lists = module.parametrizations  # type: ignore[attr-defined]
    del lists[tensor_name]
    delattr(type(module), tensor_name)
    if not len(lists):
        del vars(module)["parametrizations"]
        module.__class__ = type(module).__mro__[1]
    setattr(module, tensor_name, Parameter(value.detach().clone()))
    return module
