"""Names that programs use: each is there, or docs/porting.md says why it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

NAMES = Path(__file__).with_name("names.txt")
PAGE = Path(__file__).parents[2] / "docs" / "porting.md"

FOUND = """
import importlib, json
import spirograd.torch
spirograd.torch.install()
import torch

def has(name):
    place = "torch"
    value = torch
    for part in name.split("."):
        place = f"{place}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(place)
            except ImportError:
                return False
    return True

print(json.dumps({name: has(name) for name in NAMES}))
"""


IMPORTED = """
import importlib, inspect
import spirograd.torch
spirograd.torch.install()
from spirograd.torch import small, unused

missing, raising = [], 0
for line in LINES:
    path, _, names = line.partition(":")
    place = f"torch.{path}" if path and path != "checkpoint" else "torch"
    module = importlib.import_module(place)
    for name in names.split():
        try:
            if name != "None":
                exec(f"from {place} import {name}")
        except ImportError as error:
            missing.append(f"{place}.{name}")
            continue
        value = getattr(module, name, None)
        if isinstance(value, unused.Unused):
            raising += 1
            assert not isinstance(module, value) and str(value.SOME_WORD).endswith("SOME_WORD") and value[int] is value
            try:
                type("Mine", (value,), {})()
            except NotImplementedError as error:
                assert str(error).endswith(f"{value.instead}")
            else:
                raise AssertionError(name)
assert unused._small() == {path: dict.fromkeys(names, "") for path, names in small.BODIES.items()}
print(json.dumps([missing, raising]))
"""


def test_what_packages_import_is_there(run_python: Callable[..., str]) -> None:
    """As a stand-in at least, which raises when it is used."""
    lines = [line for line in NAMES.with_name("imported.txt").read_text().splitlines() if not line.startswith("#")]
    missing, raising = json.loads(run_python(f"import json\nLINES = {lines!r}\n" + IMPORTED))
    assert not missing
    assert 100 < raising < 180


def names() -> list[str]:
    return [line.split()[1] for line in NAMES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def left_out() -> list[str]:
    """The names in the first column of the page's table, without their stars."""
    table = PAGE.read_text(encoding="utf-8").split("## Missing names")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name.strip("` ") for cell in cells for name in cell.split(",")]


def test_each_name_is_there_or_left_out_for_a_reason(run_python: Callable[..., str]) -> None:
    found = json.loads(run_python(f"NAMES = {names()!r}\n" + FOUND))
    missing = {name for name, there in found.items() if not there}
    excused = {name for name in missing for prefix in left_out() if name == prefix or name.startswith(f"{prefix}.")}
    assert missing == excused
    assert len(found) - len(missing) >= 165
    for name in left_out():
        assert not found.get(name), f"{name} is there now; take it from the table"
