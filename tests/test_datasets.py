"""Data sets: strict parsing, check-sums, and downloads that break, resume and fail, from a server of our own."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from spirograd import datasets

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint64).astype(np.uint8).reshape(3, 28, 28)
LABELS = np.array([7, 0, 9], np.uint8)


def idx(a: np.ndarray) -> bytes:
    return bytes([0, 0, 8, a.ndim]) + b"".join(n.to_bytes(4, "big") for n in a.shape) + a.tobytes()


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`. `ranges`: whether it continues; `cut`: bytes after which it hangs up, for one request."""

    files: dict[str, bytes]
    ranges = True
    cut: int | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append((self.path, wanted))
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = 0
        if wanted and self.server.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut, self.server.cut = self.server.cut, None
        self.wfile.write(body[start : None if cut is None else start + cut])

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def tiny(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """MNIST with three images, on our server; returns where its cache is."""
    files = []
    for name, values in (("t10k-images-idx3-ubyte", IMAGES), ("t10k-labels-idx1-ubyte", LABELS)):
        data = idx(values)
        server.files[f"/{name}.gz"] = gzip.compress(data)
        files.append(datasets._File(name, values.shape, hashlib.sha256(data).hexdigest()))
    monkeypatch.setattr(datasets, "_MNIST", {"test": tuple(files)})
    monkeypatch.setattr(datasets, "MNIST_MIRRORS", (server.url,))
    monkeypatch.setenv("SPIROGRAD_CACHE", str(tmp_path))
    monkeypatch.delenv("SPIROGRAD_DATA", raising=False)
    return tmp_path / "data" / "mnist"


def test_parse_idx() -> None:
    assert (datasets.parse_idx(idx(IMAGES)) == IMAGES).all()
    assert datasets.parse_idx(idx(np.zeros((0, 28), np.uint8))).shape == (0, 28)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "starts with nothing"),
        (b"\x1f\x8b\x08\x00rest", "not an IDX file"),
        (bytes([0, 0, 13, 1, 0, 0, 0, 1, 0, 0, 0, 0]), "element type 0x0d"),
        (bytes([0, 0, 8, 0]), "rank 0"),
        (bytes([0, 0, 8, 3, 0, 0, 0, 1]), "the sizes are missing"),
        (idx(LABELS)[:-1], r"holds 2 values, its sizes \[3\] need 3"),
        (idx(LABELS) + b"x", r"holds 4 values, its sizes \[3\] need 3"),
        (bytes([0, 0, 8, 3]) + b"\xff" * 12, "need 79,228,162,"),
    ],
)
def test_parse_idx_refuses(data: bytes, words: str) -> None:
    with pytest.raises(sg.FileFormatError, match=words):
        datasets.parse_idx(data, "some file")


def test_download_then_cache(tiny: Path, server: Server) -> None:
    images, labels = datasets.mnist("test")
    assert images.shape == (3, 784) and images.dtype == np.float32
    assert labels.dtype == np.int64 and labels.tolist() == LABELS.tolist()
    assert np.array_equal(images.reshape(3, 28, 28), IMAGES / np.float32(255))
    assert sorted(p.name for p in tiny.iterdir()) == ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    asked = len(server.asked)
    datasets.mnist("test", download=False)
    assert len(server.asked) == asked


def test_broken_download_goes_on(tiny: Path, server: Server) -> None:
    server.cut = 100
    with pytest.raises(datasets.DatasetUnavailableError, match="after 100 of"):
        datasets.mnist("test")
    assert [p.stat().st_size for p in tiny.glob("*.part")] == [100]
    datasets.mnist("test")
    assert ("/t10k-images-idx3-ubyte.gz", "bytes=100-") in server.asked
    assert not list(tiny.glob("*.part"))


def test_server_that_cannot_go_on(tiny: Path, server: Server) -> None:
    server.cut, server.ranges = 100, False
    with pytest.raises(datasets.DatasetUnavailableError):
        datasets.mnist("test")
    assert len(datasets.mnist("test").images) == 3


