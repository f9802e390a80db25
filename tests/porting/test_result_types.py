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


def test_results_have_the_types_of_pytorch() -> None:
    ours = printed(sys.executable, "-m", "spirograd", "run", SCRIPT)
    for got, want in zip(ours, PRINTED.read_text(encoding="utf-8").splitlines(), strict=True):
        # What PyTorch refuses may have a result here.
        same = [a == b or b == "." for a, b in zip(got, want, strict=True)]
        assert all(same), f"\n{got}\n{want}"


def test_pytorch_still_gives_them() -> None:
    pytest.importorskip("torch")
    assert printed(sys.executable, SCRIPT) == PRINTED.read_text(encoding="utf-8").splitlines()
