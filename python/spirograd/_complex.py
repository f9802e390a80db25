"""Complex tensors: two real tensors of one shape, the real and the imaginary parts.

Everything is done by operations on the parts, so it runs on every device and has gradients: a gradient of a complex
tensor has those of its parts as its own parts, as in PyTorch. Functions of the core hand complex arguments to
ComplexTensor, which refuses by name what it does not have.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .base.stand_in import StandIn

__all__ = [
    "ComplexTensor",
    "angle",
    "cdouble",
    "cfloat",
    "complex",
    "complex64",
    "complex128",
    "conj",
    "imag",
    "polar",
    "real",
    "view_as_complex",
    "view_as_real",
]


class ComplexType:
    """An element type of complex tensors; `real` is that of their parts."""

    is_complex, is_floating_point, is_signed = True, False, True

    def __init__(self, name: str, real: _core.dtype) -> None:
        self.name, self.real, self.itemsize = name, real, 2 * real.itemsize

    def __repr__(self) -> str:
        return f"spirograd.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    @staticmethod
    def __spirograd_function__(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What functions that are given the type make."""
        return ComplexTensor.__spirograd_function__(function, args, kwargs)


complex64, complex128 = ComplexType("complex64", _core.float32), ComplexType("complex128", _core.float64)
cfloat, cdouble = complex64, complex128
_TYPES = {_core.float32: complex64, _core.float64: complex128}


