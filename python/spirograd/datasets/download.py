"""Files of data sets: found in a folder, or downloaded once, checked and kept.

A file is looked for in ``SPIROGRAD_DATA/NAME/``, then in the cache (``$SPIROGRAD_CACHE/data``, else
``$XDG_CACHE_HOME/spirograd/data``, else ``~/.cache/spirograd/data``), packed or unpacked, then downloaded into the
cache. A download that broke goes on where it ended, two processes do not disturb each other, and what is not what it
should be is never kept.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import lzma
import os
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .._core import FileFormatError
from ..progress import Progress, is_shown

__all__ = ["DatasetUnavailableError", "Download", "File", "cache_folder", "read"]

TIMEOUT = 15.0  # seconds without a byte
CHUNK = 1 << 16
LARGEST = 1 << 28  # bytes of a download or a file whose size is not known
# What the readers of archives raise for bytes that are not an archive.
DAMAGED = (
    EOFError, KeyError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError, lzma.LZMAError,
    tarfile.TarError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class DatasetUnavailableError(OSError):
    """A data set is neither on this machine nor can it be downloaded."""


class File(NamedTuple):
    """What a loader reads.

    Attributes:
        name: with the folders inside the archive, if it is in one.
        size: bytes, None if they are not known.
        digest: SHA-256 or SHA-1 in hexadecimal, None if it is not known.
    """

    name: str
    size: int | None = None
    digest: str | None = None


class Download(NamedTuple):
    """What mirrors have: a file as it is, with gzip (``.gz``), or an archive (``.tar.gz``, ``.zip``) of files.

    Attributes:
        name: of the packed file, here and in the cache.
        mirrors: addresses, tried in turn.
        digest: of the packed file; None if the files inside have theirs.
        limit: bytes; a mirror that sends more is not listened to any longer.
    """

    name: str
    mirrors: tuple[str, ...]
    digest: str | None = None
    limit: int = LARGEST


def cache_folder() -> Path:
    """Where downloads are kept."""
    root = os.environ.get("SPIROGRAD_CACHE", "0")
    if root not in ("", "0"):  # 0 keeps no kernels, but data must be kept somewhere
        return Path(root) / "data"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "spirograd" / "data"


# What every data set takes, and may raise.
ARGUMENTS = """
Args:
    root: a folder to use instead of ``SPIROGRAD_DATA`` and the cache.
    download: whether files that are not on this machine may be fetched.

Raises:
    DatasetUnavailableError: the files are not here and could not be fetched.
    FileFormatError: a file of ``SPIROGRAD_DATA`` is not the one expected.
