"""Files that save() writes for PyTorch: what Python's own unpickler and PyTorch make of them."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
PLAIN = (
    1,
    -5,
    1 << 40,
    -(1 << 70),
    2.5,
    float("-inf"),
    "ü",
    "",
    None,
    True,
    False,
    [],
    (),
    {},
    [[1], (2,)],
    {"a": {0: 1}},
)


class Unpickler(pickle.Unpickler):
    """Arrays in place of PyTorch's tensors: it knows only the names that PyTorch's weights_only allows."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        super().__init__(io.BytesIO(archive.read("archive/data.pkl")))
        self.archive, self.made = archive, 0

    def find_class(self, module: str, name: str) -> Any:
        known = {("torch._utils", "_rebuild_tensor_v2"): self.rebuild, ("collections", "OrderedDict"): OrderedDict}
        known["torch._utils", "_rebuild_parameter"] = lambda found, requires_grad, hooks: ("parameter", *found)
        return name if module == "torch" and name.endswith("Storage") else known[module, name]

    def persistent_load(self, pid: Any) -> Any:
        word, kind, key, place, count = pid
        assert word == "storage" and place == "cpu" and isinstance(key, str)
        types = {"Float": "f4", "Double": "f8", "Half": "f2", "Long": "i8", "Int": "i4", "Short": "i2", "Char": "i1"}
        types |= {"Byte": "u1", "Bool": "?"}
        values = np.frombuffer(self.archive.read(f"archive/data/{key}"), types[kind.removesuffix("Storage")])
        assert len(values) == count
        return values

    def rebuild(self, storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any) -> Any:
        assert offset == 0 and hooks == OrderedDict() and type(size) is tuple
        self.made += 1
        steps = [n * storage.itemsize for n in stride]
        return np.lib.stride_tricks.as_strided(storage, size, steps), requires_grad


def unpickled(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        assert archive.read("archive/version") == b"3\n" and archive.read("archive/byteorder") == b"little"
        assert archive.testzip() is None
        return Unpickler(archive).load()


def test_plain_things_are_pickled_as_they_are(tmp_path: Path) -> None:
    sg.save(PLAIN, tmp_path / "x.pt")
    assert unpickled(tmp_path / "x.pt") == PLAIN == sg.load(tmp_path / "x.pt")
    sg.save({(0, "a"): np.float64(1.5), 1: np.int64(3), 2.0: np.bool_(True)}, tmp_path / "x.pth")
    assert unpickled(tmp_path / "x.pth") == {(0, "a"): 1.5, 1: 3, 2.0: True} == sg.load(tmp_path / "x.pth")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)], ids=str)
