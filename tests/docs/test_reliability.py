"""docs/reliability.md names tests that exist and are run by a lane, and each row has a break that applies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from breaks import patches

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")

NAMES = sorted(set(re.findall(r"`(test_\w+\.(?:py|cpp)::[^`]+)`", PAGE)))


def test_rows_are_numbered_and_each_has_a_test_or_says_that_it_has_none() -> None:
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert all("::" in test or test == "**not yet**" for _, test in rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_test_exists_and_is_run(name: str) -> None:
    file, test = name.split("::")
    if file.endswith(".cpp"):
        assert f'TEST_CASE("{test}"' in (ROOT / "tests" / "cpp" / file).read_text(encoding="utf-8")
        return
    (path,) = (ROOT / "tests").glob(f"*/{file}")
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [i for i, line in enumerate(lines) if line.strip().startswith(f"def {test}(")]
    assert found, f"{file} has no {test}"
    before = found[0] - 1
    while lines[before].strip():
        assert "mark.slow" not in lines[before], f"{name} is not run by the lanes of a change"
        before -= 1


def test_each_row_has_a_break_of_the_product_that_applies() -> None:
    """Whether the row's tests notice it is what the lane `breaks` finds out (tests/breaks/run.py)."""
    rows = patches.rows()
    assert sorted(p.name for p in patches.FOLDER.glob("*.patch")) == [row.patch.name for row in rows]
    for row in rows:
        assert not row.patch.read_text(encoding="utf-8").startswith("---"), (
            f"{row.patch.name} does not say what it breaks"
        )
        for path in patches.apply(row.patch, ROOT):
            assert path.relative_to(ROOT).parts[0] in ("cpp", "shaders", "python"), (
                f"{row.patch.name} breaks no product"
            )
