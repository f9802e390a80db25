"""Discrete Fourier transforms, under the names of torch.fft, on the device of their input and with gradients.

A transform is a product with a matrix of roots of unity; one of a composite length is two shorter ones with a
multiplication between them (Cooley and Tukey, 1965), and one whose length has a large prime factor is a convolution
(Bluestein, 1970). All of it is made of the package's operations, so plans, fusion and gradients of every order come
with it. float32 stays float32; half types are computed in float32, also under autocast.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._complex import ComplexTensor
from ._core import Tensor, arange, cat, pad, where
from .base.casts import exact
from .base.keywords import naming_keywords
from .base.overridable import open_functions
from .base.types import DeviceLike, DTypeLike

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn"]
__all__ += ["ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

AnyTensor = Tensor | ComplexTensor

_DENSE = 64  # transforms up to this length are one product
_DENSE_PRIME = 256

# ---- the transform of the last dimension ----------------------------------------------------------------------------


def _roots(numbers: Tensor, period: int, dtype: _core.dtype) -> tuple[Tensor, Tensor]:
    """cos and sin of 2 pi k / period, for whole numbers k."""
    turned = (numbers + period // 2) % period - period // 2  # small angles have more digits
    angles = turned.to(dtype) * (2 * math.pi / period)
    cos = where(4 * turned.abs() == period, 0.0, angles.cos())
    sin = where(2 * turned.abs() == period, 0.0, angles.sin())
    return cos, sin


def _matrix(n: int, sign: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """The matrix of a transform: its real and imaginary parts, [n, n]."""
    k = arange(n, device=like.device)
    cos, sin = _roots(k.unsqueeze(1) * k, n, like.dtype)
    return cos, sign * sin


def _dense(real: Tensor, imag: Tensor | None, sign: int) -> tuple[Tensor, Tensor]:
    n = real.shape[-1]
    cos, sin = _matrix(n, sign, real)
    if imag is None:
        both = real @ cat([cos, sin], 1)
    else:
        both = cat([real, imag], -1) @ cat([cat([cos, sin], 1), cat([-sin, cos], 1)])
    return both[..., :n], both[..., n:]


def _times(x: tuple[Tensor, Tensor], y: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def _is_dense(n: int) -> bool:
    return n <= _DENSE or (n <= _DENSE_PRIME and all(n % f for f in range(2, math.isqrt(n) + 1)))


@functools.cache
def _factor(n: int) -> int | None:
    """A factor with a dense transform, so that there are few transforms, and of about the same length."""
    wanted = math.log(n) / math.ceil(math.log(n, _DENSE))
    factors = [f for f in range(2, _DENSE_PRIME + 1) if n % f == 0 and _is_dense(f)]
    return min(factors, key=lambda f: abs(math.log(f) - wanted), default=None)


def _transform(real: Tensor, imag: Tensor | None, sign: int) -> tuple[Tensor, Tensor]:
    """The sums of x[t] exp(sign 2 pi i k t / n), of the last dimension."""
    n = real.shape[-1]
    if _is_dense(n):
        return _dense(real, imag, sign)
    rows = _factor(n)
    if rows is None:
        return _bluestein(real, imag, sign)
    columns = n // rows

    def turned(x: Tensor) -> Tensor:
        return x.unflatten(-1, (rows, columns)).transpose(-1, -2)

    # Of x[columns * row + column]: over the rows, a rotation, over the columns.
    part = _dense(turned(real), None if imag is None else turned(imag), sign)
    places = arange(columns, device=real.device).unsqueeze(1) * arange(rows, device=real.device)
    cos, sin = _roots(places, n, real.dtype)
    part = _times(part, (cos, sign * sin))
    real, imag = _transform(part[0].transpose(-1, -2), part[1].transpose(-1, -2), sign)
    return real.transpose(-1, -2).flatten(-2), imag.transpose(-1, -2).flatten(-2)


def _bluestein(real: Tensor, imag: Tensor | None, sign: int) -> tuple[Tensor, Tensor]:
    """k t = (k^2 + t^2 - (k - t)^2) / 2 makes a convolution of the transform, whose length may be rounded up."""
    n = real.shape[-1]
    size = 1 << (2 * n - 2).bit_length()
    t = arange(n, device=real.device)
    cos, sin = _roots(t * t % (2 * n), 2 * n, real.dtype)
    chirp = cos, sign * sin
    x = (real * chirp[0], real * chirp[1]) if imag is None else _times((real, imag), chirp)
    a = _transform(pad(x[0], (0, size - n)), pad(x[1], (0, size - n)), sign)
    wave = [cat([part, part.new_zeros(size - 2 * n + 1), part[1:].flip(0)]) for part in (chirp[0], -chirp[1])]
    product = _times(a, _transform(wave[0], wave[1], sign))
    real, imag = _transform(*product, -sign)
    return _times((real[..., :n] / size, imag[..., :n] / size), chirp)


# ---- arguments -------------------------------------------------------------------------------------------------------


def _floating(op: str, input: Any) -> tuple[Tensor, Tensor | None]:
    if isinstance(input, ComplexTensor):
        return input.real, input.imag
    if not isinstance(input, Tensor):
        raise TypeError(f"{op}: input is a {type(input).__name__}; give a tensor")
    return input if input.dtype == _core.float64 else input.to(_core.float32), None


def _real(op: str, input: Any) -> Tensor:
    if isinstance(input, ComplexTensor):
        raise TypeError(f"{op}: input is complex; use fft(), or its part .real")
    return _floating(op, input)[0]


def _scale(op: str, norm: str | None, n: int, forward: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"{op}: norm '{norm}' is unknown; use backward, ortho or forward")
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") == forward else 1.0


def _length(op: str, x: Tensor, n: int | None, dim: int) -> int:
    if x.ndim == 0 or not -x.ndim <= dim < x.ndim:
        raise IndexError(f"{op}: dim is {dim} for {x.ndim} dimension(s); use {-x.ndim} to {x.ndim - 1}")
    length = x.shape[dim] if n is None else n
    if length < 1:
        raise ValueError(f"{op}: a transform of {length} elements; give at least one")
    return int(length)


def _resized(x: Tensor, n: int) -> Tensor:
    """Cut off, or filled up with zeros, along the last dimension."""
    size = x.shape[-1]
    return x if size == n else x[..., :n] if size > n else pad(x, (0, n - size))


def _along(op: str, input: AnyTensor, n: int | None, dim: int, norm: str | None, forward: bool) -> ComplexTensor:
    real, imag = _floating(op, input)
    n = _length(op, real, n, dim)
    scale = _scale(op, norm, n, forward)
    parts = [None if x is None else _resized(x.movedim(dim, -1), n) for x in (real, imag)]
    made = _transform(parts[0], parts[1], -1 if forward else 1)  # type: ignore[arg-type]
    return ComplexTensor(*((x if scale == 1 else x * scale).movedim(-1, dim) for x in made))


def _dims(
    op: str, input: AnyTensor, s: Sequence[int] | None, dim: Sequence[int] | int | None
) -> list[tuple[int | None, int]]:
    """A length and a dimension for each transform."""
    if isinstance(dim, int):
        dim = [dim]
    if dim is None:
        dim = list(range(input.ndim if s is None else len(s)))
        dim = [d - len(dim) for d in dim]
    if s is not None and len(s) != len(dim):
        raise ValueError(f"{op}: s has {len(s)} sizes for {len(dim)} dimension(s); give one each")
    places = [d % input.ndim if -input.ndim <= d < input.ndim else d for d in dim]
    if len(set(places)) != len(places):
        raise ValueError(f"{op}: dim is {list(dim)}; name each dimension once")
    sizes: Sequence[int | None] = [None] * len(dim) if s is None else [None if n == -1 else n for n in s]
    return list(zip(sizes, dim, strict=True))


def _first_half(x: ComplexTensor, dim: int) -> ComplexTensor:
    """What the others are conjugates of."""
    count = x.shape[dim] // 2 + 1
    return ComplexTensor(x.real.narrow(dim, 0, count), x.imag.narrow(dim, 0, count))


# ---- one dimension ---------------------------------------------------------------------------------------------------


@exact
def fft(input: AnyTensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> ComplexTensor:
    """The discrete Fourier transform: the sums of x[t] exp(-2 pi i k t / n) over t, for each k below n.

    Args:
        input: real or complex.
        n: the length that the dimension is cut off or filled up to with zeros; None: as it is.
        dim: the dimension.
        norm: "backward" (None) divides the inverse by n, "forward" the transform, "ortho" both by the root of n.

    Returns:
        Complex, of the input's shape with n along dim.

    Raises:
        ValueError: n below 1, or another norm.

    Example:
        >>> sg.fft.fft(sg.tensor([1.0, 0.0, 0.0, 0.0])).real.tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    return _along("fft", input, n, dim, norm, True)


