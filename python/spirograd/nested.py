"""Tensors that differ in the size of their first dimension, one behind the other in memory; names of torch.nested.

Example:
    >>> pair = sg.nested.nested_tensor([sg.ones(1, 2), sg.ones(3, 2)])
    >>> sg.nested.to_padded_tensor(pair * 2, 0.0).sum(-1).tolist()
    [[4.0, 0.0, 0.0], [4.0, 4.0, 4.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from . import _core
from ._core import Tensor
from .base.stand_in import StandIn

__all__ = ["NestedTensor", "as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


class NestedTensor(StandIn):
    """Tensors [length, ...] that share all but their lengths. Functions of elements and of the last dimension work on
    all of them at once; others say that they are not there.

    Args:
        values: all of them, [sum of lengths, ...].
        lengths: of each.
    """

    __slots__ = ("_elements", "_lengths")

    kind, instead = "nested tensors", "use unbind(), or to_padded_tensor()"
    is_nested = True

    _elements: Tensor
    _lengths: list[int]

    def __init__(self, values: Tensor, lengths: Sequence[int]) -> None:
        self._elements, self._lengths = values, list(lengths)

    @property
    def dtype(self) -> _core.dtype:
        """The type of the elements."""
        return self._elements.dtype

    @property
    def device(self) -> _core.Device:
        """Where they are."""
        return self._elements.device

    @property
    def ndim(self) -> int:
        """The number of dimensions, with that of the tensors."""
        return self._elements.ndim + 1

    @property
    def requires_grad(self) -> bool:
        """Whether the elements do."""
        return self._elements.requires_grad

    def values(self) -> Tensor:
        """All tensors one behind the other: [sum of lengths, ...]."""
        return self._elements

    def offsets(self) -> Tensor:
        """Where each begins, and where the last one ends: [tensors + 1]."""
        return _core.tensor([0, *accumulate(self._lengths)], device=self.device)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The tensors."""
        return tuple(self._elements.split(self._lengths))

    def size(self, dim: int | None = None) -> Any:
        """The size of one dimension; the second one has none.

        Raises:
            RuntimeError: of that dimension, or of all.
        """
        if dim is None or dim % self.ndim == 1:
            raise RuntimeError("size: the tensors have several lengths; use size(dim), or offsets().diff()")
        dim %= self.ndim
        return len(self._lengths) if dim == 0 else self._elements.shape[dim - 1]

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, key: int) -> Tensor:
        return self.unbind()[key]

    def __repr__(self) -> str:
        return f"nested_tensor({list(self.unbind())})"

    def __add__(self, other: Any) -> NestedTensor:
        return _together("add")(self, other)

    def __sub__(self, other: Any) -> NestedTensor:
        return _together("sub")(self, other)

    def __mul__(self, other: Any) -> NestedTensor:
        return _together("mul")(self, other)

    def __truediv__(self, other: Any) -> NestedTensor:
        return _together("div")(self, other)

    def __matmul__(self, other: Any) -> NestedTensor:
        return _together("matmul")(self, other)

    def __neg__(self) -> NestedTensor:
        return NestedTensor(-self._elements, self._lengths)

    __radd__, __rmul__ = __add__, __mul__


def _together(name: str) -> Callable[..., NestedTensor]:
    """A function of two: nested tensors of equal lengths, or one with what broadcasts to each of its tensors."""
    function = getattr(_core, name)

    def call(input: Any, other: Any) -> NestedTensor:
        nested = input if isinstance(input, NestedTensor) else other
        parts = []
        for x in (input, other):
            if isinstance(x, NestedTensor):
                if x._lengths != nested._lengths:
                    raise ValueError(f"{name}: the lengths {nested._lengths} and {x._lengths} differ; make them equal")
                x = x._elements
            elif isinstance(x, Tensor) and x.ndim >= nested._elements.ndim and name != "matmul":
                raise ValueError(f"{name}: a tensor of shape {list(x.shape)} beside nested ones; give fewer dimensions")
            parts.append(x)
        return NestedTensor(function(*parts), nested._lengths)

    return call


def _alone(name: str) -> Callable[..., NestedTensor]:
    def call(input: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
        return NestedTensor(getattr(_core.Tensor, name)(input._elements, *args, **kwargs), input._lengths)

    return call


def _of_last(name: str) -> Callable[..., NestedTensor]:
    """A function of the last dimension."""
    function = getattr(_core, name)

    def call(input: NestedTensor, dim: int, **kwargs: Any) -> NestedTensor:
        if dim not in (-1, input.ndim - 1) or input.ndim < 3:
            raise ValueError(f"{name}: dim is {dim} of nested tensors; use -1, or to_padded_tensor()")
        return NestedTensor(function(input._elements, -1, **kwargs), input._lengths)

    return call


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A nested tensor with copies of these tensors, which may differ in their first dimension.

    Raises:
        ValueError: there are none, or they differ in other dimensions.
    """
    made = as_nested_tensor([_core.tensor(x).detach() for x in tensor_list], dtype, device, layout)
    if requires_grad:
        made._elements.requires_grad_()
    return made


def as_nested_tensor(ts: Sequence[Tensor], dtype: Any = None, device: Any = None, layout: Any = None) -> NestedTensor:
    """nested_tensor() with the gradients of its tensors."""
    if not ts or any(x.ndim < 1 or x.shape[1:] != ts[0].shape[1:] for x in ts):
        raise ValueError(f"nested_tensor: shapes {[list(x.shape) for x in ts]}; only the first sizes may differ")
    values = _core.cat(list(ts))
    if dtype is not None or device is not None:
        values = values.to(device or values.device, dtype or values.dtype)
    return NestedTensor(values, [len(x) for x in ts])


def nested_tensor_from_jagged(values: Tensor, offsets: Tensor, **options: Any) -> NestedTensor:
    """The tensors between offsets [tensors + 1], which are read."""
    return NestedTensor(values, offsets.diff().tolist())


def to_padded_tensor(input: NestedTensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """One tensor [tensors, longest, ...] with the padding behind shorter ones."""
    longest = max(input._lengths) if output_size is None else output_size[1]
    behind = [0, 0] * (input._elements.ndim - 1)
    rows = [_core.pad(x, (*behind, 0, longest - len(x)), value=padding) for x in input.unbind()]
    return _core.stack(rows)


_ELEMENTS = "abs clone cos cpu detach exp log relu sigmoid sin sqrt square tanh to float half double contiguous"

NestedTensor.functions = {
    **{name: _alone(name) for name in _ELEMENTS.split()},
    **{name: _together(name) for name in ("add", "sub", "mul", "div", "matmul")},
    **{name: _of_last(name) for name in ("softmax", "log_softmax")},
    "dim": lambda input: input.ndim,
    "numel": lambda input: input._elements.numel(),
    "to_padded_tensor": to_padded_tensor,
}
