"""torch.hub: weights from an address."""

from __future__ import annotations

import os
import re
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from ...serialization import load

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # of a file's name: the beginning of its checksum

__all__ = ["HASH_REGEX", "_get_torch_home", "download_url_to_file", "get_dir", "load_state_dict_from_url"]
__all__ += ["set_dir", "urlparse"]


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
        OSError: it cannot be read or written.
    """
    import hashlib

    with urllib.request.urlopen(url) as answer:
        data = answer.read()
    found = hashlib.sha256(data).hexdigest()
    if hash_prefix and not found.startswith(hash_prefix):
        raise RuntimeError(f"download_url_to_file: {url} has SHA-256 {found[:16]}..., not {hash_prefix}...; try again")
    part = Path(f"{dst}.part")
    part.write_bytes(data)
    part.replace(dst)


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
    folder = Path(model_dir) if model_dir else _folder / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file_name or url.rsplit("/", 1)[-1])
    if not path.exists():
        stem = path.stem.rsplit("-", 1)
        download_url_to_file(url, str(path), stem[-1] if check_hash and len(stem) > 1 else None)
    return load(path, map_location, weights_only)
