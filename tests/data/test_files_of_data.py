"""Data in files: folders of images, tables, mapped arrays, and the published formats at full size."""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from process_memory import peak
from reference.archives import tarred
from spirograd import datasets, transforms
from spirograd.datasets import images
from spirograd.datasets.download import Download
from spirograd.utils.data import ArrayDataset, DataLoader, Subset

WORKERS: list[dict[str, Any]] = [{}, {"num_workers": 2}, {"num_workers": 2, "multiprocessing_context": "spawn"}]


# ---- folders of images -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two cats, one of them in grey and one below, a dog, and files that are no images."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    for name, colour in (("cat/a.png", (255, 0, 0)), ("cat/b/b.PNG", 128), ("dog/c.png", (0, 0, 255))):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.new("L" if isinstance(colour, int) else "RGB", (20, 10), colour).save(path)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "README").write_text("no class")
    return tmp_path


def test_folders_are_classes(folder: Path) -> None:
    found = datasets.ImageFolder(folder)
    assert found.classes == ["cat", "dog"] and found.class_to_idx == {"cat": 0, "dog": 1}
    assert [Path(p).name for p, _ in found.imgs] == ["a.png", "b.PNG", "c.png"] and found.targets == [0, 0, 1]
    image, label = found[0]
    assert image.dtype == np.uint8 and image.shape == (3, 10, 20) and label == 0
    assert [found[i][0][:, 0, 0].tolist() for i in range(3)] == [[255, 0, 0], [128] * 3, [0, 0, 255]]


@pytest.mark.parametrize(
    "workers", [{}, {"num_workers": 2}, {"num_workers": 1, "multiprocessing_context": "spawn"}], ids=str
)
def test_a_loader_makes_batches_of_a_folder(folder: Path, workers: dict[str, Any]) -> None:
    ready = transforms.Compose([transforms.Resize((8, 8)), transforms.ToDtype("float32", scale=True)])
    loader = DataLoader(datasets.ImageFolder(folder, ready), batch_size=3, pin_memory=True, **workers)
    (batch, labels), *rest = loader
    assert not rest and batch.shape == (3, 3, 8, 8) and batch.dtype == sg.float32 and labels.tolist() == [0, 0, 1]
    np.testing.assert_allclose(batch[:, :, 0, 0].numpy(), [[1, 0, 0], [128 / 255] * 3, [0, 0, 1]], rtol=1e-6)


def test_what_is_wrong_with_a_folder_is_said(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no image of empty; remove it, or allow_empty=True"):
        datasets.ImageFolder(folder)
    assert len(datasets.ImageFolder(folder, allow_empty=True).classes) == 3
    with pytest.raises(FileNotFoundError, match="has no folders; give one folder for each class"):
        datasets.ImageFolder(folder / "empty")
    (folder / "dog" / "d.png").write_bytes(b"no image")
    with pytest.raises(sg.FileFormatError, match=r"load_image: .*d\.png is no image that Pillow reads"):
        datasets.ImageFolder(folder, allow_empty=True)[3]
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"load_image: Pillow is not installed; pip install spirograd\[data\]"):
        datasets.load_image(folder / "cat" / "a.png")


