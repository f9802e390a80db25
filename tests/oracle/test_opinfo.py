"""PyTorch's own table of operators: a small part of it, stored with what PyTorch 2.13 gives, against spirograd.

opinfo.py compares, opinfo_record.py --small made the table; the lane `opinfo` of tools/test.sh runs the whole one.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

from opinfo import HEADING, KINDS, PAGE, known

HERE = Path(__file__).parent
TABLE = HERE.parent / "golden" / "opinfo.json.xz"


def run(table: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, str(HERE / "opinfo.py"), str(table)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_operators_do_what_pytorch_does() -> None:
    result = run(TABLE)
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr
    assert "calls of 702 operators" in result.stdout


def test_a_difference_and_a_crash_are_findings(tmp_path: Path) -> None:
    with lzma.open(TABLE, "rt") as file:
        rows = [row for line in file if (row := json.loads(line))["name"] in ("abs", "acos", "acosh")]
    for case in rows[0]["cases"]:
        case["out"] = rows[1]["cases"][0]["out"]
    del rows[1]["cases"][0]["form"]  # a mistake of the runner's own ends the process
    table = tmp_path / "table.json.xz"
    with lzma.open(table, "wt") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    result = run(table)
    assert result.returncode == 1
    found = [line.split(":")[0] for line in result.stdout.splitlines() if " of " in line and not line.startswith(" ")]
    assert found[:2] == ["abs", "acos"] and "1 passed, 2 failed" in result.stdout, result.stdout


def test_differences_are_few_and_name_operators() -> None:
    with lzma.open(TABLE, "rt") as file:
        names = {json.loads(line)["name"] for line in file}
    assert set(known()) <= names
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert 0 < len(rows) <= 25
    assert all(kind in KINDS for row in rows for kind in row[1].split(", "))
