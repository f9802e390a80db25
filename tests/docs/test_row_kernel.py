"""docs/row_kernel.md, followed: its changes are made to a copy of the tree, and each test it names is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import spirograd as sg
from tree_copy import ROOT, attempt, copied, run

PAGE = (ROOT / "docs/row_kernel.md").read_text(encoding="utf-8")
NEW_TEST = "rows that fill their lanes have no test for each column"


class Change(NamedTuple):
    """One diff of the page: the lines that it takes away with those around them, and what it puts in their place."""

    step: int
    file: str
    before: str
    after: str


def changes() -> list[Change]:
    found = []
    for match in re.finditer(r"^`([\w./]+)`:\n\n```diff\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        step = len(re.findall(r"^## \d+\.", PAGE[: match.start()], re.MULTILINE))
        lines = match[2].splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] != "+")
        after = "".join(line[1:] for line in lines if line[0] != "-")
        found.append(Change(step, match[1], before, after))
    return found


@pytest.mark.parametrize("change", changes(), ids=lambda change: f"{change.step}-{Path(change.file).name}")
def test_each_change_of_the_page_fits_the_tree(change: Change) -> None:
    assert (ROOT / change.file).read_text(encoding="utf-8").count(change.before) == 1, (
        f"{change.file} has not once:\n{change.before}"
    )


def test_the_types_are_where_the_page_says() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([\w./]+)` \|", PAGE, re.MULTILINE)
    assert len(rows) >= 10
    for name, file in rows:
        assert re.search(rf"\b(struct|class|enum class) {name}\b[^;]*\{{", (ROOT / file).read_text(encoding="utf-8")), (
            name,
            file,
        )


def apply(tree: Path, steps: range) -> None:
    for change in changes():
        if change.step in steps:
            text = (tree / change.file).read_text(encoding="utf-8")
            (tree / change.file).write_text(text.replace(change.before, change.after))
    run(tree, "cmake", "--build", "build/copy", "--target", "spirograd_tests")


@pytest.mark.needs("a build")
@pytest.mark.slow
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    for file in (tree / "tests/cpp").glob("*.cpp"):
        if not file.name.startswith(("test_lower", "test_gpu_rows")):  # those that the page names are enough
            file.unlink()
    run(tree, "cmake", "-S", ".", "-B", "build/copy", "-G", "Ninja", "-DSPIROGRAD_TESTS=ON")
    tests, bounds = "build/copy/spirograd_tests", {"SPIROGRAD_BOUNDS": "1"}
    apply(tree, range(1, 4))
    assert 'find("if (live) {")' in attempt(tree, tests, NEW_TEST).stdout
    apply(tree, range(4, 7))
    assert "a kernel of a known form has another text" in attempt(tree, tests, NEW_TEST).stdout
    apply(tree, range(7, 8))
    run(tree, tests, NEW_TEST)
    assert "golden.str() == text" in attempt(tree, tests, "golden GLSL").stdout
    run(tree, tests, "golden GLSL", UPDATE_GOLDEN="1")
    assert "if (live) {" in (tree / "tests/golden/softmax_64x128.comp").read_text(encoding="utf-8")
    run(tree, tests, "[lower]~[gpu]", **bounds)
    if sg.Device.is_gpu_available():
        run(tree, tests, "[lower][rows]", **bounds)
