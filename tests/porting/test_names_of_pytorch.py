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


def names() -> list[str]:
    return [line.split()[1] for line in NAMES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def left_out() -> list[str]:
    """The names in the first column of the page's table, without their stars."""
    table = PAGE.read_text(encoding="utf-8").split("## What is left out")[1].split("\n## ")[0]
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