def test_tensors_hold_their_bits(tmp_path: Path, device: sg.Device, dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.RandomState(0).randint(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    sg.save([sg.tensor(values, device=device)], tmp_path / "x.pt")
    if device.kind == "cpu":
        ((found, requires_grad),) = unpickled(tmp_path / "x.pt")
        assert found.dtype == dtype and not requires_grad
        np.testing.assert_array_equal(found, values)
    (back,) = sg.load(tmp_path / "x.pt")
    assert back.device == device and back.dtype.name == dtype and back.shape == shape
    np.testing.assert_array_equal(back.cpu().numpy(), values)
    assert sg.load(tmp_path / "x.pt", map_location="cpu")[0].device.kind == "cpu"


def test_views_are_written_without_what_they_do_not_show(tmp_path: Path) -> None:
    x = sg.arange(1000.0).reshape(10, 100)
    views = {"t": x[:3, :2].T, "expanded": sg.ones(1).expand(4), "row": x[3], "step": x[0, ::50]}
    sg.save(views, tmp_path / "x.pt")
    for name, (found, _) in unpickled(tmp_path / "x.pt").items():
        np.testing.assert_array_equal(found, views[name].numpy())
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        sizes = [m.file_size for m in archive.infolist() if "/data/" in m.filename]
    assert sizes == [24, 16, 400, 8]


def test_a_tensor_in_two_places_is_written_once(tmp_path: Path) -> None:
    x, y = sg.ones(2, requires_grad=True), sg.zeros(3)
    sg.save({"x": [x, x], "y": (y, x)}, tmp_path / "x.pt")
    found = unpickled(tmp_path / "x.pt")
    assert found["x"][0] is found["x"][1] is found["y"][1] and found["x"][0][1] and not found["y"][0][1]
    back = sg.load(tmp_path / "x.pt")
    assert back["x"][0] is back["y"][1] and back["x"][0].requires_grad


def test_tensors_on_one_memory_are_written_once(tmp_path: Path) -> None:
    x, one = sg.arange(6.0), sg.zeros(2)
    net = sg.nn.Linear(2, 2, bias=False)
    tied = sg.nn.ModuleList([net, sg.nn.Linear(2, 2, bias=False)])
    tied[1].weight = net.weight
    sg.save({"x": x, "head": x[:2], "clone": one.clone(), "one": one, "tied": tied.state_dict()}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        assert sum("/data/" in name for name in archive.namelist()) == 4
    back = sg.load(tmp_path / "x.pt")
    back["x"].fill_(7)
    back["one"].fill_(8)
    back["tied"]["0.weight"].fill_(9)
    assert back["head"].tolist() == [7, 7] and back["clone"].tolist() == [0, 0]
    assert back["tied"]["1.weight"].tolist() == [[9, 9]] * 2


def test_a_parameter_is_written_as_one(tmp_path: Path) -> None:
    weight = sg.nn.Parameter(sg.ones(2))
    sg.save([weight, weight, sg.nn.Parameter(sg.ones(1), requires_grad=False)], tmp_path / "x.pt")
    first, second, third = unpickled(tmp_path / "x.pt")
    assert first is second and first[0] == third[0] == "parameter" and first[2] and not third[2]
    back = sg.load(tmp_path / "x.pt")
    assert back[0] is back[1] and [type(p) for p in back] == [sg.nn.Parameter] * 3
    assert [p.requires_grad for p in back] == [True, True, False]


def test_the_bytes_of_tensors_can_be_mapped(tmp_path: Path) -> None:
    sg.save([sg.ones(n) for n in (1, 5, 1000)], tmp_path / "x.pt")
    data = (tmp_path / "x.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        for member in archive.infolist():
            at = member.header_offset
            start = at + 30 + int.from_bytes(data[at + 26 : at + 28], "little") + len(member.extra)
            assert start % 64 == 0, member.filename


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.pt", "b.pt"):
        sg.save({"w": sg.arange(5)}, tmp_path / name)
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (sg.nn.Linear(2, 1), r"obj is a Linear, which is code as well; save its state_dict\(\)"),
        ({"model": sg.nn.Linear(2, 1)}, r"obj\['model'\] is a Linear, which is code as well"),
        ([{1, 2}], r"obj\[0\] is a set; only tensors"),
        ({frozenset(): 1}, "has a frozenset as a key"),
        (np.array(["a"]), "is an array of <U1"),
    ],
)
@pytest.mark.parametrize("name", ["x.pt", "x.npz"])
def test_other_things_are_refused_by_name(tmp_path: Path, obj: Any, message: str, name: str) -> None:
    if isinstance(obj, np.ndarray) and name == "x.npz":
        pytest.skip("NumPy's own archive holds texts")
    with pytest.raises(TypeError, match=message):
        sg.save(obj, tmp_path / name)
    assert not (tmp_path / name).exists()
    nested: Any = []
    for _ in range(101):
        nested = [nested]
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        sg.save(nested, tmp_path / name)


def test_pytorch_reads_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net = sg.nn.Sequential(sg.nn.Linear(3, 4), sg.nn.BatchNorm1d(4))
    optimizer = sg.optim.Adam(net.parameters(), lr=0.1)
    x = np.random.RandomState(0).randn(5, 3).astype(np.float32)
    net(sg.tensor(x)).square().sum().backward()
    optimizer.step()
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "half": sg.ones(3, dtype=sg.bfloat16)}
    sg.save({**state, "plain": PLAIN}, tmp_path / "x.pt")
    for mmap in (False, True):
        found = torch.load(tmp_path / "x.pt", weights_only=True, mmap=mmap)
        assert found["plain"] == PLAIN and found["half"].dtype == torch.bfloat16
        other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        other.load_state_dict(found["net"])
        torch.optim.Adam(other.parameters(), lr=0.1).load_state_dict(found["optimizer"])
        np.testing.assert_allclose(
            other(torch.from_numpy(x)).detach().numpy(), net(sg.tensor(x)).detach().numpy(), atol=1e-5
        )
    torch.save(found, tmp_path / "y.pt")
    assert sg.load(tmp_path / "y.pt")["plain"] == PLAIN
    torch.save(torch.nn.Linear(2, 1), tmp_path / "z.pt")
    with pytest.raises(sg.FileFormatError, match=r"object of torch.nn.modules.linear.Linear.*state_dict\(\)"):
        sg.load(tmp_path / "z.pt")
