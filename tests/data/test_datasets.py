"""Data sets: strict parsing, check-sums, and downloads that break, resume and fail, from a server of our own."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import multiprocessing
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.archives import tarred, zipped
from spirograd import datasets
from spirograd.datasets import download, images, texts
from spirograd.datasets.download import Download, File
from spirograd.utils.data import DataLoader
from threads import run_threads

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint64).astype(np.uint8).reshape(3, 28, 28)
LABELS = np.array([7, 0, 9], np.uint8)
BODY = bytes(range(256)) * 40
PACKED = gzip.compress(BODY, 0)


def idx(a: np.ndarray) -> bytes:
    return bytes([0, 0, 8, a.ndim]) + b"".join(n.to_bytes(4, "big") for n in a.shape) + a.tobytes()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`. `ranges`: whether it continues; `cut`: bytes after which it hangs up, for one request;
    `tag`: the version it tells."""

    ranges = True
    cut: int | None = None
    tag: str | None = None
    tells: bool | str = True  # the length
    sent = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted, like = self.headers.get("Range"), self.headers.get("If-Range")
        self.server.asked.append((self.path, wanted))
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = 0
        if wanted and self.server.ranges and like in (None, self.server.tag):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if self.server.tells:
            self.send_header(
                "Content-Length", str(len(body) - start if self.server.tells is True else self.server.tells)
            )
        if self.server.tag:
            self.send_header("ETag", self.server.tag)
        self.end_headers()
        cut, self.server.cut = self.server.cut, None
        body = body[start : None if cut is None else start + cut]
        with contextlib.suppress(ConnectionError):  # nobody listens any longer
            for i in range(0, len(body), 1 << 14):
                self.wfile.write(body[i : i + (1 << 14)])
                self.server.sent += len(body[i : i + (1 << 14)])

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        server.files["/thing.gz"] = PACKED
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where downloads go."""
    monkeypatch.setenv("SPIROGRAD_CACHE", str(tmp_path))
    monkeypatch.delenv("SPIROGRAD_DATA", raising=False)
    return tmp_path / "data"


@pytest.fixture
def thing(server: Server, cache: Path) -> Callable[..., bytes]:
    """Reads the file `thing`, which the server has as thing.gz."""

    def read(*mirrors: str, fetch: bool = True, packed: str | None = None, root: Path | None = None) -> bytes:
        source = Download("thing.gz", tuple(f"{m}thing.gz" for m in mirrors or (server.url,)), packed)
        return download.read("things", [File("thing", len(BODY), digest(BODY))], source, root, fetch)[0]

    return read


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


class TestDownload:
    def test_then_cache(self, thing: Callable[..., bytes], cache: Path, server: Server) -> None:
        assert thing() == BODY and names(cache / "things") == ["thing.gz"]
        assert thing(fetch=False) == BODY and len(server.asked) == 1

    def test_broken_one_goes_on(self, thing: Callable[..., bytes], cache: Path, server: Server) -> None:
        server.cut, server.tag = 100, '"v1"'
        with pytest.raises(datasets.DatasetUnavailableError, match="after 100 of"):
            thing()
        assert [p.stat().st_size for p in cache.rglob("*.part.thing.gz")] == [100]
        assert thing() == BODY and server.asked[1] == ("/thing.gz", "bytes=100-")
        assert names(cache / "things") == ["thing.gz"]

    def test_changed_meanwhile(self, thing: Callable[..., bytes], server: Server) -> None:
        server.files["/thing.gz"] = gzip.compress(BODY, 9)  # what the first part is of
        server.cut, server.tag = 20, '"v1"'
        with pytest.raises(datasets.DatasetUnavailableError):
            thing()
        server.files["/thing.gz"], server.tag = PACKED, '"v2"'
        assert thing() == BODY
        assert len(server.asked) == 2  # If-Range: it came whole, at once

    def test_changed_without_a_version(self, thing: Callable[..., bytes], cache: Path, server: Server) -> None:
        server.cut = 100
        with pytest.raises(datasets.DatasetUnavailableError):
            thing()
        (part,) = cache.rglob("*.part.thing.gz")
        part.write_bytes(b"?" * 100)
        assert thing() == BODY
        assert [wanted for _, wanted in server.asked] == [None, "bytes=100-", None]

    def test_server_that_cannot_go_on(self, thing: Callable[..., bytes], server: Server) -> None:
        server.cut, server.ranges = 100, False
        with pytest.raises(datasets.DatasetUnavailableError):
            thing()
        assert thing() == BODY

    @pytest.mark.parametrize("part", [PACKED, PACKED + b"more"])
    def test_whole_part(self, thing: Callable[..., bytes], cache: Path, server: Server, part: bytes) -> None:
        server.cut = 100
        with pytest.raises(datasets.DatasetUnavailableError):
            thing()
        next(cache.rglob("*.part.thing.gz")).write_bytes(part)
        assert thing() == BODY and names(cache / "things") == ["thing.gz"]

    @pytest.mark.parametrize("tells", [True, False], ids=["told", "untold"])
    def test_mirror_that_sends_without_end(self, server: Server, cache: Path, tells: bool) -> None:
        server.files["/thing.gz"], server.tells = bytes(1 << 24), tells
        source = Download("thing.gz", (f"{server.url}thing.gz",), limit=100_000)
        with pytest.raises(datasets.DatasetUnavailableError, match="what it sent is not thing"):
            download.read("things", [File("thing")], source, None, True)
        assert server.sent < 1 << 24 and list(cache.rglob("*thing.gz*")) == []

    def test_length_that_is_no_number(self, thing: Callable[..., bytes], server: Server) -> None:
        server.tells = "many"
        assert thing() == BODY

    def test_next_mirror(self, thing: Callable[..., bytes], cache: Path, server: Server) -> None:
        server.files["/wrong/thing.gz"] = gzip.compress(BODY[::-1])
        server.files["/none/thing.gz"] = b"no gzip"
        server.files["/longer/thing.gz"] = gzip.compress(BODY + b"x")
        wrong = [server.url + w for w in ("wrong/", "none/", "longer/", "absent/")]
        with pytest.raises(datasets.DatasetUnavailableError) as caught:
            thing(*wrong)
        assert str(caught.value).count("check-sum differs") == 1 and "404" in str(caught.value)
        assert all(url in str(caught.value) for url in wrong), "addresses with one reason stand together"
        assert thing(*wrong, server.url) == BODY and names(cache / "things") == ["thing.gz"]

    def test_digest_of_what_is_packed(self, thing: Callable[..., bytes]) -> None:
        with pytest.raises(datasets.DatasetUnavailableError, match="check-sum differs"):
            thing(packed=digest(b"other"))
        assert thing(packed=digest(PACKED)) == BODY

    def test_damaged_cache_is_replaced(self, thing: Callable[..., bytes], cache: Path) -> None:
        thing()
        path = cache / "things" / "thing.gz"
        path.write_bytes(PACKED[:-9])
        assert thing() == BODY and path.read_bytes() == PACKED

    def test_offline_says_what_to_do(self, thing: Callable[..., bytes]) -> None:
        with pytest.raises(
            datasets.DatasetUnavailableError, match=r"thing\.gz into the folder things/ of SPIROGRAD_DATA"
        ):
            thing("http://127.0.0.1:9/")
        with pytest.raises(datasets.DatasetUnavailableError, match="allow the download"):
            thing(fetch=False)

    def test_four_at_once(self, thing: Callable[..., bytes], cache: Path, server: Server) -> None:
        found: list[bytes] = []
        run_threads(lambda _: found.append(thing()), 4)
        assert found == [BODY] * 4 and names(cache / "things") == ["thing.gz"]
        assert sum(wanted is None for _, wanted in server.asked) <= 4

    def test_second_process_waits_and_takes_what_the_first_got(
        self, thing: Callable[..., bytes], cache: Path, server: Server
    ) -> None:
        part = cache / "things" / f"{digest((server.url + 'thing.gz').encode())[:8]}.part.thing.gz"
        part.parent.mkdir(parents=True)
        held, go = multiprocessing.get_context("spawn").Pipe()
        other = multiprocessing.get_context("spawn").Process(target=hold, args=(part, go))
        other.start()
        held.recv()
        found: list[bytes] = []
        waiting = threading.Thread(target=lambda: found.append(thing()))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive() and not server.asked
        held.send(None)
        waiting.join(10)
        other.join()
        assert found == [BODY] and not server.asked

    @pytest.mark.parametrize("terminal", [True, False])
    def test_bar(self, thing: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
        screen = io.StringIO()
        screen.isatty = lambda: terminal  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stderr", screen)
        thing()
        size = len(PACKED) >> 10
        assert (f"thing.gz (KiB): [####################] {size}/{size}" in screen.getvalue()) == terminal
        begun = re.fullmatch(r"downloading thing\.gz, [\d.]+ MiB, into \S+\n", screen.getvalue())
        assert bool(begun) != terminal


def hold(part: Path, pipe: Any) -> None:
    """Another process that downloads."""
    with download._alone(part) as out:
        assert out is not None
        pipe.send(None)
        pipe.recv()
        out.write(PACKED)
        out.flush()
        download._before_a_move(out)
        part.replace(part.with_name("thing.gz"))


class TestFolders:
    @pytest.mark.parametrize("by_variable", [True, False])
    @pytest.mark.parametrize("packed", [True, False])
    def test_own(
        self,
        thing: Callable[..., bytes],
        server: Server,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        packed: bool,
        by_variable: bool,
    ) -> None:
        path = tmp_path / "own" / "things" / ("thing.gz" if packed else "thing")
        path.parent.mkdir(parents=True)
        path.write_bytes(PACKED if packed else BODY)
        root = None if by_variable else tmp_path / "own"
        if by_variable:
            monkeypatch.setenv("SPIROGRAD_DATA", str(tmp_path / "own"))
        assert thing(root=root) == BODY and not server.asked
        path.write_bytes(gzip.compress(BODY[::-1]) if packed else BODY[::-1])
        with pytest.raises(sg.FileFormatError, match=r"check-sum differs.*delete it or replace it"):
            thing(root=root)
        path.write_bytes(b"something else")
        with pytest.raises(sg.FileFormatError, match="delete it or replace it"):
            thing(root=root)

    def test_download_into_it(self, thing: Callable[..., bytes], cache: Path, tmp_path: Path) -> None:
        assert thing(root=tmp_path / "own") == BODY
        assert names(tmp_path / "own" / "things") == ["thing.gz"] and not cache.exists()

    def test_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("SPIROGRAD_CACHE", "0")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert datasets.cache_folder() == tmp_path / "spirograd" / "data"
        monkeypatch.delenv("SPIROGRAD_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        for name in ("HOME", "USERPROFILE"):
            monkeypatch.setenv(name, str(tmp_path / "home"))
        assert datasets.cache_folder() == tmp_path / "home" / ".cache" / "spirograd" / "data"


class TestArchives:
    @pytest.mark.parametrize(("name", "pack"), [("all.tar.gz", tarred), ("all.zip", zipped)])
    def test_files_of_an_archive(
        self, server: Server, cache: Path, tmp_path: Path, name: str, pack: Callable[[dict[str, bytes]], bytes]
    ) -> None:
        parts = {"in/b": b"second", "in/a": b"first", "in/c": b"x"}
        body = pack(parts)
        server.files[f"/{name}"] = body
        source = Download(name, (server.url + name,), digest(body))
        wanted = [File("in/a", 5, hashlib.sha1(b"first").hexdigest()), File("in/b", 6)]
        assert download.read("set", wanted, source, None, True) == [b"first", b"second"]
        assert names(cache / "set") == [name]
        with pytest.raises(datasets.DatasetUnavailableError, match="differs"):
            download.read("set", [File("in/d")], source, None, True)
        for places in (("in/a", "in/b"), ("a", "b")):  # unpacked by hand
            own = tmp_path / places[0].replace("/", "-")
            for place, data in zip(places, (b"first", b"second"), strict=True):
                (own / "set" / place).parent.mkdir(parents=True, exist_ok=True)
                (own / "set" / place).write_bytes(data)
            assert download.read("set", wanted, source, own, False) == [b"first", b"second"]

    def test_cut_archive_of_ones_own(self, tmp_path: Path) -> None:
        body = tarred({"a": bytes(100_000)})
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "all.tar.gz").write_bytes(body[:-20])
        with pytest.raises(sg.FileFormatError, match="is damaged"):
            download.read("set", [File("a")], Download("all.tar.gz", ()), tmp_path, False)


class TestIdx:
    def test_parse(self) -> None:
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
            (bytes([0, 0, 8, 7]) + b"\xff" * 24 + bytes(4), "has sizes"),
            (bytes([0, 0, 8, 200]) + bytes(800), "has sizes"),
        ],
    )
    def test_refuses(self, data: bytes, words: str) -> None:
        with pytest.raises(sg.FileFormatError, match=words):
            datasets.parse_idx(data, "some file")


@pytest.fixture
def tiny(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MNIST and Fashion-MNIST with three images, CIFAR-10 with two in a file, on our server."""
    for name, values in (("t10k-images-idx3-ubyte", IMAGES), ("t10k-labels-idx1-ubyte", LABELS)):
        data = idx(values)
        server.files[f"/{name}.gz"] = packed = gzip.compress(data)
        monkeypatch.setitem(images.MNIST_DIGESTS, name, digest(data))
        monkeypatch.setitem(images.FASHION_DIGESTS, name, digest(packed))
    monkeypatch.setattr(images, "MNIST_ROWS", {"train": 5, "test": 3})
    monkeypatch.setattr(images, "MNIST_MIRRORS", (server.url,))
    monkeypatch.setattr(images, "FASHION_MIRRORS", (server.url,))
    rows = np.random.default_rng(0).integers(0, 10, (6, 2, 3073), np.uint8)
    files = {f"cifar-10-batches-bin/data_batch_{i}.bin": rows[i].tobytes() for i in range(1, 6)}
    archive = tarred({**files, "cifar-10-batches-bin/test_batch.bin": rows[0].tobytes()})
    server.files["/cifar.tar.gz"] = archive
    monkeypatch.setattr(images, "CIFAR10_ROWS", 2)
    monkeypatch.setattr(
        images, "CIFAR10_ARCHIVE", Download("cifar-10.tar.gz", (f"{server.url}cifar.tar.gz",), digest(archive))
    )


