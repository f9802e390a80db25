"""Programs that print values: those of PyTorch, which are kept, and spirograd's."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = [
    "checkpoints",
    "complex_functions",
    "containers",
    "corners",
    "distributions",
    "floats",
    "forward",
    "graphs",
    "hidden",
    "hooks",
    "inference",
    "keys",
    "layers",
    "libraries",
    "masked",
    "mistakes",
    "modes",
    "modules",
    "nodes",
    "old_arguments",
    "old_names",
    "operators",
    "parametrizations",
    "paths",
    "people",
    "rare",
    "reshaped",
    "signals",
    "small",
    "special",
    "stand_ins",
    "states",
    "subclasses",
]
HERE = Path(__file__).parent
PRINTED = HERE.parent / "golden"  # by PyTorch 2.13 or 2.14 on a CPU
NUMBER = re.compile(r"-?(?:\d+\.\d+(?:e[+-]?\d+)?|inf|nan)")


def printed(*command: object) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=180)
    assert result.returncode == 0, result.stdout[-500:] + result.stderr
    return result.stdout


def assert_same(ours: str, theirs: str) -> None:
    for a, b in zip(ours.splitlines(), theirs.splitlines(), strict=True):
        assert NUMBER.sub("#", a) == NUMBER.sub("#", b), (a, b)
        for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True):
            assert x == y or math.isclose(float(x), float(y), rel_tol=2e-4, abs_tol=2e-5), (a, b)


@pytest.mark.parametrize("name", SCRIPTS)
def test_values_are_those_of_pytorch(name: str) -> None:
    expected = (PRINTED / f"torch_{name}.txt").read_text(encoding="utf-8")
    assert "BAD" not in expected
    assert_same(printed(sys.executable, "-m", "spirograd", "run", HERE / f"{name}.py"), expected)


@pytest.mark.parametrize("name", SCRIPTS)
def test_pytorch_still_gives_them(name: str) -> None:
    pytest.importorskip("torch")
    assert_same(
        printed(sys.executable, HERE / f"{name}.py"), (PRINTED / f"torch_{name}.txt").read_text(encoding="utf-8")
    )


def test_a_wrong_number_is_seen() -> None:
    with pytest.raises(AssertionError):
        assert_same("Normal mean [0.5]", "Normal mean [0.51]")
