"""The Python surface: creation, attributes, operators, indexing, gradients, modules, printing."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

RNG = np.random.default_rng(0)
F = nn.functional


def same(x: sg.Tensor, expected: object, **tolerance: float) -> None:
    expected = np.asarray(expected)
    assert x.shape == expected.shape
    np.testing.assert_allclose(x.detach().numpy(), expected, **tolerance)


# ---- creation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.5, sg.float32),
        (3, sg.int64),
        (True, sg.bool),
        ([1.0, 2], sg.float32),
        ([1, 2], sg.int64),
        ([True, False], sg.bool),
        ([], sg.float32),
        (np.ones(2), sg.float64),
        (np.ones(2, np.float32), sg.float32),
        (np.arange(3, dtype=np.int32), sg.int32),
        (np.float64(1.5), sg.float64),
        (np.float32(1.5), sg.float32),
        (np.int64(2), sg.int64),
        (np.bool_(True), sg.bool),
        ([np.float64(1.0)], sg.float64),
        (range(3), sg.int64),
    ],
)
def test_tensor_types(data: object, dtype: object, device: sg.Device) -> None:
    x = sg.tensor(data, device=device)
    assert x.dtype == dtype and x.device == device
    same(x, np.array(data))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12, dtype=np.int32).reshape(3, 4)[::-1, ::2],
        np.arange(6.0).astype(">f8"),
        np.arange(6, dtype=">i4"),
        np.broadcast_to(np.float32(2), (3, 2)),
        np.asfortranarray(np.ones((2, 3), np.float32)),
        np.zeros((0, 3)),
        np.array(5.0),
        RNG.random((2, 3, 2, 1, 2)) > 0.5,
    ],
)
def test_arrays_of_any_layout(array: np.ndarray, device: sg.Device) -> None:
    x = sg.tensor(array, device=device)
    assert x.dtype == array.dtype.newbyteorder("=")
    same(x, array)


def test_tensor_copies() -> None:
    source = np.zeros(3, np.float32)
    x = sg.tensor(source)
    source[:] = 1
    assert x.tolist() == [0, 0, 0]
    y = sg.tensor(x)
    y += 1
    assert x.tolist() == [0, 0, 0]


def test_dtype_argument() -> None:
    for word in (sg.float64, "float64", np.float64, np.dtype("float64")):
        assert sg.tensor([1, 2], dtype=word).dtype == sg.float64
    assert sg.zeros(2, dtype=int).dtype == sg.int64
    assert sg.tensor(np.arange(3, dtype=np.uint8), dtype=sg.float32).tolist() == [0, 1, 2]
    assert sg.tensor([1.7, -1.7], dtype=sg.int64).tolist() == [1, -1]
    assert repr(sg.float32) == "spirograd.float32"
    assert sg.float32 == np.float32 and sg.float32 == "float32" and sg.float32 != "float64" and sg.float32 is not None
    assert np.dtype(sg.int32) == np.int32 and hash(sg.int32) == hash(np.dtype("int32"))
    assert copy.deepcopy(sg.float32) is sg.float32


def test_constants(device: sg.Device) -> None:
    same(sg.zeros(2, 3, device=device), np.zeros((2, 3)))
    same(sg.ones((2, 3), device=device, dtype=sg.int32), np.ones((2, 3)))
    same(sg.full((2,), 1.5, device=device), [1.5, 1.5])
    assert sg.full((2,), 3).dtype == sg.int64 and sg.full((), True).dtype == sg.bool
    assert sg.full((1,), 2**62).item() == 2**62
    x = sg.ones(2, dtype=sg.float64, device=device)
    assert sg.zeros_like(x).dtype == sg.float64 and sg.ones_like(x, dtype=sg.int64).dtype == sg.int64
    assert sg.zeros(()).shape == ()


@pytest.mark.parametrize("bounds", [(5,), (2, 7), (0, 10, 3), (5, 0, -2), (0.0, 1.0, 0.25), (1, 1), (0, 5, 0.5)])
def test_arange(bounds: tuple[float, ...], device: sg.Device) -> None:
    x = sg.arange(*bounds, device=device)
    expected = np.arange(*bounds)
    assert x.dtype == (sg.int64 if expected.dtype.kind == "i" else sg.float32)
    same(x, expected, rtol=1e-6)


def test_random(device: sg.Device) -> None:
    sg.manual_seed(3)
    a, b = sg.rand(1000, device=device), sg.randn(1000, device=device)
    sg.manual_seed(3)
    assert np.array_equal(a.numpy(), sg.rand(1000).numpy())
    assert a.numpy().min() >= 0 and a.numpy().max() < 1 and 0.45 < a.mean().item() < 0.55
    assert abs(b.mean().item()) < 0.15 and 0.9 < b.square().mean().item() < 1.1
    assert sg.rand(2, dtype=sg.float64).dtype == sg.float64


# ---- attributes and conversions ------------------------------------------------------------------------------------


def test_attributes() -> None:
    x = sg.zeros(2, 3, 4)
    assert x.shape == (2, 3, 4) and x.ndim == 3 and x.dim() == 3 and x.numel() == 24 and len(x) == 2
    assert x.size() == (2, 3, 4) and x.size(-1) == 4 and x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert x.is_leaf and x.grad is None and x.grad_fn is None and not x.requires_grad
    assert x.stride() == (12, 4, 1) and x.is_contiguous() and not x.T.is_contiguous()
    assert x.element_size() == 4 and x.is_floating_point()
    assert x.itemsize == 4 and x.nbytes == 96 and x[1:].storage_offset() == 12 and x.stride(0) == 12
    assert x.nelement() == 24 and x.ndimension() == 3 and x.get_device() == -1 and x.is_cpu and not x.is_cuda
    assert x.is_same_size(x + 1) and not x.is_same_size(x[0]) and x.is_signed() and not x.is_complex()
    assert x[0].H.shape == (4, 3) and x.mH.shape == (2, 4, 3) and x[1:].data_ptr() - x.data_ptr() == 48
    assert x.type() == "spirograd.FloatTensor" and sg.numel(x) == 24 and sg.is_floating_point(x)
    assert 0 in x and 1.0 not in x and 0 not in x[:0] and "a" not in x and sg.is_tensor(x) and not sg.is_tensor(1)
    with pytest.raises(ValueError, match=r"H: a tensor of shape \[2, 3, 4\] is no matrix"):
        _ = x.H
    assert hash(x) == hash(x) and x in {x: 1}


def test_conversions(device: sg.Device) -> None:
    x = sg.tensor([0.0, 1.5, -2.0], device=device)
    assert x.to(sg.float32) is x and x.to(device) is x and x.float() is x
    assert x.double().dtype == sg.float64 and x.int().tolist() == [0, 1, -2] and x.long().dtype == sg.int64
    assert x.bool().tolist() == [False, True, True]
    assert x.to("cpu").device == "cpu" and x.cpu().tolist() == x.tolist()
    assert x.to(device, sg.float64).dtype == sg.float64 and x.to(dtype="int64").dtype == sg.int64
    assert x.to(sg.zeros(1, dtype=sg.int32, device=device)).dtype == sg.int32
    assert (
        x.to(device, sg.float64, True, True).dtype == sg.float64 and x.to(sg.int64, non_blocking=True).dtype == sg.int64
    )
    assert x.to(x, copy=True) is not x and x.to(copy=True).tolist() == x.tolist() and x.to(device=device) is x
    assert x.to(str(device), sg.half).dtype == sg.float16 and x.to("float64").dtype == sg.float64
    assert x.type_as(sg.zeros(1, dtype=sg.int32)).dtype == sg.int32 and x.type(sg.int32).dtype == sg.int32
    assert x.type_as(x) is x and x.type(sg.float32) is x
    with pytest.raises(ValueError, match="device: 'float33' names no device"):
        x.to("float33")
    with pytest.raises(sg.DeviceUnavailableError, match=r"cuda: GPUs are used through Vulkan; use .to\("):
        x.cuda()


def test_numbers() -> None:
    assert sg.tensor(2.5).item() == 2.5 and isinstance(sg.tensor(2).item(), int) and sg.tensor(True).item() is True
    assert float(sg.tensor([2.5])) == 2.5 and int(sg.tensor(2.5)) == 2 and bool(sg.tensor(0)) is False
    assert [10, 20, 30][sg.tensor(1)] == 20
    assert sg.tensor([[1, 2]]).tolist() == [[1, 2]] and sg.tensor(1).tolist() == 1
    assert [row.item() for row in sg.arange(3)] == [0, 1, 2]


def test_numpy_sees_tensors() -> None:
    x = sg.tensor([1.0, 2.0])
    assert np.asarray(x).dtype == np.float32 and np.array(x, dtype=np.float64).dtype == np.float64
    assert isinstance(np.ones(2) + x, sg.Tensor)
    same(np.ones(2, np.float32) - x, [0, -1])
    same(np.float32(3) * x, [3, 6])
    same(x / np.array([2.0, 4.0]), [0.5, 0.5])
    assert (np.float32(3) * x).dtype == sg.float32 and (np.ones(2) * x).dtype == sg.float64


def test_types() -> None:
    assert (sg.half, sg.float, sg.double) == (sg.float16, sg.float32, sg.float64)
    assert (sg.short, sg.int, sg.long) == (sg.int16, sg.int32, sg.int64)
    for name in ("float16", "float32", "float64"):
        mine, theirs = sg.finfo(name), np.finfo(name)
        for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
            assert getattr(mine, field) == getattr(theirs, field), (name, field)
    assert sg.finfo(sg.bfloat16).eps == 2**-7 and sg.finfo(sg.bfloat16).max == 3.3895313892515355e38
    assert sg.finfo().dtype == "float32" and sg.finfo(sg.bfloat16).resolution == 0.01
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        assert (sg.iinfo(name).min, sg.iinfo(name).max) == (np.iinfo(name).min, np.iinfo(name).max)
    with pytest.raises(TypeError, match="finfo: int32 holds no fractions"):
        sg.finfo(sg.int32)
    assert sg.finfo.__module__ == sg.iinfo.__module__ == "spirograd"
    with pytest.raises(TypeError, match="iinfo: bool is not an integer type"):
        sg.iinfo(sg.bool)
    assert sg.promote_types(sg.uint8, sg.int8) == sg.int16 and sg.promote_types("int64", "float16") == sg.float16
    assert sg.can_cast(sg.float64, sg.float16) and not sg.can_cast(sg.float16, sg.int64)
    assert sg.can_cast(sg.bool, sg.int8) and not sg.can_cast(sg.int8, sg.bool)


def test_result_type() -> None:
    array, scalar = (lambda t: sg.ones(2, dtype=t)), (lambda t: sg.ones((), dtype=t))
    for x, y, want in [
        (array("int32"), scalar("int64"), "int32"), (array("int32"), scalar("float64"), "float64"),
        (array("float32"), scalar("float64"), "float32"), (scalar("float32"), scalar("float64"), "float64"),
        (array("bool"), scalar("uint8"), "uint8"), (array("uint8"), 1, "uint8"), (array("bool"), 1, "int64"),
        (array("int8"), 1.5, "float32"), (array("float16"), 1.5, "float16"),
        (array("float16"), array("bfloat16"), "float32"), (array("int64"), scalar("bfloat16"), "bfloat16"),
        (scalar("int32"), 1, "int32"), (scalar("int32"), 1.5, "float32"),
    ]:  # fmt: skip
        assert sg.result_type(x, y) == want and sg.result_type(y, x) == want
        assert (x + y).dtype == want and (y + x).dtype == want
    assert sg.result_type(1, 2.5) == sg.float32


def test_default_dtype() -> None:
    try:
        sg.set_default_dtype(sg.float64)
        made = [sg.tensor(1.5), sg.tensor([1.5]), sg.zeros(2), sg.rand(2), sg.linspace(0, 1, 3), sg.arange(2) / 2,
                sg.full((1,), 0.5), sg.arange(2) * 0.5, sg.arange(0, 1, 0.5), sg.eye(2)]  # fmt: skip
        assert [x.dtype for x in made] == [sg.float64] * len(made) and repr(sg.tensor([1.5])) == "tensor([1.5000])"
        whole = sg.tensor([[1, 2], [4, 3]])
        folds = [whole.mean(), whole.var(), whole.std(0), whole.logsumexp(1), whole.norm(), whole.nanmean(),
                 sg.cov(whole), sg.corrcoef(whole), whole.softmax(0), whole.logcumsumexp(0), whole.exp(), whole / whole,
                 sg.nn.functional.avg_pool1d(whole, 2)]  # fmt: skip
        assert [x.dtype for x in folds] == [sg.float64] * len(folds)
        assert whole.double().logsumexp(1).tolist() == whole.logsumexp(1).tolist()
        big = sg.tensor([2**40, 2**40 + 1])
        assert sg.searchsorted(big, 2.0**40 + 0.5).item() == 1 and big.mean().item() == 2**40 + 0.5
        assert sg.get_default_dtype() == sg.float64 and (sg.ones(2, dtype=sg.float32) * 0.5).dtype == sg.float32
        with pytest.raises(TypeError, match="set_default_dtype: int64 holds no fractions"):
            sg.set_default_dtype(sg.int64)
        sg.set_default_dtype(sg.bfloat16)
        assert whole.mean().dtype == sg.cov(whole).dtype == sg.rand(2).dtype == sg.bfloat16
        assert sg.full((300,), 300, dtype=sg.int32).mean().item() == 300  # the sum is kept in float32
    finally:
        sg.set_default_dtype(sg.float32)


def test_default_device(device: sg.Device) -> None:
    with device, sg.device("cpu"):
        assert sg.zeros(1).device == "cpu"
    with sg.device(str(device)):
        assert sg.zeros(1).device == device and sg.tensor([1]).device == device
    assert sg.zeros(1).device == "cpu"
    with pytest.raises(ZeroDivisionError), device:
        1 / 0  # noqa: B018
    sg.set_default_device(device)
    assert sg.get_default_device() == device
    sg.set_default_device(None)
    assert sg.get_default_device() == "cpu"
    if device.kind == "gpu":
        assert sg.device("gpu", 0) == device


def test_accelerator(device: sg.Device) -> None:
    acc = sg.accelerator
    if device.kind == "cpu":
        if not acc.is_available():
            assert acc.device_count() == 0 and acc.current_accelerator() is None
            assert acc.memory.memory_allocated() == 0 and acc.memory.memory_stats() == {}
        return
    assert acc.is_available() and acc.current_accelerator() == device and acc.current_device_index() == 0
    acc.set_device_index(0)
    x = sg.ones(1 << 20, device=device).realize()
    assert acc.memory.memory_allocated(0) >= 4 << 20
    assert acc.memory.memory_reserved(device) >= acc.memory.memory_allocated(device)
    assert acc.memory.max_memory_allocated() >= acc.memory.memory_allocated()
    acc.synchronize()
    del x
    acc.memory.empty_cache()
    acc.memory.reset_peak_memory_stats()
    assert acc.memory.max_memory_allocated() == acc.memory.memory_allocated()
    assert acc.memory.memory_stats()["allocated_bytes.all.current"] == acc.memory.memory_allocated()
    free, total = acc.memory.get_memory_info()
    assert 0 < free <= total
    with pytest.raises(ValueError, match="accelerator: cpu is not a GPU"):
        acc.set_device_index("cpu")


def test_assert_close(device: sg.Device) -> None:
    close = sg.testing.assert_close
    x = sg.tensor([1.0, 2.0], device=device)
    close(x, x + 1e-7)
    close([x, {"a": 1.0}], [x, {"a": 1.0 + 1e-9}])
    close(sg.tensor(float("nan")), sg.tensor(float("nan")), equal_nan=True)
    close(np.ones(2), np.ones(2))
    for actual, expected, text in [
        (x, x + 0.5, r"2 of 2 elements differ, most at \(0,\): "),
        (x, x[:1], r"the shapes differ: \(2,\) and \(1,\)"),
        (x, x.double(), "the types differ"),
        ([x], [x, x], "the lengths differ: 1 and 2"),
        ({"a": x}, {"b": x}, "the keys differ"),
        ({"a": [1, 2]}, {"a": [1, 3]}, r"at \['a'\]\[1\]: 1 of 1 elements differ"),
        (sg.tensor([1]), sg.tensor([2]), "1 of 1 elements differ"),
        (sg.tensor(float("nan")), sg.tensor(float("nan")), "1 of 1 elements differ"),
    ]:
        with pytest.raises(AssertionError, match="assert_close: .*" + text):
            close(actual, expected)
    with pytest.raises(AssertionError, match=r"^mine$"):
        close(1, 2, msg="mine")
    with pytest.raises(ValueError, match="rtol and atol belong together"):
        close(1, 2, rtol=0.1)


USER_SCRIPT = """
import numpy as np
import spirograd as sg
from spirograd import nn