@pytest.mark.usefixtures("tiny")
class TestImages:
    @pytest.mark.parametrize("load", [datasets.mnist, datasets.fashion_mnist])
    def test_mnist(self, load: Callable[..., datasets.Split]) -> None:
        x, y = load("test")
        assert x.shape == (3, 784) and x.dtype == np.float32
        assert y.dtype == np.int64 and y.tolist() == LABELS.tolist()
        assert np.array_equal(x.reshape(3, 28, 28), IMAGES / np.float32(255))

    def test_cifar10(self) -> None:
        rows = np.random.default_rng(0).integers(0, 10, (6, 2, 3073), np.uint8)
        x, y = datasets.cifar10("train")
        assert x.shape == (10, 3, 32, 32) and y.tolist() == rows[1:, :, 0].ravel().tolist()
        assert x[3, 2, 31, 31] == np.float32(rows[2, 1, 3072]) / 255
        assert datasets.cifar10("test", download=False).labels.tolist() == rows[0, :, 0].tolist()

    @pytest.mark.parametrize(
        ("kind", "shape"),
        [(datasets.MNIST, (28, 28)), (datasets.FashionMNIST, (28, 28)), (datasets.CIFAR10, (3, 32, 32))],
    )
    def test_in_the_manner_of_torchvision(self, kind: Any, shape: tuple[int, ...]) -> None:
        plain = kind(train=False)
        image, label = plain[1]
        assert plain.data.dtype == np.uint8 and plain.data.shape == (len(plain), *shape)
        assert label == plain.targets[1] and isinstance(label, int) and image.dtype == np.float32
        assert np.array_equal(image.reshape(shape), plain.data[1] / np.float32(255)) and image.ndim == 3
        other = kind(train=False, transform=lambda a: a.sum(), target_transform=lambda c: -c)
        assert other[1] == (plain.data[1].sum(), -label)
        x, y = next(iter(DataLoader(plain, 2)))
        assert x.shape == (2, *image.shape) and y.tolist() == plain.targets[:2].tolist()

    @pytest.mark.parametrize(
        ("name", "values", "words"),
        [
            ("t10k-labels-idx1-ubyte", np.array([7, 10, 9], np.uint8), "there is a class 10"),
            ("t10k-images-idx3-ubyte", IMAGES.reshape(3, 14, 56), r"sizes \[3, 14, 56\]"),
        ],
    )
    def test_sizes_and_classes_are_checked(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, name: str, values: np.ndarray, words: str
    ) -> None:
        server.files[f"/{name}.gz"] = gzip.compress(idx(values))
        monkeypatch.setitem(images.MNIST_DIGESTS, name, digest(idx(values)))
        with pytest.raises(sg.FileFormatError, match=words):
            datasets.mnist("test")

    @pytest.mark.parametrize("load", [datasets.mnist, datasets.fashion_mnist, datasets.cifar10])
    def test_unknown_split(self, load: Callable[..., datasets.Split]) -> None:
        with pytest.raises(ValueError, match="split is 'validation'"):
            load("validation")


