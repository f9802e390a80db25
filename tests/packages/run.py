"""Trains a tiny model with each of ten packages around PyTorch, under `run`, and compares losses with PyTorch's.

    python run.py SITE [NAME...]                           with the packages that are in the folder SITE
    python run.py SITE --record PYTHON [NAME...]           writes the losses that PYTHON's PyTorch gives

A loss may differ by a ten-thousandth. A package that does not import has failed.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
STORED = HERE.parent / "golden" / "packages.json"  # by PyTorch 2.13 on a CPU
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("run", "shared"))
# torchvision's extension is not loaded where it was built for CUDA, and its Python stops without these.
KNOWN = """
import runpy, sys, torch
for name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, name):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
sys.path[0], sys.argv = sys.argv[1].rpartition("/")[0], sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def printed(site: str, command: list[str]) -> list[str]:
    """The lines with numbers that a program prints; the end of what it said where it fails."""
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "YOLO_CONFIG_DIR": tempfile.gettempdir()}
    environment = {**os.environ, "PYTHONPATH": site, "PYTHONDONTWRITEBYTECODE": "1", **quiet}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if result.returncode:
        raise RuntimeError(" | ".join(result.stderr.strip().splitlines()[-3:]))
    return [line for line in result.stdout.splitlines() if is_number(line.split(" ")[-1]) and "." in line]


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def differs(found: list[str], wanted: list[str]) -> bool:
    """Whether names or numbers are not the same, to a ten-thousandth."""
    pairs = [(a.rpartition(" "), b.rpartition(" ")) for a, b in zip(found, wanted, strict=False)]
    near = (math.isclose(float(a[2]), float(b[2]), rel_tol=1e-4, abs_tol=1e-6) and a[0] == b[0] for a, b in pairs)
    return len(found) != len(wanted) or len(found) < 3 or not all(near)


def main(site: str, *words: str) -> int:
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if words[:1] == ("--record",):
        for name in words[2:] or PROGRAMS:
            stored[name] = printed(site, [words[1], "-W", "ignore", "-c", KNOWN, str(HERE / f"{name}.py")])
        STORED.write_text(json.dumps(dict(sorted(stored.items())), indent=1) + "\n", encoding="utf-8")
        return 0
    failed = 0
    for name in words or PROGRAMS:
        try:
            found = printed(site, [sys.executable, "-W", "ignore", "-m", "spirograd", "run", str(HERE / f"{name}.py")])
            word = f"{found}, PyTorch {stored[name]}" if differs(found, stored[name]) else "ok"
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            word = str(error)
        failed += word != "ok"
        print(f"{name}: {word}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
