"""The validation layer is never quietly missing: SPIROGRAD_VALIDATION without it leaves no GPU, with the reason. And it
lives through what is refused to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]
ASK = "import spirograd as sg; print(sg.Device.is_gpu_available()); print(*sg._core._gpu_reason(), sep='; ')"


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["core", "sync", "gpu"])
def test_a_missing_layer_is_said(mode: str, run_python: Run) -> None:
    hidden = {"VK_LAYER_PATH": os.devnull, "XDG_DATA_DIRS": os.devnull, "VK_LOADER_LAYERS_DISABLE": "~all~"}
    said = run_python(ASK, SPIROGRAD_VALIDATION=mode, **hidden)
    assert said.startswith("False\n")
    assert "VK_LAYER_KHRONOS_validation, which is not installed" in said
    assert "VK_LAYER_PATH names its folder" in said


@pytest.mark.gpu
def test_an_unknown_mode_is_an_error(run_python: Run) -> None:
    said = run_python("import spirograd as sg; sg.Device.gpu()", status=1, SPIROGRAD_VALIDATION="everything")
    assert "'everything' is no mode; use core, sync or gpu" in said


SWEEP = """
import fault_sweep, os
def seen():
    os.environ["SPIROGRAD_FAULTS"] = "on"
    fault_sweep.sg.ones(2, device="gpu").exp().tolist()
    return str(fault_sweep._core._fault_report()["host_requests"])
count = int(fault_sweep.in_fork(seen)[0])
for n in range(max(1, count - 60), count + 1, 3):
    told, status = fault_sweep.in_fork(lambda: fault_sweep.start(f"host@{n}"))
    known = told.split(",")[0] in ("right", "DeviceUnavailableError", "OutOfMemoryError")
    assert status == 0 and known, (n, told, status)
"""


@pytest.mark.gpu
@pytest.mark.needs("fork")
def test_no_layer_dies_of_a_request_that_is_refused(run_python: Run) -> None:
    if not os.environ.get("SPIROGRAD_VALIDATION"):
        pytest.skip("there is no layer")
    faults = str(Path(__file__).parents[1] / "faults")
    run_python(f"import sys; sys.path.insert(0, {faults!r})\n{SWEEP}")
