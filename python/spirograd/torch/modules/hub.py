"""torch.hub: what reads files as torch.load() does."""

from __future__ import annotations

from typing import Any

from ...hub import downloaded
from . import serialization

__all__ = ["load_state_dict_from_url"]


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """load() of a file that is downloaded once; arguments as in spirograd.hub."""
    return serialization.load(downloaded(url, model_dir, check_hash, file_name), map_location)
