"""Sequences and dicts of modules and parameters."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar, overload

from .._core import Tensor
from .module import Module, TensorModule, _tree
from .parameter import Parameter, UninitializedParameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

S = TypeVar("S", bound="_Numbered")


class _Numbered(Module):
    """Modules with the names 0, 1, ..., or initially other names."""

    _shown = ""

    _keeps_names: ClassVar[bool] = False  # whether slices keep the names
    _has_gaps: ClassVar[bool] = False  # whether None may stand for a module

    @property
    def _entries(self) -> dict[str, Any]:
        """The modules, and None for missing ones."""
        if not self._has_gaps:
            return self._modules
        return {k: v for k, v in vars(self).items() if isinstance(v, Module) or (v is None and k.isdecimal())}

    def _checked(self, at: int | str, module: Any) -> Any:
        if not isinstance(module, Module) and (module is not None or not self._has_gaps):
            raise TypeError(f"{type(self).__name__}: module {at} is a {type(module).__name__}; pass modules")
        return module

    def _name(self, index: int) -> str:
        names = list(self._entries)
        try:
            return names[operator.index(index)]
        except IndexError:
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(names)} modules") from None

    def _refill(self, modules: Iterable[Any]) -> None:
        """Replaces all modules by these, numbered from 0."""
        checked = [self._checked(i, module) for i, module in enumerate(modules)]
        for name in self._entries:
            delattr(self, name)
        for i, module in enumerate(checked):
            setattr(self, str(i), module)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._entries.values())

    @overload
    def __getitem__(self: S, index: slice) -> S: ...

    @overload
    def __getitem__(self, index: int) -> Module: ...

    def __getitem__(self, index: int | slice) -> Any:
        if not isinstance(index, slice):
            return self._entries[self._name(index)]
        part: _Numbered = type(self)()
        for i, (name, module) in enumerate(list(self._entries.items())[index]):
            setattr(part, name if self._keeps_names else str(i), module)
        return part

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), self._checked(index, module))

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._entries)
        for name in names[index] if isinstance(index, slice) else [self._name(index)]:
            delattr(self, name)
        if all(name.isdecimal() for name in self._entries):
            self._refill(list(self))

    def append(self: S, module: Module) -> S:
        """Adds a module at the end.

        Args:
            module: the module.

        Returns:
            The container.
        """
        free = next(name for i in itertools.count(len(self)) if (name := str(i)) not in self._entries)
        self.add_module(free, self._checked(len(self), module))
        return self

    def extend(self: S, modules: Iterable[Module]) -> S:
        """Adds modules at the end.

        Args:
            modules: the modules, in order.

        Returns:
            The container.
        """
        for module in list(modules):
            self.append(module)
        return self

    def insert(self: S, index: int, module: Module) -> S:
        """Inserts a module before another one.

        Args:
            index: its new index.
            module: the module.

        Returns:
            The container.

        Raises:
            IndexError: index is out of range.
        """
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"{type(self).__name__}.insert: index {index} is out of range for {len(modules)} modules")
        modules.insert(index, self._checked(index, module))
        self._refill(modules)
        return self

    def pop(self, index: int) -> Module:
        """Removes a module and returns it.

        Args:
            index: the index of the module.

        Returns:
            The module.
        """
        module = self[index]
        del self[index]
        return module

    def __iadd__(self: S, modules: Iterable[Module]) -> S:
        return self.extend(modules)

    def __add__(self: S, modules: Iterable[Module]) -> S:
        both: S = type(self)()
        both.extend(self)
        return both.extend(modules)


class Sequential(_Numbered, TensorModule):
    """Calls modules one after the other.

    Args:
        modules: the modules, in order, or one dict of names and modules.

    Example:
        >>> model = sg.nn.Sequential(sg.nn.Linear(3, 4), sg.nn.ReLU())
        >>> model(sg.ones(1, 3)).shape
        (1, 4)
        >>> model[:1].append(sg.nn.Tanh())
        Sequential(
          (0): Linear(in_features=3, out_features=4, bias=True)
          (1): Tanh()
        )
    """

    _keeps_names = True

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, self._checked(name, module))
        else:
            self._refill(modules)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*list(self) * times)

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """A list of modules; None may stand for a missing one.

    Args:
        modules: the modules, in order.

    Example:
        >>> layers = sg.nn.ModuleList([sg.nn.Linear(2, 2) for _ in range(3)])
        >>> layers
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    _has_gaps = True

    def __init__(self, modules: Iterable[Module | None] | None = None) -> None:
        super().__init__()
        self._refill(modules or ())

    def __repr__(self) -> str:
        runs: list[list[Any]] = []  # first, last, text
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        return _tree(type(self).__name__, [], [line.replace("\n", "\n  ") for line in lines])


