"""torch.utils.model_zoo: torch.hub by its old place."""

from __future__ import annotations

from typing import Any

from ....hub import download_url_to_file as _download_url_to_file
from ..hub import load_state_dict_from_url as load_url

__all__ = ["_download_url_to_file", "load_url", "tqdm"]


def tqdm(*args: Any, **kwargs: Any) -> Any:
    """The progress bar of the package tqdm.

    Raises:
        ImportError: it is not installed.
    """
    from tqdm import tqdm as bar

    return bar(*args, **kwargs)
