"""Small data sets as NumPy arrays: `mnist` (downloaded and checked, or taken from a folder) and `digits`.

Files are looked for in the folder ``SPIROGRAD_DATA`` (``SPIROGRAD_DATA/mnist/t10k-images-idx3-ubyte.gz``, with or
without ``.gz``), then in the cache (``$SPIROGRAD_CACHE/data``, else ``$XDG_CACHE_HOME/spirograd/data``, else
``~/.cache/spirograd/data``), then downloaded into the cache. Every file is checked before it is used: the SHA-256 is
that of the IDX file inside the ``.gz``, which is the same whoever compressed it.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import importlib
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import FileFormatError

__all__ = ["DatasetUnavailableError", "Split", "cache_folder", "digits", "mnist", "parse_idx"]

Bytes = npt.NDArray[np.uint8]

MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://yann.lecun.com/exdb/mnist/",
)
TIMEOUT = 15.0  # seconds without a byte
CHUNK = 1 << 16


class DatasetUnavailableError(OSError):
    """A data set is neither on this machine nor can it be downloaded."""


class Split(NamedTuple):
    """Images and their classes: row i of `images` belongs to `labels[i]`."""

    images: npt.NDArray[np.float32]  # [n, pixels], from 0 to 1
    labels: npt.NDArray[np.int64]  # [n]


class _File(NamedTuple):
    name: str
    shape: tuple[int, ...]
    sha256: str  # of the IDX file, not of the .gz

    @property
    def size(self) -> int:
        return 4 + 4 * len(self.shape) + int(np.prod(self.shape))


_MNIST = {
    "train": (
        _File(
            "train-images-idx3-ubyte",
            (60_000, 28, 28),
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        _File("train-labels-idx1-ubyte", (60_000,), "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    ),
    "test": (
        _File(
            "t10k-images-idx3-ubyte",
            (10_000, 28, 28),
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        _File("t10k-labels-idx1-ubyte", (10_000,), "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ),
}


def mnist(split: str = "train", *, download: bool = True) -> Split:
    """The MNIST handwritten digits: 28 x 28 grey images, classes 0 to 9.

    Args:
        split: "train" (60,000 images) or "test" (10,000).
        download: whether files that are not on this machine may be fetched.

    Returns:
        images [n, 784] float32 from 0 to 1, labels [n] int64.

    Raises:
        DatasetUnavailableError: the files are not here and could not be fetched.
        FileFormatError: a file of ``SPIROGRAD_DATA`` is not the one expected.
    """
    if split not in _MNIST:
        raise ValueError(f'mnist: split is {split!r}; give "train" or "test"')
    images, labels = (parse_idx(_load("mnist", file, download), file.name) for file in _MNIST[split])
    return Split(images.reshape(len(images), -1).astype(np.float32) / np.float32(255), labels.astype(np.int64))


def digits() -> Split:
    """The 1,797 digits of 8 x 8 pixels that scikit-learn carries. Not MNIST, only the same task in small.

    Returns:
        images [1797, 64] float32 from 0 to 1, labels [1797] int64.

    Raises:
        DatasetUnavailableError: scikit-learn is not installed.
    """
    try:
        load_digits = importlib.import_module("sklearn.datasets").load_digits
    except ImportError:
        raise DatasetUnavailableError("digits: scikit-learn is not installed; pip install scikit-learn") from None
    images, labels = load_digits(return_X_y=True)
    return Split((images / 16.0).astype(np.float32), labels.astype(np.int64))


def parse_idx(data: bytes, name: str = "the data") -> Bytes:
    """The array in an IDX file of unsigned bytes (two zero bytes, type 8, rank, big-endian sizes, values).

    Raises:
        FileFormatError: the header is not that of such a file, or there are more or fewer bytes than it says.

    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])).tolist()
    [7, 8, 9]
    """
    if len(data) < 4 or data[:2] != b"\0\0":
        raise FileFormatError(
            f"idx: {name} starts with {data[:4].hex(' ') or 'nothing'}, not with 00 00; not an IDX file"
        )
    if data[2] != 8:
        raise FileFormatError(f"idx: {name} has element type 0x{data[2]:02x}; only unsigned bytes (0x08) are read")
    rank = data[3]
    start = 4 + 4 * rank
    if rank == 0 or len(data) < start:
        raise FileFormatError(f"idx: {name} has {len(data)} bytes and rank {rank}; the sizes are missing")
    shape = tuple(int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4))
    count = 1
    for size in shape:
        count *= size
    if len(data) - start != count:
        raise FileFormatError(f"idx: {name} holds {len(data) - start:,} values, its sizes {list(shape)} need {count:,}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def cache_folder() -> Path:
    """Where downloads are kept."""
    if root := os.environ.get("SPIROGRAD_CACHE"):
        return Path(root) / "data"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "spirograd" / "data"


def _load(dataset: str, file: _File, download: bool) -> bytes:
    folder = os.environ.get("SPIROGRAD_DATA")
    if folder:
        for path in (Path(folder) / dataset / f"{file.name}.gz", Path(folder) / dataset / file.name):
            if path.is_file():
                return _checked(path, file)
    path = cache_folder() / dataset / f"{file.name}.gz"
    if path.is_file():
        # A damaged file of the cache is ours to replace; one of SPIROGRAD_DATA is not.
        with contextlib.suppress(FileFormatError):
            return _checked(path, file)
    where = f"{file.name}.gz into the folder {dataset}/ of SPIROGRAD_DATA"
    if not download:
        raise DatasetUnavailableError(f"{dataset}: {path} is not there; allow the download, or put {where}")
    failures = []
    for mirror in MNIST_MIRRORS:
        url = f"{mirror}{file.name}.gz"
        try:
            return _fetch(url, path, file)
        except (OSError, FileFormatError) as error:
            failures.append(f"{url}: {error}")
    reasons = "; ".join(failures)
    raise DatasetUnavailableError(
        f"{dataset}: {file.name} could not be downloaded ({reasons}); go online, or put {where}"
    )


def _checked(path: Path, file: _File) -> bytes:
    """The IDX bytes of a file that may be compressed. Reads no more than the right file would give."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            data = stream.read(file.size + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"mnist: {path} is damaged ({error}); delete it or replace it") from None
    if len(data) != file.size or hashlib.sha256(data).hexdigest() != file.sha256:
        raise FileFormatError(f"mnist: {path} is not {file.name} (SHA-256 differs); delete it or replace it")
    return data


