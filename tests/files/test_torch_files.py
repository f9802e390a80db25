"""Files of PyTorch: read without it, and nothing that they name is called."""

from __future__ import annotations

import ast
import io
import os
import pickle
import time
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from process_memory import peak
from reference.torch_files import KINDS, Part, torch_file
from spirograd.serialization._pickles import allowed

FORMATS = pytest.mark.parametrize("old", [False, True], ids=["zip", "old"])


def read(data: bytes, **options: Any) -> Any:
    return sg.load(io.BytesIO(data), **options)


def state_dict() -> dict[str, Any]:
    shared = np.arange(12, dtype=np.float32)
    layers = OrderedDict(w=Part(shared, (2, 3), (1, 2), 3), b=Part(shared, (3,), (0,), 11))
    layers._metadata = OrderedDict({"": {"version": 1}})  # type: ignore[attr-defined]
    weight = Part(np.ones((2, 2), np.float64), parameter=True, requires_grad=True)
    groups = [{"betas": (0.9, 0.999), "lr": 1e-3, "steps": 1 << 70, "name": "\u00fc", "on": True, "none": None}]
    return {"layers": layers, "p": [weight, weight], "groups": groups, 0: Counter({80: 1}), "step": Part(np.array(3.0))}


@FORMATS
def test_a_state_comes_as_it_was(old: bool) -> None:
    found = read(torch_file(state_dict(), old))
    assert found["layers"]["w"].tolist() == [[3, 5, 7], [4, 6, 8]]
    assert found["layers"]["b"].tolist() == [11, 11, 11]
    assert found["p"][0] is found["p"][1] and found["p"][0].requires_grad and found["p"][0].dtype == sg.float64
    assert found["groups"] == state_dict()["groups"] and found[0] == {80: 1} and found["step"].shape == ()
    assert [type(x) for x in (found["layers"], found[0], found["groups"])] == [dict, dict, list]


