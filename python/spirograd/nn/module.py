"""Module: a function with parameters. Modules can be nested."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, TypeVar

from .. import _core, tracer
from .._complex import ComplexTensor
from .._core import Tensor, bfloat16, float16, float32, float64, from_dlpack
from ..base.errors import name_called
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..base.stand_in import StandIn
from ..base.types import DeviceLike, DTypeLike
from ._arguments import shown_arguments
from ._attributes import bases, kind_of, note, refuse_other, sort
from ._state import LoadResult, StateError
from .hooks import Hook, Hooks, RemovableHandle, register
from .parameter import Parameter, UninitializedParameter
from .summary import Summary, summary

__all__ = ["LoadResult", "Module", "StateError", "TensorModule"]

M = TypeVar("M", bound="Module")
T = TypeVar("T")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Forward(Protocol[P, R_co]):
    """A module, by what its forward() takes and gives."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def _check_kind(op: str, name: str, value: Any, kind: Any, wanted: str) -> None:
    if not isinstance(value, (kind, type(None))):
        raise TypeError(f"{op}: '{name}' is a {type(value).__name__}; pass {wanted} or None")


class Module:
    """The base of all modules. Derive from it and write forward(). Parameters and modules in attributes belong to it.

    Parameters and modules in attributes that are lists, tuples or dicts belong to it as well, with names like
    `blocks.0.weight`. (An attribute with more than a thousand entries, the first of which is data, counts as data.)
    Entries of `__dict__`, and attributes set by object.__setattr__(), do not belong to it, which can hide a module.

    Attributes:
        training: whether the module is in training mode; train() and eval() set it.

    Example:
        >>> class Scale(sg.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = sg.nn.Parameter(sg.ones(1))
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> len(list(Scale().parameters()))
        1
    """

    training: bool = True
    _persistent: Mapping[str, bool] = {}  # the names of buffers, and whether state_dict() includes them
    _held_names: frozenset[str] = frozenset()  # the attributes that may hold modules and parameters
    _hooks: Hooks | None = None
    _shown: ClassVar[str | None] = None  # which arguments extra_repr() shows
    _constructor: ClassVar[Callable[..., None]]  # which extra_repr() names the arguments of

    def __init__(self) -> None:
        self.training = True

    _constructor = __init__

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("__init__")
        if own is None or not cls.__module__.startswith("spirograd."):  # not that of a program's class
            return
        if cls.__module__.startswith(f"{__package__}."):
            cls._constructor = own
        cls.__init__ = naming_keywords(own)  # type: ignore[method-assign]

    if not TYPE_CHECKING:  # type checkers would allow every attribute

        def __setattr__(self, name: str, value: Any) -> None:
            refuse_other(self, name, value)
            note(self, name, value)
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name in self._held_names:
            vars(self)["_held_names"] = self._held_names - {name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_held_names" not in state:
            vars(self)["_held_names"] = frozenset(name for name, value in state.items() if kind_of(value) != "data")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the result of the module."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    if TYPE_CHECKING:

        @property
        def __call__(self: _Forward[P, R_co]) -> Callable[P, R_co]: ...

    else:

        @_core._Overridable
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if tracer.recording is not None:
                tracer.calls(self)
            try:
                if self._hooks is None:
                    return self.forward(*args, **kwargs)
                return self._hooks.call(self, args, kwargs)
            except ValueError as error:
                if type(self).__module__.startswith("spirograd.nn."):
                    name_called(error, type(self).__name__)
                raise

    # ---- parameters, buffers and modules ---------------------------------------------------------------------------
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is moved and saved with the module, but not trained.

        Args:
            name: the name of the attribute.
            tensor: its value, or None.
            persistent: whether state_dict() includes it.

        Raises:
            KeyError: the name is empty, has a dot or is taken.
            TypeError: tensor is neither a tensor nor None.

        Example:
            >>> layer = sg.nn.Identity()
            >>> layer.register_buffer("count", sg.zeros(1))
            >>> list(layer.state_dict())
            ['count']
        """
        self._check_name("register_buffer", name, name in self._persistent)
        _check_kind("register_buffer", name, tensor, (Tensor, ComplexTensor), "a tensor")
        self._persistent = {**self._persistent, name: persistent}
        Module.__setattr__(self, name, tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter.

        Args:
            name: the name of the attribute.
            param: its value, or None.

        Raises:
            KeyError: the name is empty, has a dot or is taken.
            TypeError: param is neither a Parameter nor None.
        """
        self._check_name("register_parameter", name, isinstance(vars(self).get(name), Parameter))
        _check_kind("register_parameter", name, param, Parameter, "a Parameter")
        Module.__setattr__(self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a module.

        Args:
            name: the name of the attribute.
            module: its value, or None.

        Raises:
            KeyError: the name is empty, has a dot or is taken.
            TypeError: module is neither a module nor None.
        """
        self._check_name("add_module", name, isinstance(vars(self).get(name), Module))
        _check_kind("add_module", name, module, Module, "a module")
        Module.__setattr__(self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Calls add_module()."""
        self.add_module(name, module)

    def _check_name(self, op: str, name: str, replaces: bool) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{op}: the name is a {type(name).__name__}; pass a string")
        if not name or "." in name:
            raise KeyError(f"{op}: the name '{name}' is empty or has a dot; use another one")
        if not replaces and hasattr(self, name):
            raise KeyError(f"{op}: the attribute '{name}' already exists; use another name")

    def _own(self) -> tuple[list[tuple[str, Module]], list[tuple[str, Parameter]]]:
        """The names and values of the direct modules and parameters."""
        modules: list[tuple[str, Module]] = []
        parameters: list[tuple[str, Parameter]] = []
        for name, value in vars(self).items():
            if name in self._held_names and (kind := kind_of(value)) != "data":
                sort(name, value, kind, modules, parameters)
        return modules, parameters

    def _own_buffers(self) -> list[tuple[str, Tensor]]:
        buffers: list[tuple[str, Tensor]] = []
        for name in self._persistent:
            value = vars(self).get(name)
            if isinstance(value, Tensor):
                buffers.append((name, value))
            elif isinstance(value, ComplexTensor):
                buffers += [(f"{name}.real", value.real), (f"{name}.imag", value.imag)]
        return buffers

    @property
    def _modules(self) -> dict[str, Module]:
        return dict(self._own()[0])

    def _walk(
        self, at: str, memo: set[Module], remove_duplicate: bool
    ) -> Iterator[tuple[str, Module, list[tuple[str, Parameter]]]]:
        """Yields this module and all modules below it: dotted name, module, and direct parameters."""
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        modules, parameters = self._own()
        yield at, self, parameters
        for name, module in modules:
            yield from module._walk(f"{at}.{name}" if at else name, memo, remove_duplicate)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Returns the names and the direct modules, each once."""
        seen: set[int] = set()
        for name, module in self._own()[0]:
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Returns the direct modules, each once."""
        return (child for _, child in self.named_children())

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Returns this module and all modules below it, with dotted names.

        Args:
            memo: modules to leave out.
            prefix: the name of this module.
            remove_duplicate: whether to return each module only once, with its first name.
        """
        walk = self._walk(prefix, set() if memo is None else memo, remove_duplicate)
        return ((at, module) for at, module, _ in walk)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Returns this module and all modules below it.

        Args:
            remove_duplicate: whether to return each module only once.
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Returns the dotted names and the parameters.

        Args:
            prefix: the prefix of the names.
            recurse: whether to include the modules below.
            remove_duplicate: whether to return each parameter only once, with its first name.
        """
        walk = self._walk(prefix, set(), remove_duplicate) if recurse else [(prefix, self, self._own()[1])]
        return _named(((at, parameters) for at, _, parameters in walk), remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Returns the dotted names and the buffers; the arguments are those of named_parameters()."""
        walk = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        return _named(((at, module._own_buffers()) for at, module in walk), remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Returns all parameters, each once.

        Args:
            recurse: whether to include the modules below.
        """
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Returns all buffers, each once.

        Args:
            recurse: whether to include the modules below.
        """
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """Returns the module of a dotted name; "" is this module.

        Raises:
            AttributeError: there is no such name.

        Example:
            >>> sg.nn.Sequential(sg.nn.ReLU()).get_submodule("0")
            ReLU()
        """
        return self._get(target, self.named_modules(remove_duplicate=False))

    def get_parameter(self, target: str) -> Parameter:
        """Returns the parameter of a dotted name.

        Raises:
            AttributeError: there is no such name.
        """
        return self._get(target, self.named_parameters(remove_duplicate=False))

    def get_buffer(self, target: str) -> Tensor:
        """Returns the buffer of a dotted name.

        Raises:
            AttributeError: there is no such name.
        """
        return self._get(target, self.named_buffers(remove_duplicate=False))

    def _get(self, target: str, among: Iterable[tuple[str, T]]) -> T:
        for name, value in among:
            if name == target:
                return value
        raise AttributeError(f"{type(self).__name__} has no '{target}'; see named_modules() and state_dict()")

    # ---- modes, types and devices ----------------------------------------------------------------------------------
    def train(self: M, mode: bool = True) -> M:
        """Sets `training` in this module and all modules below it.

        Raises:
            ValueError: mode is neither True nor False.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode is {mode!r}; use True or False")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: M) -> M:
        """Calls train(False)."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Sets whether backward() computes gradients of the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def apply(self: M, fn: Callable[[Module], Any]) -> M:
        """Calls a function with each module below, then with this one.

        Example:
            >>> model = sg.nn.Sequential(sg.nn.Linear(1, 1), sg.nn.ReLU())
            >>> names = []
            >>> model = model.apply(lambda module: names.append(type(module).__name__))
            >>> names
            ['Linear', 'ReLU', 'Sequential']
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _convert(self: M, convert: Callable[[Tensor], Tensor]) -> M:
        """Replaces the data of parameters, gradients and buffers; the tensors stay the same objects."""
        with no_grad():
            for tensor in [*self.parameters(), *self.buffers()]:
                gradient, tensor.grad = tensor.grad, None
                tensor.data = convert(tensor.data)
                if gradient is not None:
                    tensor.grad = convert(gradient)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Moves parameters and buffers in place to a device or a floating type; integer buffers keep their type.

        Args:
            args: arguments of Tensor.to().
            kwargs: arguments of Tensor.to(), by name.

        Raises:
            TypeError: the type is not a floating type.

        Example:
            >>> sg.nn.Linear(2, 2).to(sg.float64).weight.dtype
            spirograd.float64
        """

        def convert(x: Tensor) -> Tensor:
            if x.is_floating_point():
                moved = x.to(*args, **kwargs)
                if not moved.is_floating_point():
                    raise TypeError(f"Module.to: {moved.dtype.name} is not a floating type; use float32 or another one")
                return moved
            return x.to(x.new_empty((0,), dtype=float32).to(*args, **kwargs).device)

        return self._convert(convert)

    def cpu(self: M) -> M:
        """Moves parameters and buffers to the CPU."""
        return self.to("cpu")

    def half(self: M) -> M:
        """Calls to(float16)."""
        return self.to(float16)

    def bfloat16(self: M) -> M:
        """Calls to(bfloat16)."""
        return self.to(bfloat16)

    def float(self: M) -> M:
        """Calls to(float32)."""
        return self.to(float32)

    def double(self: M) -> M:
        """Calls to(float64)."""
        return self.to(float64)

    def type(self: M, dst_type: DTypeLike) -> M:
        """Converts all parameters and buffers, also those of integers.

        Args:
            dst_type: the new type.
        """
        return self._convert(lambda x: x.to(dtype=dst_type))

    def to_empty(self: M, *, device: DeviceLike, recurse: bool = True) -> M:
        """Moves parameters and buffers without their values, which are undefined afterwards.

        Args:
            device: the new device.
            recurse: whether to include the modules below.
        """
        with no_grad():
            for tensor in [*self.parameters(recurse), *self.buffers(recurse)]:
                tensor.grad = None
                tensor.data = tensor.new_empty(tensor.shape, device=device)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters.

        Args:
            set_to_none: whether to drop them instead of writing zeros.
        """
        parameters: list[Any] = list(self.parameters())
        parts = [q for p in parameters for q in (p.parts() if isinstance(p, StandIn) else (p,))]
        _core._drop_gradients([parts], set_to_none)

    # ---- states ----------------------------------------------------------------------------------------------------
    def state_dict(
        self, *, destination: dict[str, Tensor] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Returns the dotted names and the values of parameters and persistent buffers, which share their memory.

        Args:
            destination: the dict to fill, by default a new one.
            prefix: the prefix of the names.
            keep_vars: whether to return the parameters themselves instead of their values.
        """
        state = {} if destination is None else destination
        for at, hook in self._state_hooks("state_pre"):
            hook(prefix + at, keep_vars)
        for name, value in self._state():
            state[prefix + name] = value if keep_vars else value.detach()
        for at, hook in reversed(self._state_hooks("state")):
            hook(state, prefix + at, {})
        return state

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        """Yields the dotted names and the parameters and persistent buffers."""
        for at, module, parameters in self._walk("", set(), False):
            dot = f"{at}." if at else ""
            for name, parameter in parameters:
                yield dot + name, parameter
            for name, buffer in module._own_buffers():
                if module._persistent[name.partition(".")[0]]:
                    yield dot + name, buffer

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> LoadResult:
        """Copies values into parameters and buffers.

        Args:
            state_dict: dotted names and tensors or arrays, as in the result of state_dict(); also tensors of PyTorch.
                Only one side may have the prefix "module." of DistributedDataParallel.
            strict: whether the names must be the same; only num_batches_tracked of BatchNorm may be missing.
            assign: whether to use the given tensors, with their types and devices, instead of copying them.

        Returns:
            The missing and the unexpected names, as `missing_keys` and `unexpected_keys`.

        Raises:
            TypeError: state_dict is not a dict.
            ValueError: names (if strict) or shapes differ: all that do; nothing was copied, unless a hook checks the
                names later.

        Example:
            >>> layer = sg.nn.Linear(2, 1, bias=False)
            >>> layer.load_state_dict({"weight": [[1.0, 2.0]]})
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: the state is a {type(state_dict).__name__}; pass a dict")
        own = dict(self._state())
        versions = getattr(state_dict, "_metadata", {})  # versions of classes, in files of PyTorch
        state_dict = dict(_wrapped_alike(own, state_dict))
        missing: list[str] = []
        unexpected: list[str] = []
        for at, hook in self._state_hooks("load_pre"):
            hook(state_dict, at, versions.get(at[:-1], {}), strict, missing, unexpected, [])
        # Files from before 2018 lack the counts of batches; the layer keeps its own.
        missing += [n for n in own if n not in state_dict and n.rpartition(".")[2] != "num_batches_tracked"]
        unexpected += [name for name in state_dict if name not in own]
        result, after = LoadResult(missing, unexpected), self._state_hooks("load")
        values = {k: _like(own[k], _tensor(v)) for k, v in state_dict.items() if k in own}
        differ = {
            name: (tuple(own[name].shape), tuple(value.shape))
            for name, value in values.items()
            if not isinstance(own[name], UninitializedParameter) and value.shape != own[name].shape
        }
        wrong_names = result if strict and not after else LoadResult([], [])
        if differ or any(wrong_names):
            raise StateError(wrong_names, differ)
        with no_grad():
            for name, value in values.items():
                mine = own[name]
                if isinstance(mine, UninitializedParameter):
                    mine.become(value.detach().clone().to(mine.device, mine.dtype))
                elif assign:
                    mine.data = value.detach()
                else:
                    mine.copy_(value.detach().to(mine.device, mine.dtype))
        for _, hook in reversed(after):
            hook(result)
        if strict:
            result.check()
        return result

    # ---- hooks -----------------------------------------------------------------------------------------------------
    def _with_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls hook(module, args) before forward(). If it returns something, this replaces the arguments.

        Args:
            hook: the hook; with_kwargs calls hook(module, args, kwargs), which returns None or both.
            prepend: whether it runs before the other hooks.
            with_kwargs: whether the hook gets the arguments by name.

        Returns:
            A handle whose remove() removes the hook.

        Example:
            >>> layer = sg.nn.Identity()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] * 2)
            >>> layer(sg.ones(1)).tolist()
            [2.0]
        """
        return register(self._with_hooks().forward_pre, Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls hook(module, args, output) after forward(). If it returns something, this replaces the output.

        Args:
            hook: the hook; with_kwargs calls hook(module, args, kwargs, output).
            prepend: whether it runs before the other hooks.
            with_kwargs: whether the hook gets the arguments by name.
            always_call: whether to call it after an error in forward() as well, with None as output.

        Returns:
            A handle whose remove() removes the hook.

        Example:
            >>> layer, shapes = sg.nn.Linear(3, 2), []
            >>> handle = layer.register_forward_hook(lambda module, args, output: shapes.append(output.shape))
            >>> y = layer(sg.ones(1, 3))
            >>> shapes
            [(1, 2)]
        """
        return register(self._with_hooks().forward, Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls hook(module, grad_output) when the gradients of the outputs are known. It may return other ones.

        Args:
            hook: the hook; grad_output is a tuple with one gradient for each tensor that forward() returned.
            prepend: whether it runs before the other hooks.

        Returns:
            A handle whose remove() removes the hook.
        """
        return register(self._with_hooks().backward_pre, Hook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls hook(module, grad_input, grad_output) when the gradients of the inputs are known.

        Args:
            hook: the hook; both arguments are tuples with a gradient, or None, for each tensor. If it returns
                something, this replaces grad_input. Arguments by name and nested tensors are left out.
            prepend: whether it runs before the other hooks.

        Returns:
            A handle whose remove() removes the hook.

        Example:
            >>> layer = sg.nn.Linear(2, 1)
            >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
            >>> layer(sg.ones(1, 2)).sum().backward()
            (tensor([[1.]]),)
        """
        return register(self._with_hooks().backward, Hook(hook), prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls hook(module, prefix, keep_vars) before state_dict() of this module, or of a module above it."""
        return register(self._with_hooks().state_pre, Hook(hook), False)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls hook(module, state, prefix, {}) after state_dict(), whose entries of this module it may change."""
        return register(self._with_hooks().state, Hook(hook), False)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls a hook before load_state_dict() compares names. It may change the state, which is a copy.

        Args:
            hook: a function of (module, state, prefix, {}, strict, missing, unexpected, []). It may add names to both
                lists.

        Returns:
            A handle whose remove() removes the hook.

        Example:
            >>> layer = sg.nn.Linear(2, 1, bias=False)
            >>> handle = layer.register_load_state_dict_pre_hook(
            ...     lambda module, state, prefix, *args: state.update({prefix + "weight": state.pop(prefix + "w")})
            ... )
            >>> layer.load_state_dict({"w": [[1.0, 2.0]]})
            <All keys matched successfully>
        """
        return register(self._with_hooks().load_pre, Hook(hook), False)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls hook(module, result) after loading. Names that it removes from the result do not raise an error."""
        return register(self._with_hooks().load, Hook(hook), False)

    def _state_hooks(self, kind: str) -> list[tuple[str, Callable[..., Any]]]:
        """The hooks of this module and all modules below it, each with the prefix of its names."""
        found: list[tuple[str, Callable[..., Any]]] = []
        for at, module in self.named_modules():
            if module._hooks is not None:
                hooks: dict[int, Hook] = getattr(module._hooks, kind)
                dot = f"{at}." if at else ""
                found += [(dot, partial(hook.function, module)) for hook in hooks.values()]
        return found

    # ---- text ------------------------------------------------------------------------------------------------------
    def summary(self, *inputs: Any) -> Summary:
        """Makes a table of the modules: name and class, shape of the output, number of parameters.

        The model runs once, in evaluation mode, to find the shapes; without inputs, there are none.

        Args:
            inputs: the arguments of an example call; a tuple of ints is the shape of a tensor of zeros.

        Returns:
            The table, which print() shows.

        Example:
            >>> print(sg.nn.Sequential(sg.nn.Linear(3, 4), sg.nn.ReLU()).summary((1, 3)))
            module        output   parameters
            ---------------------------------
            Sequential    (1, 4)           16
              0: Linear   (1, 4)           16
              1: ReLU     (1, 4)            0
            ---------------------------------
            parameters: 16, trained: 16
        """
        return summary(self, inputs)

    def extra_repr(self) -> str:
        """Returns the text in the parentheses of repr(): the arguments of a layer, nothing for other modules."""
        return shown_arguments(self, self._shown)

    def _repr_html_(self) -> str:
        """The HTML that notebooks show: the summary, and repr() to unfold."""
        text = html.escape(repr(self))
        return f"{self.summary()._repr_html_()}<details><summary>repr</summary><pre>{text}</pre></details>"

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        return _tree(type(self).__name__, lines, children)


call_of_module: Any = vars(Module)["__call__"]  # that of the library, whatever a program sets in its place


def _tree(name: str, lines: list[str], children: list[str]) -> str:
    if len(lines) == 1 and not children:
        return f"{name}({lines[0]})"
    inside = "".join(f"\n  {line}" for line in [*lines, *children])
    return f"{name}({inside}\n)" if inside else f"{name}()"


def _wrapped_alike(own: Mapping[str, Any], state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state with the prefix "module." if the module's own names have it, and without it otherwise: a model may have
    been wrapped when its state was saved, and not be wrapped now."""
    mark = "module."
    if not state or not own or not own.keys().isdisjoint(state):
        return state
    if all(name.startswith(mark) for name in state):
        bare = {name.removeprefix(mark): value for name, value in state.items()}
        return state if own.keys().isdisjoint(bare) else bare
    if all(name.startswith(mark) for name in own):
        return {mark + name: value for name, value in state.items()}
    return state


def _tensor(value: Any) -> Tensor:
    """The value as a tensor. Tensors of PyTorch are not converted by NumPy, which has no bfloat16."""
    if isinstance(value, Tensor):
        return value
    return from_dlpack(value.detach().cpu()) if hasattr(value, "detach") else _core.tensor(value)


def _like(own: Tensor, value: Tensor) -> Tensor:
    """The value, as a scalar if the own tensor is one: old files store scalars as lists of one number."""
    return value[0] if own.ndim == 0 and value.shape == (1,) else value


def _named(groups: Iterable[tuple[str, list[tuple[str, T]]]], remove_duplicate: bool) -> Iterator[tuple[str, T]]:
    """Yields the dotted names and values of groups of tensors."""
    seen: set[int] = set()
    for at, tensors in groups:
        for name, tensor in tensors:
            if id(tensor) not in seen:
                if remove_duplicate:
                    seen.add(id(tensor))
                yield (f"{at}.{name}" if at else name), tensor


bases[Module] = "module"


class TensorModule(Module):
    """A module that maps a tensor to a tensor, for type checkers."""

    if TYPE_CHECKING:

        def forward(self, input: Tensor, /) -> Tensor: ...
