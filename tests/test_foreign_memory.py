"""Memory that others describe: what they say of it is checked before any of it is read."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import spirograd as sg


# ---- DLPack ----------------------------------------------------------------------------------------------------------
class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Unversioned(ctypes.Structure):
    _fields_ = [("array", Array), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("array", Array),
    ]  # fmt: skip


MEMORY = (ctypes.c_float * 8)(*range(8))
KEPT: list[Any] = []  # capsules point into these


def numbers(values: tuple[int, ...] | None) -> Any:
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)


def capsule(versioned: bool = False, major: int = 1, **facts: Any) -> Any:
    """A float32 array [2, 3] on MEMORY, but for `facts`."""
    said = {
        "data": ctypes.addressof(MEMORY), "device_type": 1, "ndim": 2, "code": 2, "bits": 32, "lanes": 1,
        "shape": (2, 3), "strides": None, "byte_offset": 0, **facts,
    }  # fmt: skip
    array = Array(**{**said, "shape": None, "strides": None})
    for name in ("shape", "strides"):
        if (held := numbers(said[name])) is not None:
            KEPT.append(held)
            setattr(array, name, held)
    managed: Any = Versioned(major=major, array=array) if versioned else Unversioned(array=array)
    KEPT.append(managed)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    KEPT.append(b"dltensor_versioned" if versioned else b"dltensor")
    return new(ctypes.addressof(managed), KEPT[-1], None)


@pytest.mark.parametrize("versioned", [False, True])
def test_a_capsule_that_is_right_is_taken(versioned: bool) -> None:
    assert sg.from_dlpack(capsule(versioned)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert sg.from_dlpack(capsule(versioned, strides=(1, 2), byte_offset=4)).tolist() == [[1, 3, 5], [2, 4, 6]]
    assert sg.from_dlpack(capsule(versioned, ndim=0, shape=None)).item() == 0
    assert sg.from_dlpack(capsule(versioned, shape=(0, 3), data=None)).shape == (0, 3)
    assert sg.from_dlpack(capsule(versioned, shape=(1, 3), strides=(-7, 1))).tolist() == [[0, 1, 2]]


NONSENSE: dict[str, dict[str, Any]] = {
    "negative size": {"shape": (2, -3)},
    "two negative sizes": {"shape": (-2, -3)},
    "negative rank": {"ndim": -1},
    "rank 9": {"ndim": 9, "shape": (1,) * 9},
    "huge rank": {"ndim": 2**31 - 1},
    "no shape": {"shape": None},
    "no memory": {"data": None},
    "huge size": {"shape": (2**62, 3)},
    "sizes that overflow": {"shape": (2**32, 2**32)},
    "large size": {"shape": (2**48 + 1, 1)},
    "huge stride": {"strides": (2**63 - 1, 1)},
    "strides that overflow": {"shape": (3, 3), "strides": (2**62, 2**62)},
    "far stride": {"strides": (2**50, 1)},
    "negative stride": {"strides": (-3, 1)},
    "huge offset": {"byte_offset": 2**64 - 4},
    "no lanes": {"lanes": 0},
    "two lanes": {"lanes": 2},
    "no bits": {"bits": 0},
    "odd bits": {"bits": 31},
    "unknown type": {"code": 77},
    "complex": {"code": 5, "bits": 64},
    "not aligned": {"byte_offset": 2},
    "another device": {"device_type": 2},
    "unknown device": {"device_type": -5},
}


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_in_a_capsule_is_refused(name: str, versioned: bool) -> None:
    bad = capsule(versioned, **NONSENSE[name])
    for _ in range(2):  # it was not taken: the second time says the same
        with pytest.raises((BufferError, ValueError, TypeError), match="dlpack"):
            sg.from_dlpack(bad)


def test_a_capsule_of_another_version_is_refused() -> None:
    with pytest.raises(BufferError, match="DLPack 2 is not known"):
        sg.from_dlpack(capsule(True, major=2, ndim=-1))


# ---- NumPy -----------------------------------------------------------------------------------------------------------
class Liar(np.ndarray[Any, Any]):
    """An array that says it were larger, and of another type."""

    shape = property(lambda self: (1 << 20,))  # type: ignore[assignment]
    strides = property(lambda self: (1 << 20,))  # type: ignore[assignment]
    ndim = property(lambda self: 1)  # type: ignore[assignment]
    size = property(lambda self: 1 << 20)  # type: ignore[assignment]


class OfAnotherType(np.ndarray[Any, Any]):
    dtype = property(lambda self: np.dtype(np.float64))  # type: ignore[assignment]


@pytest.mark.parametrize("make", [sg.tensor, sg.as_tensor, sg.from_numpy, sg.asarray, sg.ones(1).new_tensor])
@pytest.mark.parametrize("kind", [Liar, OfAnotherType])
def test_an_array_is_what_its_memory_is(make: Any, kind: Any, device: sg.Device) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).view(kind)
    x = make(array).to(device)
    assert x.shape == (2, 3) and x.dtype == sg.float32 and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    y = sg.zeros(2, 3, device=device)
    y[:] = array
    assert (y + array).tolist() == [[0, 2, 4], [6, 8, 10]]


def test_a_subclass_of_an_array_is_shared(device: sg.Device) -> None:
    array = np.zeros(3, np.float32).view(np.recarray)
    x = sg.from_numpy(array)
    x += 1
    assert np.asarray(array).tolist() == [1, 1, 1]
