"""Limits of the element types."""

from __future__ import annotations

from .. import _core
from .types import DTypeLike

# Bits of the significand behind the point, largest exponent.
_FLOATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


def _named(name: str, dtype: DTypeLike | None) -> _core.dtype:
    """The type itself, from any way to write it."""
    if dtype is None:
        return _core.get_default_dtype()
    try:
        return _core.promote_types(dtype, dtype)
    except TypeError as error:
        raise TypeError(str(error).replace("promote_types", name)) from None


class finfo:
    """Limits of a floating type.

    Args:
        dtype: the type; None is the default one.

    Attributes:
        bits: of one element.
        eps: the distance from 1 to the next number.
        max: the largest number.
        min: the smallest, -max.
        tiny: the smallest positive number of full precision; also smallest_normal.
        resolution: the decimal digit that is always right, 10**-digits.
        dtype: the name of the type.

    Raises:
        TypeError: an integer type.

    Example:
        >>> sg.finfo(sg.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, dtype: DTypeLike | None = None) -> None:
        kind = _named("finfo", getattr(dtype, "real", dtype))  # of complex numbers: that of their parts
        if kind.name not in _FLOATS:
            raise TypeError(f"finfo: {kind.name} holds no fractions; use iinfo()")
        fraction, exponent = _FLOATS[kind.name]
        self.bits = 8 * kind.itemsize
        self.eps = 2.0**-fraction
        self.max = (2 - self.eps) * 2.0**exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = float(f"1e-{int(fraction * 0.30103)}")
        self.dtype = kind.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer type.

    Args:
        dtype: the type.

    Attributes:
        bits: of one element.
        max: the largest number.
        min: the smallest.
        dtype: the name of the type.

    Raises:
        TypeError: a floating type or bool.

    Example:
        >>> sg.iinfo(sg.int8).max
        127
    """

    def __init__(self, dtype: DTypeLike) -> None:
        kind = _named("iinfo", dtype)
        if kind.name in _FLOATS or kind.name == "bool":
            raise TypeError(f"iinfo: {kind.name} is not an integer type; use finfo()")
        self.bits = 8 * kind.itemsize
        signed = not kind.name.startswith("u")
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -self.max - 1 if signed else 0
        self.dtype = kind.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


finfo.__module__ = iinfo.__module__ = "spirograd"  # where users find them, and what pickles name
