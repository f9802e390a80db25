"""Parameters that are computed from other parameters each time they are read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..._core import Tensor
from ...base.grad_mode import no_grad
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]
__all__ += ["transfer_parametrizations_and_params", "type_before_parametrizations"]

_cache: dict[tuple[int, str], Tensor] | None = None


class ParametrizationList(ModuleList):
    """The modules that compute a tensor, and its originals: `original`, or `original0`, `original1` ...

    Args:
        modules: the modules; each takes the result of the previous one.
        original: the original tensor. A single original stays the same parameter or buffer.
        unsafe: accepted for compatibility with PyTorch; shapes are not checked.

    Attributes:
        is_tensor: whether there is a single original.
        ntensors: the number of originals otherwise.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        values: Any = original
        with no_grad():
            for module in reversed(list(self)):
                values = module.right_inverse(values) if hasattr(module, "right_inverse") else values
        self.is_tensor = isinstance(values, Tensor)
        self.ntensors = 1 if self.is_tensor else len(values)
        if self.is_tensor:
            if values is not original:
                original.data = values.detach().clone()
            _keep(self, "original", original)
            return
        for i, value in enumerate(values):
            copy = value.detach().clone()
            is_parameter = isinstance(original, Parameter)
            _keep(self, f"original{i}", Parameter(copy, original.requires_grad) if is_parameter else copy)

    def originals(self) -> list[Tensor]:
        """The originals of the tensor."""
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Tensor:
        first, *others = self
        value = first(*self.originals())
        for module in others:
            value = module(value)
        return value  # type: ignore[no-any-return]

    def right_inverse(self, value: Tensor) -> None:
        """Changes the originals so that the modules compute this value.

        Args:
            value: the new value of the tensor.

        Raises:
            RuntimeError: a module has no right_inverse().
        """
        made: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"right_inverse: {type(module).__name__} has none, so the tensor cannot be set; write one, or "
                        "set its original"
                    )
                made = module.right_inverse(made)
            for original, part in zip(self.originals(), [made] if self.is_tensor else made, strict=True):
                original.data = part.detach().clone()


def _keep(module: Module, name: str, tensor: Tensor) -> None:
    """Sets a parameter, or a buffer if the tensor is not a parameter."""
    if isinstance(tensor, Parameter):
        setattr(module, name, tensor)
    else:
        module.register_buffer(name, tensor)


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Computes each parametrized tensor only once inside the block.

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

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes a module compute a parameter of another module from now on.

    The value becomes `module.parametrizations.NAME.original`, by right_inverse() of the parametrization if it has this
    method; with it, the tensor can still be set.

    Args:
        module: the module of the parameter.
        tensor_name: the name of the parameter.
        parametrization: the module that maps the original to the value.
        unsafe: accepted for compatibility with PyTorch; shapes are not checked.

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
        module.parametrizations[tensor_name].append(parametrization)  # type: ignore[attr-defined]
        return module
    original = vars(module).get(tensor_name)
    if not isinstance(original, Tensor):
        raise ValueError(f"register_parametrization: {type(module).__name__} has no tensor '{tensor_name}'")
    if not is_parametrized(module):
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
        module.parametrizations = ModuleDict()  # type: ignore[attr-defined]
    made = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made  # type: ignore[attr-defined]
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or one of its tensors, is parametrized.

    Args:
        module: the module.
        tensor_name: the name of the tensor, by default any.

    Example:
        >>> sg.nn.utils.parametrize.is_parametrized(sg.nn.Linear(1, 1))
        False
    """
    lists = vars(module).get("parametrizations")
    return lists is not None and (tensor_name is None or tensor_name in lists)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor an ordinary parameter again.

    Args:
        module: the module of the tensor.
        tensor_name: the name of the tensor.
        leave_parametrized: whether the tensor gets the computed value, instead of the original.

    Returns:
        The module.

    Raises:
        ValueError: the tensor is not parametrized.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: '{tensor_name}' of {type(module).__name__} is not parametrized")
    made = module.parametrizations[tensor_name]  # type: ignore[attr-defined]
    if not leave_parametrized and not made.is_tensor:
        raise ValueError(
            f"remove_parametrizations: '{tensor_name}' has {made.ntensors} originals; use leave_parametrized=True"
        )
    originals = made.originals()
    with no_grad():
        value = made() if leave_parametrized else originals[0]
    lists = module.parametrizations  # type: ignore[attr-defined]
    del lists[tensor_name]
    delattr(type(module), tensor_name)
    if not len(lists):
        kind = type_before_parametrizations(module)
        delattr(module, "parametrizations")
        module.__class__ = kind
    if made.is_tensor:  # the same parameter, which optimisers refer to
        if leave_parametrized:
            originals[0].data = value.detach().clone()
        _keep(module, tensor_name, originals[0])
    else:
        wanted = any(t.requires_grad for t in originals)
        _keep(module, tensor_name, Parameter(value.detach().clone()) if wanted else value.detach().clone())
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before its first parametrization.

    Args:
        module: the module.

    Example:
        >>> sg.nn.utils.parametrize.type_before_parametrizations(sg.nn.Linear(1, 1)).__name__
        'Linear'
    """
    return type(module).__mro__[1 if is_parametrized(module) else 0]


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copies the parametrizations of a module, and their originals, to another module.

    Args:
        from_module: the module that has them.
        to_module: the module that gets them.
        tensor_name: the name of the parameter, by default all parametrized ones.

    Returns:
        The second module.

    Raises:
        ValueError: the parameter is not parametrized.
    """
    if not is_parametrized(from_module, tensor_name):
        raise ValueError(f"transfer_parametrizations_and_params: {tensor_name or 'nothing'} is not parametrized")
    lists: Any = from_module.parametrizations  # type: ignore[attr-defined]
    for name in [tensor_name] if tensor_name is not None else list(lists):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in lists[name]:
            register_parametrization(to_module, name, parametrization)
        for mine, theirs in zip(to_module.parametrizations[name].originals(), lists[name].originals(), strict=True):  # type: ignore[attr-defined]
            mine.data = theirs.detach().clone()
    return to_module
