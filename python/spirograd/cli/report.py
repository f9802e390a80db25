"""`report`: what a device is, whether its kernels are right, how fast they are, and what its compiler made of them.

One JSON file, which a user of other hardware can send; docs/hardware.md is filled from such files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..base.config import show_config
from . import bench, selftest
from .options import add_device, check_writable, devices

# As the engine prints them at SPIROGRAD_DEBUG=2: "[spirograd] sum: compiled in 3.2 ms", and the driver's facts.
_TIME = re.compile(r"\[spirograd\] (\w+): compiled in ([\d.]+) ms$")
_FACTS = re.compile(r"\[spirograd\] (\w+): (.+ [\d.]+)$")


def facts(device: _core.Device) -> dict[str, Any]:
    """What the device reports about itself."""
    names = ("type", "vendor", "driver", "api_version", "memory_total", "features", "limits")
    return {"name": device.name or platform.processor()} | {name: getattr(device, name) for name in names}


def results(device: _core.Device) -> list[dict[str, Any]]:
    """The selftest: a row for each family of kernels."""
    rows = []
    for family in selftest.FAMILIES:
        fine, error, problem = selftest.checked(family, device)
        rows.append({"family": family.name, "right": fine, "error": error, "allowed": family.allowed})
        if problem:
            rows[-1]["problem"] = problem
    return rows


def figures(device: _core.Device) -> list[dict[str, Any]]:
    """The quick benchmark: seconds are those of one piece of work."""
    return [
        {"what": what, "figure": figure, "seconds": timing._asdict()}
        for what, figure, timing in bench.figures(device, quick=False)
    ]


def kernels(device: _core.Device) -> list[dict[str, Any]]:
    """Each kernel of the selftest, compiled anew: milliseconds, and what the driver says of registers and spills."""
    environment = {**os.environ, "SPIROGRAD_DEBUG": "2", "SPIROGRAD_CACHE": "0"}
    command = [sys.executable, "-m", "spirograd", "selftest", "--device", str(device)]
    log = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr
    rows: list[dict[str, Any]] = []
    said: dict[str, str] = {}
    for line in log.splitlines():
        if found := _TIME.match(line):
            name = found[1]
            rows.append({"kernel": name, "milliseconds": float(found[2])})
            if name in said:
                rows[-1]["compiler"] = said.pop(name)
        elif found := _FACTS.match(line):
            said[found[1]] = found[2]
    return rows


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    parser = commands.add_parser("report", help="a file to send: devices, selftest, a few figures, kernels")
    add_device(parser, "all", "cpu, gpu, gpu:1 or all")
    parser.add_argument("--output", default="spirograd-report.json", metavar="FILE", help="(default %(default)s)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Writes the file; 1 when a family of kernels is wrong."""
    wrong = []
    check_writable("report", options.output, folder=False)
    report: dict[str, Any] = {
        "spirograd": _core.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "info": show_config(all_variables=True).splitlines(),
        "devices": {},
    }
    for device in devices(options.device):
        print(f"{device}: {device.name or 'CPU'}: selftest", end="", flush=True)
        entry: dict[str, Any] = {"facts": facts(device), "selftest": results(device)}
        print(", figures", end="", flush=True)
        entry["figures"] = figures(device)
        if device.kind == "gpu":
            print(", kernels", end="", flush=True)
            entry["kernels"] = kernels(device)
        print(flush=True)
        wrong += [f"{row['family']} on {device}" for row in entry["selftest"] if not row["right"]]
        report["devices"][str(device)] = entry
    path = Path(options.output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"{path}: " + (f"WRONG: {', '.join(wrong)}" if wrong else "all kernels are right"))
    return 1 if wrong else 0
