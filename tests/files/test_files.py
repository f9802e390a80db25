"""Files: what is saved comes back, bit for bit; what is no such file is refused, and nothing in it runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
import struct
import sys
import time
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.archives import unzipped, zipped

FLOATS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
INTEGERS = {"bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32}
INTEGERS |= {"int64": np.int64}
DTYPES = [*FLOATS, *INTEGERS]


def sample(dtype: str, device: Any = "cpu") -> sg.Tensor:
    """Ordinary values, both zeros, infinities, NaN, the smallest and the largest."""
    if dtype in FLOATS:
        limits = sg.finfo(dtype)
        special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), limits.tiny, limits.max, -limits.eps]
        return sg.tensor([*special, 0.1, -3.0, 7.0, 1 / 3], dtype=sg.float64).to(dtype).reshape(3, 4).to(device)
    if dtype == "bool":
        return sg.tensor([[True, False], [False, True]], device=device)
    limits = sg.iinfo(dtype)
    return sg.tensor([[limits.min, limits.max], [0, 1]], dtype=dtype, device=device)


def bits(x: sg.Tensor) -> list[int]:
    if x.dtype.name == "bfloat16":
        x = x.float()
    return np.ascontiguousarray(x.detach().numpy()).reshape(-1).view(np.uint8).tolist()


def again(obj: Any, **options: Any) -> Any:
    f = io.BytesIO()
    sg.save(obj, f)
    return sg.load(f, **options)


# --- there and back


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_comes_back_bit_for_bit(dtype: str, device: sg.Device, tmp_path: Path) -> None:
    x = sample(dtype, device)
    sg.save(x, tmp_path / "x.npz")
    back = sg.load(tmp_path / "x.npz")
    assert (back.dtype, back.shape, back.device, bits(back)) == (x.dtype, x.shape, x.device, bits(x))
    sg.savez(tmp_path / "named.npz", x=x)
    named = sg.load(tmp_path / "named.npz", map_location=device)["x"]
    assert (named.dtype, named.shape, named.device, bits(named)) == (x.dtype, x.shape, x.device, bits(x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_keeps_its_payload(dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    width = FLOATS[dtype]
    ones = np.array([np.iinfo(width).max], width)
    name = "bfloat16" if dtype == "bfloat16" else dtype
    own = np.dtype(__import__("ml_dtypes").bfloat16) if name == "bfloat16" else np.dtype(name)
    assert again(sg.tensor(ones.view(own))).numpy().view(width).tolist() == ones.tolist()


def test_bfloat16_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sample("bfloat16")
    with_it = io.BytesIO()
    sg.save(x, with_it)
    code = """
