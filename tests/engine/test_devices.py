"""Devices, threads, processes, interrupts."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads, runs_meanwhile


def test_cpu() -> None:
    cpu = sg.Device.cpu()
    assert str(cpu) == "cpu" and repr(cpu) == "Device(cpu)" and cpu.type == "cpu" and cpu.kind == "cpu"
    assert cpu == sg.device("cpu") == "cpu" and hash(cpu) == hash(sg.Device("cpu")) and cpu != "gpu:0" and cpu != 3
    assert cpu.memory_total > 0 and isinstance(cpu.limits, dict) and isinstance(cpu.features, dict)
    assert sg.zeros(1).device is cpu and pickle.loads(pickle.dumps(cpu)) == cpu
    assert sg.Device.list()[0] == cpu


@pytest.mark.gpu
def test_gpu() -> None:
    gpu = sg.Device.gpu()
    assert str(gpu) == "gpu:0" and repr(gpu) == "Device(gpu:0)" and gpu.kind == "gpu" and gpu.index == 0
    assert gpu == sg.device("gpu") == sg.device("gpu:0") and gpu.name and gpu.api_version
    assert gpu in sg.Device.list() and sg.Device.gpu(name=gpu.name[:5].upper()).kind == "gpu"
    assert sg.Device.gpu(uuid=gpu.uuid).kind == "gpu" and gpu.memory_total > 0 and gpu.memory_free > 0
    with pytest.raises(sg.DeviceUnavailableError, match=r"no GPU with name 'nonesuch'"):
        sg.Device.gpu(name="nonesuch")
    x = sg.arange(5.0, device=gpu)
    assert x.to("cpu").device == "cpu" and x.cpu().to(gpu).tolist() == [0, 1, 2, 3, 4]
    w = sg.ones(3, requires_grad=True)
    (w.to(gpu) * 2).sum().backward()
    assert w.grad.device == "cpu" and w.grad.tolist() == [2, 2, 2]


def test_best_says_which(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="spirograd"):
        best = sg.Device.best()
    assert len(caplog.records) == 1 and f"Device.best(): {best}" in caplog.text
    assert best.kind == ("gpu" if sg.Device.is_gpu_available() else "cpu")


def test_default_device() -> None:
    assert sg.get_default_device() == os.environ.get("SPIROGRAD_DEVICE", "cpu")
    sg.set_default_device("cpu")
    assert sg.tensor([1.0]).device == "cpu"


def test_default_device_from_the_environment(run_python: object) -> None:
    code = "import spirograd as sg\ntry:\n    print(sg.zeros(1).device)\nexcept Exception as e:\n    print(e)"
    assert run_python(code, SPIROGRAD_DEVICE="cpu") == "cpu\n"
    out = run_python(code, SPIROGRAD_DEVICE="tpu")
    assert out == 'device: \'tpu\' names no device; use "cpu", "gpu" or "gpu:1"\n'


def test_info(run_python: object) -> None:
    path = os.pathsep.join(p for p in sys.path if p)
    out = subprocess.run(
        [sys.executable, "-m", "spirograd", "info", "--all"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    ).stdout
    assert out.startswith(f"spirograd {sg.__version__}") and "  cpu: " in out and "SPIROGRAD_TIMEOUT=60" in out
    assert ("no GPU: " in out) != sg.Device.is_gpu_available()
    assert "kernel cache: " in out


@pytest.mark.gpu
def test_a_software_device_is_no_gpu_unless_it_is_asked_for(gpu: sg.Device, run_python: object) -> None:
    if gpu.type != "software":
        pytest.skip("there is a real GPU")
    code = """
import spirograd as sg
print(sg.Device.is_gpu_available(), sg.Device.best())
try:
    sg.Device.gpu()
except sg.DeviceUnavailableError as error:
    print(error)