"""


def read(
    dataset: str, files: Sequence[File], source: Download, root: str | os.PathLike[str] | None, download: bool
) -> list[bytes]:
    """The bytes of files that come together.

    Args:
        dataset: the name of their folder.
        files: what is wanted.
        source: what to download for them.
        root: a folder to use in place of ``SPIROGRAD_DATA`` and the cache.
        download: whether the network may be used.

    Raises:
        DatasetUnavailableError: they are not here and could not be fetched.
        FileFormatError: a file of the given folder is not the one expected.
    """
    if given := root or os.environ.get("SPIROGRAD_DATA"):
        folder = Path(given) / dataset
        if (folder / source.name).is_file():
            return _checked(dataset, folder / source.name, files, source)
        for places in ([folder / f.name for f in files], [folder / Path(f.name).name for f in files]):
            if all(place.is_file() for place in places):
                return [_checked(dataset, at, [f], None)[0] for at, f in zip(places, files, strict=True)]
    path = (Path(root) if root else cache_folder()) / dataset / source.name
    if path.is_file():
        # A damaged file in the cache may be replaced; one in a folder of the user may not.
        with contextlib.suppress(FileFormatError):
            return _checked(dataset, path, files, source)
    where = f"{source.name} into the folder {dataset}/ of SPIROGRAD_DATA"
    if not download:
        raise DatasetUnavailableError(f"{dataset}: {path} is not there; allow the download, or put {where}")
    failures: dict[str, list[str]] = {}  # the addresses by what went wrong
    for url in source.mirrors:
        try:
            return _fetch(url, dataset, path, files, source)
        except (OSError, FileFormatError) as error:
            failures.setdefault(str(error), []).append(url)
    reasons = "; ".join(f"{', '.join(urls)}: {error}" for error, urls in failures.items())
    raise DatasetUnavailableError(
        f"{dataset}: {source.name} could not be downloaded ({reasons}); go online, or put {where}"
    )


def _checked(dataset: str, path: Path, files: Sequence[File], source: Download | None) -> list[bytes]:
    """The bytes of the files: from what they are packed in, or without a source that of the only one."""
    wrong = "delete it or replace it"
    if source is not None and source.digest is not None and _digest_of_file(path, source.digest) != source.digest:
        raise FileFormatError(f"{dataset}: {path} is not {source.name} (check-sum differs); {wrong}")
    try:
        found = [_bounded(path.open("rb"), files[0])] if source is None else _unpacked(path, files)
    except PermissionError:  # of the system, not of the content
        raise
    except DAMAGED as error:
        what = str(error).partition("\n")[0][:200] or type(error).__name__
        raise FileFormatError(f"{dataset}: {path} is damaged ({what}); {wrong}") from None
    for file, data in zip(files, found, strict=True):
        if len(data) > LARGEST and file.size is None:
            raise FileFormatError(f"{dataset}: {path} is not {file.name} (it has over {LARGEST:,} bytes); {wrong}")
        if file.size is not None and len(data) != file.size:
            raise FileFormatError(f"{dataset}: {path} is not {file.name} (it has not {file.size:,} bytes); {wrong}")
        if file.digest is not None and _algorithm(file.digest, data).hexdigest() != file.digest:
            raise FileFormatError(f"{dataset}: {path} is not {file.name} (check-sum differs); {wrong}")
    return found


def _unpacked(path: Path, files: Sequence[File]) -> list[bytes]:
    if path.name.endswith(".tar.gz"):
        wanted = {file.name: file for file in files}
        found = {}
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:  # in one pass, because seeking back would start again
                if (file := wanted.get(member.name)) and (stream := archive.extractfile(member)):
                    found[file.name] = _bounded(stream, file)
        return [found[file.name] for file in files]
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as packed:
            return [_bounded(packed.open(file.name), file) for file in files]
    return [_bounded(gzip.open(path) if path.name.endswith(".gz") else path.open("rb"), files[0])]


def _bounded(stream: Any, file: File) -> bytes:
    """As many bytes as the right file has, and one more to notice a longer one."""
    with stream:
        return bytes(stream.read((LARGEST if file.size is None else file.size) + 1))


def _algorithm(digest: str, data: bytes = b"") -> Any:
    return hashlib.new({64: "sha256", 40: "sha1"}[len(digest)], data)


def _digest_of_file(path: Path, like: str) -> str:
    found = _algorithm(like)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            found.update(chunk)
    return str(found.hexdigest())


def _fetch(url: str, dataset: str, path: Path, files: Sequence[File], source: Download) -> list[bytes]:
    """Downloads to a part file beside `path`, going on where an earlier attempt ended; renames it once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Mirrors may pack differently, so a part is continued only from where it came. The end of its name tells how.
    part = path.with_name(f"{hashlib.sha256(url.encode()).hexdigest()[:8]}.part.{path.name}")
    version = part.with_name(f"{part.name}.version")  # which bytes it is a part of, in the server's words
    with _alone(part) as out:
        if out is None:  # another process finished while this one waited
            return _checked(dataset, path, files, source)
        resumed = out.tell()
        try:
            _receive(url, out, resumed, version, source)
            found = _checked(dataset, part, files, source)
        except OSError:
            if out.tell() == 0:  # nothing to go on from
                _before_a_move(out)
                part.unlink()
                version.unlink(missing_ok=True)
            raise
        except FileFormatError:
            _before_a_move(out)
            part.unlink()
            version.unlink(missing_ok=True)
            if not resumed:
                raise FileFormatError(f"what it sent is not {source.name} (size or check-sum differs)") from None
        else:
            version.unlink(missing_ok=True)
            _before_a_move(out)
            part.replace(path)
            return found
    return _fetch(url, dataset, path, files, source)


