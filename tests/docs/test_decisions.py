"""The index of decisions: a row for each page, in the words of its title, with a date and a state."""

from __future__ import annotations

import re
from pathlib import Path

DECISIONS = Path(__file__).resolve().parents[2] / "docs" / "decisions"
ROW = re.compile(r"^\| (\d+) \| \[(.+)\]\((\S+\.md)\) \| (\S+) \| (.+) \|$", re.MULTILINE)
STATE = re.compile(r"in force(?:[,;] .+)?|replaced by \d+")


def test_each_page_has_a_row() -> None:
    rows = ROW.findall((DECISIONS / "index.md").read_text(encoding="utf-8"))
    pages = {path.name: path for path in DECISIONS.glob("[0-9]*.md")}
    assert sorted(name for _, _, name, _, _ in rows) == sorted(pages)
    for number, title, name, date, state in rows:
        assert name.startswith(f"{int(number):03d}-")
        assert pages[name].read_text(encoding="utf-8").startswith(f"# {title}\n"), f"{name}: its title is another"
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", date) and STATE.fullmatch(state), f"{name}: {date}, {state}"
