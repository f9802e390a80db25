"""Complex tensors: two real tensors of one shape, the real and the imaginary parts.

Everything is done by operations on the parts, so it runs on every device and has gradients: a gradient of a complex
tensor has those of its parts as its own parts, as in PyTorch. Functions of the core hand complex arguments to
ComplexTensor, which refuses by name what it does not have.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..base.stand_in import StandIn

__all__ = ["ComplexTensor", "angle", "cdouble", "cfloat", "complex", "complex64", "complex128", "conj", "imag", "polar"]
__all__ += ["real", "view_as_complex", "view_as_real"]


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

    __slots__ = ("_hooks", "imag", "real")
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
        self._hooks: _Hooks | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.real, self.imag)  # hooks are the object's own

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

    @grad.setter
    def grad(self, value: ComplexTensor | None) -> None:
        self.real.grad, self.imag.grad = (None, None) if value is None else (value.real, value.imag)

    def parts(self) -> tuple[Tensor, Tensor]:
        """The real and the imaginary part."""
        return self.real, self.imag

    def backward(self, gradient: ComplexTensor | None = None, *args: Any, **kwargs: Any) -> None:
        """Adds gradients to the .grad of every leaf.

        Args:
            gradient: that of this tensor.
            args: what Tensor.backward() takes.
            kwargs: the same.
        """
        if gradient is None:
            raise ValueError(
                "backward: complex tensors need a gradient; give one, or use a real tensor, as .abs().sum()"
            )
        real, imag = _parts(gradient)
        starts = [real, _core.zeros_like(real) if imag is None else imag]
        _core._backward([self.real, self.imag], starts, *_backward_options(*args, **kwargs))

    def register_hook(self, hook: Callable[[ComplexTensor], Any]) -> ComplexHook:
        """Calls hook with each gradient of this tensor; what it returns takes the gradient's place.

        A tensor that an operation made calls it for what is made of the tensor from now on.

        Returns:
            A handle whose remove() ends it.

        Raises:
            Error: no part requires grad.
        """
        if self._hooks is None:
            self._hooks = _Hooks(self)
        handle = ComplexHook(hook)
        self._hooks.handles.append(handle)
        return handle

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
        result: ComplexTensor = self.functions["pow"](self, exponent)
        return result

    def __rpow__(self, base: Any) -> ComplexTensor:
        result: ComplexTensor = self.functions["pow"](base, self)
        return result

    def __neg__(self) -> ComplexTensor:
        return ComplexTensor(-self.real, -self.imag)

    def __abs__(self) -> Tensor:
        return _abs(self)

    def __eq__(self, other: object) -> Any:
        return _eq(self, other)

    def __ne__(self, other: object) -> Any:
        return ~_eq(self, other)

    __hash__ = object.__hash__

    def _written(self, value: ComplexTensor) -> ComplexTensor:
        self.real.copy_(value.real)
        self.imag.copy_(value.imag)
        return self

    def __iadd__(self, other: Any) -> ComplexTensor:
        return self._written(_add(self, other))

    def __isub__(self, other: Any) -> ComplexTensor:
        return self._written(_sub(self, other))

    def __imul__(self, other: Any) -> ComplexTensor:
        return self._written(_mul(self, other))

    def __ipow__(self, exponent: Any) -> ComplexTensor:
        return self._written(self**exponent)

    def __itruediv__(self, other: Any) -> ComplexTensor:
        return self._written(_div(self, other))


def _backward_options(
    retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> tuple[bool, bool, Any]:
    return create_graph if retain_graph is None else retain_graph, create_graph, inputs


def _with_tensors(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, where one may be an array of complex numbers: it goes to where the other is."""

    def moved(one: Any, other: Any) -> Any:
        if isinstance(one, np.ndarray) and one.dtype.kind == "c":
            return ComplexTensor.functions["tensor"](one, device=getattr(other, "device", None))
        return one

    return moved(x, y), moved(y, x)


def _parts(x: Any) -> tuple[Any, Any]:
    """The real part, and the imaginary one: None for what is real."""
    if isinstance(x, ComplexTensor):
        return x.real, x.imag
    if isinstance(x, (builtins.complex, np.complexfloating)):
        return x.real, x.imag
    return x, None


class _Hooks:
    """The hooks of a tensor: called once, with the gradients of both parts.

    Parts that are leaves call them each, and the first one that is called answers for both. Others become the outputs
    of one function, whose gradient has both.
    """

    def __init__(self, z: ComplexTensor) -> None:
        self.handles: list[ComplexHook] = []
        self._answered: set[int] = set()  # threads in which the other part is still to come
        self._parts = z.parts()
        if z.is_leaf:
            wanted = [i for i in range(2) if self._parts[i].requires_grad] or [0]  # none: that is the core's error
            for i in wanted:
                self._parts[i].register_hook(partial(self._at_leaf, i))
            return
        z.real, z.imag = (x.detach() for x in self._parts)
        _core._record_function("ComplexHook", self._parts, z.parts(), self._inside, lambda: None)

    def _call(self, real: Tensor | None, imag: Tensor | None) -> tuple[Any, Any]:
        found = ComplexTensor(*(_core.zeros_like(self._parts[0]) if x is None else x for x in (real, imag)))
        for handle in [*self.handles]:
            changed = None if handle.hook is None else handle.hook(found)
            if changed is not None:
                (real, imag), zero = _parts(changed), _core.zeros_like(found.real)
                found = ComplexTensor(real, zero if imag is None else imag)
                real, imag = found.parts()
        return real, imag

    def _inside(self, arrived: Any, wanted: Any, node: Any) -> list[Any]:
        # Outputs behind the last that was reached are left out.
        return list(self._call(arrived[0], arrived[1] if len(arrived) > 1 else None))

    def _at_leaf(self, i: int, gradient: Tensor) -> Tensor | None:
        thread, other = threading.get_ident(), self._parts[1 - i]
        if thread in self._answered:
            self._answered.remove(thread)
            return None
        arrived = _core._arrived(other)
        pair = self._call(gradient, arrived) if i == 0 else self._call(arrived, gradient)
        if pair[1 - i] is not None and other.requires_grad:
            self._answered.add(thread)
            _core._set_arrived(other, pair[1 - i])
        own: Tensor = pair[i]
        return own


class ComplexHook:
    """What register_hook() of a complex tensor gives.

    Attributes:
        hook: the function; None when it was removed.
    """

    def __init__(self, hook: Callable[[ComplexTensor], Any]) -> None:
        self.hook: Callable[[ComplexTensor], Any] | None = hook

    def remove(self) -> None:
        """Ends the calls."""
        self.hook = None


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