"""
    available, why = run_python(code, SPIROGRAD_ALLOW_CPU_VULKAN="0").splitlines()
    assert available == "False cpu" and "only a software Vulkan device" in why and "SPIROGRAD_ALLOW_CPU_VULKAN=1" in why


def test_missing_vulkan_is_explained(run_python: object) -> None:
    out = run_python(
        "import spirograd as sg\nprint(sg.Device.is_gpu_available(), sg.Device.best())\n"
        "try:\n    sg.Device.gpu()\nexcept sg.DeviceUnavailableError as e:\n    print(e)",
        SPIROGRAD_VULKAN_LIB="/nonexistent/libvulkan.so",
    )
    first, message = out.splitlines()
    assert first == "False cpu" and "/nonexistent/libvulkan.so" in message


@pytest.mark.gpu
def test_missing_drivers_are_explained(run_python: object) -> None:
    """The loader is there, and finds none."""
    out = run_python(
        "import spirograd as sg\nprint(sg.Device.is_gpu_available(), sg.Device.best(), sg.ones(2).sum().item())\n"
        "try:\n    sg.Device.gpu()\nexcept sg.DeviceUnavailableError as e:\n    print(e)",
        **dict.fromkeys(("VK_DRIVER_FILES", "VK_ICD_FILENAMES"), "/nonexistent/icd.json"),
    )
    first, message = out.splitlines()
    assert first == "False cpu 2.0" and "no driver" in message and "/nonexistent/icd.json" in message


# ---- threads -------------------------------------------------------------------------------------------------------


def test_sixteen_threads(device: sg.Device) -> None:
    shared = sg.arange(64.0, device=device, dtype=sg.float64)

    def work(seed: int) -> None:
        w = sg.tensor(np.full(64, seed + 1.0), device=device, requires_grad=True)
        for i in range(20):
            w.grad = None
            loss = (w * shared * (i + 1)).sum()
            loss.backward()
            expected = np.arange(64.0) * (i + 1)
            np.testing.assert_array_equal(w.grad.numpy(), expected)
            assert loss.item() == (seed + 1) * expected.sum()

    run_threads(work, 16)


def test_grad_mode_is_per_thread() -> None:
    seen = []
    with sg.no_grad():
        t = threading.Thread(target=lambda: seen.append(sg.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_other_threads_run_while_one_computes(device: sg.Device) -> None:
    n = 1500 if device == "cpu" else 400
    a = sg.rand(n, n, device=device).realize()

    def compute() -> None:
        x = a
        for _ in range(6):
            x = x @ a * 1e-3
        x.numpy()

    # On a busy machine, this thread may come only when the call is over: then once more.
    assert any(runs_meanwhile(compute) for _ in range(5)), "it keeps the GIL"


# ---- processes -----------------------------------------------------------------------------------------------------

FORK = """
import os, sys, signal
import spirograd as sg
device = sys.argv[1] if len(sys.argv) > 1 else {device!r}
x = sg.rand(300, 300, device=device)
want = (x @ x).sum().item()
child = os.fork()
if child == 0:
    signal.alarm(30)
    y = sg.ones(300, 300)
    ok = (y @ y).sum().item() == 300.0 ** 3
    if device == "gpu":
        try:
            sg.ones(3, device="gpu").numpy()
            ok = False
        except sg.ForkError as e:
            print(e, flush=True)
    del x
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status), (x @ x).sum().item() == want)
"""


@pytest.mark.needs("fork")
def test_fork_on_the_cpu(run_python: object) -> None:
    assert run_python(FORK.format(device="cpu")) == "child 0 True\n"


@pytest.mark.needs("fork")
@pytest.mark.gpu
def test_fork_after_gpu_use(run_python: object) -> None:
    message, last = run_python(FORK.format(device="gpu")).splitlines()
    assert last == "child 0 True" and "fork" in message.lower()


@pytest.mark.needs("fork")
def test_fork_with_pending_work(run_python: object) -> None:
    out = run_python(
        "import os, spirograd as sg\nx = sg.ones(4) * 3\nchild = os.fork()\n"
        "assert x.tolist() == [3, 3, 3, 3]\n"
        "if child == 0: os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert out == "0\n"


@pytest.mark.needs("fork")
def test_fork_while_threads_compute(run_python: object) -> None:
    """A fork comes while others hold every lock of the engine; the child computes with threads of its own."""
    out = run_python(
        "import os, signal, threading, spirograd as sg\n"
        "x, small, stop = sg.rand(300, 300), sg.rand(4), False\n"
        "def compute():\n"
        "    while not stop: (x @ x).exp().sum().item()\n"
        "def allocate():\n"
        "    while not stop: [sg.empty(1 << n).realize() for n in range(4, 20)]\n"
        "def record():\n"
        "    while not stop: (small.clone().requires_grad_() * 2).sum().backward()\n"
        "def in_child():\n"
        "    signal.alarm(20)\n"
        "    sg.synchronize('cpu')\n"  # also what the threads had left, which the child does not have
        "    w = sg.full((300, 300), 2.0, requires_grad=True)\n"
        "    (w @ w).sum().backward()\n"
        "    right = w.grad.sum().item() == 300 * 300 * 1200\n"
        "    return right and (sg.rand(1 << 22) < 1).all().item()\n"
        "threads = [threading.Thread(target=work, daemon=True) for work in (compute, allocate, record)]\n"
        "for t in threads: t.start()\n"
        "for _ in range(20):\n"
        "    child = os.fork()\n"
        "    if child == 0: os._exit(not in_child())\n"
        "    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "    assert status == 0, status\n"
        "stop = True\n"
        "for t in threads: t.join()\n"
        "print('right')",
        SPIROGRAD_THREADS="3",
    )
    assert out == "right\n"


def test_exit_with_pending_work_and_threads(device: sg.Device, run_python: object) -> None:
    out = run_python(
        "import threading, time, spirograd as sg\n"
        f"x = sg.rand(200, 200, device='{device}')\n"
        "def work():\n"
        "    while True: (x @ x).sum().item()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.2)\n"
        "keep = [x @ x, (x.detach().requires_grad_() * 2).sum()]\n"
        "print('end')"
    )
    assert out == "end\n"


@pytest.mark.needs("signals")
def test_interrupt(device: sg.Device) -> None:
    path = os.pathsep.join(p for p in sys.path if p)
    code = (
        f"import spirograd as sg\nx = sg.rand(600, 600, device='{device}')\nx.numpy()\nprint('go', flush=True)\n"
        "while True:\n    y = x\n    for _ in range(5): y = y @ x * 1e-3\n    y.numpy()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "go\n"
    time.sleep(0.5)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=180)
    assert "KeyboardInterrupt" in stderr and time.perf_counter() - begin < 3


@pytest.mark.gpu
def test_damaged_cache_is_a_warning(run_python: object, tmp_path: Path) -> None:
    code = (
        "import warnings, spirograd as sg\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    print((sg.ones(3, device='gpu') * 3).exp().sum().item() > 60, [w.category.__name__ for w in seen])"
    )
    assert run_python(code, SPIROGRAD_CACHE=str(tmp_path)) == "True []\n"
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert files
    for f in files:
        f.write_bytes(f.read_bytes()[:-7])
    assert run_python(code, SPIROGRAD_CACHE=str(tmp_path)) == "True ['CacheWarning']\n"


# ---- memory --------------------------------------------------------------------------------------------------------


HELD = """
import gc, os, sys
import spirograd as sg
from process_memory import resident

