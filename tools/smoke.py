"""Tries an installed wheel: the interpreter's environment has NumPy and nothing else (tools/wheel.sh, workflows)."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import spirograd as sg


def info() -> str:
    command = [sys.executable, "-m", "spirograd", "info"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_place() -> None:
    assert Path(sg.__file__).is_relative_to(sys.prefix), f"{sg.__file__} is not the installed package"
    names = {d.metadata["Name"].lower() for d in distributions()} - {"pip", "setuptools", "wheel"}
    assert names == {"numpy", "spirograd"}, f"the environment has {sorted(names)}"


def check_instructions() -> None:
    """A wheel with the slow loops alone would pass every other test."""
    cpuinfo = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        return
    flags = set(cpuinfo.read_text().split())
    best = "avx512" if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags else "avx2" if "avx2" in flags else None
    assert best is None or f"instruction set={best}" in info(), f"the CPU has {best}, and its loops are not used"


def check_scalars() -> None:
    a, b = sg.Value(-4.0), sg.Value(2.0)
    c = (a * b + b**3).relu() + a.exp()
    c.backward()
    assert abs(c.data - 0.01831563888873418) < 1e-12 and abs(b.grad) < 1e-12, (c.data, b.grad)


def check_training() -> None:
    x = sg.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = sg.tensor([[0.0], [1.0], [1.0], [0.0]])
    sg.manual_seed(0)
    net = sg.nn.Sequential(sg.nn.Linear(2, 8), sg.nn.Tanh(), sg.nn.Linear(8, 1), sg.nn.Sigmoid())
    optimizer = sg.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(300):
        loss = sg.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert [round(p) for p in net(x).flatten().tolist()] == [0, 1, 1, 0]


def main() -> None:
    check_place()
    check_instructions()
    check_scalars()
    check_training()
    subprocess.run([sys.executable, "-m", "spirograd", "selftest", "--device", "cpu"], check=True)
    print(f"spirograd {sg.__version__} works with Python {platform.python_version()}")


if __name__ == "__main__":
    main()