class ComplexTensor(StandIn):
    """A tensor of complex numbers. Its methods have the names of Tensor's; those that it lacks say so.

    Args:
        real: the real parts, float32 or float64.
        imag: the imaginary parts, of the same type; the shapes broadcast.

    Example:
        >>> z = sg.complex(sg.tensor([3.0, 0.0]), sg.tensor([4.0, 1.0]))
        >>> z * z, z.abs()
        (tensor([-7.+24.j, -1. +0.j]), tensor([5., 1.]))
    """

    __slots__ = ("imag", "real")
    kind, instead = "complex tensors", "use the parts .real and .imag, or view_as_real()"

    real: Tensor
    imag: Tensor

    def __init__(self, real: Tensor, imag: Tensor) -> None:
        if real.dtype != imag.dtype or real.dtype not in _TYPES:
            raise TypeError(
                f"complex: parts are {real.dtype.name} and {imag.dtype.name}; both must be float32, or both float64"
            )
        if real.shape != imag.shape:
            real, imag = _core.broadcast_tensors(real, imag)
        self.real, self.imag = real, imag

    # ---- what it is -------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> ComplexType:
        """complex64 or complex128."""
        return _TYPES[self.real.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self.real.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.real.ndim

    @property
    def device(self) -> _core.Device:
        """Where the parts are."""
        return self.real.device

    @property
    def data(self) -> ComplexTensor:
        """The same memory, without a gradient graph."""
        return ComplexTensor(self.real.detach(), self.imag.detach())

    @property
    def is_leaf(self) -> bool:
        """Whether no operation with a gradient made the parts."""
        return self.real.is_leaf and self.imag.is_leaf

    @property
    def requires_grad(self) -> bool:
        """Whether a part does."""
        return self.real.requires_grad or self.imag.requires_grad

    @property
    def grad(self) -> ComplexTensor | None:
        """The gradients of the parts."""
        parts = self.real.grad, self.imag.grad
        if parts[0] is None and parts[1] is None:
            return None
        return ComplexTensor(*(_core.zeros_like(self.real) if g is None else g for g in parts))

    @property
    def T(self) -> ComplexTensor:
        """All dimensions in reverse order."""
        return ComplexTensor(self.real.T, self.imag.T)

    @property
    def mT(self) -> ComplexTensor:
        """The last two dimensions exchanged."""
        return ComplexTensor(self.real.mT, self.imag.mT)

    @property
    def mH(self) -> ComplexTensor:
        """The last two dimensions exchanged, and the conjugate."""
        return ComplexTensor(self.real.mT, -self.imag.mT)

    H = mH

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        shown = np.array2string(self.numpy(), separator=", ", prefix="tensor(", precision=4, suppress_small=True)
        extra = "" if self.dtype is complex64 else f", dtype={self.dtype}"
        extra += "" if self.device.kind == "cpu" else f", device='{self.device}'"
        return f"tensor({shown}{extra})"

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as an array of their own."""
        pair: np.ndarray[Any, Any] = view_as_real(self).detach().cpu().numpy()
        return pair[..., 0] + 1j * pair[..., 1]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.numpy().astype(dtype or self.dtype.name)

    def tolist(self) -> Any:
        """The values as complex numbers in lists."""
        return self.numpy().tolist()

    def item(self) -> Any:
        """The only value.

        Raises:
            ValueError: there are several, or none.
        """
        return builtins.complex(self.real.item(), self.imag.item())

    # ---- elements ----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> ComplexTensor:
        return ComplexTensor(self.real[key], self.imag[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        real, imag = _parts(value)
        self.real[key] = real
        self.imag[key] = 0.0 if imag is None else imag

    # ---- operators ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> ComplexTensor:
        return _add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> ComplexTensor:
        return _sub(self, other)

    def __rsub__(self, other: Any) -> ComplexTensor:
        return _sub(other, self)

    def __mul__(self, other: Any) -> ComplexTensor:
        return _mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> ComplexTensor:
        return _div(self, other)

    def __rtruediv__(self, other: Any) -> ComplexTensor:
        return _div(other, self)

    def __matmul__(self, other: Any) -> ComplexTensor:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> ComplexTensor:
        return _matmul(other, self)

    def __pow__(self, exponent: Any) -> ComplexTensor:
        return _pow(self, exponent)

    def __neg__(self) -> ComplexTensor:
        return ComplexTensor(-self.real, -self.imag)

    def __abs__(self) -> Tensor:
        return _abs(self)

    def __eq__(self, other: object) -> Any:
        return _eq(self, other)

    def __ne__(self, other: object) -> Any:
        return ~_eq(self, other)

    __hash__ = object.__hash__

    def __iadd__(self, other: Any) -> ComplexTensor:
        return _copy_(self, _add(self, other))

    def __isub__(self, other: Any) -> ComplexTensor:
        return _copy_(self, _sub(self, other))

    def __imul__(self, other: Any) -> ComplexTensor:
        return _copy_(self, _mul(self, other))

    def __itruediv__(self, other: Any) -> ComplexTensor:
        return _copy_(self, _div(self, other))


def _with_tensors(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, where one may be an array of complex numbers: it goes to where the other is."""

    def moved(one: Any, other: Any) -> Any:
        if isinstance(one, np.ndarray) and one.dtype.kind == "c":
            return _tensor(one, device=getattr(other, "device", None))
        return one

    return moved(x, y), moved(y, x)


def _parts(x: Any) -> tuple[Any, Any]:
    """The real part, and the imaginary one: None for what is real."""
    if isinstance(x, ComplexTensor):
        return x.real, x.imag
    if isinstance(x, (builtins.complex, np.complexfloating)):
        return x.real, x.imag
    return x, None


# ---- making and taking apart -----------------------------------------------------------------------------------------


def complex(real: Tensor, imag: Tensor) -> ComplexTensor:
    """A complex tensor with these parts, which it shares.

    Args:
        real: float32 or float64.
        imag: of the same type; the shapes broadcast.

    Raises:
        TypeError: other types, or two of them.

    Example:
        >>> sg.complex(sg.ones(2), sg.tensor([0.0, 2.0]))
        tensor([1.+0.j, 1.+2.j])
    """
    return ComplexTensor(real, imag)


def polar(abs: Tensor, angle: Tensor) -> ComplexTensor:
    """The complex numbers with these absolute values and angles, in radians.

    Args:
        abs: float32 or float64.
        angle: of the same type; the shapes broadcast.

    Raises:
        TypeError: other types, or two of them.

    Example:
        >>> import math
        >>> sg.polar(sg.tensor([2.0]), sg.tensor([math.pi])).real.tolist()
        [-2.0]
    """
    return ComplexTensor(abs * angle.cos(), abs * angle.sin())


def view_as_complex(input: Tensor) -> ComplexTensor:
    """Pairs of numbers [..., 2] as complex numbers [...], which share their memory.

    Raises:
        ValueError: the last size is not 2.

    Example:
        >>> sg.view_as_complex(sg.tensor([[1.0, 2.0]]))
        tensor([1.+2.j])
    """
    if input.ndim < 1 or input.shape[-1] != 2:
        raise ValueError(f"view_as_complex: input has shape {list(input.shape)}; its last size must be 2")
    return ComplexTensor(input.select(-1, 0), input.select(-1, 1))


def view_as_real(input: ComplexTensor) -> Tensor:
    """Complex numbers [...] as pairs [..., 2]: new memory, unlike PyTorch's.

    Raises:
        TypeError: input is not complex.

    Example:
        >>> sg.view_as_real(sg.complex(sg.ones(1), sg.zeros(1))).tolist()
        [[1.0, 0.0]]
    """
    if not isinstance(input, ComplexTensor):
        raise TypeError(f"view_as_real: input is a {type(input).__name__}; make a complex tensor with complex()")
    return _core.stack([input.real, input.imag], -1)


def real(input: Tensor | ComplexTensor) -> Tensor:
    """The real part, in the memory of the input.

    Example:
        >>> sg.real(sg.polar(sg.ones(1), sg.zeros(1))).tolist()
        [1.0]
    """
    return input if isinstance(input, Tensor) else input.real


def imag(input: ComplexTensor) -> Tensor:
    """The imaginary part, in the memory of the input.

    Raises:
        TypeError: input is not complex.

    Example:
        >>> sg.imag(sg.polar(sg.ones(1), sg.zeros(1))).tolist()
        [0.0]
    """
    if not isinstance(input, ComplexTensor):
        raise TypeError(f"imag: input is a {type(input).__name__}, which has no imaginary part; use complex tensors")
    return input.imag


def conj(input: Any) -> Any:
    """The conjugate: the imaginary part negated. Of a real tensor the tensor itself.

    Example:
        >>> sg.conj(sg.complex(sg.ones(1), sg.ones(1)))
        tensor([1.-1.j])
    """
    return ComplexTensor(input.real, -input.imag) if isinstance(input, ComplexTensor) else input


def angle(input: Any) -> Any:
    """The angle from the positive real axis, in radians, from -pi to pi; the gradient at 0 is 0.

    Example:
        >>> import math
        >>> round(sg.angle(sg.complex(sg.zeros(1), sg.ones(1))).item() / math.pi, 4)
        0.5
    """
    if isinstance(input, Tensor):
        input = input if input.is_floating_point() else input.to(_core.get_default_dtype())
        return _core.where(input.isnan(), input, _core.where(input < 0, np.pi, _core.zeros_like(input)))
    return _core.atan2(input.imag, input.real)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _sum(a: Any, b: Any) -> Any:
    return a if b is None else b if a is None else a + b


def _difference(a: Any, b: Any) -> Any:
    return a if b is None else -b if a is None else a - b


def _of_parts(real: Tensor, imag: Any) -> ComplexTensor:
    return ComplexTensor(real, imag if isinstance(imag, Tensor) else _core.full_like(real, imag))


def _add(input: Any, other: Any, *, alpha: float = 1) -> ComplexTensor:
    input, other = _with_tensors(input, other)
    (a, b), (c, d) = _parts(input), _parts(other if alpha == 1 else other * alpha)
    return _of_parts(a + c, _sum(b, d))


def _sub(input: Any, other: Any, *, alpha: float = 1) -> ComplexTensor:
    input, other = _with_tensors(input, other)
    (a, b), (c, d) = _parts(input), _parts(other if alpha == 1 else other * alpha)
    return _of_parts(a - c, _difference(b, d))


def _product(function: Callable[..., Tensor], *args: Any, **kwargs: Any) -> ComplexTensor:
    """A function that is linear in each of the last two arguments; others are before them."""
    *first, x, y = args
    x, y = _with_tensors(x, y)
    (a, b), (c, d) = _parts(x), _parts(y)
    of = partial(function, *first, **kwargs)
    if b is None or d is None:
        return ComplexTensor(of(a, c), of(a, d) if b is None else of(b, c))
    return ComplexTensor(of(a, c) - of(b, d), of(a, d) + of(b, c))


def _mul(input: Any, other: Any) -> ComplexTensor:
    return _product(lambda a, b: a * b, input, other)


def _matmul(input: Any, other: Any) -> ComplexTensor:
    return _product(_core.matmul, input, other)


def _einsum(equation: str, *operands: Any) -> Any:
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    if not any(isinstance(x, ComplexTensor) for x in tensors):
        return _core.einsum(equation, *tensors)
    if len(tensors) == 1:
        return ComplexTensor(*(_core.einsum(equation, part) for part in _parts(tensors[0])))
    if len(tensors) == 2:
        return _product(_core.einsum, equation, *tensors)
    # Two at a time: of the first two, what the others and the result need.
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    if "." in equation:
        raise TypeError(f"einsum: {len(tensors)} operands with '...', some of them complex; use two at a time")
    if not arrow:
        result = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    first, second, *others = inputs.split(",")
    needed = {*"".join(others), *result}
    kept = "".join(dict.fromkeys(c for c in first + second if c in needed))
    joined = _einsum(f"{first},{second}->{kept}", *tensors[:2])
    return _einsum(f"{','.join([kept, *others])}->{result}", joined, *tensors[2:])


def _div(input: Any, other: Any) -> ComplexTensor:
    input, other = _with_tensors(input, other)
    (a, b), (c, d) = _parts(input), _parts(other)
    if d is None:
        return ComplexTensor(a / c, b / c)
    if not isinstance(other, ComplexTensor):
        return _mul(input, 1 / other)
    # The quotient does not depend on this scale, which keeps squares within range.
    scale = _core.maximum(c.abs(), d.abs()).detach()
    c, d = c / scale, d / scale
    over = (c * c + d * d) * scale
    return ComplexTensor(
        (a * c if b is None else a * c + b * d) / over, (-(a * d) if b is None else b * c - a * d) / over
    )


def _abs(input: ComplexTensor) -> Tensor:
    # The root has no gradient at 0.
    zero = (input.real == 0) & (input.imag == 0)
    out: Tensor = _core.where(zero, 0.0, _core.hypot(_core.where(zero, 1.0, input.real), input.imag))
    return out


def _sgn(input: ComplexTensor) -> ComplexTensor:
    size = _abs(input)
    zero = size == 0  # where the gradient is 0
    parts = (_core.where(zero, x.detach(), x / _core.where(zero, 1.0, size)) for x in _parts(input))
    return ComplexTensor(*parts)


def _exp(input: ComplexTensor) -> ComplexTensor:
    return polar(input.real.exp(), input.imag)


def _sinh(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(input.real.sinh() * input.imag.cos(), input.real.cosh() * input.imag.sin())


def _cosh(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(input.real.cosh() * input.imag.cos(), input.real.sinh() * input.imag.sin())


def _sin(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(input.real.sin() * input.imag.cosh(), input.real.cos() * input.imag.sinh())


def _cos(input: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(input.real.cos() * input.imag.cosh(), -input.real.sin() * input.imag.sinh())


def _isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    near = _core.abs(input - other) <= atol + rtol * _core.abs(other)
    return near | (input == other)


def _pow(input: Any, exponent: Any) -> ComplexTensor:
    input, exponent = _with_tensors(input, exponent)
    if not isinstance(exponent, (int, float)):
        raise TypeError(f"pow: the exponent of complex numbers is a {type(exponent).__name__}; give a number")
    if exponent == 2:
        return _mul(input, input)
    return polar(_abs(input) ** exponent, angle(input) * exponent)


def _eq(input: Any, other: Any) -> Any:
    input, other = _with_tensors(input, other)
    (a, b), (c, d) = _parts(input), _parts(other)
    return (a == c) & ((0 if b is None else b) == (0 if d is None else d))


def _allclose(input: Any, other: Any, *args: Any, **kwargs: Any) -> bool:
    (a, b), (c, d) = _parts(input), _parts(other)
    zero = _core.zeros_like(a)
    return _core.allclose(a, c, *args, **kwargs) and _core.allclose(
        zero if b is None else b, zero if d is None else d, *args, **kwargs
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
_COPIES = "clone contiguous cpu cuda detach diag diag_embed repeat_interleave"
_SUMS = "cumsum diff mean sum"
_EACH = " ".join((_SIZES, _ORDER, _PIECES, _CHOSEN, _COPIES, _SUMS))
_JOINED = "cat concat concatenate dstack hstack stack vstack"
_PRODUCTS = "bmm dot inner kron matmul mm mv outer tensordot"
_IN_PLACE = (
    "add conj_physical div divide exp log masked_fill mul multiply neg pow reciprocal sgn sqrt square sub subtract"
)
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
    "abs": _abs,
    "absolute": _abs,
    "all": lambda input, *args, **kwargs: ComplexTensor.__ne__(input, 0).all(*args, **kwargs),
    "add": _add,
    "allclose": _allclose,
    "angle": angle,
    "any": lambda input, *args, **kwargs: ComplexTensor.__ne__(input, 0).any(*args, **kwargs),
    "as_tensor": _tensor,
    "asarray": _tensor,
    "conj": conj,
    "conj_physical": conj,
    "copy_": _copy_,
    "cos": _cos,
    "cosh": _cosh,
    "count_nonzero": lambda input, *args: ComplexTensor.__ne__(input, 0).count_nonzero(*args),
    "dim": lambda input: input.ndim,
    "div": _div,
    "divide": _div,
    "einsum": _einsum,
    "element_size": lambda input: input.dtype.itemsize,
    "eq": _eq,
    "exp": _exp,
    "from_numpy": _from_numpy,
    "full": _full,
    "full_like": _full,
    "is_complex": lambda input: True,
    "is_contiguous": lambda input: input.real.is_contiguous() and input.imag.is_contiguous(),
    "is_floating_point": lambda input: False,
    "isclose": _isclose,
    "isfinite": lambda input: input.real.isfinite() & input.imag.isfinite(),
    "isinf": lambda input: input.real.isinf() | input.imag.isinf(),
    "isnan": lambda input: input.real.isnan() | input.imag.isnan(),
    "log": lambda input: ComplexTensor(_abs(input).log(), angle(input)),
    "norm": lambda input, *args, **kwargs: _core.norm(_abs(input), *args, **kwargs),
    "masked_fill": _masked_fill,
    "mul": _mul,
    "multiply": _mul,
    "ne": lambda input, other: ~_eq(input, other),
    "neg": ComplexTensor.__neg__,
    "negative": ComplexTensor.__neg__,
    "numel": lambda input: input.real.numel(),
    "pow": _pow,
    "prod": _prod,
    "rand": _random("rand", 1.0),
    "rand_like": _random("rand_like", 1.0),
    "randn": _random("randn", 0.5**0.5),
    "randn_like": _random("randn_like", 0.5**0.5),
    "reciprocal": lambda input: _div(1.0, input),
    "resolve_conj": lambda input: input,
    "sgn": _sgn,
    "sigmoid": lambda input: _div(1.0, _exp(-input) + 1),
    "sin": _sin,
    "sinh": _sinh,
    "size": lambda input, dim=None: input.shape if dim is None else input.shape[dim],
    "sqrt": lambda input: polar(_abs(input).sqrt(), angle(input) / 2),
    "std": lambda input, *args, **options: ComplexTensor.functions["var"](input, *args, **options).sqrt(),
    "square": lambda input: _mul(input, input),
    "sub": _sub,
    "subtract": _sub,
    "tan": lambda input: _div(_sin(input), _cos(input)),
    "tanh": lambda input: _div(_sinh(input), _cosh(input)),
    "tensor": _tensor,
    "to": _to,
    "true_divide": _div,
    "var": lambda input, *args, **options: input.real.var(*args, **options) + input.imag.var(*args, **options),
    "vdot": lambda input, other: _core.dot(conj(input), other),
    "view": _view,
    "where": _where,
}
_core._set_complex(ComplexTensor)
