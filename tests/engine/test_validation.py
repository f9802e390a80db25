"""The validation layer is never quietly missing: SPIROGRAD_VALIDATION without it leaves no GPU, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable

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