def test_digits() -> None:
    x, y = datasets.digits()
    assert x.shape == (1797, 64) and x.dtype == np.float32
    assert x.min() == 0 and x.max() == 1
    assert sorted(set(y.tolist())) == list(range(10))
    known = pytest.importorskip("sklearn.datasets", reason="scikit-learn has the same").load_digits(return_X_y=True)
    assert np.array_equal(x * 16, known[0]) and np.array_equal(y, known[1])


class TestTexts:
    TEXT = "First Citizen:\nSpeak ."

    def test_shakespeare(self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        body = self.TEXT.encode()
        server.files["/other.txt"] = body
        monkeypatch.setattr(texts, "SHAKESPEARE", File("input.txt", len(body), digest(body)))
        monkeypatch.setattr(texts, "SHAKESPEARE_SOURCE", Download("input.txt", (f"{server.url}other.txt",)))
        assert datasets.tiny_shakespeare() == self.TEXT and names(cache / "tinyshakespeare") == ["input.txt"]
        train, valid = datasets.tiny_shakespeare("train"), datasets.tiny_shakespeare("valid")
        assert train + valid == self.TEXT and len(train) == len(self.TEXT) * 9 // 10
        with pytest.raises(ValueError, match="split is 'test'"):
            datasets.tiny_shakespeare("test")

    def test_wikitext2(self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        body = self.TEXT.encode()
        archive = zipped({"wikitext-2/wiki.train.tokens": body})
        server.files["/w.zip"] = archive
        monkeypatch.setattr(texts, "WIKITEXT2_SOURCE", Download("w.zip", (f"{server.url}w.zip",), digest(archive)))
        file = File("wikitext-2/wiki.train.tokens", None, hashlib.sha1(body).hexdigest())
        monkeypatch.setitem(texts.WIKITEXT2, "train", file)
        assert datasets.wikitext2() == self.TEXT and names(cache / "wikitext-2") == ["w.zip"]
        with pytest.raises(ValueError, match="split is 'dev'"):
            datasets.wikitext2("dev")


class TestPoints:
    MAKERS = (datasets.moons, datasets.circles, datasets.spirals, datasets.blobs)

    @pytest.mark.parametrize("make", MAKERS)
    def test_seeds(self, make: Callable[..., datasets.Points]) -> None:
        first = make(50, seed=3)
        assert first.x.dtype == np.float32 and first.x.shape == (50, 2) and first.y.dtype == np.int64
        assert np.array_equal(first.x, make(50, seed=3).x) and not np.array_equal(first.x, make(50, seed=4).x)
        sg.manual_seed(1)
        common = make(50)
        assert not np.array_equal(common.x, make(50).x)
        sg.manual_seed(1)
        assert np.array_equal(common.x, make(50).x)

    @pytest.mark.parametrize("make", MAKERS)
    def test_sizes(self, make: Callable[..., datasets.Points]) -> None:
        counts = np.bincount(make(11).y)
        assert (
            counts.sum() == 11 and counts.max() - counts.min() <= 1 and (np.diff(make(11, shuffle=False).y) >= 0).all()
        )
        with pytest.raises(ValueError, match="at least one point each"):
            make(1)

    def test_moons_and_circles_lie_where_they_should(self) -> None:
        x, y = datasets.moons(200)
        centre = np.where(y[:, None] == 0, [0, 0], [1, 0.5])
        assert np.allclose(np.linalg.norm(x - centre, axis=1), 1, atol=1e-6)
        assert (x[y == 0, 1] >= -1e-6).all() and (x[y == 1, 1] <= 0.5 + 1e-6).all()
        x, y = datasets.circles(200, factor=0.3)
        assert np.allclose(np.linalg.norm(x, axis=1), np.where(y == 0, 1, 0.3), atol=1e-6)
        assert np.allclose([x[y == 0].mean(), x[y == 1].mean()], 0, atol=1e-6)

    def test_as_scikit_learn(self) -> None:
        theirs = pytest.importorskip("sklearn.datasets")
        for ours, make in ((datasets.moons, theirs.make_moons), (datasets.circles, theirs.make_circles)):
            x, y = make(100, shuffle=False)
            points = ours(100, shuffle=False)
            assert np.allclose(points.x, x, atol=1e-6) and np.array_equal(points.y, y)

    def test_arms_of_a_spiral_are_turned(self) -> None:
        x, y = datasets.spirals(300, classes=3, turns=1, shuffle=False)
        turn = np.exp(2j * np.pi / 3)
        arms = [x[y == k] @ [1, 1j] for k in range(3)]
        assert np.allclose(arms[1], arms[0] * turn, atol=1e-5) and np.allclose(arms[2], arms[1] * turn, atol=1e-5)
        assert np.isclose(np.abs(arms[0]).max(), 1)

    def test_noise(self) -> None:
        clean, noisy = (datasets.moons(4000, noise=n, shuffle=False, seed=0).x for n in (0.0, 0.2))
        assert abs((noisy - clean).std() - 0.2) < 0.01
        with pytest.raises(ValueError, match="the deviation is -1"):
            datasets.moons(noise=-1)
        with pytest.raises(ValueError, match="factor is 1"):
            datasets.circles(factor=1)

    def test_blobs(self) -> None:
        x, y = datasets.blobs(3000, centers=[[0, 0, 0], [5, 0, -5]], cluster_std=0.5, seed=0)
        assert x.shape == (3000, 3)
        assert np.allclose(x[y == 1].mean(0), [5, 0, -5], atol=0.06) and abs(x[y == 0].std() - 0.5) < 0.03
        assert datasets.blobs(10, n_features=4, centers=2, seed=0).x.shape == (10, 4)
        with pytest.raises(ValueError, match=r"centers has shape \[2\]"):
            datasets.blobs(centers=[1, 2])
