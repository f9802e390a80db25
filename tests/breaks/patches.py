"""The breaks: for each row of docs/reliability.md a patch of the product, with which the row's tests must fail.

A patch is found by what it changes, not by line numbers, so that it outlives changes elsewhere in the file. Its first
line says what is broken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


@dataclass(frozen=True)
class Row:
    """A promise, and the names of the tests that prove it: `file::test`."""

    number: int
    promise: str
    tests: tuple[str, ...]

    @property
    def patch(self) -> Path:
        """The file of its break."""
        return FOLDER / f"{self.number:02}.patch"


def rows() -> list[Row]:
    """The rows of docs/reliability.md that have tests."""
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    names = [(int(n), promise, tuple(re.findall(r"`(test_\w+\.(?:py|cpp)::[^`]+)`", t))) for n, promise, t in found]
    return [Row(*row) for row in names if row[2]]


def changes(patch: str) -> dict[str, list[tuple[str, str]]]:
    """By the path of a file: the pieces of text that a patch replaces, before and after."""
    files: dict[str, list[tuple[str, str]]] = {}
    for part in re.split(r"^--- a/", patch, flags=re.MULTILINE)[1:]:
        head, *hunks = re.split(r"^@@ .*\n", part, flags=re.MULTILINE)
        path = head.split("\n", 1)[0]
        assert head == f"{path}\n+++ b/{path}\n", f"no head of a patch: {head!r}"
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            assert all(line[0] in " +-" for line in lines), f"no lines of a patch: {hunk!r}"
            before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
            files.setdefault(path, []).append((before, after))
    return files


def apply(patch: Path, tree: Path) -> dict[Path, str]:
    """The new text of each file that the patch changes. A ValueError says which piece is not found, or not once."""
    texts = {}
    for path, pieces in changes(patch.read_text(encoding="utf-8")).items():
        text = (tree / path).read_text(encoding="utf-8")
        for before, after in pieces:
            if (count := text.count(before)) != 1:
                raise ValueError(f"{patch.name}: {path} has {count} times, not once:\n{before}")
            text = text.replace(before, after)
        texts[tree / path] = text
    return texts