def train(x: sg.Tensor, y: sg.Tensor, steps: int) -> float:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = sg.optim.Adam(net.parameters(), lr=1e-2)
    loss = sg.zeros(())
    for _ in range(steps):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return float(loss.item())


g = sg.Generator().manual_seed(1)
x = sg.randn(16, 4, generator=g, dtype=sg.float32)
y = (x[:, 0] > 0).long()
with sg.no_grad(), sg.device("cpu"):
    array = x.detach().numpy()
    z = sg.from_dlpack(array) + sg.as_tensor(array) * 2 - sg.linspace(0, 1, 4)
print(train(x, y, 3), z.to(sg.float64, copy=True).shape, z.size(), sg.finfo(sg.float32).eps, z.T.mT)
sg.set_printoptions(precision=2)
sg.testing.assert_close(z, z)
shape: tuple[int, ...] = z.new_zeros(2, 3).uniform_(0, 1).shape
print(shape, sg.accelerator.is_available(), sg.promote_types(sg.int8, sg.float16))
"""

# What comes back has a type, and what is misspelt is an error.
USER_SCRIPT += """
from typing_extensions import assert_type


class Net(nn.Module):
    def forward(self, x: sg.Tensor, scale: float = 1.0) -> tuple[sg.Tensor, int]:
        return x * scale, 1