import sys, io
sys.modules["ml_dtypes"] = None
import spirograd as sg
x = sg.load(io.BytesIO(bytes.fromhex(sys.stdin.read())))
assert x.dtype == sg.bfloat16, x.dtype
f = io.BytesIO()
sg.save(x, f)
print(f.getvalue().hex())
"""
    import subprocess

    path = os.pathsep.join(p for p in sys.path if p)
    result = subprocess.run(
        [sys.executable, "-c", code],
        input=with_it.getvalue().hex(),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert result.returncode == 0, result.stderr
    assert bytes.fromhex(result.stdout) == with_it.getvalue()


def test_nested_things_come_back_as_they_were() -> None:
    tree: dict[Any, Any] = {
        "none": None,
        "flags": [True, False],
        "numbers": (0, -1, 2**200, 1.5, -0.0, 1e-320, float("inf"), -float("inf")),
        0: {"step": sg.tensor(3.0), 1: []},
        (1, "a"): "text \u00fc \U0001f600 \ud800 \0",
        None: {},
        1.5: ((), ("x",)),
        "array": np.arange(6, dtype=np.uint16).reshape(2, 3),
        "complex": np.array(1 + 2j),
        "words": np.array(["a", "bc"]),
        "scalar": np.float32(0.1),
        "tensor": sg.ones(0, 3),
    }
    back = again(tree)
    assert repr(back) == repr(tree) and list(back) == list(tree)
    assert type(back["scalar"]) is np.float32 and back["array"].flags.writeable
    assert back["array"].dtype == np.uint16 and back[0]["step"].shape == ()


def test_subclasses_come_back_plain() -> None:
    class Name(str):
        pass

    back = again([OrderedDict(a=1), Name("x"), np.float64(0.1), sg.nn.Parameter(sg.ones(2))])
    assert [type(x) for x in back] == [dict, str, float, sg.Tensor] and back[3].requires_grad


def test_nan_comes_back() -> None:
    assert str(again({"loss": float("nan")})) == "{'loss': nan}"


def test_gradient_is_asked_for_again() -> None:
    x, y = again((sg.ones(2, requires_grad=True), sg.ones(2)))
    assert x.requires_grad and x.is_leaf and not y.requires_grad


def test_a_tensor_in_two_places_stays_one() -> None:
    x = sg.ones(1000)
    f = io.BytesIO()
    sg.save({"a": x, "b": [x]}, f)
    assert len(f.getvalue()) < 6000
    back = sg.load(f)
    assert back["a"] is back["b"][0]


def test_strided_tensors_are_written_in_their_order(device: sg.Device) -> None:
    x = sg.arange(12, dtype=sg.float32, device=device).reshape(3, 4)
    for view in (x.T, x[::2, 1:], x[0].expand(5, 4), x.reshape(2, 6).to(sg.bfloat16).T):
        assert again(view).tolist() == view.tolist()


def test_same_content_gives_the_same_bytes() -> None:
    files = [io.BytesIO(), io.BytesIO()]
    for f in files:
        sg.save({"a": sg.arange(5), "b": 0.5}, f)
    assert files[0].getvalue() == files[1].getvalue()


def test_numpy_reads_what_is_saved(tmp_path: Path) -> None:
    sg.save({"w": sg.arange(3)}, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as found:
        assert found["0"].tolist() == [0, 1, 2] and json.loads(found["tree.json"])["format"] == "spirograd"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    sg.savez(tmp_path / "y.npz", sg.arange(3), b=sg.tensor([1.5], dtype=sg.bfloat16))
    with np.load(tmp_path / "y.npz", allow_pickle=False) as found:
        assert found["arr_0"].tolist() == [0, 1, 2] and found["b"].view(ml_dtypes.bfloat16).tolist() == [1.5]


def test_files_of_numpy_are_read(tmp_path: Path) -> None:
    big_endian = np.arange(3, dtype=">f4")
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez_compressed(tmp_path / "x.npz", a=big_endian, b=fortran, c=np.zeros(100_000, np.int8))
    found = sg.load(tmp_path / "x.npz")
    assert found["a"].tolist() == [0, 1, 2] and found["b"].tolist() == fortran.tolist()
    assert found["c"].shape == (100_000,) and found["b"].dtype == sg.float64
    np.save(tmp_path / "x.npy", fortran)
    assert sg.load(tmp_path / "x.npy").tolist() == fortran.tolist()
    np.savez(tmp_path / "empty.npz")
    assert sg.load(tmp_path / "empty.npz") == {}


# --- devices


def test_tensors_go_where_the_map_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert again(sg.ones(1), map_location="cpu").device == sg.Device.cpu()
    f = io.BytesIO()
    sg.save([sg.ones(2)], f)
    members = unzipped(f.getvalue())
    members["tree.json"] = members["tree.json"].replace(b'"cpu"', b'"gpu:99"')
    far = zipped(members)
    with pytest.warns(UserWarning, match=r"load: the tensor was on gpu:99, it comes back on the CPU"):
        assert sg.load(io.BytesIO(far))[0].device == sg.Device.cpu()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.load(io.BytesIO(far), map_location={"gpu:99": "cpu"})[0].tolist() == [1, 1]
    with pytest.raises(TypeError, match="map_location is a int"):
        sg.load(io.BytesIO(far), map_location=3)  # type: ignore[arg-type]


@pytest.mark.gpu
def test_a_tensor_of_a_gpu_comes_back_to_it() -> None:
    x = sg.arange(3, device="gpu")
    assert again(x).device == x.device and again(x, map_location="cpu").device == sg.Device.cpu()
    assert again(x.cpu(), map_location={"cpu": "gpu"}).device == x.device


# --- what cannot be saved


class Point:
    pass


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        (Point(), TypeError, r"save: obj is a Point; only tensors"),
        ({"a": [1, {2, 3}]}, TypeError, r"save: obj\['a'\]\[1\] is a set"),
        ({Point(): 1}, TypeError, r"save: obj has a Point as a key"),
        ([np.array([None])], TypeError, r"save: obj\[0\] is an array of object"),
        (np.zeros(1, [("a", int)]), TypeError, r"save: obj is an array of \["),
        (lambda: 1, TypeError, "is a function"),
        (b"bytes", TypeError, "is a bytes"),
    ],
)
def test_other_things_are_not_saved(obj: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sg.save(obj, io.BytesIO())


def test_a_list_in_itself_is_not_saved() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nested more than 100 deep, or in itself"):
        sg.save(circle, io.BytesIO())


def test_savez_refuses_what_is_no_array() -> None:
    with pytest.raises(TypeError, match="savez: a is a list"):
        sg.savez(io.BytesIO(), a=[1])
    with pytest.raises(ValueError, match="the name arr_0"):
        sg.savez(io.BytesIO(), sg.ones(1), arr_0=sg.ones(1))


# --- a file is whole or not there


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    sg.save(1, path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        sg.save(2, path)
    assert sg.load(path) == 1 and os.listdir(tmp_path) == ["x.npz"]


@pytest.mark.needs("links")
def test_a_saved_file_has_the_usual_mode_and_links_stay(tmp_path: Path) -> None:
    link = tmp_path / "link.npz"
    link.symlink_to(tmp_path / "real.npz")
    sg.save(1, link)
    (tmp_path / "plain").write_text("")
    assert link.is_symlink() and sg.load(tmp_path / "real.npz") == 1
    assert stat.S_IMODE(os.stat(link).st_mode) == stat.S_IMODE(os.stat(tmp_path / "plain").st_mode)


@pytest.mark.needs("devices")
def test_a_device_file_is_not_replaced(tmp_path: Path) -> None:
    sg.savez("/dev/null", a=sg.ones(1))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(IsADirectoryError):
        sg.save(1, tmp_path)


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        sg.load(tmp_path / "none.npz")


# --- files that were damaged, or made to harm


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def tree(t: Any, **more: Any) -> bytes:
    return json.dumps({"format": "spirograd", "version": 1, "tree": t, **more}).encode()


ONE = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", b"\0\0\x80\x3f")
TENSOR = {"array": 0, "dtype": "float32", "device": "cpu"}
HUGE = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1048576)}", b"\0" * 64)


def test_the_sample_of_hostile_files_would_be_read_if_it_were_sound() -> None:
    found = sg.load(io.BytesIO(zipped({"tree.json": tree([{"tensor": TENSOR}]), "0.npy": ONE})))
    assert found[0].tolist() == [1.0]


HOSTILE = {
    "nothing": (b"", "starts with nothing"),
    "text": (b"hello world", "starts with 68 65 6c 6c; that is not a file of"),
    "zip of text": (zipped({"a.txt": b"hello"}), r"holds a\.txt; that is not a file of"),
    "no JSON": (zipped({"tree.json": b"{"}), "is not JSON"),
    "deep JSON": (zipped({"tree.json": b"[" * 100_000}), "is not JSON"),
    "not UTF-8": (zipped({"tree.json": b'"\xff\xfe\xfd"'}), "is not JSON"),
    "huge number": (zipped({"tree.json": tree(0)[:-2] + b"9" * 10_000 + b"}"}), "is not JSON"),
    "other JSON": (zipped({"tree.json": b"[1, 2]"}), "is not one of save"),
    "future": (zipped({"tree.json": tree(1, version=2)}), "is of version 2, this spirograd reads 1"),
    "deep tree": (zipped({"tree.json": tree(json.loads("[" * 300 + "]" * 300))}), "nested more than 100 deep"),
    "unknown kind": (zipped({"tree.json": tree({"call": ["os.system", "true"]})}), "obj has the kind 'call'"),
    "two kinds": (zipped({"tree.json": tree({"tuple": [], "dict": []})}), "obj is not of one kind"),
    "no pair": (zipped({"tree.json": tree({"dict": [[1]]})}), "an entry that is not a pair"),
    "key twice": (zipped({"tree.json": tree({"dict": [["a", 1], ["a", 2]]})}), "which is invalid or occurs twice"),
    "list as key": (zipped({"tree.json": tree({"dict": [[[1], 1]]})}), "which is invalid or occurs twice"),
    "float": (zipped({"tree.json": tree({"float": "__import__('os')"})}), "has the kind 'float'"),
    "no array": (zipped({"tree.json": tree({"array": 5})}), r"has no member 5\.npy"),
    "array of text": (zipped({"tree.json": tree({"array": "../../x"})}), "has no number of an array"),
    "array of true": (zipped({"tree.json": tree({"array": True})}), "has no number of an array"),
    "wrong type": (
        zipped({"tree.json": tree({"tensor": {**TENSOR, "dtype": "int32"}}), "0.npy": ONE}),
        "is a tensor of type int32 in an array of float32",
    ),
    "no device": (
        zipped({"tree.json": tree({"tensor": {**TENSOR, "device": None}}), "0.npy": ONE}),
        "is a tensor of type float32",
    ),
    "compressed": (
        zipped({"tree.json": tree({"array": 0}), "0.npy": ONE}, zipfile.ZIP_DEFLATED),
        "is compressed, which files",
    ),
    "huge shape": (zipped({"w.npy": HUGE}), r"64 bytes are there for float32 \[1099511627776, 1048576\]"),
    "huge shape in a tree": (
        zipped({"tree.json": tree({"tensor": TENSOR}), "0.npy": HUGE}),
        "64 bytes are there for float32",
    ),
    "negative shape": (
        zipped({"w.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1)}", b"\0" * 4)}),
        "4 bytes are there for float32",
    ),
    "short array": (zipped({"w.npy": ONE[:-1]}), r"3 bytes are there for float32 \[1\]"),
    "long array": (zipped({"w.npy": ONE + b"\0"}), r"5 bytes are there for float32 \[1\]"),
    "objects": (
        zipped({"w.npy": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps([1]))}),
        "holds Python objects, which could run code",
    ),
    "records": (
        zipped({"w.npy": npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", b"\0" * 4)}),
        "is not an array that can be read",
    ),
    "no elements of no size": (
        zipped({"w.npy": npy("{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,)}")}),
        "is not an array that can be read",
    ),
    "header that calls": (
        zipped({"w.npy": npy("{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': ()}")}),
        "is not an array that can be read",
    ),
    "header of brackets": (zipped({"w.npy": npy("(" * 9000)}), "is not an array that can be read"),
    "long header": (zipped({"w.npy": npy(" " * 60_000)}), "is not an array that can be read"),
    "short header": (zipped({"w.npy": ONE[:20]}), "is not an array that can be read"),
    "no header": (zipped({"w.npy": b""}), "is not an array that can be read"),
    "other version": (zipped({"w.npy": ONE[:6] + b"\7\0" + ONE[8:]}), "version"),
    "unsigned": (
        zipped({"w.npy": npy("{'descr': '<u4', 'fortran_order': False, 'shape': (1,)}", b"\0" * 4)}),
        "w is of type uint32; tensors are of",
    ),
    "many dimensions": (
        zipped({"w.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (%s)}" % ("1," * 30), b"\0" * 4)}),
        "w is not a tensor",
    ),
    "npy of objects": (
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps([1])),
        "holds Python objects",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file_is_refused(case: str, tmp_path: Path) -> None:
    data, message = HOSTILE[case]
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(sg.FileFormatError, match=message) as raised:
        sg.load(path)
    assert str(path) in str(raised.value) and "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == ["file"]


def test_names_that_climb_are_only_names(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.npz").write_bytes(zipped({"../evil.npy": ONE, "/etc/evil.npy": ONE}))
    assert set(sg.load(tmp_path / "in" / "x.npz")) == {"../evil", "/etc/evil"}
    assert os.listdir(tmp_path) == ["in"] and os.listdir(tmp_path / "in") == ["x.npz"]


def test_a_small_archive_becomes_no_large_array() -> None:
    """98 KB that ask for 100 MB."""
    zeros = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (25000000,)}", bytes(100_000_000))
    data = zipped({"w.npy": zeros}, zipfile.ZIP_DEFLATED)
    assert len(data) < 100_000
    with pytest.raises(sg.FileFormatError, match=r"w\.npy needs 100,\d+,\d+ bytes, and .* pass max_bytes="):
        sg.load(io.BytesIO(data))


def test_what_an_archive_may_become_is_the_callers_choice() -> None:
    data = zipped({"w.npy": ONE, "v.npy": ONE}, zipfile.ZIP_DEFLATED)
    with pytest.raises(
        sg.FileFormatError, match=f"needs {len(ONE)} bytes, and .* use {2 * len(ONE) - 1 - len(ONE)} more"
    ):
        sg.load(io.BytesIO(data), max_bytes=2 * len(ONE) - 1)
    assert len(sg.load(io.BytesIO(data), max_bytes=2 * len(ONE))) == 2


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_are_packed_as_numpy_packs_them(compression: int) -> None:
    with pytest.raises(sg.FileFormatError, match=r"w\.npy is compressed, which files of this kind are not"):
        sg.load(io.BytesIO(zipped({"w.npy": ONE}, compression)))


def test_a_bool_of_a_file_is_true_or_false() -> None:
    """A changed byte may be neither 0 nor 1, and a sum must count it once."""
    data = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}", b"\2\3\0\1")
    assert sg.load(io.BytesIO(data)).sum().item() == 3


def test_an_archive_that_lost_its_list_is_no_empty_one() -> None:
    f = io.BytesIO()
    sg.save({"a": sg.arange(7)}, f)
    whole = f.getvalue()
    end = whole.rindex(b"PK\5\6")
    for first in range(8, 16):  # how many members there are, and how long their list is
        for last in range(first, 16):
            data = bytearray(whole)
            data[end + first : end + last + 1] = bytes(last + 1 - first)
            if data != whole:
                with pytest.raises(sg.FileFormatError):
                    sg.load(io.BytesIO(bytes(data)))


def test_two_members_of_one_name_are_refused() -> None:
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("a.npy", ONE)
        archive.writestr("a.npy", ONE)
    with pytest.raises(sg.FileFormatError, match="a member twice"):
        sg.load(f)


def test_members_that_overlap_are_refused() -> None:
    """Many names for one content: each is small, all together are not."""
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("0.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (250,)}", b"\0" * 1000))
        first = archive.infolist()[0]
        for i in range(1, 20):
            other = zipfile.ZipInfo(f"{i}.npy")
            for field in ("CRC", "compress_size", "file_size", "header_offset"):
                setattr(other, field, getattr(first, field))
            archive.filelist.append(other)
    with pytest.raises(sg.FileFormatError, match="members larger than the file"):
        sg.load(f)


def test_no_cut_file_is_read() -> None:
    f = io.BytesIO()
    sg.save({"a": sg.arange(7), "b": [1, "x"]}, f)
    whole = f.getvalue()
    for end in range(len(whole)):
        with pytest.raises(sg.FileFormatError):
            sg.load(io.BytesIO(whole[:end]))


def test_no_flipped_bit_changes_what_is_read() -> None:
    f = io.BytesIO()
    sg.save({"a": sg.arange(7), "b": [1, "x"]}, f)
    whole, expected = f.getvalue(), {"a": list(range(7)), "b": [1, "x"]}
    refused = 0
    for i in range(len(whole)):
        damaged = bytearray(whole)
        damaged[i] ^= 1 << (i % 8)
        try:
            found = sg.load(io.BytesIO(bytes(damaged)))
        except sg.FileFormatError:
            refused += 1
        else:
            assert {"a": found["a"].tolist(), "b": found["b"]} == expected
    assert refused > len(whole) * 0.7


def test_code_is_never_allowed() -> None:
    with pytest.raises(ValueError, match="weights_only=False would run code"):
        sg.load(io.BytesIO(), weights_only=False)


# --- safetensors


@pytest.mark.parametrize("dtype", DTYPES)
def test_safetensors_keep_every_type(dtype: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("ml_dtypes")
    x = sample(dtype)
    for y in (x, x.T, x[0, 0]):
        sg.save_safetensors({"a.b": y, "other": sg.ones(1)}, tmp_path / "x.safetensors", {"note": "\u00fc"})
        found, metadata = sg.load_safetensors(tmp_path / "x.safetensors", return_metadata=True)
        assert (found["a.b"].dtype, found["a.b"].shape, bits(found["a.b"])) == (x.dtype, y.shape, bits(y))
        assert metadata == {"note": "\u00fc"}
    assert bits(sg.load(tmp_path / "x.safetensors")["a.b"]) == bits(x[0, 0])


def test_safetensors_are_those_of_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    sg.save_safetensors({"w": sg.arange(6).reshape(2, 3)}, tmp_path / "a")
    assert library.load_file(tmp_path / "a")["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    library.save_file({"w": np.float32([[1, 2]])}, tmp_path / "b")
    assert sg.load_safetensors(tmp_path / "b")["w"].tolist() == [[1, 2]]
    assert sg.load_safetensors(tmp_path / "b", map_location="cpu", return_metadata=True)[1] == {}


def safetensors(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def two(first: list[int], second: list[int], size: int) -> bytes:
    about = {"dtype": "F32", "shape": [1]}
    return safetensors({"a": {**about, "data_offsets": first}, "b": {**about, "data_offsets": second}}, bytes(size))


def test_the_sample_of_bad_safetensors_would_be_read_if_it_were_sound() -> None:
    pytest.importorskip("safetensors")
    assert sg.load_safetensors(io.BytesIO(two([0, 4], [4, 8], 8)))["b"].tolist() == [0.0]


@pytest.mark.parametrize(
    "data",
    [
        two([0, 4], [4, 8], 8).replace(b'"b"', b'"a"'),
        two([0, 4], [0, 4], 4),
        two([0, 4], [2, 6], 6),
        two([0, 4], [8, 12], 12),
        two([0, 4], [8, 4], 8),
        two([0, 4], [4, 8], 12),
        safetensors(b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "\xff\xfe": 1}', bytes(4)),
        safetensors([1, 2]),
        safetensors(b'{"w":' + b"[" * 100_000),
        struct.pack("<Q", 200_000_000) + b"{" + b" " * 1000,
        safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 7),
        safetensors({"w": {"dtype": "F32", "shape": [2**60, 2**60], "data_offsets": [0, 8]}}, b"\0" * 8),
        safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}, b"\0" * 8),
        safetensors({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}} | {"v": 3}, b"\0" * 4),
        safetensors({"w": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, b"\0" * 4),
        safetensors(b"{" * 5000),
        struct.pack("<Q", 2**63) + b"{}",
        b"\0" * 8 + b"{",
        b"",
    ],
)
def test_bad_safetensors_are_refused(data: bytes) -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(sg.FileFormatError, match="the file"):
        sg.load_safetensors(io.BytesIO(data))


def test_safetensors_refuse_what_is_no_tensor() -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(TypeError, match="save_safetensors: a is a float"):
        sg.save_safetensors({"a": 1.0}, io.BytesIO())
    with pytest.raises(TypeError, match="the name 3 is a int"):
        sg.save_safetensors({3: sg.ones(1)}, io.BytesIO())  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="the metadata 'epoch' is a int"):
        sg.save_safetensors({}, io.BytesIO(), {"epoch": 3})  # type: ignore[dict-item]


def test_a_missing_library_is_named(run_python: Callable[..., str]) -> None:
    run_python("""
