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
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads


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
        [sys.executable, "-m", "spirograd", "info"],
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


def test_other_threads_run_while_one_computes() -> None:
    a = sg.rand(1500, 1500)
    a.numpy()
    stop, ticks = threading.Event(), [0]

    def tick() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    t = threading.Thread(target=tick)
    t.start()
    before = ticks[0]
    begin = time.perf_counter()
    x = a
    for _ in range(6):
        x = x @ a * 1e-3
    x.numpy()
    seconds = time.perf_counter() - begin
    during = ticks[0] - before
    stop.set()
    t.join()
    assert during >= min(5, 100 * seconds), f"{during} ticks in {seconds:.2f} s"


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
    out = run_python(
        "import os, signal, threading, spirograd as sg\n"
        "x = sg.rand(100, 100)\nstop = False\n"
        "def work():\n"
        "    while not stop: (x @ x).sum().item()\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "for t in threads: t.start()\n"
        "bad = 0\n"
        "for _ in range(30):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        signal.alarm(10)\n"
        "        y = sg.ones(50, 50)\n"
        "        os._exit((y @ y).sum().item() != 50**3)\n"
        "    bad += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0\n"
        "stop = True\n"
        "for t in threads: t.join()\n"
        "print(bad)"
    )
    assert out == "0\n"


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


def test_steps_do_not_leak(device: sg.Device) -> None:
    w = sg.ones(64, 64, device=device, requires_grad=True)
    opt = sg.optim.SGD([w], lr=0.01)

    def step() -> None:
        opt.zero_grad()
        (w @ w).tanh().sum().backward()
        opt.step()

    for _ in range(5):
        step()
    sg.synchronize()
    before = sg.stats()["bytes_live"]
    for _ in range(50):
        step()
    sg.synchronize()
    assert sg.stats()["bytes_live"] <= before


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