def _before_a_move(out: BinaryIO) -> None:
    """Windows neither renames nor removes an open file; elsewhere closing it would give up the lock."""
    if os.name == "nt":
        out.close()


def _receive(url: str, out: BinaryIO, resumed: int, version: Path, source: Download) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "spirograd"})
    if resumed:
        request.add_header("Range", f"bytes={resumed}-")
        if version.is_file():  # the whole file comes instead if it has changed
            request.add_header("If-Range", version.read_text())
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            if resumed and reply.status != 206:  # the server starts again from the first byte
                out.truncate(0)
                resumed = 0
            tag = reply.headers.get("ETag") or ""
            if known := (reply.headers.get("Last-Modified") if tag.startswith("W/") or not tag else tag):
                version.write_text(known)
            length = reply.headers.get("Content-Length") or ""
            expected = int(length) if length.isdecimal() else -1
            received, allowed = 0, source.limit - resumed
            with _bar(expected + resumed, resumed, source.name, version.parent) as advance:
                while expected <= allowed and received <= allowed and (chunk := reply.read(CHUNK)):
                    out.write(chunk)
                    received += len(chunk)
                    advance(len(chunk))
            if max(expected, received) > allowed:
                raise FileFormatError(f"{source.name} is larger than {source.limit:,} bytes")
            out.flush()
            if 0 <= expected != received:
                raise OSError(f"the connection ended after {received:,} of {expected:,} bytes")
    except urllib.error.HTTPError as error:
        if not (resumed and error.code == 416):  # 416: there is nothing left to send
            raise
    except http.client.HTTPException as error:
        raise OSError(f"the connection broke ({error!r})") from None


@contextlib.contextmanager
def _bar(total: int, done: int, name: str, folder: Path) -> Iterator[Any]:
    """Shows the progress of a download, in KiB, where somebody looks at it; elsewhere says that it has begun."""
    if not is_shown(sys.stderr) or total <= 0:
        size = f", {total / 2**20:.1f} MiB" if total > 0 else ""
        print(f"downloading {name}{size}, into {folder}", file=sys.stderr, flush=True)
        yield lambda count: None
        return
    with Progress(total >> 10, f"{name} (KiB)") as bar:
        bytes_seen = 0

        def advance(count: int) -> None:
            nonlocal bytes_seen
            bytes_seen += count
            bar.advance((bytes_seen >> 10) - bar.done)

        advance(done)
        yield advance


@contextlib.contextmanager
def _alone(part: Path) -> Iterator[BinaryIO | None]:
    """The part file, held by one process at a time; None if another one has finished it meanwhile."""
    if sys.platform == "win32":
        with _lock_beside(part) as waited:
            if waited and not part.exists():
                yield None
                return
            with part.open("ab") as out:
                yield out
        return
    import fcntl

    while True:
        with part.open("ab") as out:
            try:
                fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(out, fcntl.LOCK_EX)
                if not part.exists():
                    yield None
                    return
            if part.exists() and os.path.samestat(part.stat(), os.fstat(out.fileno())):
                yield out
                return


if sys.platform == "win32":
    import msvcrt

    @contextlib.contextmanager
    def _lock_beside(part: Path) -> Iterator[bool]:
        """Holds a lock, as a file beside the part: on Windows one that is locked is open, and cannot be renamed. Gives
        whether another process held it."""
        path = part.with_name(f"{part.name}.lock")
        waited = False
        try:
            with path.open("ab") as lock:
                while True:
                    lock.seek(0)
                    try:
                        msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
                        break
                    except OSError:
                        waited = True
                        time.sleep(0.05)
                try:
                    yield waited
                finally:
                    lock.seek(0)
                    msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)
        finally:
            with contextlib.suppress(OSError):  # another process waits for it
                path.unlink()