def png(width: int, height: int) -> bytes:
    """All black, in two colours: as small as such a file can be."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((width // 8 + 1) * height), 9)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore:Image size")  # Pillow's own limit
def test_a_small_image_becomes_no_large_one(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image", reason="needs Pillow")
    path, before = tmp_path / "x.png", peak()
    path.write_bytes(png(12_000, 12_000))
    assert path.stat().st_size < 20_000
    with pytest.raises(sg.FileFormatError, match=r"12000 x 12000 pixels, 16,777,216 may be; see max_pixels="):
        datasets.load_image(path)
    path.write_bytes(png(60_000, 60_000)[:200])
    with pytest.raises(sg.FileFormatError):
        datasets.load_image(path)
    assert peak() - before < 64 << 20
    path.write_bytes(png(3000, 2000))
    with pytest.raises(sg.FileFormatError, match="may be"):
        datasets.load_image(path, max_pixels=5_000_000)
    assert datasets.load_image(path).shape == (3, 2000, 3000)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
@pytest.mark.parametrize(
    "content",
    [
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(x) run\n%%EOF\n",
        b"\x89PNG\r\n\x1a\n" + bytes(40), b"GIF89a" + b"\xff" * 40, b"BM" + b"\xff" * 60, b"II*\0" + b"\xff" * 60,
        b"P6 99999999999999999999 1 255\n", b"P6 3 3 0\n", b"RIFF\xff\xff\xff\xffWEBPVP8L\xff", b"\xff\xd8\xff\0", b"",
    ],
)  # fmt: skip
def test_what_is_no_image_starts_nothing(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL.Image", reason="needs Pillow")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a program was started"))
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(sg.FileFormatError, match=r"load_image: .*x\.png is no image that Pillow reads") as error:
        datasets.load_image(tmp_path / "x.png")
    assert "\n" not in str(error.value)


@pytest.mark.needs("fork")
def test_links_may_lead_in_circles(folder: Path) -> None:
    (folder / "cat" / "b" / "up").symlink_to(folder / "cat")
    (folder / "cat" / "c").symlink_to(folder / "cat" / "b")
    (folder / "dog" / "own").symlink_to(folder / "dog")
    deep = folder / "dog" / "deep"
    deep.mkdir()
    for i in range(30):
        (deep / f"{i}").mkdir()
        for side in ("left", "right"):
            (deep / f"{i}" / side).symlink_to(deep / f"{i + 1}")
    found = datasets.ImageFolder(folder)
    assert [Path(path).name for path, _ in found.samples] == ["a.png", "b.PNG", "c.png"]
    os.mkfifo(folder / "dog" / "z.png")
    with pytest.raises(sg.FileFormatError, match="it is no file"):
        datasets.ImageFolder(folder)[3]


# ---- tables ----------------------------------------------------------------------------------------------------------

CSV = "height,colour,width,weight,ripe\n1.5,red,2,0.5,true\n2.5,blue,,1.5,false\n3.0,red,4,2.5,true\n"


@pytest.fixture(params=["csv", "tsv", "parquet", "feather", "folder"])
def path_of_table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    csv = pytest.importorskip("pyarrow.csv", reason="needs pyarrow")
    path = tmp_path / f"table.{request.param}"
    (tmp_path / "t.csv").write_text(CSV)
    if request.param in ("csv", "tsv"):
        path.write_text(CSV if request.param == "csv" else CSV.replace(",", "\t"))
        return path
    found = csv.read_csv(tmp_path / "t.csv")
    if request.param == "feather":
        pytest.importorskip("pyarrow.feather").write_feather(found, path)
        return path
    parquet = pytest.importorskip("pyarrow.parquet")
    if request.param == "parquet":
        parquet.write_table(found, path)
        return path
    path.mkdir()
    parquet.write_table(found.slice(0, 2), path / "a.parquet")
    parquet.write_table(found.slice(2), path / "b.parquet")
    return path


def test_columns_are_arrays(path_of_table: Path) -> None:
    found = datasets.read_table(path_of_table)
    assert list(found) == ["height", "colour", "width", "weight", "ripe"]
    assert found["height"].tolist() == [1.5, 2.5, 3.0] and found["colour"].tolist() == ["red", "blue", "red"]
    assert found["width"][0] == 2 and np.isnan(found["width"][1]) and found["ripe"].tolist() == [True, False, True]
    assert list(datasets.read_table(path_of_table, ["weight", "colour"])) == ["weight", "colour"]


def test_a_table_is_inputs_and_targets(path_of_table: Path) -> None:
    found = datasets.table(path_of_table, "colour")
    assert found.columns == ["height", "width", "weight", "ripe"] and found.classes == ["blue", "red"]
    assert found.inputs.shape == (3, 4) and found.inputs.dtype == np.float32 and found.targets.tolist() == [1, 0, 1]
    numbers = datasets.table(path_of_table, "weight", ["ripe", "height"])
    assert numbers.targets.dtype == np.float32 and numbers.targets.tolist() == [0.5, 1.5, 2.5] and not numbers.classes
    assert numbers.inputs.tolist() == [[1, 1.5], [0, 2.5], [1, 3.0]]
    flags = datasets.table(path_of_table, "ripe", ["height"])
    assert flags.targets.tolist() == [1, 0, 1] and flags.classes == [False, True]
    assert sg.fit(sg.nn.Linear(1, 2), flags.inputs, flags.targets, verbose=0).steps == 1


def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    for message, call in (
        ("read_table: .* ends in none of .csv, .tsv", lambda: datasets.read_table(tmp_path / "t.xls")),
        ("has no column '?.*x.*'?; use height, colour", lambda: datasets.read_table(path, ["x"])),
        ("table: .* has no column 'x'; use height", lambda: datasets.table(path, "x")),
        ("table: the column 'colour' has no numbers", lambda: datasets.table(path, "ripe", ["colour"])),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(FileNotFoundError):
        datasets.read_table(tmp_path / "none.csv")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(sg.FileFormatError, match=r"bad\.parquet is no parquet that pyarrow reads"):
        datasets.read_table(tmp_path / "bad.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"read_table: pyarrow is not installed; pip install spirograd\[data\]"):
        datasets.read_table(path)


# ---- mapped arrays ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "workers", [{}, {"num_workers": 2}, {"num_workers": 2, "multiprocessing_context": "spawn"}], ids=str
)
def test_rows_of_files_are_batches(tmp_path: Path, workers: dict[str, Any]) -> None:
    x, y = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32), np.arange(50)
    np.save(tmp_path / "x.npy", x)
    rows = ArrayDataset(tmp_path / "x.npy", y)
    assert len(rows) == 50 and rows[7][1] == 7
    loader = DataLoader(Subset(rows, range(49, -1, -1)), batch_size=20, **workers)
    seen = list(loader)
    np.testing.assert_array_equal(np.concatenate([a.numpy() for a, _ in seen]), x[::-1])
    assert np.concatenate([b.numpy() for _, b in seen]).tolist() == y[::-1].tolist()


def test_a_mapped_file_is_read_by_rows_and_pickled_by_name(tmp_path: Path) -> None:
    path = tmp_path / "large.npy"
    large = np.lib.format.open_memmap(path, "w+", np.float32, (1 << 20, 256))  # 1 GiB, of which nothing is written
    large[12345] = 7
    large.flush()
    del large
    rows = ArrayDataset(path)
    assert isinstance(rows.arrays[0], np.memmap) and len(pickle.dumps(rows)) < 1000
    again = pickle.loads(pickle.dumps(rows))
    loader = DataLoader(again, batch_sampler=[[12345, 0], [1 << 19]])
    assert [batch[:, 0].tolist() for batch in loader] == [[7.0, 0.0], [0.0]]
    with pytest.raises(ValueError, match=r"ArrayDataset: the arrays have \[2, 3\] rows"):
        ArrayDataset(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="give at least one array"):
        ArrayDataset()


@pytest.mark.parametrize("content", ["no array", "objects", "archive", "shorter", "folder"])
def test_what_is_no_mapped_array_is_said(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([1, None], object) if content == "objects" else np.zeros((5, 3)))
    if content == "no array":
        path.write_bytes(b"no array")
    if content == "archive":
        np.savez(path.open("wb"), np.zeros(3))
    if content == "shorter":
        os.truncate(path, 200)
    with pytest.raises(sg.FileFormatError, match=r"ArrayDataset: .* is not a \.npy file that can be mapped") as error:
        ArrayDataset(tmp_path if content == "folder" else path)
    assert "\n" not in str(error.value)


CUT = """
import os, sys
import numpy as np
import spirograd as sg
from spirograd.utils.data import ArrayDataset, DataLoader
path, start = sys.argv[1], 12345 if sys.argv[2] == "offset" else 0
values = np.memmap(path, np.float32, "r", start, (2000, 256)) if start else None
rows = ArrayDataset(path if values is None else values)
os.truncate(path, 4096)
loader = DataLoader(rows, batch_size=2000, num_workers=int(sys.argv[3]))
for read in (lambda: rows[1999], lambda: rows[[0, 1999]], lambda: rows[1000:], lambda: next(iter(loader))):
    try:
        read()
    except sg.FileFormatError as error:
        print(str(error).partition(" has ")[2])
