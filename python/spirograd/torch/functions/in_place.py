"""Methods that write into their tensor, and those about its memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._core import Tensor
from ...base.grad_mode import enable_grad
from . import algebra, elementwise, rare

__all__ = ["METHODS"]

_OF_THE_CORE = [
    "absolute",
    "addbmm",
    "addmv",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cumprod",
    "cumsum",
    "divide",
    "eq",
    "fix",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "multiply",
    "ne",
    "negative",
    "not_equal",
    "sgn",
    "subtract",
    "true_divide",
]
_OF_OTHERS = {
    algebra: ["addr", "index_reduce", "put", "renorm"],
    elementwise: [
        "conj_physical",
        "copysign",
        "digamma",
        "erfinv",
        "float_power",
        "gcd",
        "heaviside",
        "i0",
        "igamma",
        "igammac",
        "lcm",
        "ldexp",
        "lgamma",
        "logit",
        "mvlgamma",
        "nextafter",
        "polygamma",
        "sinc",
    ],
}


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


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Writes a number on the main diagonal; with wrap, on again below each square of a tall matrix."""
    rows, columns = self.shape[0], self.shape[-1]
    if self.ndim == 2 and wrap and rows > columns + 1:
        places = _core.arange(0, rows * columns, columns + 1, device=self.device)
        value = _core.full(places.shape, fill_value, dtype=self.dtype, device=self.device)
        return self.copy_(algebra.put(self, places, value))
    index = _core.arange(min(self.shape), device=self.device)
    self[(index,) * self.ndim] = fill_value
    return self


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape: as many elements as there are in order, then 0."""
    shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    flat, count = self.data.reshape(-1), math.prod(shape)
    if count > flat.shape[0]:
        flat = _core.cat([flat, flat.new_zeros(count - flat.shape[0])])
    self.data = flat[:count].reshape(shape)
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """resize_ to the shape of another tensor."""
    return resize_(self, the_template.shape)


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
    return rare.empty_strided(size, stride, **{"dtype": self.dtype, "device": self.device, **options})


def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """scatter() written into the tensor."""
    return self.copy_(rare.scatter(self, dim, index, src, value=value, reduce=reduce))


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Writes draws of a Cauchy distribution; ValueError where sigma is not above 0."""
    if not sigma > 0:
        raise ValueError(f"cauchy_: sigma is {sigma}; use a number above 0")
    u = _core.rand(self.shape, device=self.device, generator=generator)
    return self.copy_(median + sigma * (math.pi * (u - 0.5)).tan())


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Writes the exponentials of draws of a normal distribution; ValueError where std is not above 0."""
    if not std > 0:
        raise ValueError(f"log_normal_: std is {std}; use a number above 0")
    z = _core.randn(self.shape, device=self.device, generator=generator)
    return self.copy_((mean + std * z).exp())


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Writes the number of trials up to the first success; ValueError where p is not between 0 and 1."""
    if not 0 < p < 1:
        raise ValueError(f"geometric_: p is {p}; use a number between 0 and 1")
    u = _core.rand(self.shape, device=self.device, generator=generator)
    return self.copy_(((1 - u).log() / math.log1p(-p)).ceil().clamp(min=1))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Writes f(x) for each element, one call of Python each."""
    values = [callable(x) for x in self.detach().reshape(-1).tolist()]
    return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(self.shape))


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
    **{f"{n}_": _in_place(getattr(file, n), n) for file, names in _OF_OTHERS.items() for n in names},
    **{f"{n}_": _with_shape(n) for n in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims")},
    **{name: _itself for name in ("pin_memory", "share_memory_")},
    **{name: _no for name in ("is_pinned", "is_shared", "is_inference", "is_conj", "is_neg")},
}
for _method in (
    as_strided_,
    new_empty_strided,
    scatter_,
    fill_diagonal_,
    resize_,
    resize_as_,
    set_,
    new,
    cauchy_,
    log_normal_,
    geometric_,
    apply_,
    is_nonzero,
    record_stream,
    to_sparse_coo,
    to_sparse_csr,
    where,
):
    METHODS[_method.__name__] = _method
