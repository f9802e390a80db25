"""SPIROGRAD_POISON: what nobody wrote is NaN, and nobody reads beyond the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

import spirograd as sg

Run = Callable[..., str]
# How a process ends that reads what it may not: on Windows by an exception.
VIOLATION = 0xC0000005 if os.name == "nt" else -signal.SIGSEGV


def test_memory_that_nobody_wrote_is_nan(device: sg.Device, run_python: Run) -> None:
    code = f"import spirograd as sg\nx = sg.empty(100, device='{device.kind}')\nprint(x.isnan().all().item())"
    assert run_python(code, SPIROGRAD_POISON="1") == "True\n"


def test_memory_that_was_used_before_is_nan(device: sg.Device, run_python: Run) -> None:
    code = (
        "import spirograd as sg\n"
        "for _ in range(3):\n"
        f"    x = sg.empty(100, device='{device.kind}')\n"
        "    print(x.isnan().all().item())\n"
        "    x.fill_(1.0).realize()\n"
        "    del x\n"
        f"    sg.ones(100, device='{device.kind}').realize()\n"
    )
    assert run_python(code, SPIROGRAD_POISON="1") == 3 * "True\n"


def test_small_and_large_uploads_are_whole(device: sg.Device, run_python: Run) -> None:
    code = (
        "import numpy as np, spirograd as sg\n"
        "for n in (1, 7, 100, 1 << 14, (1 << 14) + 1, 1 << 20):\n"
        f"    x = sg.tensor(np.arange(n, dtype=np.float32), device='{device.kind}')\n"
        "    print((x.numpy() == np.arange(n)).all() and ((x + 1).numpy() == np.arange(n) + 1).all())\n"
    )
    assert set(run_python(code, SPIROGRAD_POISON="1").split()) == {"True"}


@pytest.mark.gpu
def test_what_a_kernel_leaves_out_is_nan(run_python: Run) -> None:
    code = (
        "import spirograd as sg\n"
        "half = sg.ops.glsl_kernel('half', 'uint i = 2 * global_index; if (i < y_size) store(y, i, load(x, i));',\n"
        "                          ['x'], ['y'])\n"
        "print(half(sg.ones(6, device='gpu')).tolist())\n"
    )
    assert run_python(code, SPIROGRAD_POISON="1") == "[1.0, nan, 1.0, nan, 1.0, nan]\n"


def test_a_guard_page_follows_each_block(run_python: Run) -> None:
    code = (
        "import numpy as np, spirograd as sg\n"
        "x = sg.ones(16).realize().numpy()\n"  # 64 bytes: nothing is left of the block
        "beyond = np.lib.stride_tricks.as_strided(x, (17,), (4,))\n"
        "print(beyond[:16].sum(), flush=True)\n"
        "beyond.sum()\n"
    )
    assert run_python(code, status=VIOLATION, SPIROGRAD_POISON="1").startswith("16.0\n")
