"""The process around the engine: its beginning, its end, its interpreters, and what it may lack."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import spirograd as sg

Run = Callable[..., str]


# ---- the beginning ---------------------------------------------------------------------------------------------------
def test_first_use_by_many_threads_at_once(device: sg.Device, run_python: Run) -> None:
    out = run_python(
        "import threading\n"
        "import spirograd as sg\n"
        "start, found = threading.Barrier(32), []\n"
        "def work(i):\n"
        "    start.wait()\n"
        f"    found.append((sg.full((3,), i, device='{device.kind}') * 2).sum().item() == 6 * i)\n"
        "threads = [threading.Thread(target=work, args=(i,)) for i in range(32)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(len(found), all(found))"
    )
    assert out == "32 True\n"


def test_import_by_many_threads_at_once(run_python: Run) -> None:
    out = run_python(
        "import threading\n"
        "start, found = threading.Barrier(16), []\n"
        "def work():\n"
        "    start.wait()\n"
        "    import spirograd as sg\n"
        "    found.append((sg, sg.ones(2).sum().item()))\n"
        "threads = [threading.Thread(target=work) for _ in range(16)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(len(found), len({id(m) for m, _ in found}), {v for _, v in found})"
    )
    assert out == "16 1 {2.0}\n"


def test_the_package_can_be_reloaded(run_python: Run) -> None:
    out = run_python(
        "import importlib, sys, spirograd as sg\n"
        "x = sg.ones(3)\n"
        "sg = importlib.reload(sg)\n"
        "print((x + sg.ones(3)).tolist())\n"
        "for name in [n for n in sys.modules if n.startswith('spirograd') and n != 'spirograd._core']:\n"
        "    del sys.modules[name]\n"
        "import spirograd as again\n"
        "print((x + again.ones(3)).tolist(), isinstance(x, again.Tensor))"
    )
    assert out == "[2.0, 2.0, 2.0]\n[2.0, 2.0, 2.0] True\n"


@pytest.mark.parametrize("first", [False, True], ids=["alone", "after the main interpreter"])
def test_a_sub_interpreter_is_refused_in_one_line(first: bool, run_python: Run) -> None:
    out = run_python(
        "import sys\n"
        "try:\n"
        "    import _interpreters as interpreters\n"
        "except ImportError:\n"
        "    import _xxsubinterpreters as interpreters\n" + ("import spirograd\n" if first else "") + "code = f'''\n"
        "import sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "sys.path[:] = {sys.path!r}\n"
        "try:\n"
        "    import spirograd\n"
        "except ImportError as error:\n"
        "    print(error)\n"
        "'''\n"
        "interpreters.run_string(interpreters.create(), code)\n"
        "print('main:', __import__('spirograd').ones(2).sum().item())",
        timeout=180,
    )
    refusal, main = out.splitlines()
    assert re.search("sub-?interpreter", refusal) and main == "main: 2.0"


def test_a_free_threaded_python_keeps_its_gil() -> None:
    """The module does not declare that it can do without, so such a Python switches its GIL on, and warns."""
    if hasattr(sys, "_is_gil_enabled"):
        assert sys._is_gil_enabled()
    declaration = Path(__file__).parents[2].joinpath("cpp", "bind", "module.cpp").read_text(encoding="utf-8")
    assert "PYBIND11_MODULE(_core, module)" in declaration and "gil_not_used" not in declaration


# ---- the end ---------------------------------------------------------------------------------------------------------
ENDS = {
    "tensors in globals": "keep = [x @ x, (x.requires_grad_() * 2).sum()]",
    "work in flight": "for _ in range(20): y = (x @ x).tanh()\nsg._core._submit([[y]])",
    "handlers in both orders": "import atexit\natexit.register(lambda: print((x + 1).sum().item() > 0, flush=True))",
    "daemon threads that compute": "import threading\n"
    "def work():\n"
    "    while True: (x @ x).sum().item()\n"
    "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
    "import time; time.sleep(0.1)",
    "a finaliser that computes": "class Late:\n"
    "    def __del__(self): (x * 2).sum().item()\n"
    "late = Late(); late.me = late",
    "sys.exit in a thread": "import threading\nthreading.Thread(target=lambda: sg.ones(3).sum().item()).start()",
}


@pytest.mark.gpu
def test_a_process_ends_although_a_thread_compiles(run_python: Run, gpu: sg.Device) -> None:
    code = """
import threading, time, spirograd as sg
x = sg.rand(50, device="gpu").realize()
def work():
    y = x
    for i in range(1000):
        for n in range(1 + i % 3):
            y = (y.sin() + y.cumsum(0) * 0.1).cos() * y.softmax(0) + (i + n) * 0.01
