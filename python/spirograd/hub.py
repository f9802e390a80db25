"""Weights from an address, and models of a folder with a hubconf.py; the names of torch.hub."""

from __future__ import annotations

import builtins
import importlib.util
import os
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from . import serialization
from .serialization._paths import written

TIMEOUT = 30.0  # seconds that a server may say nothing
PIECE = 1 << 20  # bytes that are read at once
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # of a file's name: the beginning of its checksum

__all__ = ["HASH_REGEX", "_get_torch_home", "download_url_to_file", "downloaded", "get_dir", "load_state_dict_from_url"]
__all__ += ["help", "list", "load", "set_dir", "urlparse"]


def _get_torch_home() -> str:
    """The folder of all that is downloaded: TORCH_HOME, or ~/.cache/torch."""
    return os.environ.get("TORCH_HOME", str(Path.home() / ".cache" / "torch"))


_folder = Path(_get_torch_home()) / "hub"


def get_dir() -> str:
    """The folder of downloaded files: TORCH_HOME/hub."""
    return str(_folder)


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of downloaded files."""
    global _folder
    _folder = Path(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Writes what is at an address to a file, which is whole or not there.

    Raises:
        RuntimeError: the SHA-256 of the content does not begin with hash_prefix.
        OSError: it cannot be read or written, or the server says nothing for 30 s.
    """
    import hashlib
    import http.client

    found = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, written(dst) as stream:
        size, length = answer.headers.get("Content-Length") or "", 0
        try:
            while piece := answer.read(PIECE):
                found.update(piece)
                stream.write(piece)
                length += len(piece)
        except http.client.HTTPException as error:
            raise OSError(f"download_url_to_file: {url} broke off ({error!r}); try again") from None
        if size.isdecimal() and length != int(size):
            raise OSError(f"download_url_to_file: {url} ended after {length:,} of {int(size):,} bytes; try again")
        if hash_prefix and not found.hexdigest().startswith(hash_prefix):
            said = f"{url} has SHA-256 {found.hexdigest()[:16]}..., not {hash_prefix}..."
            raise RuntimeError(f"download_url_to_file: {said}; try again")


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """load() of a file that is downloaded once.

    Args:
        url: where it is.
        model_dir: the folder of downloaded files; None: get_dir()/checkpoints.
        map_location: the device of the tensors.
        progress: accepted.
        check_hash: the file's name ends with the beginning of its SHA-256, as in name-01234567.pth.
        file_name: its name in the folder; None: that of the address.
        weights_only: only True.
    """
    return serialization.load(downloaded(url, model_dir, check_hash, file_name), map_location)


def downloaded(url: str, model_dir: str | None = None, check_hash: bool = False, file_name: str | None = None) -> Path:
    """The file of load_state_dict_from_url(), with the same arguments."""
    folder = Path(model_dir) if model_dir else _folder / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file_name or Path(urlparse(url).path).name)
    if not path.exists():
        stem = path.stem.rsplit("-", 1)
        download_url_to_file(url, str(path), stem[-1] if check_hash and len(stem) > 1 else None)
    return path


def _entries(op: str, repo_or_dir: str, source: str) -> dict[str, Any]:
    """The functions of a hubconf.py."""
    if source not in ("github", "local"):
        raise ValueError(f"{op}: source {source!r} is unknown; use github or local")
    folder = Path(repo_or_dir)
    if source == "github":
        repository, _, branch = repo_or_dir.partition(":")
        names = [f"{repository.replace('/', '_')}_{b}" for b in ([branch] if branch else ["main", "master"])]
        found = [_folder / name for name in names if (_folder / name).is_dir()]
        if not found:
            raise RuntimeError(
                f"{op}: {repo_or_dir} is not in {_folder}, and no code is downloaded; clone it, and give its folder "
                "with source='local'"
            )
        folder = found[0]
    spec = importlib.util.spec_from_file_location("hubconf", folder / "hubconf.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return {name: f for name, f in vars(module).items() if callable(f) and not name.startswith("_")}


def _entry(op: str, repo_or_dir: str, model: str, source: str) -> Any:
    entries = _entries(op, repo_or_dir, source)
    if model not in entries:
        raise RuntimeError(f"{op}: {repo_or_dir} has no {model!r}; it has {', '.join(entries) or 'nothing'}")
    return entries[model]


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What a function of a hubconf.py gives: its code runs.

    Args:
        repo_or_dir: a folder, or owner/name of a repository that lies in get_dir().
        model: the function.
        args: its arguments, as are those by other names.
        source: "local" for a folder, or "github".
        trust_repo, force_reload, verbose, skip_validation: accepted.

    Raises:
        RuntimeError: the repository is not there, which is not downloaded, or has no such function.
        ValueError: another source.
    """
    return _entry("load", repo_or_dir, model, source)(*args, **kwargs)


def help(github: str, model: str, force_reload: bool = False, **options: Any) -> str | None:
    """What a function of a hubconf.py says of itself."""
    said: str | None = _entry("help", github, model, "github").__doc__
    return said


def list(github: str, force_reload: bool = False, **options: Any) -> builtins.list[str]:
    """The functions of a hubconf.py."""
    return builtins.list(_entries("list", github, "github"))
