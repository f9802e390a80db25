"""Fixtures that all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import spirograd as sg


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples in docstrings know the package as sg."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.dtest.globs["sg"] = sg


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> sg.Device:
    """Each device in turn; GPU tests are skipped, with the reason, where there is none."""
    if request.param == "gpu" and not sg.Device.is_gpu_available():
        pytest.skip(sg._core._gpu_reason()[0])
    return sg.Device(request.param)


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    """Leaves no default device, seed or grad mode behind."""
    before = sg.get_default_device()
    sg.manual_seed(0)
    yield
    sg.set_default_device(before)
    assert sg.is_grad_enabled()


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs a program in a fresh interpreter and gives what it printed."""

    def run(code: str, timeout: float = 60, status: int = 0, **variables: str) -> str:
        path = os.pathsep.join(p for p in sys.path if p)
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, **variables},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert result.returncode == status, f"status {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout + (result.stderr if status else "")

    return run