@FORMATS
@pytest.mark.parametrize("dtype", KINDS)
def test_every_type_comes_bit_for_bit(dtype: str, old: bool) -> None:
    raw = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 256, 48).astype(np.uint8)
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    values = raw.view(__import__("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)
    found = read(torch_file({"x": Part(values)}, old))["x"]
    assert found.dtype.name == dtype and found.numpy().tobytes() == raw.tobytes()


def test_a_module_loads_the_weights(tmp_path: Path) -> None:
    (tmp_path / "net.pt").write_bytes(
        torch_file(OrderedDict(weight=Part(np.float32([[1, 2, 3]])), bias=Part(np.float32([4]))))
    )
    net = sg.nn.Linear(3, 1)
    sg.load_weights(net, tmp_path / "net.pt")
    assert net(sg.ones(1, 3)).tolist() == [[10.0]]


FOUR = np.arange(4, dtype=np.float32)
OUTSIDE = {
    "offset": Part(FOUR, (1,), (1,), 4),
    "size": Part(FOUR, (5,), (1,)),
    "stride": Part(FOUR, (2, 2), (3, 1)),
    "one beyond": Part(FOUR, (2, 2), (2, 2)),
    "product that overflows": Part(FOUR, (2**33, 2**33), (0, 1)),
    "stride that overflows": Part(FOUR, (2, 2), (2**63, 1)),
    "count": Part(FOUR, (8,), (1,), count=8),
    "kind": Part(FOUR, (4,), (1,), kind="Double"),
}
NONE = {
    "negative offset": Part(FOUR, (1,), (1,), -1),
    "negative size": Part(FOUR, (-1,), (1,)),
    "negative stride": Part(FOUR, (2,), (-1,), 3),
    "text as size": Part(FOUR, ("4",), (1,)),
    "true as size": Part(FOUR, (True,), (1,)),
    "float as offset": Part(FOUR, (1,), (1,), 0.5),
    "sizes without strides": Part(FOUR, (2, 2), (1,)),
    "size that is no tuple": Part(FOUR, 4, 1),
    "65 dimensions": Part(FOUR, (1,) * 65, (1,) * 65),
}


@FORMATS
@pytest.mark.parametrize("case", [*OUTSIDE, *NONE])
def test_no_tensor_lies_outside_its_bytes(case: str, old: bool) -> None:
    data = torch_file([(OUTSIDE | NONE)[case]], old)
    with pytest.raises(sg.FileFormatError, match=r"lies outside its|is damaged|a tensor is n"):
        read(data)


def test_a_small_file_becomes_no_large_tensor() -> None:
    data = torch_file({"x": Part(FOUR, (1 << 20, 100), (0, 0))})
    with pytest.raises(sg.FileFormatError, match=r"needs 419,430,400 bytes, and .* pass max_bytes="):
        read(data)
    views = torch_file([Part(np.zeros(1 << 18, np.float32)), *[Part(FOUR, (1 << 18,), (0,)) for _ in range(70)]])
    with pytest.raises(sg.FileFormatError, match=r"needs 1,048,576 bytes, and the file may use .* more"):
        read(views, max_bytes=64 << 20)
    assert len(read(views, max_bytes=80 << 20)) == 71


class Evil:
    def __init__(self, function: Any = os.mkdir, *arguments: Any) -> None:
        self.call = function, arguments or ("evil",)

    def __reduce__(self) -> Any:
        return self.call


class Settable:
    def __init__(self) -> None:
        self.x = 1


@FORMATS
@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"w": Evil()}, rf"calls {os.mkdir.__module__}\.mkdir, which could run code"),
        ([Evil(eval, "1")], r"calls (__builtin__|builtins)\.eval"),
        (Evil(getattr, [1], "append"), r"calls (__builtin__|builtins)\.getattr"),
        (defaultdict(list), r"calls collections\.defaultdict"),
        (Settable(), "calls copy_reg._reconstructor|holds an object of "),
        (os.mkdir, rf"holds {os.mkdir.__module__}\.mkdir; only tensors"),
        ({"a": frozenset({1, 2})}, r"calls (__builtin__|builtins)\.frozenset"),
        (bytearray(b"bytes"), r"calls (__builtin__|builtins)\.bytearray"),
    ],
)
def test_nothing_is_called(obj: Any, message: str, old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pt").write_bytes(torch_file(obj, old))
    with pytest.raises(sg.FileFormatError, match=message):
        sg.load("x.pt")
    assert os.listdir() == ["x.pt"]


@FORMATS
def test_an_object_is_made_where_the_program_allows_its_class(old: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = torch_file({"s": Settable(), "w": Part(FOUR)}, old)
    monkeypatch.setitem(allowed, f"{__name__}.Settable", Settable)
    found = read(data)
    assert type(found["s"]) is Settable and found["s"].x == 1
    with pytest.raises(sg.FileFormatError, match="could run code"):
        read(torch_file([Settable(), Evil()], old))


def test_what_an_allowed_class_does_not_take_is_an_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(allowed, "a.B", Settable)
    for code in (b"ca\nB\nK\1\x85R", b"ca\nB\nK\1R", b"ca\nB\n)RK\1b", b"ca\nB\n)R}K\1K\2sb", b"ca\nB\nK\1\x81"):
        with pytest.raises(sg.FileFormatError, match=r"load: .*an object cannot be made"):
            read(pickled(code))


def pickled(*instructions: bytes) -> bytes:
    return torch_file(None, **{"data.pkl": b"\x80\x02" + b"".join(instructions) + b"."})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps(Evil()), "has the instruction STACK_GLOBAL|is damaged"),
        (pickle.dumps([1], 2), "is a pickle, which could run code; only PyTorch's tensors are read"),
        (b"\x80\x02", "is damaged"),
        (pickled(b"cos\nmkdir\n", b"X\4\0\0\0evil", b"\x85", b"}b"), "sets up an object"),
        (pickled(b"ctorch._utils\n_rebuild_tensor_v2\n", b"}b"), "sets up an object"),
        (pickled(b"cos\nmkdir\n", b"(", b"o"), "the instruction OBJ"),
        (pickled(b"]", b"cos\nmk\tdir\n", b"(tR"), r"calls 'os\.mk\\tdir', which"),
        (pickled(b"(", b"ios\nmkdir\n"), "the instruction INST"),
        (pickled(b"\x82\1"), "the instruction EXT1"),
        (pickled(b"Pname\n"), "the instruction PERSID"),
        (pickled(b"h\0"), "is damaged"),
        (pickled(b"]", b"r\xff\xff\xff\xff", b"h\0"), "is damaged"),
        (pickled(b"\x85"), "is damaged"),
        (pickled(b"t"), "is damaged"),
        (pickled(b"K\1", b"K\2", b"a"), "is damaged"),
        (pickled(b"]", b"(", b"K\1", b"u"), "is damaged"),
        (pickled(b"\x8b\xff\xff\xff\x7f"), "is damaged"),
        (pickled(b"X\xff\xff\xff\xffabc"), "is damaged"),
        (pickled(b"]" * 200, b"a" * 199), "is nested more than 100 deep"),
        (pickled(b"]q\0", b"h\0", b"a"), "is nested more than 100 deep, or in itself"),
        (pickled(b"K\1Q"), "is damaged"),
        (torch_file([Part(FOUR)], byteorder=b"big"), "a big-endian machine"),
        (torch_file([Part(FOUR)], **{"data/0": b"\0" * 15}), "lies outside its 15 bytes"),
        (torch_file([Part(FOUR, kind="QInt8")]), "has a torch.QInt8Storage"),
        (torch_file([Part(FOUR, kind="Untyped")]), "has a torch.UntypedStorage"),
        (torch_file([Part(FOUR), Part(FOUR, kind="Int")]), "is of two kinds"),
        (torch_file([Part(FOUR)], old=True)[:-1], "lies outside its 15 bytes"),
    ],
)  # fmt: skip
def test_made_up_pickles_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(sg.FileFormatError, match=message) as error:
        read(data)
    assert "\n" not in str(error.value)


