"""Module: a function with parameters; modules nest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .._core import Tensor
from .._grad_mode import no_grad

M = TypeVar("M", bound="Module")


class Parameter(Tensor):
    """A tensor that a module lists among its parameters.

    Args:
        data: a tensor (its memory is shared) or values.
        requires_grad: whether backward() reaches it.

    Example:
        >>> sg.nn.Parameter(sg.zeros(2)).requires_grad
        True
    """

    def __new__(cls, data: Any, requires_grad: bool = True) -> Parameter:
        return Tensor.__new__(cls, data, requires_grad=requires_grad)

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        pass


class Module:
    """Base of all modules. Attributes that are Parameters or Modules belong to it; write forward().

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

    training: bool

    def __init__(self) -> None:
        self.training = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Names and modules one level down."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def children(self) -> Iterator[Module]:
        """Modules one level down."""
        return (child for _, child in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names; each once."""
        seen: set[int] = set()
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        while waiting:
            name, module = waiting.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            dot = f"{name}." if name else ""
            waiting.extend(reversed([(dot + key, child) for key, child in module.named_children()]))

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Dotted names and parameters, each parameter once."""
        seen: set[int] = set()
        for name, module in self.named_modules():
            dot = f"{name}." if name else ""
            for key, value in vars(module).items():
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    yield dot + key, value

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once."""
        return (parameter for _, parameter in self.named_parameters())

    def train(self: M, mode: bool = True) -> M:
        """Sets `training` here and below."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: M) -> M:
        """train(False)."""
        return self.train(False)

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Moves all parameters, in place, to a device or a type.

        Example:
            >>> sg.nn.Linear(2, 2).to(sg.float64).weight.dtype
            spirograd.float64
        """
        with no_grad():
            for parameter in self.parameters():
                gradient = parameter.grad
                parameter.grad = None
                parameter.data = parameter.data.to(*args, **kwargs)
                if gradient is not None:
                    parameter.grad = gradient.to(*args, **kwargs)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters."""
        with no_grad():
            for parameter in self.parameters():
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.zero_()

    def state_dict(self) -> dict[str, Tensor]:
        """Dotted names and values of the parameters; the values share memory with them."""
        return {name: parameter.detach() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copies values into the parameters.

        Args:
            state: dotted names and tensors or arrays, as state_dict() gives them.

        Raises:
            ValueError: names or shapes differ; nothing was copied.
        """
        own = dict(self.named_parameters())
        missing, unexpected = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
        if missing or unexpected:
            raise ValueError(f"load_state_dict: missing {missing}, unexpected {unexpected}; use the same model")
        values = {k: v if isinstance(v, Tensor) else Tensor(v) for k, v in state.items()}
        for name, value in values.items():
            if value.shape != own[name].shape:
                raise ValueError(
                    f"load_state_dict: {name} has shape {list(own[name].shape)}, the state {list(value.shape)}; "
                    "use the same model"
                )
        with no_grad():
            for name, value in values.items():
                own[name].copy_(value.detach().to(own[name].device))

    def extra_repr(self) -> str:
        """What stands between the brackets of repr()."""
        return ""

    def __repr__(self) -> str:
        lines = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self.named_children()]
        head = f"{type(self).__name__}({self.extra_repr()}"
        return head + ("\n" + "\n".join(lines) + "\n" if lines else "") + ")"


class TensorModule(Module):
    """A module from one tensor to one, for type checkers."""

    if TYPE_CHECKING:

        def __call__(self, x: Tensor) -> Tensor: ...
