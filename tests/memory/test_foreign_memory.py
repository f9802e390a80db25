"""Memory that others describe: what they say of it is checked before any of it is read."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from pathlib import Path
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


OTHER_TYPES = {
    "object": np.array([object()]),
    "text": np.array(["a"]),
    "bytes": np.array([b"a"]),
    "date": np.array(["2020-01-01"], "datetime64[D]"),
    "time": np.array([1], "timedelta64[s]"),
    "fields": np.zeros(1, [("a", "f4")]),
    "void": np.zeros(1, "V7"),
    "complex256": np.array([1j], np.clongdouble),
    "uint32": np.array([1], np.uint32),
    "uint64": np.array([1], np.uint64),
    "longdouble": np.array([1.0], np.longdouble),
}
LONG = ("complex256", "longdouble")


@pytest.mark.parametrize("make", [sg.tensor, sg.as_tensor, sg.from_numpy, lambda a: sg.ones(1) + a])
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.needs("long doubles") if n in LONG else ()) for n in OTHER_TYPES],
)
def test_arrays_of_other_types_are_refused_and_let_go(name: str, make: Any) -> None:
    array = OTHER_TYPES[name]
    for _ in range(3):
        with pytest.raises(TypeError, match=r"not supported|is needed") as caught:
            make(array)
        assert "\n" not in str(caught.value)
    del caught
    before = sys.getrefcount(array), sys.getrefcount(array.dtype)
    for _ in range(100):
        with contextlib.suppress(TypeError):
            make(array)
    after = sys.getrefcount(array), sys.getrefcount(array.dtype)
    assert all(b - a < 10 for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("make", [sg.tensor, sg.as_tensor, sg.asarray])
def test_arrays_of_any_stride_are_what_numpy_makes_of_them(make: Any, device: sg.Device) -> None:
    random = np.random.default_rng(0)
    memory = np.arange(400, dtype=np.float32)
    for _ in range(60):
        rank = int(random.integers(0, 4))
        shape = tuple(int(n) for n in random.integers(0, 4, rank))
        steps = tuple(int(4 * n) for n in random.integers(-6, 7, rank))
        array = np.lib.stride_tricks.as_strided(memory[200:], shape, steps)
        np.testing.assert_array_equal(make(array).to(device).numpy(), np.ascontiguousarray(array).reshape(shape))
    fortran = np.asfortranarray(memory.reshape(20, 20))
    assert (make(fortran).numpy() == fortran).all()
    shifted = np.frombuffer(b"\0" + memory.tobytes(), np.uint8)[1:].view(np.float32)  # not aligned
    assert not shifted.flags.aligned and (make(shifted).numpy() == memory).all()


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i4", ">i8"])
def test_another_byte_order_is_copied(dtype: str, device: sg.Device) -> None:
    array = np.arange(5).astype(dtype)
    for x in (sg.tensor(array, device=device), sg.as_tensor(array).to(device)):
        assert x.tolist() == [0, 1, 2, 3, 4]
        x += 1
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_what_is_read_only_is_never_written(tmp_path: Path, device: sg.Device) -> None:
    path = tmp_path / "array.bin"
    np.arange(5, dtype=np.float32).tofile(path)
    mapped = np.memmap(path, np.float32, "r")
    fixed = np.arange(5, dtype=np.float32)
    fixed.flags.writeable = False
    for array in (mapped, fixed):
        for x in (sg.tensor(array, device=device), sg.as_tensor(array).to(device)):
            x.mul_(7)
            assert x.tolist() == [0, 7, 14, 21, 28]
        with pytest.warns(UserWarning, match="read-only"):
            sg.from_numpy(array).mul_(7)
        assert array.tolist() == [0, 1, 2, 3, 4]
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3, 4]


def test_numbers_of_any_kind_are_tensors_of_no_dimension(device: sg.Device) -> None:
    for number, dtype in [
        (True, sg.bool), (3, sg.int64), (2.5, sg.float32), (np.bool_(True), sg.bool), (np.int32(3), sg.int32),
        (np.float64(2.5), sg.float64), (np.array(3), sg.int64), (2**63 - 1, sg.int64), (-(2**63), sg.int64),
    ]:  # fmt: skip
        x = sg.tensor(number, device=device)
        assert x.shape == () and x.dtype == dtype and x.item() == number
    for huge in (2**63, -(2**63) - 1, 2**70, [2**70], np.array([2**70])):
        with pytest.raises((OverflowError, TypeError)):
            sg.tensor(huge)


class Raises:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("mine")


class NoArray:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return "no array"


class WrongLength(list[float]):
    def __len__(self) -> int:
        return 1 << 40


@pytest.mark.parametrize("use", [sg.tensor, sg.as_tensor, lambda o: sg.zeros(2, 2)[o]])
def test_objects_that_misbehave_raise(use: Any) -> None:
    with pytest.raises(ZeroDivisionError, match="mine"):
        use(Raises())
    for strange in (NoArray(), [[1.0], [2.0, 3.0]], [object()], {1: 2}, "text"):
        with pytest.raises((TypeError, ValueError, IndexError, RecursionError)):
            use(strange)
    assert sg.tensor(WrongLength([1.0, 2.0])).tolist() == [1, 2]