def _fetch(url: str, path: Path, file: _File) -> bytes:
    """Downloads to a part file beside `path`, going on where an earlier attempt ended; renames it once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Mirrors may compress differently, so a part is continued only from where it came.
    part = path.with_name(f"{path.name}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part")
    with part.open("ab") as out, _alone(out):
        if not part.exists():  # another process finished while this one waited
            return _checked(path, file)
        resumed = out.tell()
        try:
            _receive(url, out, resumed)
        except OSError:
            if out.tell() == 0:  # nothing to go on from
                part.unlink()
            raise
        try:
            with gzip.open(part) as stream:
                data = stream.read(file.size + 1)
            whole = len(data) == file.size and hashlib.sha256(data).hexdigest() == file.sha256
        except (EOFError, gzip.BadGzipFile, zlib.error):
            whole = False
        if not whole:
            part.unlink()
            if resumed:
                return _fetch(url, path, file)
            raise FileFormatError(f"what it sent is not {file.name} (SHA-256 differs)")
        part.replace(path)
        return data


def _receive(url: str, out: BinaryIO, resumed: int) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "spirograd"})
    if resumed:
        request.add_header("Range", f"bytes={resumed}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            if resumed and reply.status != 206:  # the server starts again from the first byte
                out.truncate(0)
            expected = int(reply.headers.get("Content-Length") or -1)
            received = 0
            while chunk := reply.read(CHUNK):
                out.write(chunk)
                received += len(chunk)
            out.flush()
            if 0 <= expected != received:
                raise OSError(f"the connection ended after {received:,} of {expected:,} bytes")
    except urllib.error.HTTPError as error:
        if not (resumed and error.code == 416):  # 416: there is nothing left to send
            raise
    except http.client.HTTPException as error:
        raise OSError(f"the connection broke ({error!r})") from None


@contextlib.contextmanager
def _alone(file: Any) -> Iterator[None]:
    """One process at a time downloads a file; where the system has no such locks, the last one wins."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    yield  # closing the file gives the lock back
