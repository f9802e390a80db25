"""Methods that write into their tensor, and those about its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import spirograd as sg

from ... import _core
from ..._core import Tensor
from ..._functions import random, shapes
from ...base.grad_mode import enable_grad
from . import forms

__all__ = ["METHODS"]

_OF_THE_CORE = ["absolute", "addbmm", "addmv", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh"]
_OF_THE_CORE += ["cumprod", "cumsum", "divide", "eq", "fix", "ge", "greater", "greater_equal", "gt", "le", "less"]
_OF_THE_CORE += ["less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "multiply", "ne"]
_OF_THE_CORE += ["negative", "not_equal", "sgn", "subtract", "true_divide"]
_OF_OTHERS = """
    addr conj_physical copysign digamma erfinv float_power gcd heaviside i0 igamma igammac index_reduce lcm ldexp lgamma
    logit mvlgamma nextafter polygamma put renorm sinc
"""


def _in_place(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        given = (self, *args, *kwargs.values())
        recorded = _core.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in given)
        # The gradient may need what is overwritten.
        result = function(self.clone() if recorded else self, *args, **kwargs)
        if result.dtype.is_floating_point and not self.dtype.is_floating_point:
            raise RuntimeError(
                f"{name}_: the result is {result.dtype.name}, the tensor {self.dtype.name}; use {name}(), or convert it"
            )
        return self.copy_(result)

    call.__name__ = call.__qualname__ = f"{name}_"
    call.__doc__ = f"{name} written into the tensor."
    return call


def _with_shape(name: str) -> Callable[..., Tensor]:
    """squeeze_ and its like: the tensor gets another shape over the same memory."""
    view = getattr(Tensor, name)

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        leaf = self.grad_fn is None
        if leaf and self.requires_grad and _core.is_grad_enabled():
            raise RuntimeError(f"{name}_: the tensor is a leaf that requires grad; use {name}(), or no_grad()")
        with enable_grad():  # the graph has to know the shape
            return self._take_view(view(self.data if leaf else self, *args, **kwargs))

    call.__name__ = call.__qualname__ = f"{name}_"
    call.__doc__ = f"{name} of this tensor itself. RuntimeError where it is a leaf that requires grad."
    return call


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """resize_ to the shape of another tensor."""
    return random.resize_(self, the_template.shape)


def set_(self: Tensor, source: Tensor) -> Tensor:
    """From now on the memory of another tensor."""
    self.data = source.detach()
    return self


def new(self: Tensor, *args: Any) -> Tensor:
    """A tensor of this type: of a shape, or of values."""
    from ..kinds import construct

    return construct(args, self.dtype, self.device)


def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """as_strided() of this tensor itself. RuntimeError where it is a leaf that requires grad."""
    return _with_shape("as_strided")(self, size, stride, storage_offset or 0)


def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Any) -> Tensor:
    """A tensor of this type with any values, whose dimensions have these steps in memory."""
    return shapes.empty_strided(size, stride, **{"dtype": self.dtype, "device": self.device, **options})


def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """scatter() written into the tensor."""
    return self.copy_(forms.scatter(self, dim, index, src, value=value, reduce=reduce))


def _itself(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor itself."""
    return self


def _no(self: Tensor, *args: Any) -> bool:
    """False."""
    return False


def record_stream(self: Tensor, stream: Any) -> None:
    """Accepted: a GPU has one order of work."""


def to_sparse_csr(self: Tensor) -> Any:
    """The elements that are not 0, by row."""
    return self.to_sparse().to_sparse_csr()


def to_sparse_coo(self: Tensor) -> Any:
    """The elements that are not 0, with their places."""
    return self.to_sparse()


def is_nonzero(self: Tensor) -> bool:
    """Whether the one element is not 0."""
    return bool(self)


def where(self: Tensor, condition: Tensor, y: Any) -> Tensor:
    """The tensor where the condition holds, else y."""
    return _core.where(condition, self, y)


METHODS: dict[str, Callable[..., Any]] = {
    **{f"{name}_": _in_place(getattr(_core, name), name) for name in _OF_THE_CORE if hasattr(_core, name)},
    **{f"{n}_": _in_place(getattr(forms, n, None) or getattr(sg, n), n) for n in _OF_OTHERS.split()},
    **{f"{n}_": _with_shape(n) for n in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims")},
    **{name: _itself for name in ("pin_memory", "share_memory_")},
    **{name: _no for name in ("is_pinned", "is_shared", "is_conj", "is_neg")},
}
for _method in (
    as_strided_,
    new_empty_strided,
    scatter_,
    random.fill_diagonal_,
    random.resize_,
    resize_as_,
    set_,
    new,
    random.cauchy_,
    random.log_normal_,
    random.geometric_,
    random.apply_,
    is_nonzero,
    record_stream,
    to_sparse_coo,
    to_sparse_csr,
    where,
):
    METHODS[_method.__name__] = _method
