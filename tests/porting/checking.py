"""What the tests of porting/programs give: kept as PyTorch gave it (tests/golden/porting), and compared with that.

A plugin of pytest in the processes in which `torch` is PyTorch or spirograd: pytest -p checking --noconftest FILE...
With --record, under PyTorch, it keeps what the tests of these files give.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STORED = Path(__file__).parents[1] / "golden" / "porting"  # by PyTorch 2.13 on a CPU
NUMBER = re.compile(r"-?(?:\d+\.\d*(?:e[+-]?\d+)?|inf|nan)(?![\w.])")
# How far a number may be from that of PyTorch: by this part of it, and by this much.
TOLERANCE = {"float64": (1e-9, 1e-11), "float32": (2e-5, 2e-5), "float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-2)}
PRINTED = (2e-4, 2e-5)  # numbers in texts, of a few digits
MOST = 48  # of a larger tensor, every so many elements are kept, and its sums

_random = np.random.default_rng(0)
_found: list[list[Any]] = []
_within: list[tuple[float, float] | None] = []


# ---- for the tests ---------------------------------------------------------------------------------------------------
def check(*values: object, within: tuple[float, float] | None = None) -> None:
    """These are as PyTorch gives them; `within`: numbers, by this part of each and this much, whatever their type."""
    _found.append([plain(v) for v in values])
    _within.append(within)


def drawn(*shape: int, dtype: Any = None) -> Any:
    """A tensor of normal numbers, float32 unless told: each test has the same ones."""
    import torch

    return torch.tensor(_random.standard_normal(shape)).to(dtype or torch.float32)


def draws() -> np.random.Generator:
    """The generator of `drawn`."""
    return _random


def raised(call: Callable[[], object]) -> str:
    """The name of the error that a call raises, "" for none."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


# ---- values that JSON can hold ---------------------------------------------------------------------------------------
def tensor(x: Any) -> dict[str, Any]:
    import torch

    made = {"dtype": str(x.dtype).rpartition(".")[2], "shape": list(x.shape)}
    if x.requires_grad:
        made["requires_grad"] = True
    x = torch.view_as_real(x.detach().resolve_conj()) if x.is_complex() else x.detach()
    values = (x.double() if x.is_floating_point() else x).flatten().tolist()
    if len(values) > MOST:
        made["sums"] = [math.fsum(values), math.fsum(map(abs, values))]
        values = values[:: -(-len(values) // MOST)]
    return made | {"values": values}


def plain(value: Any) -> Any:
    import torch

    if torch.is_tensor(value) and value.layout == torch.strided and value.device.type != "meta":
        return tensor(value)
    if type(value) in (bool, int, float, str) or value is None:
        return value
    if type(value) is list:
        return [plain(v) for v in value]
    if isinstance(value, tuple) and not isinstance(value, torch.Size):
        return {"tuple": [plain(v) for v in value]}
    if type(value) is dict and all(type(k) is str for k in value):
        return {"dict": [[k, plain(v)] for k, v in value.items()]}
    return {"repr": repr(value)}


def near(a: float, b: float, tolerance: tuple[float, float]) -> bool:
    return a == b or (a != a and b != b) or abs(a - b) <= tolerance[0] * abs(b) + tolerance[1]


def differences(ours: Any, theirs: Any, at: str, within: tuple[float, float] | None = None) -> list[str]:
    """Where ours is not what theirs is."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and ours.keys() == theirs.keys():
        kind = within or TOLERANCE.get(str(theirs.get("dtype", "")).replace("complex128", "float64"))
        return [d for k in theirs for d in differences(ours[k], theirs[k], f"{at}.{k}", kind)]
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{at}[{i}]", within)]
    if type(ours) is float and type(theirs) is float:
        same = near(ours, theirs, within or TOLERANCE["float32"])
    elif isinstance(ours, str) and isinstance(theirs, str):
        numbers = list(zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=False))
        same = ours == theirs or (
            NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
            and all(a == b or near(float(a), float(b), PRINTED) for a, b in numbers)
        )
    else:
        same = type(ours) is type(theirs) and ours == theirs
    return [] if same else [f"{at}: {ours!r}, PyTorch {theirs!r}"]


# ---- the plugin ------------------------------------------------------------------------------------------------------
def stored(program: str) -> dict[str, Any]:
    """What PyTorch gave for the tests of a program."""
    path = STORED / f"{program}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="keep what the tests give")
    parser.addoption("--outcomes", help="a file for a line of JSON a test")


_recorded: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Compares what a test has checked with what is stored, or keeps it."""
    import torch

    global _random
    _random = np.random.default_rng(0)
    torch.manual_seed(0)
    _found.clear()
    _within.clear()
    done = yield
    program, name = pyfuncitem.path.stem, pyfuncitem.name
    ours = json.loads(json.dumps(_found))
    if pyfuncitem.config.getoption("--record"):
        _recorded.setdefault(program, {})[name] = ours
        return done
    theirs = stored(program).get(name)
    assert theirs is not None, f"nothing is stored for {name}: record it with PyTorch"
    assert len(ours) == len(theirs), f"{len(ours)} checks, {len(theirs)} are stored"
    checks = enumerate(zip(ours, theirs, _within, strict=True))
    found = [d for i, (a, b, within) in checks for d in differences(a, b, f"check {i}", within)]
    assert not found, "\n".join(found)
    return done


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if (report.when == "call" or not report.passed) and _outcomes:
        program, name = Path(report.fspath).stem, report.nodeid.partition("::")[2]
        failure = "" if report.passed else report.longreprtext or report.outcome
        with _outcomes[0].open("a", encoding="utf-8") as file:
            file.write(json.dumps([program, name, failure]) + "\n")


_outcomes: list[Path] = []


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--outcomes"):
        _outcomes.append(Path(config.getoption("--outcomes")))


def pytest_sessionfinish() -> None:
    for program, tests in _recorded.items():
        lines = [f"{json.dumps(name)}: {json.dumps(found, separators=(',', ':'))}" for name, found in tests.items()]
        STORED.mkdir(exist_ok=True)
        (STORED / f"{program}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
