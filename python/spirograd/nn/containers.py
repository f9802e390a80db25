"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterator

from .._core import Tensor
from .module import Module, TensorModule


class Sequential(TensorModule):
    """Modules one after the other.

    Args:
        modules: in order.

    Example:
        >>> sg.nn.Sequential(sg.nn.Linear(3, 4), sg.nn.ReLU())(sg.ones(1, 3)).shape
        (1, 4)
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for i, module in enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(f"Sequential: argument {i} is a {type(module).__name__}; pass modules")
            setattr(self, str(i), module)

    def forward(self, x: Tensor) -> Tensor:
        for module in self.children():
            x = module(x)
        return x

    def __len__(self) -> int:
        return len(list(self.children()))

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int) -> Module:
        return list(self.children())[index]
