"""Programs for PyTorch, run unchanged: their first losses are PyTorch's to five digits.

`UPDATE_PROGRAMS=1 pytest tests/programs`, where PyTorch is installed, writes its losses to tests/golden/programs.json.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import spirograd as sg

HERE = Path(__file__).parent
STORED = HERE.parent / "golden" / "programs.json"  # by PyTorch 2.13 and 2.14 on a CPU
PROGRAMS = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("shared", Path(__file__).stem))


NEEDS = {"mixer": "einops", "vit": "einops"}
# On a GPU, these run in the lane of quick tests, and the others in the lane of slow ones: each compiles many kernels.
QUICK = ["diffusion", "gan", "gpt", "graph", "lazy", "mixed", "old_style", "reinforce", "sequences", "style", "vae"]


def printed(*command: object, **variables: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **variables}
    words = [sys.executable, "-W", "ignore", *map(str, command)]
    result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def assert_close(ours: list[str], theirs: list[str], digits: int) -> None:
    """The same lines; numbers with a point agree to so many digits."""
    assert len(ours) == len(theirs) >= 3, (ours, theirs)
    for a, b in zip(ours, theirs, strict=True):
        head, _, x = a.rpartition(" ")
        expected_head, _, y = b.rpartition(" ")
        assert head == expected_head, (a, b)
        if "." in y and is_number(y):
            assert math.isclose(float(x), float(y), rel_tol=0.5 * 10.0 ** (1 - digits), abs_tol=1e-6), (ours, theirs)
        else:
            assert x == y, (a, b)


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_losses_are_those_of_pytorch(name: str) -> None:
    pytest.importorskip(NEEDS.get(name, "numpy"))
    expected = json.loads(STORED.read_text())[name]
    lines = printed("-m", "spirograd", "run", HERE / f"{name}.py", SPIROGRAD_ALLOW_CPU_VULKAN="0")
    assert_close(lines, expected, 5)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS])
def test_on_a_gpu_they_are_as_well(name: str, gpu: sg.Device) -> None:
    pytest.importorskip(NEEDS.get(name, "numpy"))
    expected = json.loads(STORED.read_text())[name]
    assert_close(printed("-m", "spirograd", "run", HERE / f"{name}.py"), expected, 4)


def test_nothing_is_missing(run_python: Callable[..., str]) -> None:
    code = "import spirograd.torch, spirograd.cli.missing as check, pathlib\nspirograd.torch.install()\n"
    code += f"for name in {PROGRAMS!r}: print(check.missing_names(pathlib.Path({str(HERE)!r}, name + '.py')))"
    assert run_python(code) == "[]\n" * len(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pytorch_gives_these_losses(name: str) -> None:
    pytest.importorskip("torch")
    lines = printed(HERE / f"{name}.py")
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if os.environ.get("UPDATE_PROGRAMS") == "1":
        STORED.write_text(json.dumps({**stored, name: lines}, indent=1, sort_keys=True) + "\n")
    else:
        assert_close(lines, stored[name], 5)


def test_a_wrong_loss_is_seen() -> None:
    with pytest.raises(AssertionError):
        assert_close(["0 1.00010", "1 2.0", "2 3.0"], ["0 1.00000", "1 2.0", "2 3.0"], 5)
