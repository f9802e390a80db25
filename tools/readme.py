"""The README as package indexes show it (pyproject.toml: tool.dynamic-metadata): its links and pictures are absolute.

They lead to the files of the release's tag, so that the page of an old release stays true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)")


def absolute(text: str, repository: str, version: str) -> str:
    """Markdown whose relative links lead to the repository."""
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")

    def link(match: re.Match[str]) -> str:
        picture, label, path = match.groups()
        place = f"{raw}/v{version}" if picture else f"{repository}/blob/v{version}"
        return f"{picture}{label}({place}/{path})"

    return LINK.sub(link, text)


def dynamic_metadata(_settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """What scikit-build-core asks for."""
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    text = absolute(text, project["urls"]["Repository"], project["version"])
    return {"readme": {"content-type": "text/markdown", "text": text}}
