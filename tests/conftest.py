"""Fixtures that all tests share."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import pytest

import spirograd as sg
from reference import scalar

os.environ.setdefault("SPIROGRAD_BOUNDS", "1")  # every plan that a test runs is checked
os.environ.setdefault("SPIROGRAD_SPECIALIZE", "-1")  # counters do not depend on when threads in the background are done


def in_sample(item: pytest.Item) -> bool:
    """On a software driver, each test of the table of ops sees each op with one of its types, another in the next test:
    a new kernel takes up to a tenth of a second there. SPIROGRAD_TEST_ALL=1 runs all of them."""
    values = getattr(getattr(item, "callspec", None), "params", {})
    row, dtype = values.get("row"), values.get("dtype")
    if row is None or dtype not in row.dtypes or not item.get_closest_marker("gpu"):
        return True
    turn = zlib.crc32(row.name.encode()) + zlib.crc32(item.function.__name__.encode())  # type: ignore[attr-defined]
    return bool(row.dtypes[turn % len(row.dtypes)] == dtype)


# A shell that starts the tests in the background has them ignore Ctrl-C, and with them the processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:  # examples in docstrings know what docs/api.rst says, and nothing of their module
        if isinstance(item, pytest.DoctestItem):
            item.dtest.globs = {"np": np, "sg": sg, "__name__": "__main__"}
    if os.environ.get("SPIROGRAD_ALLOW_CPU_VULKAN") == "1" and os.environ.get("SPIROGRAD_TEST_ALL") != "1":
        config.hook.pytest_deselected(items=[item for item in items if not in_sample(item)])
        items[:] = [item for item in items if in_sample(item)]


# What a type needs of a GPU, by Vulkan's name for it.
FEATURES = {"float64": "shaderFloat64"} | dict.fromkeys(("float16", "bfloat16", "int16"), "storageBuffer16BitAccess")


# What a test may need of the system, and why it is left out where that is not there: `@pytest.mark.needs("fork")`.
WINDOWS = os.name == "nt"
SYSTEM = {
    "fork": (hasattr(os, "fork"), "the system has no fork()"),
    "signals": (not WINDOWS, "the system sends no signals to other processes"),
    "limits": (find_spec("resource") is not None, "the system sets no limits to a process"),
    "rights": (hasattr(os, "getuid"), "the system keeps rights in another way than by mode and owner of a file"),
    "links": (not WINDOWS, "a link needs a right that users of the system do not have"),
    "devices": (
        not WINDOWS and os.path.exists("/dev/full"),
        "the system has no devices that are files, like /dev/full",
    ),
    "scripts": (not WINDOWS, "the system starts no scripts by their first line"),
    "the order of GCC": (not WINDOWS, "another compiler computes the operands of a formula in another order"),
    "a build": (not WINDOWS, "tools/ builds on Linux"),
    "long doubles": (np.finfo(np.longdouble).nmant > 52, "a long double has no more bits than a double"),
}


def marked_needs(item: pytest.Item) -> set[str]:
    """What the marks `needs` of a test name."""
    return {name for mark in item.iter_markers("needs") for name in mark.args}


def needed_features(item: pytest.Item) -> set[str]:
    """What a GPU test asks for: by its mark, `@pytest.mark.needs("float64")`, and by the types among its parameters."""
    marked = marked_needs(item) - SYSTEM.keys()
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    return {FEATURES[name] for value in values if (name := str(value).removeprefix("spirograd.")) in FEATURES} | {
        FEATURES.get(name, name) for name in marked
    }


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips, with the reason, what needs something that the system does not have, and GPU tests without a GPU that has
    what they need."""
    for name in sorted(marked_needs(item) & SYSTEM.keys()):
        there, reason = SYSTEM[name]
        if not there:
            pytest.skip(reason)
    if not item.get_closest_marker("gpu"):
        return
    if not sg.Device.is_gpu_available():
        pytest.skip(sg._core._gpu_reason()[0])
    for feature in sorted(needed_features(item)):
        if sg.Device.gpu().features[feature] == "no":
            pytest.skip(f"the GPU has no {feature}")


def with_nothing_pending(device: sg.Device) -> sg.Device:
    """Runs what an earlier test left in a cycle of garbage, so that a plan holds the work of this test alone."""
    with contextlib.suppress(IndexError):  # left over too
        sg.synchronize(device)
    return device


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> sg.Device:
    """Each device in turn."""
    return with_nothing_pending(sg.Device(request.param))


@pytest.fixture
def gpu() -> sg.Device:
    """For tests that are marked so."""
    return with_nothing_pending(sg.Device.gpu())


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Python's collector of cycles rests, so that what is freed was held by none."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# ---- the scalar engine -----------------------------------------------------------------------------------------------
@pytest.fixture(params=scalar.EVERY)
def engine(request: pytest.FixtureRequest) -> scalar.Engine:
    """micrograd and each device: what all of them do."""
    return scalar.engine(request.param)


@pytest.fixture(params=scalar.HOST)
def host(request: pytest.FixtureRequest) -> scalar.Engine:
    """Where numbers are Python's to the last bit, and errors are raised at the line."""
    return scalar.engine(request.param)


@pytest.fixture(params=scalar.OURS)
def ours(request: pytest.FixtureRequest) -> scalar.Engine:
    """What goes beyond micrograd."""
    return scalar.engine(request.param)


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

    def run(code: str, timeout: float = 180, status: int = 0, **variables: str) -> str:
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
