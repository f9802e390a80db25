"""Clocks of programs written for PyTorch: what was recorded on the CPU is done before a clock is read."""

from __future__ import annotations

import json
import time

import pytest

import spirograd as sg
from test_run import run, script  # noqa: F401  (script is a fixture)

# Whether a call runs what is pending: y is held, and nobody has asked for its value.
RUNS = """
import spirograd
def runs(call):
    before, y = spirograd.stats()["nodes"], torch.ones(3) + 1
    call()
    return spirograd.stats()["nodes"] > before
"""


def test_a_product_is_done_before_the_clock_is_read(script) -> None:  # noqa: F811
    path = script("""
import time, torch
x = torch.randn(2000, 2000)
def seconds(read):
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        y = x @ x
        if read:
            y.sum().item()
        best = min(best, time.perf_counter() - start)
    return best
seconds(True)
print(seconds(False) / seconds(True))
""")
    assert float(run(path).stdout) > 0.5


def test_all_clocks_wait_however_they_are_named(script) -> None:  # noqa: F811
    path = script(f"""
import time, timeit
from time import perf_counter as by_name, monotonic
import torch
{RUNS}
names = "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns thread_time"
for name in names.split():
    print(name, runs(getattr(time, name)))
print("by name", runs(by_name), runs(monotonic))
class Timer:
    clock = time.time
print("in a class", runs(Timer().clock), runs(timeit.default_timer))
print("timeit", runs(lambda: timeit.timeit("1", number=1)))
print("timeit here", runs(lambda: timeit.timeit("1", number=1, globals=globals())))
print("cpu", runs(torch.cpu.synchronize))
def record():
    event = torch.Event("cpu", enable_timing=True)
    event.record()
    event.synchronize()
print("event", runs(record))
""")
    lines = run(path).stdout.splitlines()
    assert len(lines) == 15
    assert not [line for line in lines if "False" in line]


def test_clocks_that_time_nothing_run_nothing(script) -> None:  # noqa: F811
    pytest.importorskip("tqdm")
    path = script(f"""
import asyncio, logging, queue, sys, threading, time
import torch
from tqdm import tqdm
{RUNS}
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
bar = tqdm(total=3, mininterval=0)
def wait():
    try:
        queue.Queue().get(timeout=0.001)
    except queue.Empty:
        pass
seen = []
def monitor():
    thread = threading.Thread(target=lambda: seen.append(time.time()))
    thread.start()
    thread.join()
print(runs(lambda: logging.info("step")), runs(bar.update), runs(wait), runs(monitor), runs(bar.close))
print(runs(lambda: threading.Event().wait(0.001)), runs(lambda: asyncio.run(asyncio.sleep(0.001))), len(seen))
""")
    assert run(path).stdout.split() == ["False"] * 7 + ["1"]


def test_clocks_remain_functions_of_their_module(script) -> None:  # noqa: F811
    path = script("""
import dataclasses, pickle, time, types
import torch
@dataclasses.dataclass
class Row:
    at: float = dataclasses.field(default_factory=time.time)
assert isinstance(time.time, types.BuiltinFunctionType) and pickle.loads(pickle.dumps(time.time)) is time.time
assert abs(Row().at - time.time_ns() / 1e9) < 5 and time.time.__module__ == "time" and "time" in time.time.__doc__
try:
    time.time(1)
except TypeError:
    print("no arguments")
""")
    assert run(path).stdout == "no arguments\n"


def test_processes_that_a_program_starts_have_them_too(script) -> None:  # noqa: F811
    path = script(f"""
import json, multiprocessing, time
import torch
{RUNS}
def child(queue):
    queue.put(runs(time.perf_counter))
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(json.dumps(queue.get(timeout=60)))
    process.join()
""")
    assert json.loads(run(path).stdout) is True


def test_clocks_of_other_programs_are_pythons_own() -> None:
    before, y = sg.stats()["nodes"], sg.ones(3) + 1
    time.perf_counter()
    assert sg.stats()["nodes"] == before and y.tolist() == [2, 2, 2]
