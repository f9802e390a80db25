"""The tests of programs/*.py, which are written for PyTorch, with spirograd in its place: each gives what PyTorch gave.

They run in a process of their own, in which `torch` is spirograd; `checking.py` keeps values and compares them. With
PyTorch: PYTHONPATH=tests/porting pytest -p checking --noconftest --record tests/porting/programs/FILE.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import checking

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
TESTS = [(program, name) for program in PROGRAMS for name in checking.stored(program)]
Outcomes = dict[tuple[str, str], str]


def run(programs: list[str], file: Path, under: tuple[str, ...]) -> str:
    """Runs the tests of some programs, which write their outcomes to a file; what pytest printed last."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *(p for p in sys.path if p)])}
    options = ["-q", "-p", "checking", "-p", "no:cacheprovider", "--noconftest", "--continue-on-collection-errors"]
    files = [str(HERE / "programs" / f"{program}.py") for program in programs]
    command = [sys.executable, *under, "-m", "pytest", *options, "--outcomes", str(file), *files]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    return result.stdout[-2000:] + result.stderr[-2000:]


def outcomes_of(programs: list[str], folder: Path, *under: str) -> Outcomes:
    """For each test what failed, "" where nothing did. A test that ends the process ends no other program's tests."""
    file, found = folder / "outcomes.jsonl", {}
    while programs:
        file.write_text("")
        printed = run(programs, file, under)
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        found |= {(program, name): failure for program, name, failure in lines}
        last = programs.index(lines[-1][0]) if lines else 0
        for test in TESTS:
            if test[0] in programs[: last + 1]:
                found.setdefault(test, f"did not run:\n{printed}")
        programs = programs[last + 1 :]
    return found


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Those of the programs of which this run has tests."""
    items = [item for item in request.session.items if getattr(item, "originalname", "") == "test_values_of_pytorch"]
    programs = sorted({item.callspec.params["test"][0] for item in items})  # type: ignore[attr-defined]
    return outcomes_of(programs, tmp_path_factory.mktemp("values"), "-m", "spirograd", "run")


@pytest.mark.parametrize("test", TESTS, ids=lambda test: f"{test[0]}-{test[1].removeprefix('test_')}")
def test_values_of_pytorch(test: tuple[str, str], outcomes: Outcomes) -> None:
    assert not outcomes[test], outcomes[test]


def test_each_test_has_values_of_pytorch(outcomes: Outcomes) -> None:
    assert not outcomes.keys() - set(TESTS), "record them with PyTorch"


def test_pytorch_still_gives_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    failed = {key: text for key, text in outcomes_of(PROGRAMS, tmp_path).items() if text}
    assert not failed, failed


FOUND = {"dtype": "float32", "shape": [2], "values": [0.5, 3.0]}


@pytest.mark.parametrize(
    "other",
    [
        FOUND | {"values": [0.5, 3.0002]},
        FOUND | {"values": [0.5, 3.0, 1.0]},
        FOUND | {"dtype": "float64"},
        FOUND | {"shape": [1, 2]},
        FOUND | {"requires_grad": True},
        {"repr": "tensor([0.5, 3.0])"},
    ],
    ids=["number", "count", "type", "shape", "gradient", "kind"],
)
def test_another(other: object) -> None:
    assert checking.differences(other, FOUND, "")
    assert not checking.differences(FOUND | {"values": [0.5, 3.00001]}, FOUND, "")


PAIRS = [("mean 0.51", "mean 0.5"), ("a 1", "b 1"), (1, 1.0), (1, True), ("", None)]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_other_values_of_python(ours: object, theirs: object) -> None:
    assert checking.differences(ours, theirs, "")
    assert not checking.differences(theirs, theirs, "")
