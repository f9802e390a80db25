"""Types and devices that PyTorch has and no tensor here: programs compare with their names.

Making a tensor of such a type, or on such a device, is an error.
"""

from __future__ import annotations

import threading
from typing import Any

from ..base import dtypes

__all__ = ["ABSENT", "AbsentDevice", "AbsentType", "Meta", "finfo", "iinfo"]


class AbsentType:
    """A dtype of PyTorch by name.

    Attributes:
        itemsize: bytes of an element.
        is_floating_point: whether it has fractions.
        is_complex: whether it has an imaginary part.
        is_signed: whether it has negative numbers.
    """

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_complex = name.startswith("complex")
        self.is_floating_point = name.startswith("float")
        self.is_signed = not name.startswith(("uint", "quint")) and name != "float8_e8m0fnu"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _by_name, (self.name,)


def _by_name(name: str) -> AbsentType:
    return ABSENT[name]


_BYTES = {"uint16": 2, "uint32": 4, "uint64": 8, "complex32": 4, "qint8": 1, "quint8": 1, "qint32": 4}
_BYTES |= {f"float8_{kind}": 1 for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")}
ABSENT = {name: AbsentType(name, size) for name, size in _BYTES.items()}

# The largest number, the distance from 1 to the next one, the smallest positive one of full precision.
_FLOATS = {
    "float8_e4m3fn": (448.0, 2.0**-3, 2.0**-6),
    "float8_e4m3fnuz": (240.0, 2.0**-3, 2.0**-7),
    "float8_e5m2": (57344.0, 2.0**-2, 2.0**-14),
    "float8_e5m2fnuz": (57344.0, 2.0**-3, 2.0**-15),
    "float8_e8m0fnu": (2.0**127, 1.0, 2.0**-127),
}


class finfo(dtypes.finfo):
    """Limits of a floating type, also of those of eight bits."""

    def __init__(self, dtype: Any = None) -> None:
        if not isinstance(dtype, AbsentType):
            super().__init__(dtype)
            return
        if dtype.name not in _FLOATS:
            raise TypeError(f"finfo: {dtype.name} holds no fractions; use iinfo()")
        self.bits, self.dtype, self.resolution = 8, dtype.name, 1.0
        self.max, self.eps, self.tiny = _FLOATS[dtype.name]
        self.min = -self.max if dtype.name != "float8_e8m0fnu" else self.tiny
        self.smallest_normal = self.tiny


class iinfo(dtypes.iinfo):
    """Limits of an integer type, also of unsigned ones of more than eight bits."""

    def __init__(self, dtype: Any) -> None:
        if not isinstance(dtype, AbsentType):
            super().__init__(dtype)
            return
        if not dtype.name.startswith("uint"):
            raise TypeError(f"iinfo: {dtype.name} is not an integer type; use finfo()")
        self.bits, self.dtype = 8 * dtype.itemsize, dtype.name
        self.max, self.min = 2**self.bits - 1, 0


class AbsentDevice(str):
    """A device by name that this machine has not, or spirograd; as an argument it is that name, which is an error.

    Attributes:
        type: what kind of device.
        index: its number, or None.
    """

    KINDS = ("cuda", "hpu", "ipu", "meta", "mps", "mtia", "npu", "privateuseone", "vulkan", "xla", "xpu")

    def __init__(self, name: str) -> None:
        self.type, _, number = name.partition(":")
        self.index = int(number) if number else None  # type: ignore[assignment,method-assign]

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __enter__(self) -> AbsentDevice:
        if self.type != "meta":
            raise NotImplementedError(f"device: no tensor can be made on {str(self)!r} here; leave the context out")
        Meta.enter(1)
        return self

    def __exit__(self, *args: object) -> None:
        Meta.enter(-1)


class Meta:
    """The context of the device "meta", in which libraries make a model before they read its weights.

    Tensors are made as always, since they take no memory before they are read; they only say that they are on "meta".
    """

    _here = threading.local()  # .count: how many such contexts this thread is in
    device = AbsentDevice("meta")

    @classmethod
    def open(cls) -> bool:
        """Whether this thread is in such a context."""
        return cls._count() > 0

    @classmethod
    def _count(cls) -> int:
        return getattr(cls._here, "count", 0)

    @classmethod
    def enter(cls, more: int) -> None:
        """One context more, or one less."""
        cls._here.count = cls._count() + more

    @classmethod
    def is_meant(cls, device: object) -> bool:
        """Whether a context is open, and that device is the one of its tensors."""
        return device is not None and cls.open() and str(device) == "meta"