import io, sys
sys.modules["safetensors"] = sys.modules["safetensors.numpy"] = None
import spirograd as sg
for f in (lambda: sg.save_safetensors({}, io.BytesIO()), lambda: sg.load_safetensors(io.BytesIO(b"x"))):
    try:
        f()
    except ImportError as error:
        assert "safetensors is not installed; pip install spirograd[io]" in str(error), error
    else:
        raise AssertionError
""")


# --- modules


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_weights_of_a_module_come_back(ending: str, tmp_path: Path) -> None:
    if ending == ".safetensors":
        pytest.importorskip("safetensors")
    net, other = (sg.nn.Sequential(sg.nn.Linear(3, 2), sg.nn.Tanh(), sg.nn.Linear(2, 1)) for _ in range(2))
    x = sg.ones(4, 3)
    sg.save_weights(net, tmp_path / f"net{ending}")
    assert other(x).tolist() != net(x).tolist()
    sg.load_weights(other, tmp_path / f"net{ending}")
    assert other(x).tolist() == net(x).tolist()


def test_weights_need_a_known_ending_and_names_that_fit(tmp_path: Path) -> None:
    net = sg.nn.Linear(3, 2)
    with pytest.raises(ValueError, match=r"model\.bin ends in '\.bin'; use \.safetensors or \.npz"):
        sg.save_weights(net, tmp_path / "model.bin")
    sg.save([1, 2], tmp_path / "list.npz")
    with pytest.raises(sg.FileFormatError, match="holds no dict of tensors"):
        sg.load_weights(net, tmp_path / "list.npz")


def test_long_keys_take_no_time() -> None:
    """Each message of a part would name the key above it."""
    f = io.BytesIO()
    start = time.process_time()
    sg.save({"k" * 3_000_000: [1] * 100_000}, f)
    assert len(sg.load(f)["k" * 3_000_000]) == 100_000
    assert time.process_time() - start < 5