device = sg.Device({device!r})
net = sg.nn.Sequential(sg.nn.Linear(64, 64), sg.nn.Tanh(), sg.nn.Linear(64, 3)).to(device)
opt = sg.optim.Adam(net.parameters(), lr=0.01)
x, y = sg.rand(16, 64, device=device), sg.randint(0, 3, (16,), device=device)

def step():
    opt.zero_grad()
    loss = sg.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    return loss

def held():
    sg.synchronize()
    stats = sg.stats()
    kept = {{name: stats[name] for name in ("bytes_live", "plans_kept", "plan_bytes", "kernels_kept")}}
    kept["files"] = len(os.listdir("/proc/self/fd"))
    kept["threads"] = len(os.listdir("/proc/self/task"))
    return kept, sys.getallocatedblocks(), resident()

gc.disable()  # what only the collector frees would pile up between its runs
steps = [step, sg.compile(step), lambda: step().item()]
for work in steps:
    for _ in range(40):
        work()
before, blocks, size = held()
for work in steps:
    for _ in range({steps}):
        work()
after, blocks_after, size_after = held()
print(after == before or (before, after), blocks_after - blocks, size_after - size)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system lists no files of a process")
def test_steps_do_not_leak(device: sg.Device, run_python: Callable[..., str]) -> None:
    """Tensors, nodes and plans, objects of Python, files and threads: hundreds of steps hold what a few did."""
    steps = 1000 if device == "cpu" else 200
    same, blocks, size = run_python(HELD.format(device=str(device), steps=steps)).rsplit(maxsplit=2)
    assert same == "True"
    assert int(blocks) < steps / 4, "objects of Python"
    assert int(size) < 300 * steps, "bytes of the process: less than one node a step"


def test_objects_are_freed() -> None:
    import gc
    import weakref

    x = sg.ones(3, requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    w = weakref.ref(y)
    del y
    assert w() is None
    for _ in range(3):
        gc.collect()
    before = sys.getrefcount(None)
    for _ in range(1000):
        x.grad = None
        _ = x.sum(None).grad_fn, x[None, ...], x == None, x.to("cpu"), x.size()  # noqa: E711
    assert abs(sys.getrefcount(None) - before) < 50


@pytest.mark.gpu
def test_exit_with_work_in_flight_is_clean(run_python: object) -> None:
    run_python(
        "import spirograd as sg\n"
        "d = sg.Device.gpu(); net = sg.nn.Linear(390, 390).to(d); opt = sg.optim.Adam(net.parameters())\n"
        "x = sg.randn(8, 390, device=d)\n"
        "for _ in range(3):\n"
        "    opt.zero_grad(); (net(x) ** 2).mean().backward(); opt.step()\n",
        SPIROGRAD_CACHE="0",
    )


def test_memory_is_summed_up_as_text(device: sg.Device) -> None:
    before = sg.memory_summary(device, abbreviated=True)
    x = sg.ones(3 << 20, device=device).realize()
    sg.synchronize()
    text = sg.memory_summary(device)
    rows = dict(line.strip().rsplit("  ", 1) for line in text.splitlines()[1:])
    assert (
        text.startswith(f"{device}: ")
        and float(rows[next(k for k in rows if k.startswith("in use now"))].split()[0]) >= 12
    )
    assert len(before.splitlines()) == 3 and len(rows) == 7
    assert f"{device}: " in sg.memory_summary() and x.shape == (3 << 20,)
