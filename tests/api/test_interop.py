"""Living with other array libraries: NumPy's protocols, DLPack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads

DTYPES = [name for name in sg._core._dtypes if name != "bfloat16"]


# ---- NumPy -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", DTYPES)
def test_numpy_round_trip(name: str, device: sg.Device) -> None:
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(name)
    x = sg.tensor(array, device=device)
    assert x.dtype == name and x.numpy().dtype == name
    np.testing.assert_array_equal(x.numpy(), array)
    np.testing.assert_array_equal(x.T.numpy(), array.T)
    assert np.asarray(x).dtype == name and sg.from_numpy(array).dtype == name


def test_array_protocol() -> None:
    x = sg.tensor([1.0, 2.0])
    a = np.asarray(x)
    a[0] = 5
    assert x.tolist() == [5, 2]
    copy = x.__array__(copy=True)
    copy[0] = 9
    assert x.tolist() == [5, 2]
    np.array(x)[0] = 9
    assert x.tolist() == [5, 2]
    assert x.__array__(np.float64).dtype == np.float64 and x.__array__(sg.int64).dtype == np.int64
    assert x.__array__(np.float32, copy=False)[0] == 5
    with pytest.raises(ValueError, match="__array__: the tensor is float32: another type needs a copy"):
        x.__array__(np.float64, copy=False)


def test_numpy_of_what_wants_a_gradient() -> None:
    x = sg.ones(2, requires_grad=True)
    for f in (x.numpy, lambda: np.asarray(x), (x * 2).numpy):
        with pytest.raises(sg.Error, match=r"part of a gradient graph that NumPy does not see; call detach\(\) first"):
            f()
    assert x.numpy(force=True).tolist() == [1, 1] and x.detach().numpy().tolist() == [1, 1]


def test_arrays_without_a_copy_need_the_cpu(device: sg.Device) -> None:
    x = sg.ones(2, device=device)
    if device.kind == "gpu":
        with pytest.raises(ValueError, match="__array__: a tensor on gpu:0 cannot become an array without a copy"):
            x.__array__(copy=False)
    else:
        assert x.__array__(copy=False).tolist() == [1, 1]


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = sg.tensor([1.5, 2.25], dtype=sg.bfloat16)
    a = x.numpy()
    assert a.dtype == ml_dtypes.bfloat16 and a.tolist() == [1.5, 2.25]
    a[0] = 7
    assert x.tolist() == [7, 2.25] and sg.tensor(a).dtype == sg.bfloat16 and sg.from_numpy(a).tolist() == [7, 2.25]
    assert sg.bfloat16 == ml_dtypes.bfloat16 and np.dtype(sg.bfloat16) == ml_dtypes.bfloat16


def test_bfloat16_without_ml_dtypes(run_python: Any) -> None:
    code = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import spirograd as sg\n"
        "x = sg.tensor([1.5], dtype=sg.bfloat16); print(x.tolist(), x.float().numpy(), sg.bfloat16 == 'bfloat16')\n"
        "try: x.numpy()\n"
        "except TypeError as e: print(e)"
    )
    assert run_python(code).splitlines() == [
        "[1.5] [1.5] True",
        "numpy: NumPy has no bfloat16; install ml_dtypes, or convert with .float()",
    ]


def test_arrays_may_die_in_any_thread() -> None:
    x = sg.ones(1000)
    arrays = [x.numpy() for _ in range(100)]

    def drop(_: int) -> None:
        while arrays:
            arrays.pop()

    run_threads(drop, 4)
    before = sg.stats()["submissions"]
    y = x + 1
    assert sg.stats()["submissions"] == before and y.sum().item() == 2000


# ---- DLPack ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [n for n in DTYPES if n != "bool"])
def test_dlpack_round_trip(name: str) -> None:
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(name)
    x = sg.from_dlpack(array.T)
    assert x.dtype == name and x.shape == (3, 2) and x.stride() == (1, 3)
    array[0] = 7
    assert x.tolist() == array.T.tolist()
    back = np.from_dlpack(x)
    assert back.dtype == name and back.tolist() == x.tolist()


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_dlpack_shares_memory_both_ways(version: tuple[int, int] | None) -> None:
    x = sg.arange(6.0).reshape(2, 3)
    capsule = x.T.__dlpack__(max_version=version)
    assert ("versioned" in repr(capsule)) == (version is not None and version[0] >= 1)
    y = sg.from_dlpack(capsule)
    x[0, 1] = 10
    assert y.tolist() == [[0, 3], [10, 4], [2, 5]]
    y += 1
    assert x.tolist() == [[1, 11, 3], [4, 5, 6]]
    with pytest.raises(ValueError, match="from_dlpack: the capsule holds no array, or it was taken already"):
        sg.from_dlpack(capsule)


def test_dlpack_keeps_memory_alive() -> None:
    live = sg.stats()["bytes_live"]
    y = sg.from_dlpack((sg.ones(1000) * 3).__dlpack__())
    x = sg.ones(1000) * 4
    assert x.sum().item() == 4000 and y.sum().item() == 3000
    unused = y.__dlpack__()
    del x, y, unused
    assert sg.stats()["bytes_live"] == live


def test_dlpack_read_only_arrays_are_copied() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    try:
        x = sg.from_dlpack(array)
    except BufferError as error:  # NumPy before 2.1 does not hand them out
        pytest.skip(str(error))
    x += 1
    assert array.tolist() == [0, 1, 2] and x.tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match="dlpack: the array is read-only and a tensor is not; allow a copy"):
        sg.from_dlpack(array, copy=False)


def test_dlpack_copy() -> None:
    x = sg.ones(2)
    y = sg.from_dlpack(x.__dlpack__(copy=True))
    z, alias = sg.from_dlpack(x, copy=True), sg.from_dlpack(x)
    x += 1
    assert y.tolist() == [1, 1] and z.tolist() == [1, 1] and alias.tolist() == [2, 2]
    with pytest.raises(BufferError, match="negative strides"):
        sg.from_dlpack(np.arange(3.0)[::-1])


def test_dlpack_of_what_wants_a_gradient() -> None:
    with pytest.raises(BufferError, match=r"part of a gradient graph that others do not see; call detach\(\) first"):
        sg.ones(2, requires_grad=True).__dlpack__()


def test_dlpack_refuses() -> None:
    with pytest.raises(TypeError, match="from_dlpack: a list has no __dlpack__"):
        sg.from_dlpack([1, 2])
    with pytest.raises(TypeError, match="from_dlpack: complex tensors are not supported; use the parts"):
        sg.from_dlpack(np.ones(2, complex))
    with pytest.raises(BufferError, match="a stream was given"):
        sg.ones(2).__dlpack__(stream=1)


def test_dlpack_devices(device: sg.Device) -> None:
    x = sg.arange(3.0, device=device)
    assert x.__dlpack_device__() == ((1, 0) if device.kind == "cpu" else (7, 0))
    y = sg.from_dlpack(x)
    assert y.device == device and y.tolist() == [0, 1, 2]
    host = sg.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert host.device == "cpu" and host.tolist() == [0, 1, 2]
    assert sg.from_dlpack(np.ones(2, np.float32), device=device).device == device


@pytest.mark.gpu
def test_dlpack_of_a_gpu_tensor_is_a_copy_on_the_host() -> None:
    x = sg.arange(3.0, device="gpu")
    for arguments in ({}, {"dl_device": (7, 0)}, {"dl_device": (1, 0), "copy": False}):
        with pytest.raises(BufferError, match="dlpack: "):
            x.__dlpack__(**arguments)
    assert sg.from_dlpack(x.__dlpack__(dl_device=(1, 0), copy=True)).tolist() == [0, 1, 2]


def test_dlpack_and_torch() -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(6.0).reshape(2, 3)
    x = sg.from_dlpack(t.T)
    x += 1
    assert t.tolist() == [[1, 2, 3], [4, 5, 6]]
    u = torch.from_dlpack(sg.arange(3.0))
    assert u.tolist() == [0, 1, 2]


def test_numpys_functions_are_operations(device: sg.Device) -> None:
    values = np.array([0.25, 0.5, -0.75], np.float32)
    x = sg.tensor(values, device=device, requires_grad=True)
    y = np.exp(x)
    assert isinstance(y, sg.Tensor) and y.device == x.device
    y.sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.exp(values), rtol=1e-6)
    x = x.detach()
    for f in (np.isnan, np.absolute, np.arctan, np.negative, np.rint, np.square, np.sign):
        np.testing.assert_allclose(f(x).cpu().numpy(), f(values), rtol=1e-6)
    for f in (np.add, np.subtract, np.divide, np.maximum, np.less, np.arctan2, np.hypot):
        for a, b in ((x, values), (values, x), (x, x), (x, 2.0), (np.float32(2), x)):
            plain = [v if not isinstance(v, sg.Tensor) else values for v in (a, b)]
            np.testing.assert_allclose(f(a, b).cpu().numpy(), f(*plain), rtol=1e-6)
    total = np.ones(3, np.float32)
    total += x
    assert type(total) is np.ndarray and np.array_equal(total, 1 + values)
    for wrong in (lambda: np.spacing(x), lambda: np.add.reduce(x), lambda: np.add(x, x, where=[True, False, True])):
        with pytest.raises(TypeError, match="__array_ufunc__"):
            wrong()
    with pytest.raises(TypeError):
        total += x.clone().requires_grad_()


@pytest.mark.parametrize("imports", ["import einops", "import spirograd, einops", "import spirograd.einops, einops"])
def test_einops_takes_tensors(run_python: Callable[..., str], imports: str) -> None:
    pytest.importorskip("einops", reason="einops is not installed")
    run_python(
        f"{imports}\nimport spirograd as sg\nassert einops.rearrange(sg.ones(2, 3), 'a b -> b a').shape == (3, 2)"
    )
