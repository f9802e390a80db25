"""A script written for PyTorch runs with its import line changed, and prints the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spirograd as sg

SCRIPT = Path(__file__).with_name("torch_script.py")
PRINTED = Path(__file__).parents[1] / "golden" / "torch_script.txt"
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?|-?\d+\.(?!\d)|-?\d+")
CHANGED = ("\nimport torch\n", "\nimport spirograd as torch\n")


def output(program: str, **variables: str) -> str:
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout[-500:] + result.stderr
    return result.stdout


def assert_same(ours: str, theirs: str) -> None:
    """The same text; numbers may differ in the last digit that is printed."""
    for i, (a, b) in enumerate(zip(ours.splitlines(), theirs.splitlines(), strict=True), 1):
        a = a.replace("dtype=spirograd.", "dtype=torch.")
        assert NUMBER.sub("#", a) == NUMBER.sub("#", b), f"line {i}: {a!r}, PyTorch {b!r}"
        for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True):
            digits = len(y.split("e")[0].partition(".")[2])
            assert x == y or (digits and abs(float(x) - float(y)) <= 1.5 * 10.0**-digits), (
                f"line {i}: {a!r}, PyTorch {b!r}"
            )


@pytest.fixture(scope="module")
def program() -> str:
    text = SCRIPT.read_text(encoding="utf-8")
    assert text.count(CHANGED[0]) == 1 and "spirograd" not in text and text.count("\n") >= 200
    return text.replace(*CHANGED)


def test_prints_what_pytorch_printed(program: str, device: sg.Device) -> None:
    printed = output(program, SPIROGRAD_DEVICE=device.kind)
    assert ("device='gpu:0'" in printed) == (device.kind == "gpu")
    assert_same(re.sub(r",\s+device='gpu:0'", "", printed), PRINTED.read_text(encoding="utf-8"))


def test_pytorch_still_prints_it() -> None:
    pytest.importorskip("torch")
    assert_same(output(SCRIPT.read_text(encoding="utf-8")), PRINTED.read_text(encoding="utf-8"))


def test_a_wrong_number_is_seen() -> None:
    with pytest.raises(AssertionError, match="line 2"):
        assert_same("a\ntensor(1.50)", "a\ntensor(1.53)")
    with pytest.raises(AssertionError, match="line 1"):
        assert_same("tensor(3)", "tensor(4)")