assert_type(x.topk(2).values, sg.Tensor)
assert_type(sg.sort(x).indices, sg.Tensor)
assert_type(x.max(), sg.Tensor)
assert_type(x.max(1).indices, sg.Tensor)
assert_type(sg.min(x, other=x), sg.Tensor)
assert_type(sg.median(x, dim=0).values, sg.Tensor)
assert_type(x.size(), tuple[int, ...])
assert_type(x.size(0), int)
assert_type(x.type(), str)
assert_type(x.nonzero(as_tuple=True), tuple[sg.Tensor, ...])
assert_type(x.unique(), sg.Tensor)
assert_type(sg.where(x > 0, x, 0.0), sg.Tensor)
assert_type(Net()(x, scale=2.0), tuple[sg.Tensor, int])
assert_type(nn.Linear(4, 2)(x), sg.Tensor)
number: float = x.sum().item()
"""
USER_SCRIPT += "".join(f"sg.{name}\n" for name in sorted(sg.__all__))
WRONG = """import spirograd as sg
x: int = sg.ones(2)  # wrong
sg.softmx(sg.ones(2))  # wrong
sg.ones(2).softmx()  # wrong
sg.ones(2).max(0).value  # wrong
sg.ones(2).item().x  # wrong
sg.nn.Linear(4, 2)("text")  # wrong
sg.nn.Linear(4, 2)(sg.ones(4)).softmx()  # wrong
"""


def test_a_users_script_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(USER_SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    found = subprocess.run([*command[:-1], str(wrong)], capture_output=True, text=True).stdout
    errors = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", found)}
    assert errors == {i for i, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")}, found


# ---- operators -----------------------------------------------------------------------------------------------------


def test_operators(device: sg.Device) -> None:
    a, b = RNG.random((2, 3)).astype(np.float32) + 0.5, RNG.random((3,)).astype(np.float32) + 0.5
    x, y = sg.tensor(a, device=device), sg.tensor(b, device=device)
    tolerance = {"rtol": 1e-6}
    for mine, theirs in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x**y, a**b), (-x, -a), (+x, a),
        (abs(-x), a), (x + 1, a + 1), (2 - x, 2 - a), (3 * x, 3 * a), (1 / x, 1 / a), (x**2, a**2), (2**x, 2**a),
        (x < y, a < b), (x <= y, a <= b), (x > 1, a > 1), (x.ge(1), a >= 1), (x == x, a == a), (x != y, a != b),
        (x @ y, a @ b), (x @ x.T, a @ a.T), (x.add(y), a + b), (sg.maximum(x, 1.0), np.maximum(a, 1)),
        (sg.minimum(1.0, x), np.minimum(a, 1)), (sg.where(x > 1, x, 0.0), np.where(a > 1, a, 0)),
    ]:  # fmt: skip
        same(mine, theirs, **tolerance)


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        (sg.int64, 1, sg.int64), (sg.int32, 1, sg.int32), (sg.int32, 1.5, sg.float32), (sg.float32, 1, sg.float32),
        (sg.float32, 1.5, sg.float32), (sg.float64, 1.5, sg.float64), (sg.bool, True, sg.bool), (sg.bool, 1, sg.int64),
        (sg.int32, True, sg.int32), (sg.float32, np.float64(1), sg.float32),
    ],
)  # fmt: skip
def test_numbers_adopt_the_type(left: object, right: object, dtype: object) -> None:
    assert (sg.ones(2, dtype=left) + right).dtype == dtype
    assert (right + sg.ones(2, dtype=left)).dtype == dtype


def test_foreign_operands() -> None:
    x = sg.ones(2)
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        [1.0, 2.0] * x
    with pytest.raises(TypeError):
        _ = x < None


@pytest.mark.parametrize(
    "name", ["abs", "square", "sqrt", "exp", "log", "tanh", "relu", "sin", "cos", "sigmoid", "neg"]
)
def test_unary(name: str, device: sg.Device) -> None:
    a = RNG.random(7).astype(np.float32) + 0.1
    theirs = {"relu": lambda v: np.maximum(v, 0), "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "neg": np.negative}
    expected = theirs.get(name) or getattr(np, name)
    x = sg.tensor(a, device=device)
    same(getattr(sg, name)(x), expected(a), rtol=1e-6)
    same(getattr(x, name)(), expected(a), rtol=1e-6)


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (), [1]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(dim: object, keepdim: bool, device: sg.Device) -> None:
    a = RNG.random((2, 3, 4))
    x = sg.tensor(a, device=device)
    axis = tuple(dim) if isinstance(dim, list) else dim
    if axis == ():
        axis = None
    for name, expected in [("sum", a.sum), ("mean", a.mean), ("amax", a.max), ("amin", a.min), ("prod", a.prod)]:
        same(getattr(x, name)(dim, keepdim), expected(axis=axis, keepdims=keepdim), rtol=1e-12)
        same(getattr(sg, name)(x, axis=dim, keepdims=keepdim), expected(axis=axis, keepdims=keepdim), rtol=1e-12)


def test_softmax_and_losses(device: sg.Device) -> None:
    a = RNG.normal(size=(4, 5))
    x = sg.tensor(a, device=device)
    e = np.exp(a - a.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    same(x.softmax(dim=1), p, rtol=1e-9)
    same(F.log_softmax(x, -1), np.log(p), rtol=1e-9)
    for op in (F.softmax, F.log_softmax, F.softmin):
        half = op(x.half(), -1, dtype=sg.float32)
        assert half.dtype == sg.float32 and half.tolist() == op(x.half().float(), -1).tolist()
    target = sg.tensor([0, 1, 2, 4], device=device)
    losses = -np.log(p[np.arange(4), [0, 1, 2, 4]])
    same(F.cross_entropy(x, target), losses.mean(), rtol=1e-9)
    same(F.cross_entropy(x, target, reduction="none"), losses, rtol=1e-9)
    same(F.mse_loss(x, x * 0), (a * a).mean(), rtol=1e-9)
    same(F.mse_loss(x, x * 0, "sum"), (a * a).sum(), rtol=1e-9)


def test_movement(device: sg.Device) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    x = sg.tensor(a, device=device)
    for mine, theirs in [
        (x.reshape(6, 4), a.reshape(6, 4)), (x.reshape((4, -1)), a.reshape(4, -1)), (x.view(-1), a.ravel()),
        (x.permute(2, 0, 1), a.transpose(2, 0, 1)), (x.transpose(0, -1), a.swapaxes(0, -1)),
        (x.unsqueeze(1), a[:, None]), (x.unsqueeze(-1).squeeze(), a), (x[:1].squeeze(0), a[0]),
        (x[:1].squeeze(1), a[:1]),
        (x.flatten(), a.ravel()), (x.flatten(1), a.reshape(2, 12)), (x[:1].expand(5, -1, -1), np.repeat(a[:1], 5, 0)),
        (x.T.contiguous(), a.T), (x.T.clone(), a.T), (x.T.reshape(-1), a.T.ravel()), (sg.permute(x, (1, 0, 2)),
                                                                                     a.transpose(1, 0, 2)),
    ]:  # fmt: skip
        same(mine, theirs)


@pytest.mark.parametrize(
    "key",
    [
        0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(5, 2), None, ..., (0, 1), (0, ..., -1),
        (slice(None), 1), (..., None), (None, 0, slice(1, 3)), (..., slice(-2, None)), (1, 2, 3), np.int64(1),
        (slice(0, 100), slice(-100, 1)), (),
    ],
)  # fmt: skip
def test_getitem(key: object, device: sg.Device) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    same(sg.tensor(a, device=device)[key], a[key])


@pytest.mark.parametrize("key", [0, (1, 2), (..., 1), slice(None, None, 2), (slice(None), slice(1, 3)), ...])
def test_setitem(key: object, device: sg.Device) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    x = sg.tensor(a, device=device)
    view = x[1]
    x[key] = -1
    a[key] = -1
    same(x, a)
    same(view, a[1])
    x[key] = x[key] * 2
    a[key] *= 2
    same(x, a)
    x[key] = np.full(a[key].shape, 7, np.int32)
    a[key] = 7
    same(x, a)


def test_in_place(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device)
    alias = x
    x += 1
    x *= x
    x -= 1.0
    x /= 2
    assert x is alias and x.tolist() == [1.5, 4.0]
    assert x.add_(1).mul_(2).sub_(1).div_(2) is x and x.tolist() == [2.0, 4.5]
    x[1] += 1
    assert x.tolist() == [2.0, 5.5]
    assert x.fill_(3).tolist() == [3, 3] and x.copy_(sg.tensor([1, 2], device=device)).tolist() == [1, 2]
    assert x.zero_().tolist() == [0, 0]
    w = sg.ones(2, device=device, requires_grad=True)
    y = w * 2
    z = y
    y += 1
    assert z is y
    y.sum().backward()
    assert w.grad.tolist() == [2, 2]
    with sg.no_grad():
        w -= 0.5 * w.grad
    assert w.is_leaf and w.tolist() == [0, 0]


# ---- gradients -----------------------------------------------------------------------------------------------------


def test_backward(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
    y = (x @ x).relu().sum()
    assert repr(y.grad_fn) == "<SumBackward0>" and not y.is_leaf
    y.backward()
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    g = np.ones((2, 2)) @ a.T + a.T @ np.ones((2, 2))
    same(x.grad, g)
    (x * 2).sum().backward()
    same(x.grad, g + 2)
    x.grad = None
    assert x.grad is None
    (x * x).backward(gradient=sg.ones(2, 2, device=device))
    same(x.grad, 2 * a)
    assert not x.detach().requires_grad and x.detach().grad_fn is None


def test_gradient_through_views(device: sg.Device) -> None:
    x = sg.arange(6.0, device=device).reshape(2, 3).detach().requires_grad_()
    (x[0, 1:] * 3).sum().backward()
    same(x.grad, [[0, 3, 3], [0, 0, 0]])
    x.grad = None
    (x.T[::2].unsqueeze(0).expand(4, -1, -1).flatten() * 2).sum().backward()
    same(x.grad, [[8, 0, 8], [8, 0, 8]])


def test_grad_function() -> None:
    x, w = sg.tensor(2.0, requires_grad=True), sg.tensor(3.0, requires_grad=True)
    y = x * x * w
    gx, gw = sg.autograd.grad(y, [x, w], create_graph=True)
    assert gx.item() == 12 and gw.item() == 4 and x.grad is None
    assert sg.autograd.grad(gx, x)[0].item() == 6
    assert sg.autograd.grad(x * 2, [x, w], allow_unused=True)[1] is None
    with pytest.raises(sg.Error, match=r"no output was made from inputs \[1\]"):
        sg.autograd.grad(x * 2, [x, w])
    a, b = x * 2, sg.ones(2) * w
    assert [g.item() for g in sg.autograd.grad([a, b], [x, w], [None, sg.tensor([1.0, 2.0])])] == [2, 3]


def test_gradcheck(device: sg.Device) -> None:
    def f(a: sg.Tensor, b: sg.Tensor) -> sg.Tensor:
        return ((a @ b).tanh() * a[0, 0]).softmax(0) / (b[:2].exp() + 1)

    a = sg.tensor(RNG.normal(size=(2, 3)), device=device, requires_grad=True)
    b = sg.tensor(RNG.normal(size=(3, 2)), device=device, requires_grad=True)
    assert sg.autograd.gradcheck(f, (a, b))
    assert sg.autograd.gradgradcheck(lambda v: (v.tanh() * v.exp()).sum(0), a)
    with pytest.raises(AssertionError, match="output 0 by input 0 differs"):
        sg.autograd.gradcheck(lambda v: v.detach() * v, a)


def test_grad_modes() -> None:
    x = sg.ones(2, requires_grad=True)
    with sg.no_grad():
        assert not sg.is_grad_enabled() and not (x * 2).requires_grad
        with sg.enable_grad():
            assert (x * 2).requires_grad
        with sg.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not sg.is_grad_enabled()
    sg.set_grad_enabled(False)
    assert not sg.is_grad_enabled()
    sg.set_grad_enabled(True)

    @sg.no_grad()
    def f() -> bool:
        """Doc."""
        return (x * 2).requires_grad

    assert f() is False and f.__doc__ == "Doc." and sg.is_grad_enabled()


# ---- modules and optimisers ----------------------------------------------------------------------------------------


def model(device: sg.Device | None = None) -> nn.Sequential:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(4, 8, device=device), nn.ReLU(), nn.Linear(8, 3, bias=False, device=device)
    )


def test_module() -> None:
    net = model()
    assert [n for n, _ in net.named_parameters()] == ["1.weight", "1.bias", "3.weight"]
    assert len(net) == 4 and isinstance(net[1], nn.Linear) and len(list(net.modules())) == 5
    assert not net.eval().training and not net[2].training and net.train()[2].training
    bound = 1 / np.sqrt(4)
    w = net[1].weight.detach().numpy()
    assert w.shape == (8, 4) and np.abs(w).max() <= bound and np.abs(w).max() > bound / 2
    assert repr(net) == (
        "Sequential(\n  (0): Flatten(start_dim=1, end_dim=-1)\n"
        "  (1): Linear(in_features=4, out_features=8, bias=True)\n"
        "  (2): ReLU()\n  (3): Linear(in_features=8, out_features=3, bias=False)\n)"
    )
    x = sg.rand(5, 2, 2)
    assert net(x).shape == (5, 3)
    other = model()
    other.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(other(x).detach().numpy(), net(x).detach().numpy())
    net(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    weight = net[1].weight
    net.to(sg.float64)
    assert net[1].weight is weight and weight.dtype == sg.float64 and weight.grad.dtype == sg.float64 and weight.is_leaf
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    with pytest.raises(ValueError, match=r"load_state_dict: missing \['1.weight', '1.bias', '3.weight'\]"):
        net.load_state_dict({})


@pytest.mark.parametrize("make", [lambda p: sg.optim.SGD(p, lr=0.5, momentum=0.9), lambda p: sg.optim.Adam(p, lr=0.02)])
def test_training_learns(make: object, device: sg.Device) -> None:
    x = sg.tensor(RNG.normal(size=(64, 4)).astype(np.float32), device=device)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    net = model(device)
    opt = make(net.parameters())
    losses = []
    for _ in range(40):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0] and all(np.isfinite(losses))


def test_a_step_is_one_submission(device: sg.Device) -> None:
    x, y = sg.rand(8, 4, device=device), sg.zeros(8, device=device, dtype=sg.int64)
    net = model(device)
    opt = sg.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

    step(), step()
    sg.reset_stats()
    step()
    counts = sg.stats()
    assert counts["submissions"] == 1 and counts["plan_hits"] == 1 and counts["plan_misses"] == 0


# ---- printing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (lambda: sg.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: sg.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
        (lambda: sg.tensor(3), "tensor(3)"),
        (lambda: sg.tensor(2.5), "tensor(2.5000)"),
        (lambda: sg.tensor([True, False]), "tensor([ True, False])"),
        (lambda: sg.tensor([1.0], dtype=sg.float64), "tensor([1.], dtype=spirograd.float64)"),
        (lambda: sg.tensor([1], dtype=sg.int32), "tensor([1], dtype=spirograd.int32)"),
        (lambda: sg.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
        (lambda: sg.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: sg.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
        (lambda: sg.tensor([]), "tensor([])"),
        (lambda: sg.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: sg.tensor([float("nan"), float("inf")]), "tensor([nan, inf])"),
        (lambda: sg.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
        (lambda: nn.Parameter(sg.ones(1)), "Parameter containing:\ntensor([1.], requires_grad=True)"),
    ],
)
def test_repr(x: object, text: str) -> None:
    assert repr(x()) == text


@pytest.mark.gpu
def test_repr_on_gpu() -> None:
    assert repr(sg.ones(2, device="gpu")) == "tensor([1., 1.], device='gpu:0')"


# ---- looking inside ------------------------------------------------------------------------------------------------


def test_inspection(device: sg.Device) -> None:
    x = sg.ones(4, device=device)
    x.numpy()
    sg.reset_stats()
    y = (x * 2 + 1).exp()
    assert "exp" in y.graph() and "mul" in y.graph()
    steps = y.plan()
    assert len(steps) == 1 and "exp" in steps[0].name and steps[0].name in repr(steps[0])
    assert "step 0" in steps[0].print()
    if device.kind == "gpu":
        assert "main" in steps[0].source and steps[0].spirv[:4] == b"\x03\x02\x23\x07"
    assert "exp" in sg.explain(y)
    assert sg.stats()["submissions"] == 0, "looking must not run anything"
    y.numpy()
    # A GPU may need a second submission to copy the result out.
    assert sg.stats()["submissions"] in ((1,) if device.kind == "cpu" else (1, 2)) and sg.stats()["nodes"] == 3
    sg.empty_cache()
    sg.synchronize()
    sg.synchronize(device)


def test_import_is_light(run_python: object) -> None:
    out = run_python(
        "import os, sys, time, numpy, logging\n"
        "t = time.perf_counter(); import spirograd; t = time.perf_counter() - t\n"
        "print('spirograd.nn' in sys.modules, 'spirograd.optim' in sys.modules, t)\n"
        "maps = '/proc/self/maps'\n"
        "print([l for l in open(maps) if 'vulkan' in l] if os.path.exists(maps) else [])"
    )
    first, second = out.splitlines()
    nn_loaded, optim_loaded, seconds = first.split()
    assert (nn_loaded, optim_loaded, second) == ("False", "False", "[]")
    longest = 2.0 if os.name == "nt" else 0.2  # Wine opens files slowly
    assert float(seconds) < longest, "the budget is 20 ms on an idle machine"
