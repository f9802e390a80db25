"""view(dtype): bytes as elements of another type, as NumPy's view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg

NAMES = ["uint8", "int8", "int16", "float16", "int32", "float32", "int64", "float64"]
# Every way of reading and writing bits in a kernel: equal sizes, wider, narrower.
ON_GPU = [("float32", "int32"), ("float16", "int16"), ("float64", "int64"), ("int64", "float64")]
ON_GPU += [("uint8", "float64"), ("int16", "int64"), ("float32", "uint8"), ("float64", "float16"), ("int8", "float32")]


def values(name: str) -> np.ndarray[Any, Any]:
    raw = np.random.default_rng(0).integers(0, 256, (3, 16), np.uint8)
    raw[:, 1::2] &= 0x7B  # no NaN, of which a NumPy copy may change bits
    return raw.view(name)


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_the_bytes_are_those_of_numpy(source: str, target: str) -> None:
    x = values(source)
    got = sg.tensor(x).view(getattr(sg, target))
    want = x.view(target)
    assert got.dtype == getattr(sg, target) and tuple(got.shape) == want.shape
    np.testing.assert_array_equal(got.numpy().view(np.uint8), want.view(np.uint8))


@pytest.mark.gpu
@pytest.mark.parametrize(("source", "target"), ON_GPU)
def test_a_gpu_copies_the_bits(source: str, target: str) -> None:
    for x in (values(source), values(source)[::2]):
        given = sg.tensor(values(source), device="gpu")[:: 1 if len(x) == 3 else 2]
        got = given.view(getattr(sg, target))
        assert got.device.kind == "gpu" and tuple(got.shape) == x.view(target).shape
        np.testing.assert_array_equal(got.cpu().numpy().view(np.uint8), x.view(target).view(np.uint8))


@pytest.mark.gpu
def test_bfloat16_is_the_upper_half_of_float32() -> None:
    x = sg.tensor([1.0, -2.5], device="gpu")
    halves = x.view(sg.int16).cpu().tolist()
    assert x.bfloat16().view(sg.int16).cpu().tolist() == halves[1::2]
    assert x.view(sg.bfloat16).float().tolist() == [0, 1, 0, -2.5]


def test_writes_are_seen_on_either_side() -> None:
    x = sg.zeros(2, 2)
    bits = x.view(sg.int32)
    bits[0, 1] = 0x3F800000
    assert x.tolist() == [[0, 1], [0, 0]]
    x.T[1].add_(1)
    assert bits.tolist() == [[0, 0x40000000], [0, 0x3F800000]]
    assert x[1:].view(sg.int32).tolist() == [[0, 0x3F800000]] and x.view(sg.float32).data_ptr() == x.data_ptr()


def test_pairs_are_complex_numbers() -> None:
    x = sg.arange(8.0).reshape(2, 4)
    z = x.view(sg.cfloat)
    assert z.tolist() == [[1j, 2 + 3j], [4 + 5j, 6 + 7j]] and z.view(4).shape == (4,)
    assert z.view(sg.float32).tolist() == x.tolist()
    with pytest.raises(TypeError, match="view: float64 as complex64; the parts must have the tensor's type"):
        x.double().view(sg.cfloat)


def test_what_is_wrong_is_said() -> None:
    x = sg.zeros(3, 6)
    with pytest.raises(ValueError, match=r"view: float32 of shape \[6, 3\] .* must lie without gaps"):
        x.T.view(sg.int16)
    with pytest.raises(ValueError, match="view: 3 elements of float32 in the last dimension are no whole number of fl"):
        x[:, :3].view(sg.float64)
    with pytest.raises(ValueError, match=r"shape \[\] with strides \[\] as int16"):
        sg.tensor(1.0).view(sg.int16)
    assert sg.tensor(1.0).view(sg.int32).item() == 0x3F800000