threading.Thread(target=work, daemon=True).start()
time.sleep(SECONDS)
print("over", flush=True)
"""
    for seconds in (0.6, 0.9, 1.2):  # runs of the thread wait in line
        assert run_python(code.replace("SECONDS", str(seconds)), SPIROGRAD_CUT="3", SPIROGRAD_CACHE="0") == "over\n"


@pytest.mark.parametrize("name", ENDS)
def test_a_process_ends_at_once_and_in_silence(name: str, device: sg.Device, run_python: Run) -> None:
    if device.kind == "gpu" and name not in ("work in flight", "daemon threads that compute"):
        pytest.skip("the same on both")
    code = f"import time, spirograd as sg\nx = sg.rand(200, 200, device='{device.kind}').realize()\n{ENDS[name]}\n"
    out = run_python(code + "print(time.time(), flush=True)", SPIROGRAD_DEBUG="0")
    ended = time.time() - float(out.split("\n")[0])
    assert ended < 2, f"{ended:.1f} s after the last line"


def test_a_process_ends_although_a_thread_computes_for_long(run_python: Run) -> None:
    out = run_python(
        "import threading, time, spirograd as sg\n"
        "x = sg.ones(1 << 22)\n"
        "def work():\n"
        "    y = x\n"
        "    for _ in range(2000): y = y.sin()\n"
        "    y.realize()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.5)\n"
        "print(time.time(), flush=True)"
    )
    ended = time.time() - float(out)
    assert ended < 2, f"{ended:.1f} s after the last line"


# ---- what a process may lack -----------------------------------------------------------------------------------------
def test_no_output_to_write_to(device: sg.Device) -> None:
    code = (
        "import os, sys\n"
        "os.close(1); os.close(2); sys.stdout = sys.stderr = None\n"
        "import spirograd as sg\n"
        f"net = sg.nn.Linear(2, 1).to('{device.kind}')\n"
        f"x = sg.ones(4, 2, device='{device.kind}')\n"
        "sg.fit(net, x, sg.zeros(4, 1), loss='mse', epochs=2, verbose=0)\n"
        "os._exit(0 if net(x).sum().item() == net(x).sum().item() else 1)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "SPIROGRAD_DEBUG": "2"}
    assert subprocess.run([sys.executable, "-c", code], env=env, timeout=180).returncode == 0


def test_no_home(device: sg.Device, run_python: Run) -> None:
    code = (
        "import os\n"
        "for name in ('HOME', 'XDG_CACHE_HOME', 'TMPDIR', 'USER', 'SPIROGRAD_CACHE'): os.environ.pop(name, None)\n"
        "import warnings\n"
        "warnings.simplefilter('error')\n"
        "import spirograd as sg\n"
        f"print((sg.ones(3, device='{device.kind}') * 2).tolist())"
    )
    assert run_python(code) == "[2.0, 2.0, 2.0]\n"


@pytest.mark.gpu
def test_a_cache_that_cannot_be_written_is_one_warning(run_python: Run, tmp_path: Path) -> None:
    """As on a disk that is full or read-only: the work is done, the cache is off."""
    (tmp_path / "file").write_text("in the way of a folder")
    out = run_python(
        "import warnings, spirograd as sg\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    a = (sg.ones(3, device='gpu') * 3).exp().sum().item()\n"
        "    b = (sg.ones(3, device='gpu') * 3).tanh().sum().item()\n"
        "print(a > 60, b < 3, len([w for w in seen if w.category is sg.CacheWarning]) <= 1)",
        SPIROGRAD_CACHE=str(tmp_path / "file" / "cache"),
    )
    assert out == "True True True\n"


def test_a_new_plan_says_from_which_operation_on_it_is_new() -> None:
    code = """
import sys, spirograd as sg
ones = {n: sg.ones(n).realize() for n in (1, 3, 4)}
def run(n, held):
    print("run", file=sys.stderr, flush=True)
    y = (ones[n] + 1).cumsum(0)
    kept = y.exp()
    if not held:
        del kept
        return (y * 2).realize()
    return kept, (y * 2).realize()
run(3, False), run(3, False), run(4, False), run(3, True), run(3, True), run(1, False)
"""
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, "SPIROGRAD_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=180)
    first, again, longer, held, held_again, one = done.stderr.split("run\n")[1:]
    assert "plan: 4 operations like none before\n" in first
    assert "plan:" not in again and "plan:" not in held_again
    assert "plan: 4 operations as before, with other sizes\n" in longer
    assert "plan: 4 operations like none before from here on: %0 = add float32[] (data, 1.0" in one
    assert "plan: 4 operations as before, but other results are held, or other memory is free" in held
