"""Layers that call a function of nn.functional with the arguments of their constructor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from .._core import Tensor
from ..base.docstrings import argument_names
from . import functional
from ._arguments import described
from .module import Module, TensorModule

C = TypeVar("C", bound="type[OfFunction]")


class OfFunction(Module):
    """The base of such layers. It passes on its attributes with the names of the constructor's arguments."""

    _function: ClassVar[str]
    _options: ClassVar[tuple[str, ...]]

    def _named_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._options}


class TensorFunction(OfFunction, TensorModule):
    """The base of layers that map a tensor to a tensor by such a function."""

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(functional, self._function)(input, **self._named_options())
        return result


def layer_of(function: Callable[..., Any], *sources: Any, also: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Makes a class the layer of a function of nn.functional.

    Args:
        function: the function, which describes the layer.
        sources: what describes the layer before the function.
        also: other attributes that are passed to the function.
    """

    def decorate(layer: C) -> C:
        layer._function = function.__name__
        layer._options = (*argument_names(layer), *also)
        return described(*sources, function)(layer)

    return decorate