"""


@pytest.mark.needs("fork")
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("form", ["npy", "offset"])
def test_a_file_that_was_cut_ends_no_process(form: str, workers: int, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2012, 256), np.float32))
    command = [sys.executable, "-c", CUT, str(path), form, str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line[:12] for line in done.stdout.splitlines()] == ["4,096 bytes,"] * 4


# ---- the published formats, at full size -----------------------------------------------------------------------------


def idx(a: np.ndarray[Any, Any]) -> bytes:
    return bytes([0, 0, 8, a.ndim]) + b"".join(n.to_bytes(4, "big") for n in a.shape) + a.tobytes()


def test_all_of_mnist_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIROGRAD_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    random = np.random.default_rng(0)
    kept = {}
    for split, first, rows in (("train", "train", 60_000), ("test", "t10k", 10_000)):
        kept[split] = random.integers(0, 256, (rows, 28, 28), np.uint8), random.integers(0, 10, rows, np.uint8)
        for name, values in zip((f"{first}-images-idx3-ubyte", f"{first}-labels-idx1-ubyte"), kept[split], strict=True):
            (tmp_path / "mnist" / name).write_bytes(data := idx(values))
            monkeypatch.setitem(images.MNIST_DIGESTS, name, hashlib.sha256(data).hexdigest())
    for split, (pictures, labels) in kept.items():
        found = datasets.MNIST(train=split == "train", download=False)
        assert np.array_equal(found.data, pictures) and np.array_equal(found.targets, labels)
    x, y = datasets.mnist("test", download=False)
    assert x.shape == (10_000, 784) and np.array_equal(y, kept["test"][1])


@pytest.mark.parametrize("packed", [False, True], ids=["unpacked", "archive"])
def test_all_of_cifar_from_a_folder(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIROGRAD_DATA", str(tmp_path))
    random = np.random.default_rng(0)
    rows = 300 if packed else 10_000  # to pack the whole takes long
    if packed:
        monkeypatch.setattr(images, "CIFAR10_ROWS", rows)
        monkeypatch.setattr(images, "CIFAR100_ROWS", {"train": 5 * rows, "test": rows})
    for kind, folder, inner, sizes, labels in (
        (datasets.CIFAR10, "cifar-10", "cifar-10-batches-bin", {f"data_batch_{i}": rows for i in range(1, 6)}, [10]),
        (datasets.CIFAR100, "cifar-100", "cifar-100-binary", {"train": 5 * rows}, [20, 100]),
    ):
        test = {"test_batch" if kind is datasets.CIFAR10 else "test": rows}
        files, tables = {}, {}
        for name, count in {**sizes, **test}.items():
            columns = [random.integers(0, most, (count, 1), np.uint8) for most in labels]
            tables[name] = np.concatenate([*columns, random.integers(0, 256, (count, 3072), np.uint8)], 1)
            files[f"{inner}/{name}.bin"] = tables[name].tobytes()
        (tmp_path / folder / inner).mkdir(parents=True)
        if packed:
            archive = tarred(files)
            (tmp_path / folder / f"{inner}.tar.gz").write_bytes(archive)
            source = Download(f"{inner}.tar.gz", (), hashlib.sha256(archive).hexdigest())
            monkeypatch.setattr(images, f"{kind.__name__}_ARCHIVE", source)
        else:
            for name, data in files.items():
                (tmp_path / folder / name).write_bytes(data)
        for train, names in ((True, sizes), (False, test)):
            found = kind(train=train, download=False)
            whole = np.concatenate([tables[name] for name in names])
            assert np.array_equal(found.targets, whole[:, len(labels) - 1])
            assert np.array_equal(found.data.reshape(-1, 3072), whole[:, len(labels) :])
    x, y = datasets.cifar100("test", download=False)
    assert x.shape == (rows, 3, 32, 32) and x.max() == 1 and y.max() == 99
    if packed:
        return
    data = bytearray(files["cifar-100-binary/test.bin"])
    data[1] = 100
    (tmp_path / "cifar-100" / "cifar-100-binary" / "test.bin").write_bytes(data)
    with pytest.raises(sg.FileFormatError, match="cifar-100: there is a class 100, they are 0 to 99"):
        datasets.cifar100("test", download=False)