@exact
def ifft(input: AnyTensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> ComplexTensor:
    """The inverse of fft; arguments and errors as there.

    Example:
        >>> sg.fft.ifft(sg.fft.fft(sg.tensor([1.0, 2.0]))).real.tolist()
        [1.0, 2.0]
    """
    return _along("ifft", input, n, dim, norm, False)


@exact
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> ComplexTensor:
    """The first n // 2 + 1 elements of fft() of real numbers: the others are their conjugates.

    Args:
        input: real.
        n, dim, norm: see fft.

    Raises:
        TypeError: input is complex.
        ValueError: n below 1, or another norm.

    Example:
        >>> sg.fft.rfft(sg.ones(4)).real.tolist()
        [4.0, 0.0, 0.0]
    """
    return _first_half(_along("rfft", _real("rfft", input), n, dim, norm, True), dim)


@exact
def irfft(input: AnyTensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of rfft: real numbers.

    Args:
        input: [..., n // 2 + 1, ...], real or complex. The imaginary part of the first element, and of the last when n
            is even, has no effect.
        n: how many numbers; None: twice the input's length less 2.
        dim, norm: see fft.

    Raises:
        ValueError: n below 1, or another norm.

    Example:
        >>> x = sg.fft.irfft(sg.fft.rfft(sg.tensor([1.0, 2.0, 4.0])), n=3)
        >>> [round(v, 5) for v in x.tolist()]
        [1.0, 2.0, 4.0]
    """
    return _irfft("irfft", input, n, dim, norm, False)


def _irfft(op: str, input: AnyTensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    real, imag = _floating(op, input)
    if n is None and real.ndim and -real.ndim <= dim < real.ndim:
        n = 2 * (real.shape[dim] - 1)
    n = _length(op, real, n, dim)
    scale = _scale(op, norm, n, forward)
    half = n // 2 + 1
    real = _resized(real.movedim(dim, -1), half)
    imag = real * 0 if imag is None else _resized(imag.movedim(dim, -1), half)
    mirrored = slice(1, n - half + 1)
    parts = cat([real, real[..., mirrored].flip(-1)], -1), cat([imag, -imag[..., mirrored].flip(-1)], -1)
    made = _transform(*parts, -1 if forward else 1)[0]
    out: Tensor = (made if scale == 1 else made * scale).movedim(-1, dim)
    return out


@exact
def hfft(input: AnyTensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """fft() of a signal whose second half is the conjugate of its first, which is given: real numbers.

    Args:
        input: [..., n // 2 + 1, ...].
        n, dim, norm: see irfft and fft.

    Example:
        >>> sg.fft.hfft(sg.ones(3)).tolist()
        [4.0, 0.0, 0.0, 0.0]
    """
    return _irfft("hfft", input, n, dim, norm, True)


@exact
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> ComplexTensor:
    """The inverse of hfft: the first n // 2 + 1 elements of ifft() of real numbers; arguments as in rfft.

    Example:
        >>> sg.fft.ihfft(sg.ones(4)).real.tolist()
        [1.0, 0.0, 0.0]
    """
    return _first_half(_along("ihfft", _real("ihfft", input), n, dim, norm, False), dim)


# ---- several dimensions ----------------------------------------------------------------------------------------------


@exact
def fftn(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] | int | None = None, norm: str | None = None
) -> ComplexTensor:
    """fft() along several dimensions.

    Args:
        input: real or complex.
        s: a length for each of them, -1 for as it is; None: all as they are.
        dim: the dimensions; None: all, or the last ones that s has lengths for.
        norm: see fft.

    Raises:
        ValueError: s and dim differ in length, a dimension is named twice, or as in fft.

    Example:
        >>> sg.fft.fftn(sg.ones(2, 2)).real.tolist()
        [[4.0, 0.0], [0.0, 0.0]]
    """
    return _several("fftn", input, s, dim, norm, True)


@exact
def ifftn(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] | int | None = None, norm: str | None = None
) -> ComplexTensor:
    """The inverse of fftn; arguments and errors as there.

    Example:
        >>> sg.fft.ifftn(sg.fft.fftn(sg.ones(2, 2))).real.tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return _several("ifftn", input, s, dim, norm, False)


def _several(op: str, input: AnyTensor, s: Any, dim: Any, norm: str | None, forward: bool) -> ComplexTensor:
    done: Any = input if isinstance(input, ComplexTensor) else _floating(op, input)[0]
    for n, d in reversed(_dims(op, input, s, dim)):
        done = _along(op, done, n, d, norm, forward)
    return done if isinstance(done, ComplexTensor) else ComplexTensor(done, done * 0)


@exact
def rfftn(
    input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | int | None = None, norm: str | None = None
) -> ComplexTensor:
    """rfft() along the last of several dimensions, then fft() along the others; arguments and errors as in fftn.

    Example:
        >>> sg.fft.rfftn(sg.ones(2, 4)).shape
        (2, 3)
    """
    return _rfftn("rfftn", input, s, dim, norm)


def _rfftn(op: str, input: Tensor, s: Any, dim: Any, norm: str | None) -> ComplexTensor:
    *others, (n, last) = _of_some(op, input, s, dim)
    done = _first_half(_along(op, _real(op, input), n, last, norm, True), last)
    for n, d in reversed(others):
        done = _along(op, done, n, d, norm, True)
    return done


def _of_some(op: str, input: AnyTensor, s: Any, dim: Any) -> list[tuple[int | None, int]]:
    dims = _dims(op, input, s, dim)
    if not dims:
        raise ValueError(f"{op}: no dimension is named; give at least one")
    return dims


@exact
def irfftn(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] | int | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of rfftn: real numbers; arguments and errors as in fftn.

    Example:
        >>> sg.fft.irfftn(sg.fft.rfftn(sg.ones(2, 4))).shape
        (2, 4)
    """
    return _irfftn("irfftn", input, s, dim, norm)


def _irfftn(op: str, input: AnyTensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    *others, (n, last) = _of_some(op, input, s, dim)
    done = input
    for size, d in others:
        done = _along(op, done, size, d, norm, False)
    return _irfft(op, done, n, last, norm, False)


@exact
def fft2(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> ComplexTensor:
    """fftn() of two dimensions, the last ones unless dim says otherwise.

    Example:
        >>> sg.fft.fft2(sg.ones(3, 2, 2)).shape
        (3, 2, 2)
    """
    return _several("fft2", input, s, dim, norm, True)


@exact
def ifft2(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> ComplexTensor:
    """ifftn() of two dimensions, the last ones unless dim says otherwise.

    Example:
        >>> sg.fft.ifft2(sg.ones(3, 2, 2)).shape
        (3, 2, 2)
    """
    return _several("ifft2", input, s, dim, norm, False)


@exact
def rfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> ComplexTensor:
    """rfftn() of two dimensions, the last ones unless dim says otherwise.

    Example:
        >>> sg.fft.rfft2(sg.ones(3, 4, 4)).shape
        (3, 4, 3)
    """
    return _rfftn("rfft2", input, s, dim, norm)


@exact
def irfft2(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """irfftn() of two dimensions, the last ones unless dim says otherwise.

    Example:
        >>> sg.fft.irfft2(sg.fft.rfft2(sg.ones(3, 4, 4))).shape
        (3, 4, 4)
    """
    return _irfftn("irfft2", input, s, dim, norm)


def _hfftn(op: str, input: AnyTensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    *others, (n, last) = _of_some(op, input, s, dim)
    done = input
    for size, d in others:
        done = _along(op, done, size, d, norm, True)
    return _irfft(op, done, n, last, norm, True)


def _ihfftn(op: str, input: Tensor, s: Any, dim: Any, norm: str | None) -> ComplexTensor:
    *others, (n, last) = _of_some(op, input, s, dim)
    done = _first_half(_along(op, _real(op, input), n, last, norm, False), last)
    for size, d in others:
        done = _along(op, done, size, d, norm, False)
    return done


@exact
def hfftn(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] | int | None = None, norm: str | None = None
) -> Tensor:
    """hfft() of the last dimension, after fft() of the others; arguments as in irfftn.

    Example:
        >>> sg.fft.hfftn(sg.ones(2, 3)).tolist()
        [[8.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    return _hfftn("hfftn", input, s, dim, norm)


@exact
def ihfftn(
    input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | int | None = None, norm: str | None = None
) -> ComplexTensor:
    """The inverse of hfftn: ihfft() of the last dimension, then ifft() of the others; arguments as in rfftn.

    Example:
        >>> sg.fft.ihfftn(sg.ones(2, 4)).shape
        (2, 3)
    """
    return _ihfftn("ihfftn", input, s, dim, norm)


@exact
def hfft2(
    input: AnyTensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """hfftn() of two dimensions, the last ones unless dim says otherwise.

    Example:
        >>> sg.fft.hfft2(sg.ones(3, 2, 3)).shape
        (3, 2, 4)
    """
    return _hfftn("hfft2", input, s, dim, norm)


@exact
def ihfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> ComplexTensor:
    """ihfftn() of two dimensions, the last ones unless dim says otherwise.

    Example:
        >>> sg.fft.ihfft2(sg.ones(3, 2, 4)).shape
        (3, 2, 3)
    """
    return _ihfftn("ihfft2", input, s, dim, norm)


# ---- frequencies -----------------------------------------------------------------------------------------------------


def _frequencies(k: Tensor, period: float, dtype: DTypeLike | None, requires_grad: bool) -> Tensor:
    out: Tensor = k.to(dtype or _core.get_default_dtype()) / period
    return out.requires_grad_(requires_grad)


@naming_keywords
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that the elements of fft() stand for, in cycles per unit of d: [n].

    Args:
        n: the length of the transform.
        d: the distance of two samples.
        dtype: of the result; None: the default one.
        device: where it is.
        requires_grad: whether its gradient is wanted.

    Example:
        >>> sg.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    k = arange(n, device=device)
    k = _core.where(k < (n + 1) // 2, k, k - n)
    return _frequencies(k, n * d, dtype, requires_grad)


@naming_keywords
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that the elements of rfft() stand for: [n // 2 + 1]; arguments as in fftfreq.

    Example:
        >>> sg.fft.rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    k = arange(n // 2 + 1, device=device)
    return _frequencies(k, n * d, dtype, requires_grad)


def _shifted(input: Any, dim: int | Sequence[int] | None, back: bool) -> Any:
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    shifts = [-(input.shape[d] // 2) if back else input.shape[d] // 2 for d in dims]
    return input.roll(shifts, dims)


@naming_keywords
def fftshift(input: Any, dim: int | Sequence[int] | None = None) -> Any:
    """Moves the frequency 0 from the beginning to the middle.

    Args:
        input: real or complex.
        dim: of which dimensions; None: of all.

    Example:
        >>> sg.fft.fftshift(sg.fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted(input, dim, False)


@naming_keywords
def ifftshift(input: Any, dim: int | Sequence[int] | None = None) -> Any:
    """The inverse of fftshift; arguments as there.

    Example:
        >>> sg.fft.ifftshift(sg.fft.fftshift(sg.arange(3))).tolist()
        [0, 1, 2]
    """
    return _shifted(input, dim, True)


open_functions(__name__)