class ModuleDict(Module):
    """A dict of modules.

    Args:
        modules: names and modules.

    Example:
        >>> heads = sg.nn.ModuleDict({"left": sg.nn.Linear(2, 1), "right": sg.nn.Linear(2, 3)})
        >>> heads["right"](sg.ones(1, 2)).shape
        (1, 3)
    """

    _shown = ""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """Returns the names."""
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """Returns the modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Returns the names and modules."""
        return self._modules.items()

    def pop(self, key: str) -> Module:
        """Removes a module and returns it.

        Args:
            key: its name.

        Returns:
            The module.

        Raises:
            KeyError: there is no such name.
        """
        module = self._modules[key]
        delattr(self, key)
        return module

    def clear(self) -> None:
        """Removes all modules."""
        for key in self._modules:
            delattr(self, key)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds modules, and replaces those of the same name.

        Args:
            modules: names and modules.
        """
        for key, module in dict(modules).items():
            self[key] = module


def _line(value: Any) -> str:
    """A line that describes a parameter."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    if isinstance(value, UninitializedParameter):
        return repr(value)
    size = "x".join(map(str, value.shape))
    place = "" if value.device.kind == "cpu" else f" ({value.device})"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{value.dtype} of size {size}{place}]"


def _parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters. Tensors become parameters; other values are kept as they are.

    Args:
        values: the values, in order.

    Example:
        >>> weights = sg.nn.ParameterList([sg.zeros(2, 2), sg.ones(3)])
        >>> [name for name, _ in weights.named_parameters()]
        ['0', '1']
        >>> weights[1].tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index: int) -> str:
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"ParameterList: index {index} is out of range for {self._size} values")
        return str(index % self._size)

    @overload
    def __getitem__(self, index: slice) -> ParameterList: ...

    @overload
    def __getitem__(self, index: int) -> Any: ...

    def __getitem__(self, index: int | slice) -> Any:
        return ParameterList(list(self)[index]) if isinstance(index, slice) else getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(self._size))

    def append(self, value: Any) -> ParameterList:
        """Adds a value at the end.

        Args:
            value: a tensor, or any other value.

        Returns:
            The list.
        """
        setattr(self, str(self._size), _parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds values at the end.

        Args:
            values: the values, in order.

        Returns:
            The list.
        """
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __repr__(self) -> str:
        return _tree("ParameterList", [], [f"({i}): {_line(value)}" for i, value in enumerate(self)])


class ParameterDict(Module):
    """A dict of parameters. Tensors become parameters; other values are kept as they are.

    Args:
        parameters: names and values; see update().

    Example:
        >>> weights = sg.nn.ParameterDict({"left": sg.zeros(2), "right": sg.ones(1)})
        >>> [name for name, _ in weights.named_parameters()]
        ['left', 'right']
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._names: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._check_name("ParameterDict", key, key in self._names)
        self._names[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def keys(self) -> Iterable[str]:
        """Returns the names."""
        return self._names.keys()

    def values(self) -> Iterable[Any]:
        """Returns the values."""
        return [self[key] for key in self._names]

    def items(self) -> Iterable[tuple[str, Any]]:
        """Returns the names and values."""
        return [(key, self[key]) for key in self._names]

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a name, or the default.

        Args:
            key: the name.
            default: the result if there is no such name.
        """
        return getattr(self, key) if key in self._names else default

    def pop(self, key: str) -> Any:
        """Removes a value and returns it.

        Args:
            key: its name.

        Returns:
            The value.

        Raises:
            KeyError: there is no such name.
        """
        value = self[key]
        del self._names[key]
        delattr(self, key)
        return value

    def clear(self) -> None:
        """Removes all values."""
        for key in list(self):
            self.pop(key)

    def popitem(self) -> tuple[str, Any]:
        """Removes the last value, and returns its name and the value.

        Raises:
            KeyError: there is no such name.
        """
        if not self._names:
            raise KeyError("ParameterDict is empty")
        key = list(self._names)[-1]
        return key, self.pop(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Returns the value of a name, after setting it to the default if there is none.

        Args:
            key: the name.
            default: the value to set.
        """
        if key not in self._names:
            self[key] = default
        return self[key]

    def copy(self) -> ParameterDict:
        """Returns another dict with the same parameters."""
        return ParameterDict(self.items())

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | ParameterDict) -> None:
        """Adds parameters, and replaces those of the same name.

        Args:
            parameters: names and values. A plain dict is read in the order of its names, as in PyTorch.
        """
        pairs: Iterable[tuple[str, Any]] = (
            parameters.items() if isinstance(parameters, Mapping | ParameterDict) else parameters
        )
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(pairs, key=lambda pair: pair[0]) if plain else list(pairs):
            self[key] = value

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> ParameterDict:
        made = ParameterDict(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._names))

    def __repr__(self) -> str:
        return _tree("ParameterDict", [], [f"({key}): {_line(value)}" for key, value in self.items()])
