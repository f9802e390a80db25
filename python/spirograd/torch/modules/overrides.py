"""torch.overrides: classes that answer for functions of tensors. Subclasses of Tensor do not do so here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..._core import Tensor

__all__ = ["TorchFunctionMode", "get_ignored_functions", "get_overridable_functions", "handle_torch_function"]
__all__ += ["has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like"]


class TorchFunctionMode:
    """Would see each call of a function of tensors. Entering it is an error."""

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__}: calls of functions cannot be watched; wrap the functions")

    def __exit__(self, *args: object) -> None:
        pass


def has_torch_function(relevant_args: Any) -> bool:
    """False: no argument answers for a function."""
    return False


def has_torch_function_unary(obj: Any) -> bool:
    """False."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """False."""
    return False


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """The function's own result: no argument answers for it."""
    return public_api(*args, **kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(inp, Tensor)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """None are there."""
    return {}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """None are there."""
    return set()
