"""SPIROGRAD_SYNC=1: each call runs before it returns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import at_once
import spirograd as sg

PROGRAM = Path(at_once.__file__)


def run(what: str, device: sg.Device, sync: str = "1") -> str:
    variables = {"SPIROGRAD_SYNC": sync, "SPIROGRAD_DEVICE": str(device)}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **variables}
    done = subprocess.run([sys.executable, PROGRAM, what], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_a_kernel_finds_is_raised_at_the_line_that_calls(device: sg.Device) -> None:
    assert run("errors", device) == ""


def test_the_table_has_every_operation_that_reports() -> None:
    sources = (PROGRAM.parents[2] / "cpp" / "ops").glob("*.cpp")
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    assert set(re.findall(r'(?:check_row|parameter)\("(\w+)"', text)) == set(at_once.REPORTING)


def test_a_training_has_the_bits_that_it_has_without(device: sg.Device) -> None:
    assert run("training", device) == run("training", device, sync="0")