def test_readers_of_files_have_nothing_that_could_run_one() -> None:
    package = Path(sg.__file__).parent
    sources = [p for folder in ("serialization", "datasets", "text") for p in (package / folder).rglob("*.py")]
    assert len(sources) > 12
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names.append(node.func.id)
            wrong = {"pickle", "marshal", "shelve", "eval", "exec", "compile", "__import__"}.intersection(names)
            assert not wrong, f"{source.name}: {wrong}"


def test_a_thing_in_many_places_takes_no_time() -> None:
    """Sixty lists, each twice in the next: 2**60 paths."""
    nested = b"".join(b"](h%ch%cer%s" % (i, i, (i + 1).to_bytes(4, "little")) for i in range(60))
    found = read(pickled(b"]q\0", nested))
    for _ in range(60):
        assert found[0] is found[1]
        found = found[0]


# --- what takes long, or much


def doubled(times: int = 60) -> bytes:
    """A tuple of two of the tuple before, and so on: 2**times parts, as number 0."""
    return b"K\1q\0" + b"h\0h\0\x86q\0" * times


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b")" + b"\x85" * 200_000 + b"q\0}h\0K\1s", "has a tuple as a key"),
        (doubled() + b"}h\0K\1s", "has a tuple as a key"),
        (doubled() + b"c__builtin__\nset\n](h\0e\x85R", "has a set of other things"),
        (doubled() + b"ctorch.serialization\n_get_layout\nh\0\x85R", "is damaged"),
        (doubled() + b"ctorch\ndevice\nh\0\x85R", "is damaged"),
        (doubled() + b"ctorch\ndevice\nX\4\0\0\0cudah\0\x86R", "is damaged"),
        (doubled() + b"ctorch\nSize\nh\0\x85R", "is damaged"),
        (doubled() + b"ctorch._utils\n_rebuild_sparse_tensor\nh\0)\x86R", "is damaged"),
        (b"](" + b"}" * 500_000 + b"e", "pass max_bytes="),
        (b"](" + b"(t" * 500_000 + b"e", "pass max_bytes="),
        (b"](" + b"K\1" * 100_000 + b"eq\0](" + b"c__builtin__\nset\nh\0\x85R" * 1000 + b"e", "pass max_bytes="),
        (b"](" + b"K\1" * 100_000 + b"eq\0](" + b"ctorch\nSize\nh\0\x85R" * 1000 + b"e", "is damaged"),
        (b"K\1" * 200_000 + b"(t" * 200_000, "is damaged|nested"),  # each tuple lies on a high stack
        (b"}\x8a\x09" + b"\1" * 9 + b"Ns", "has a int as a key"),  # larger ones can all have one hash
        (b"ccollections\nOrderedDict\n](cos\nsystem\nK\1\x86e\x85R", "has a Name as a key"),
        (b"}cos\nsystem\nK\1s", "has a Name as a key"),
        (b"}ctorch\ndevice\nX\3\0\0\0cpu\x85RK\1s", "has a DeviceName as a key"),
    ],
)  # fmt: skip
def test_a_small_program_takes_neither_long_nor_much(code: bytes, message: str) -> None:
    before, start = peak(), time.process_time()
    if message == "is damaged|nested":
        assert read(pickled(code)) == ()
    else:
        with pytest.raises(sg.FileFormatError, match=message) as error:
            read(pickled(code))
        assert "\n" not in str(error.value) and str(error.value).count("load:") == 1
    assert time.process_time() - start < 5 and peak() - before < 200 << 20


