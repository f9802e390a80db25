"""Integers of a caller that are far too large, at every place where one can be given: an error or a right result."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import extreme_integers
import spirograd as sg

HERE = Path(__file__).parent


def test_every_integer_argument_is_tried() -> None:
    tried = set(re.findall(r"\.(\w+)\(", " ".join(call for call in extreme_integers.calls() if "N" in call)))
    core = sg._core
    tables = (core._methods, core._functions, core._tensor_functions)
    names = {name for table in tables for name, row in table.items() if re.search(r"(?<!tuple\[)\bint\b", row[0])}
    assert names - tried - {"__dlpack__"} == set(), "public names with an integer in their signature, tried nowhere"


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_an_integer_that_is_too_large_is_an_error(device: str) -> None:
    command = [sys.executable, str(HERE / "extreme_integers.py"), device]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE)
    last = "\n".join(result.stdout.splitlines()[-4:])
    assert result.returncode == 0, f"status {result.returncode} in\n{last}\n{result.stderr[-3000:]}"
    assert result.stdout.endswith("all done\n")
