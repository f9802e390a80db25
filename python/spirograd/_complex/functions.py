"""What functions of the core do with complex tensors: shapes, types, places, and the table of all of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from . import elementwise
from .tensor import (
    _TYPES,
    ComplexTensor,
    ComplexType,
    _abs,
    _add,
    _allclose,
    _div,
    _einsum,
    _eq,
    _mul,
    _parts,
    _product,
    _sub,
    angle,
    complex64,
    complex128,
    conj,
    view_as_complex,
    view_as_real,
)

# ---- shapes, types, places -------------------------------------------------------------------------------------------


def _each(name: str) -> Callable[..., Any]:
    """A function of one tensor, of the parts."""

    def call(input: ComplexTensor, *args: Any, **kwargs: Any) -> Any:
        def part(which: str) -> Any:
            own = [getattr(x, which) if isinstance(x, ComplexTensor) else x for x in args]
            return getattr(getattr(input, which), name)(*own, **kwargs)

        real, imag = part("real"), part("imag")
        if isinstance(real, Tensor):
            return ComplexTensor(real, imag)
        return tuple(ComplexTensor(a, b) for a, b in zip(real, imag, strict=True))

    return call


def _joined(function: Callable[..., Tensor]) -> Callable[..., ComplexTensor]:
    def call(tensors: Sequence[Any], *args: Any, **kwargs: Any) -> ComplexTensor:
        pairs = [_parts(x) for x in tensors]
        imag = [_core.zeros_like(a) if b is None else b for a, b in pairs]
        return ComplexTensor(function([a for a, _ in pairs], *args, **kwargs), function(imag, *args, **kwargs))

    return call


def _where(condition: Tensor, input: Any, other: Any) -> ComplexTensor:
    (a, b), (c, d) = _parts(input), _parts(other)
    return ComplexTensor(
        _core.where(condition, a, c), _core.where(condition, 0.0 if b is None else b, 0.0 if d is None else d)
    )


def _masked_fill(input: Any, mask: Tensor, value: Any) -> ComplexTensor:
    (a, b), (c, d) = _parts(input), _parts(value)
    imag = _core.zeros_like(a) if b is None else b
    return ComplexTensor(a.masked_fill(mask, c), imag.masked_fill(mask, 0.0 if d is None else d))


def _copy_(input: ComplexTensor, src: Any) -> ComplexTensor:
    real, imag = _parts(src)
    input.real.copy_(real)
    input.imag.zero_() if imag is None else input.imag.copy_(imag)
    return input


def _written(name: str) -> Callable[..., ComplexTensor]:
    def call(input: ComplexTensor, *args: Any) -> ComplexTensor:
        getattr(input.real, name)(*args)
        getattr(input.imag, name)(*args)
        return input

    return call


def _to(input: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    kinds = [x for x in args if isinstance(x, ComplexType)] + ([dtype] if isinstance(dtype, ComplexType) else [])
    others = [x for x in args if not isinstance(x, ComplexType)]
    if isinstance(input, Tensor):
        moved = input.to(kinds[0].real)
        moved = moved.to(*others, **kwargs) if others or kwargs else moved
        return ComplexTensor(moved, _core.zeros_like(moved))
    if (dtype is not None and not kinds) or any(isinstance(x, _core.dtype) for x in others):
        raise TypeError("to: complex numbers do not become real ones; use .real or .abs()")
    options = {"dtype": kinds[0].real} if kinds else {}
    return ComplexTensor(*(x.to(*others, **options, **kwargs) for x in (input.real, input.imag)))


def _view(input: Any, *shape: Any) -> Any:
    """In another shape; or pairs of a real tensor as complex numbers, and the other way round."""
    if isinstance(input, Tensor):
        if _TYPES.get(input.dtype) is not shape[0]:
            raise TypeError(f"view: {input.dtype.name} as {shape[0].name}; the parts must have the tensor's type")
        return view_as_complex(input.unflatten(-1, (-1, 2)))
    if isinstance(shape[0], _core.dtype):
        if shape[0] != input.real.dtype:
            raise TypeError(f"view: {input.dtype.name} as {shape[0].name}; use the type of the parts")
        return view_as_real(input).flatten(-2)
    return _each("view")(input, *shape)


def _filled(name: str) -> Callable[..., Any]:
    """A function that makes a tensor: of complex numbers, of which the imaginary parts are 0."""

    def call(*args: Any, dtype: ComplexType | None = None, requires_grad: bool = False, **kwargs: Any) -> ComplexTensor:
        sizes = [x.real if isinstance(x, ComplexTensor) else x for x in args]
        made = getattr(_core, name)(*sizes, **({"dtype": dtype.real} if dtype else {}), **kwargs)
        z = ComplexTensor(made, _core.zeros_like(made))
        return z.requires_grad_() if requires_grad else z

    return call


def _random(name: str, scale: float) -> Callable[..., Any]:
    def call(*args: Any, dtype: ComplexType | None = None, requires_grad: bool = False, **kwargs: Any) -> ComplexTensor:
        sizes = [x.real if isinstance(x, ComplexTensor) else x for x in args]
        options = {"dtype": dtype.real} if dtype else {}
        z = ComplexTensor(*(getattr(_core, name)(*sizes, **options, **kwargs) * scale for _ in range(2)))
        return z.requires_grad_() if requires_grad else z

    return call


def _full(size: Any, fill_value: Any, *, dtype: ComplexType | None = None, **options: Any) -> ComplexTensor:
    like = size if isinstance(size, (Tensor, ComplexTensor)) else None
    z: ComplexTensor
    if like is None:
        z = _zeros(size, dtype=dtype or complex64, **options)
    else:
        kept = like.dtype if isinstance(like, ComplexTensor) else _TYPES.get(like.dtype, complex64)
        z = _zeros(like.shape, dtype=dtype or kept, **{"device": like.device, **options})
    for part, value in zip((z.real, z.imag), _parts(builtins.complex(fill_value)), strict=True):
        part.detach().fill_(value)
    return z


def _from_numpy(array: Any) -> ComplexTensor:
    """Shares the array's memory."""
    return ComplexTensor(_core.from_numpy(array.real), _core.from_numpy(array.imag))


