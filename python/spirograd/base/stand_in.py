"""Classes whose objects stand for tensors: made of several, with functions of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from .._core import Tensor, _Overridable

__all__ = ["StandIn"]


class StandIn:
    """Base of such classes.

    Functions of the core that get such an object call __spirograd_function__(); its methods are the same functions.
    What they do not have is refused by name.

    Attributes:
        kind: what they are, in errors.
        instead: what to use, in errors.
        functions: the functions, by the names of the core's.
    """

    __slots__ = ()
    __array_ufunc__ = None  # arrays leave operators to these classes
    kind: ClassVar[str]
    instead: ClassVar[str]
    functions: ClassVar[dict[str, Callable[..., Any]]]

    @classmethod
    def __spirograd_function__(cls, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function of the core makes of these arguments; one that is written in Python calls those itself."""
        if isinstance(function, _Overridable):
            return NotImplemented
        name = function.__name__
        if name not in cls.functions:
            raise TypeError(f"{name}: {cls.kind} are not supported; {cls.instead}")
        return cls.functions[name](*args, **kwargs)

    def parts(self) -> tuple[Tensor, ...]:
        """The tensors that it is made of, from which its class makes it again: gradients are theirs.

        Raises:
            TypeError: it has no gradients as a whole.
        """
        raise TypeError(f"grad: {self.kind} are not supported; {self.instead}")

    def __getattr__(self, name: str) -> Any:
        if name in self.functions:
            return partial(self.functions[name], self)
        raise AttributeError(f"{type(self).__name__}: there is no {name}; {self.instead}")
