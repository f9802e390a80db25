"""The element types of results, for each pair of types, against those of PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("result_types.py")
PRINTED = Path(__file__).parents[1] / "golden" / "torch_result_types.txt"  # by PyTorch 2.13 on a CPU; "." is an error


def printed(*command: object) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=180)
    assert result.returncode == 0, result.stdout[-500:] + result.stderr
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def ours() -> list[str]:
    return printed(sys.executable, "-m", "spirograd", "run", SCRIPT)


ROWS = PRINTED.read_text(encoding="utf-8").splitlines()
TITLES = [i for i, row in enumerate(ROWS) if row.startswith(("tensors", "the ", "a number"))]


def row_name(i: int) -> str:
    title = ROWS[max(j for j in TITLES if j <= i)].partition(" ?")[0]
    return f"{title}: {ROWS[i].removeprefix('of_number ').partition(' ')[0]}"


@pytest.mark.parametrize("i", [i for i in range(len(ROWS)) if i not in TITLES], ids=row_name)
def test_results_have_the_types_of_pytorch(i: int, ours: list[str]) -> None:
    # What PyTorch refuses may have a result here.
    same = [a == b or b == "." for a, b in zip(ours[i], ROWS[i], strict=True)]
    assert all(same), f"\n{ours[i]}\n{ROWS[i]}"


def test_each_function_has_a_row(ours: list[str]) -> None:
    assert len(ours) == len(ROWS)
    assert [ours[i] for i in TITLES] == [ROWS[i] for i in TITLES]


def test_pytorch_still_gives_them() -> None:
    pytest.importorskip("torch")
    assert printed(sys.executable, SCRIPT) == ROWS
