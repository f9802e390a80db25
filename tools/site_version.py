"""Adds the built pages to a site of several versions: tools/site_version.py BUILT SITE NAME.

SITE/NAME becomes a copy of BUILT, SITE/versions.json lists all versions, the newest release first (the menu of
docs/_templates/versions.html reads it), and SITE/index.html leads to the first of them.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path


def order(name: str) -> tuple[int, ...]:
    """Releases, the newest first, then branches."""
    numbers = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", name)
    return tuple(-int(n) for n in numbers.groups()) if numbers else (1,)


def add(built: Path, site: Path, name: str) -> list[str]:
    """Returns the names of all versions."""
    if not re.fullmatch(r"[\w.-]*\w", name):
        raise SystemExit(f"site_version: {name!r} is no name of a folder; give a tag or a branch")
    shutil.rmtree(site / name, ignore_errors=True)
    shutil.copytree(built, site / name, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo*"))
    names = sorted((p.parent.name for p in site.glob("*/index.html")), key=order)
    (site / "versions.json").write_text(json.dumps(names) + "\n")
    (site / "index.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={names[0]}/">\n')
    (site / ".nojekyll").touch()  # folders that begin with _ are part of the site
    return names


if __name__ == "__main__":
    print(*add(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