# --- tensors on one memory, and parameters


@FORMATS
def test_tensors_that_shared_memory_share_it(old: bool, device: sg.Device) -> None:
    shared, alone = np.arange(12, dtype=np.float32), np.ones(2, np.float32)
    parts = {"w": Part(shared, (2, 3), (1, 2), 3), "b": Part(shared, (12,), (1,)), "x": Part(alone)}
    parts |= {"p": Part(shared, (2,), (1,), parameter=True, requires_grad=True), "e": Part(shared, (0,), (1,), 12)}
    found = read(torch_file(parts, old), map_location=device)
    assert found["w"].tolist() == [[3, 5, 7], [4, 6, 8]] and found["e"].shape == (0,)
    found["b"].zero_()
    assert found["w"].tolist() == [[0, 0, 0]] * 2 and found["x"].tolist() == [1, 1] and found["p"].tolist() == [0, 0]
    found["p"].sum().backward()
    assert found["p"].grad.tolist() == [1, 1] and found["w"].is_leaf and not found["w"].requires_grad


@FORMATS
@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_parameter_comes_as_one(requires_grad: bool, old: bool) -> None:
    weight = Part(np.ones(2, np.float32), parameter=True, requires_grad=requires_grad)
    found = read(torch_file([weight, weight, Part(FOUR)], old))
    assert type(found[0]) is sg.nn.Parameter and found[0] is found[1] and found[0].requires_grad == requires_grad
    assert found[0].is_leaf and type(found[2]) is sg.Tensor


@pytest.mark.parametrize("size", [(1,) * 9, (1, 1 << 62)], ids=str)
def test_views_of_shared_memory_are_tensors_that_spirograd_has(size: tuple[int, ...]) -> None:
    parts = [Part(FOUR, size, (1 << 62,) * len(size)), Part(FOUR)]
    with pytest.raises(sg.FileFormatError, match=r"is invalid|lies outside"):
        read(torch_file(parts))
