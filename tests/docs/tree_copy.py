"""A copy of the tree, to which a test applies the changes that a page describes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copied(to: Path) -> Path:
    """The files of the tree, without what git ignores; third-party code is shared."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    if (ROOT / ".deps").is_dir():
        (to / ".deps").symlink_to(ROOT / ".deps")
    return to


def attempt(tree: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the copy, with this interpreter's tools first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command, cwd=tree, env={**os.environ, "PATH": path, **variables}, capture_output=True, text=True, timeout=1200
    )


def run(tree: Path, *command: str, **variables: str) -> str:
    """The output of a command that must succeed."""
    result = attempt(tree, *command, **variables)
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout[-6000:]}\n{result.stderr[-3000:]}"
    return result.stdout