def _tensor(
    data: Any, dtype: ComplexType | None = None, device: Any = None, requires_grad: bool = False
) -> ComplexTensor:
    if dtype is None:  # that of an array; numbers of Python's are complex64, as its floats are float32
        given = data.dtype.name if isinstance(data, (np.ndarray, np.complexfloating)) else "complex64"
        if given not in ("complex64", "complex128"):
            raise TypeError(f"tensor: dtype {given} is not supported; use complex64 or complex128")
        dtype = complex128 if given == "complex128" else complex64
    if not isinstance(dtype, ComplexType):
        raise TypeError(
            f"tensor: {np.asarray(data).dtype.name} does not fit into {dtype.name}; take its .real or .imag"
        )
    array = np.asarray(data, dtype.name)
    z = ComplexTensor(*(_core.tensor(part.copy(), device=device) for part in (array.real, array.imag)))
    return z.requires_grad_() if requires_grad else z


def _in_place(name: str) -> Callable[..., ComplexTensor]:
    """A function written into its first argument; the gradient may need what is overwritten."""

    def call(input: ComplexTensor, *args: Any, **kwargs: Any) -> ComplexTensor:
        old = _each("clone")(input) if input.requires_grad else input
        return _copy_(input, ComplexTensor.functions[name](old, *args, **kwargs))

    return call


def _prod(input: ComplexTensor, dim: int | None = None, keepdim: bool = False) -> ComplexTensor:
    """The product of all elements, or along a dimension."""
    z: ComplexTensor = _each("flatten")(input) if dim is None else _each("movedim")(input, dim, 0)
    while len(z) > 1:  # halves, and an odd one
        half = len(z) // 2
        done = _mul(z[:half], z[half : 2 * half])
        z = _joined(_core.cat)([done, z[2 * half :]]) if len(z) % 2 else done
    z = z[0] if len(z) else ComplexTensor(_core.ones_like(z.real.sum(0)), z.imag.sum(0))
    return _each("unsqueeze")(z, dim) if keepdim and dim is not None else z


def _index_fill(input: ComplexTensor, dim: int, index: Tensor, value: Any) -> ComplexTensor:
    real, imag = _parts(value)
    return ComplexTensor(
        input.real.index_fill(dim, index, real), input.imag.index_fill(dim, index, 0.0 if imag is None else imag)
    )


def _parted(name: str) -> Callable[..., Any]:
    """A function of several tensors, of the parts."""

    def call(*tensors: Any, **kwargs: Any) -> Any:
        pairs = [_parts(x) for x in (tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors)]
        real = getattr(_core, name)(*(a for a, _ in pairs), **kwargs)
        imag = getattr(_core, name)(*(_core.zeros_like(a) if b is None else b for a, b in pairs), **kwargs)
        if isinstance(real, Tensor):
            return ComplexTensor(real, imag)
        return tuple(ComplexTensor(a, b) for a, b in zip(real, imag, strict=True))

    return call