@pytest.mark.parametrize("extra", [b"", b"more"])
def test_damaged_part_is_fetched_anew(tiny: Path, server: Server, extra: bytes) -> None:
    server.cut = 100
    with pytest.raises(datasets.DatasetUnavailableError):
        datasets.mnist("test")
    (part,) = tiny.glob("*.part")
    size = len(server.files["/t10k-images-idx3-ubyte.gz"]) if extra else 100
    part.write_bytes(b"?" * size + extra)
    assert len(datasets.mnist("test").images) == 3


def test_whole_part_is_used(tiny: Path, server: Server) -> None:
    server.cut = 10**9
    datasets.mnist("test")
    whole = tiny / "t10k-images-idx3-ubyte.gz"
    url = f"{server.url}t10k-images-idx3-ubyte.gz"
    whole.rename(whole.with_name(f"{whole.name}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"))
    assert len(datasets.mnist("test").images) == 3


def test_wrong_content_takes_the_next_mirror(tiny: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files["/wrong/t10k-images-idx3-ubyte.gz"] = gzip.compress(idx(IMAGES + np.uint8(1)))
    server.files["/wrong/t10k-labels-idx1-ubyte.gz"] = b"no gzip"
    monkeypatch.setattr(datasets, "MNIST_MIRRORS", (server.url + "wrong/",))
    with pytest.raises(datasets.DatasetUnavailableError, match="SHA-256 differs"):
        datasets.mnist("test")
    monkeypatch.setattr(datasets, "MNIST_MIRRORS", (server.url + "wrong/", server.url + "absent/", server.url))
    assert datasets.mnist("test").labels.tolist() == LABELS.tolist()
    assert not list(tiny.glob("*.part"))


def test_damaged_cache_is_replaced(tiny: Path) -> None:
    datasets.mnist("test")
    path = tiny / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    assert datasets.mnist("test").labels.tolist() == LABELS.tolist()


def test_offline_says_what_to_do(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MNIST_MIRRORS", ("http://127.0.0.1:9/",))
    with pytest.raises(
        datasets.DatasetUnavailableError, match=r"t10k-images-idx3-ubyte\.gz into the folder mnist/ of SPIROGRAD_DATA"
    ):
        datasets.mnist("test")
    with pytest.raises(datasets.DatasetUnavailableError, match="allow the download"):
        datasets.mnist("test", download=False)


@pytest.mark.parametrize("packed", [True, False])
def test_own_folder(tiny: Path, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, packed: bool) -> None:
    folder = tmp_path / "own" / "mnist"
    folder.mkdir(parents=True)
    for name, body in server.files.items():
        path = folder / name[1:]
        path.write_bytes(body) if packed else path.with_suffix("").write_bytes(gzip.decompress(body))
    monkeypatch.setenv("SPIROGRAD_DATA", str(folder.parent))
    assert datasets.mnist("test").labels.tolist() == LABELS.tolist()
    assert not server.asked
    labels = folder / ("t10k-labels-idx1-ubyte.gz" if packed else "t10k-labels-idx1-ubyte")
    labels.write_bytes(b"something else")
    with pytest.raises(sg.FileFormatError, match="delete it or replace it"):
        datasets.mnist("test")


def test_unknown_split() -> None:
    with pytest.raises(ValueError, match="split is 'validation'"):
        datasets.mnist("validation")


def test_digits() -> None:
    pytest.importorskip("sklearn", reason="digits come with scikit-learn")
    images, labels = datasets.digits()
    assert images.shape == (1797, 64) and images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1
    assert sorted(set(labels.tolist())) == list(range(10))


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SPIROGRAD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.cache_folder() == tmp_path / "spirograd" / "data"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert datasets.cache_folder() == tmp_path / "home" / ".cache" / "spirograd" / "data"