def _added(function: Callable[..., Any]) -> Callable[..., Any]:
    """beta * input + alpha * a product."""

    def call(input: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        found = _product(function, a, b)
        return alpha * found + beta * input if beta else alpha * found

    return call


def _drawn(name: str, scale: float = 1.0) -> Callable[..., ComplexTensor]:
    """Fills both parts with random numbers."""

    def call(input: ComplexTensor, *args: Any, **kwargs: Any) -> ComplexTensor:
        for part in input.parts():
            getattr(part.detach(), name)(*args, **kwargs).mul_(scale)
        return input

    return call


def _logsumexp(input: ComplexTensor, dim: Any, keepdim: bool = False) -> ComplexTensor:
    largest = input.real.amax(dim, True).detach()
    largest = _core.where(largest.isfinite(), largest, 0.0)
    total = (input - largest).exp().sum(dim, keepdim)
    return total.log() + (largest if keepdim else largest.amax(dim))  # type: ignore[no-any-return]


def _log_of_sum(a: ComplexTensor, b: ComplexTensor) -> ComplexTensor:
    """log(exp(a) + exp(b))"""
    first = a.real >= b.real
    largest, other = _where(first, a, b), _where(first, b, a)
    none = largest.real == -np.inf
    less = ComplexTensor(
        _core.where(none, -np.inf, other.real - largest.real.masked_fill(none, 0.0)), other.imag - largest.imag
    )
    return largest + less.exp().log1p()  # type: ignore[no-any-return]


def _scanned(combine: Callable[[ComplexTensor, ComplexTensor], ComplexTensor]) -> Callable[..., ComplexTensor]:
    """A scan by doubling: each element combines twice as many with every step."""

    def call(input: ComplexTensor, dim: int) -> ComplexTensor:
        z: ComplexTensor = _each("movedim")(input, dim, 0)
        by = 1
        while by < len(z):
            z, by = _joined(_core.cat)([z[:by], combine(z[by:], z[:-by])]), 2 * by
        out: ComplexTensor = _each("movedim")(z, 0, dim)
        return out

    return call


def _cov(
    input: ComplexTensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> ComplexTensor:
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    weights = _core.ones(rows.shape[1], dtype=rows.real.dtype, device=rows.device)
    for given in (fweights, aweights):
        weights = weights if given is None else weights * given
    total = weights.sum()
    over = total - correction * (1.0 if aweights is None else (weights * aweights).sum() / total)
    centred = rows - (rows * weights).sum(1, True) / total
    out: ComplexTensor = ((centred * weights) @ centred.mH / over.clamp(min=0)).squeeze()
    return out


def _corrcoef(input: ComplexTensor) -> ComplexTensor:
    c = _cov(input)
    if c.ndim == 0:
        return c / c
    scale = c.real.diagonal().sqrt()
    c = c / scale[:, None] / scale
    return ComplexTensor(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))


def _convolution(name: str) -> Callable[..., ComplexTensor]:
    function = getattr(_core, name)

    def call(input: Any, weight: Any, bias: Any = None, *args: Any, **kwargs: Any) -> ComplexTensor:
        out = _product(lambda x, w: function(x, w, None, *args, **kwargs), input, weight)
        return out if bias is None else out + bias.reshape(-1, *(1,) * (weight.ndim - 2))

    return call


def _pad(input: ComplexTensor, pad: Any, mode: str = "constant", value: Any = None) -> ComplexTensor:
    real, imag = _parts(value)
    return ComplexTensor(
        _core.pad(input.real, pad, mode, real), _core.pad(input.imag, pad, mode, 0.0 if imag is None else imag)
    )


def _new(name: str) -> Callable[..., Any]:
    """A method that makes a tensor of the same type and place."""

    def call(input: ComplexTensor, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if dtype is not None and not isinstance(dtype, ComplexType):
            return getattr(input.real, name)(*args, dtype=dtype, **kwargs)
        made = getattr(input.real, name)(*args, **kwargs)
        return _to(ComplexTensor(made, _core.zeros_like(made)), *([dtype] if dtype else []))

    return call


_SIZES = "broadcast_to expand expand_as flatten ravel repeat reshape reshape_as squeeze tile unflatten unsqueeze view"
_ORDER = "flip fliplr flipud moveaxis movedim permute roll rot90 swapaxes swapdims t transpose"
_PIECES = "chunk diagonal narrow select split split_with_sizes tensor_split tril triu unbind unfold"
_CHOSEN = "gather index_select masked_select take take_along_dim"
_PUT = "index_add index_copy index_put masked_scatter put scatter scatter_add"
_COPIES = "clone contiguous cpu cuda detach diag diag_embed repeat_interleave"
_SUMS = "cumsum diff mean sum"
_EACH = " ".join((_SIZES, _ORDER, _PIECES, _CHOSEN, _PUT, _COPIES, _SUMS))
_CONVOLUTIONS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d"
_JOINED = "cat concat concatenate dstack hstack stack vstack"
_PRODUCTS = "bmm dot inner kron matmul mm mv outer"
_IN_PLACE = "add addcdiv addcmul addmm addmv baddbmm conj_physical cumprod cumsum div divide index_add index_copy"
_IN_PLACE += (
    " index_fill index_put lerp masked_fill masked_scatter mul multiply neg negative pow put scatter scatter_add"
)
_IN_PLACE += " sub subtract true_divide"
_FILLED = "empty empty_like eye ones ones_like zeros zeros_like"

_zeros = _filled("zeros")

ComplexTensor.functions = {
    **{name: _each(name) for name in _EACH.split()},
    **{name: _joined(getattr(_core, name)) for name in _JOINED.split()},
    **{name: partial(_product, getattr(_core, name)) for name in _PRODUCTS.split()},
    **{name: _filled(name) for name in _FILLED.split()},
    **{name: _written(name) for name in ("requires_grad_", "retain_grad", "zero_")},
    **{f"{name}_": _in_place(name) for name in _IN_PLACE.split()},
    **{name: _new(name) for name in ("new_empty", "new_ones", "new_zeros")},
    **{name: _convolution(name) for name in _CONVOLUTIONS.split()},
    "abs": _abs,
    "absolute": _abs,
    "all": lambda input, *args, **kwargs: ComplexTensor.__ne__(input, 0).all(*args, **kwargs),
    "add": _add,
    "addbmm": _added(lambda a, b: _core.bmm(a, b).sum(0)),
    "addmm": _added(_core.mm),
    "addmv": _added(_core.mv),
    "baddbmm": _added(_core.bmm),
    "block_diag": _parted("block_diag"),
    "meshgrid": _parted("meshgrid"),
    "index_fill": _index_fill,
    "normal_": _drawn("normal_", 0.5**0.5),
    "uniform_": _drawn("uniform_"),
    "allclose": _allclose,
    "angle": angle,
    "any": lambda input, *args, **kwargs: ComplexTensor.__ne__(input, 0).any(*args, **kwargs),
    "as_tensor": _tensor,
    "asarray": _tensor,
    "conj": conj,
    "conj_physical": conj,
    "copy_": _copy_,
    "count_nonzero": lambda input, *args: ComplexTensor.__ne__(input, 0).count_nonzero(*args),
    "corrcoef": _corrcoef,
    "cov": _cov,
    "cumprod": _scanned(_mul),
    "dim": lambda input: input.ndim,
    "dist": lambda input, other, p=2: _core.norm(_abs(input - other), p),
    "div": _div,
    "divide": _div,
    "einsum": _einsum,
    "element_size": lambda input: input.dtype.itemsize,
    "eq": _eq,
    "from_numpy": _from_numpy,
    "full": _full,
    "full_like": _full,
    "is_complex": lambda input: True,
    "is_contiguous": lambda input: input.real.is_contiguous() and input.imag.is_contiguous(),
    "is_floating_point": lambda input: False,
    "isfinite": lambda input: input.real.isfinite() & input.imag.isfinite(),
    "isinf": lambda input: input.real.isinf() | input.imag.isinf(),
    "isnan": lambda input: input.real.isnan() | input.imag.isnan(),
    "nonzero": lambda input, *args, **kwargs: ComplexTensor.__ne__(input, 0).nonzero(*args, **kwargs),
    "argwhere": lambda input: ComplexTensor.__ne__(input, 0).nonzero(),
    "norm": lambda input, *args, **kwargs: _core.norm(_abs(input), *args, **kwargs),
    "logcumsumexp": _scanned(_log_of_sum),
    "logsumexp": _logsumexp,
    "masked_fill": _masked_fill,
    "mul": _mul,
    "multiply": _mul,
    "ne": lambda input, other: ~_eq(input, other),
    "neg": ComplexTensor.__neg__,
    "negative": ComplexTensor.__neg__,
    "numel": lambda input: input.real.numel(),
    "pad": _pad,
    "prod": _prod,
    "rand": _random("rand", 1.0),
    "rand_like": _random("rand_like", 1.0),
    "randn": _random("randn", 0.5**0.5),
    "randn_like": _random("randn_like", 0.5**0.5),
    "resolve_conj": lambda input: input,
    "size": lambda input, dim=None: input.shape if dim is None else input.shape[dim],
    "std": lambda input, *args, **options: ComplexTensor.functions["var"](input, *args, **options).sqrt(),
    "sub": _sub,
    "subtract": _sub,
    "tensor": _tensor,
    "tensordot": lambda input, other, dims=2: _product(partial(_core.tensordot, dims=dims), input, other),
    "to": _to,
    "trace": lambda input: ComplexTensor(*(part.diagonal().sum() for part in input.parts())),
    "true_divide": _div,
    "var": lambda input, *args, **options: input.real.var(*args, **options) + input.imag.var(*args, **options),
    "vdot": lambda input, other: _core.dot(conj(input), other),
    "view": _view,
    "where": _where,
}
ComplexTensor.functions |= elementwise.FUNCTIONS
ComplexTensor.functions |= {f"{name}_": _in_place(name) for name in elementwise.UNARY.split()}
_core._set_complex(ComplexTensor)
