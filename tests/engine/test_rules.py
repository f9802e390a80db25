"""When work runs: the rules that make laziness safe, one group of tests each (docs/ARCHITECTURE.md)."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads

Run = Callable[..., str]


class Counted:
    """What the counters gained inside a `with`."""

    def __enter__(self) -> Counted:
        self.before = sg.stats()
        return self

    def __exit__(self, *_: object) -> None:
        self.gained = {k: v - self.before[k] for k, v in sg.stats().items()}

    def __getitem__(self, name: str) -> int:
        return int(self.gained[name])


def reads(device: sg.Device, count: int = 1) -> int:
    """Submissions that fetch bytes: a GPU copies them to memory that the host sees."""
    return count if device.kind == "gpu" else 0


def ready(x: sg.Tensor) -> sg.Tensor:
    sg.synchronize(x.device)
    return x


def numbers(n: int, device: sg.Device, seed: int = 0) -> sg.Tensor:
    return ready(sg.tensor(np.random.default_rng(seed).uniform(-1, 1, n).astype(np.float32), device=device))


# ---- 1. log: a second step of the same structure is a plan hit -------------------------------------------------------
def test_log_same_structure_is_a_hit(device: sg.Device) -> None:
    def step(x: sg.Tensor, factor: float) -> float:
        return float(((x * factor).tanh().sum() + factor).item())

    step(numbers(100, device), 0.25)
    with Counted() as c:
        got = [step(numbers(100, device, seed), f) for seed, f in ((1, 0.5), (2, -3.0), (3, 0.0))]
    assert (c["plan_hits"], c["plan_misses"]) == (3, 0)
    for seed, f, y in zip((1, 2, 3), (0.5, -3.0, 0.0), got, strict=True):
        x = numbers(100, device, seed).numpy().astype(np.float64)
        assert y == pytest.approx(np.tanh(x * f).sum() + f, rel=1e-5, abs=1e-5)


def test_log_which_leaves_are_the_same_is_structure(device: sg.Device) -> None:
    a, b = numbers(10, device), numbers(10, device, 1)
    (a * b + a).numpy()
    with Counted() as c:
        same = (a * a + a).numpy()
    assert c["plan_misses"] == 1
    np.testing.assert_array_equal(same, a.numpy() * a.numpy() + a.numpy())


# ---- 2. key: what is not in it ---------------------------------------------------------------------------------------
def test_key_slice_offsets_are_arguments(device: sg.Device) -> None:
    x = numbers(4096, device)
    array = x.numpy()
    (x[0:256] * 2).numpy()
    with Counted() as c:
        for start in (256, 1024, 3840):
            np.testing.assert_array_equal((x[start : start + 256] * 2).numpy(), array[start : start + 256] * 2)
    assert (c["plan_hits"], c["plan_misses"]) == (3, 0)


def test_key_learning_rate_and_step_are_arguments(device: sg.Device) -> None:
    w = sg.ones(8, device=device, requires_grad=True)
    opt = sg.optim.Adam([w], lr=1e-3)
    for i in range(6):
        if i == 2:
            before = sg.stats()
        opt.param_groups[0]["lr"] = 1e-3 * (i + 1)
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()
    after = sg.stats()
    assert after["plan_misses"] == before["plan_misses"]
    assert after["plan_hits"] == before["plan_hits"] + 4


def test_key_equal_numbers_do_not_merge(device: sg.Device) -> None:
    x = numbers(16, device)

    def f(a: float, b: float) -> np.ndarray[Any, Any]:
        return (x * a + b).numpy()

    f(2.0, 2.0)  # equal here must not mean equal for ever
    with Counted() as c:
        got = f(3.0, 5.0)
    assert c["plan_misses"] == 0
    np.testing.assert_array_equal(got, x.numpy() * np.float32(3) + np.float32(5))


def test_key_rewrites_by_value_are_other_ops(device: sg.Device) -> None:
    x = numbers(16, device)
    (x**3.0).numpy()
    np.testing.assert_array_equal((x**2).numpy(), x.numpy() * x.numpy())
    with Counted() as c:
        (x**4.0).numpy()
    assert c["plan_misses"] == 0


def test_key_held_results_are_structure_and_sizes_are_bound(device: sg.Device) -> None:
    x = numbers(16, device)
    (x * 2).tanh().numpy()
    with Counted() as c:
        kept = x * 2
        kept.tanh().numpy()
    assert c["plan_misses"] == 1
    np.testing.assert_array_equal(kept.numpy(), x.numpy() * 2)
    with Counted() as c:
        (numbers(17, device) * 2).tanh().numpy()
    assert c["plan_misses"] == 0
    assert c["plans_bound"] == 1


def test_key_a_short_last_batch_compiles_nothing(device: sg.Device) -> None:
    w = numbers(32 * 16, device).reshape(32, 16)

    def step(n: int) -> None:
        (numbers(n * 32, device).reshape(n, 32) @ w).relu().sum(dim=1).numpy()

    step(64)
    with Counted() as c:
        step(40)
    assert (c["plan_misses"], c["plans_bound"]) == (0, 1)
    assert c["kernels_compiled"] == 0


# ---- 3. flush: reads, steps and limits run everything; looking runs nothing ------------------------------------------
def test_flush_a_read_runs_everything(device: sg.Device) -> None:
    x = numbers(32, device)
    others = [x * float(i) for i in range(5)]
    with Counted() as c:
        (x + 1).numpy()
    assert c["submissions"] == 1 + reads(device)
    with Counted() as c:
        values = [o.numpy() for o in others]
    assert c["dispatches"] == 0
    assert c["submissions"] == reads(device, 5)
    np.testing.assert_array_equal(values[3], x.numpy() * 3)


def test_flush_an_optimizer_step_runs_everything(device: sg.Device) -> None:
    w = ready(sg.ones(4, device=device, requires_grad=True))
    opt = sg.optim.SGD([w], lr=0.5)
    loss = (w * w).sum()
    loss.backward()
    with Counted() as c:
        opt.step()
    assert c["submissions"] == 1
    with Counted() as c:
        assert loss.item() == 4
    assert c["dispatches"] == 0
    assert c["submissions"] == reads(device)


def test_flush_limits_bound_the_log(device: sg.Device) -> None:
    x = numbers(4, device)
    kept = [x] * 8
    with Counted() as c:
        for i in range(20_000):
            kept[i % 8] = x + float(i)
    assert c["submissions"] >= 2
    np.testing.assert_array_equal(kept[3].numpy(), x.numpy() + np.float32(19_995))


def test_flush_an_empty_log_ends_the_loop_before(device: sg.Device) -> None:
    x = numbers(4, device)
    (x * 3 + 1).numpy()
    nodes = sg.stats()["nodes"]
    while sg.stats()["nodes"] == nodes:  # to the limit, at which the log is empty
        kept = x + 1
    sg.synchronize(device)
    with Counted() as c:
        (x * 3 + 1).numpy()
    assert (c["plan_hits"], c["plan_misses"]) == (1, 0)
    assert kept.shape == x.shape


def test_flush_looking_runs_nothing(device: sg.Device) -> None:
    x = numbers(64, device)
    y = (x * 2).exp()
    with Counted() as c:
        graph, plan, text = y.graph(), y.plan(), sg.explain(y)
        again = y.graph()
    assert c["submissions"] == c["dispatches"] == c["plan_misses"] == c["plan_hits"] == 0
    assert "mul" in graph and "exp" in graph and graph == again
    assert len(plan) == 1 and "mul" in plan[0].name
    assert "graph" in text and "plan" in text
    np.testing.assert_allclose(y.numpy(), np.exp(x.numpy() * 2), rtol=1e-6)
    assert "value is there" in y.graph()


# ---- 4. results: only what somebody holds is written -----------------------------------------------------------------
def test_results_only_held_values_are_written(device: sg.Device) -> None:
    n = 1 << 18
    x = numbers(n, device)
    ready(x * 3)

    def grown(keep: bool) -> int:
        before = sg.stats()["bytes_live"]
        a = x * 2
        b = a.tanh()
        c = b + 1
        if not keep:
            del a, b
        ready(c)
        return sg.stats()["bytes_live"] - before

    assert grown(keep=False) <= 2 * 4 * n
    assert grown(keep=True) >= 3 * 4 * n


def test_results_saved_values_end_with_backward(device: sg.Device) -> None:
    size = 256
    x = (sg.ones(size, size, device=device) / size).requires_grad_()
    ready(x)
    for retain in (True, False):
        y = (x @ x @ x @ x).sum()  # formulas need not be stored
        ready(y)
        x.grad = None
        y.backward(retain_graph=retain)
        ready(x.grad)
        x.grad = None
        live = sg.stats()["bytes_live"]
        del y
        freed = live - sg.stats()["bytes_live"]
        assert (freed >= 2 * 4 * size**2) is retain, freed


# ---- 5. storage: views see writes, saved values do not ---------------------------------------------------------------
def test_storage_views_see_writes(device: sg.Device) -> None:
    base = sg.zeros(3, 4, device=device)
    row, column, flat = base[1], base[:, 2], base.reshape(-1)
    turned = base.transpose(0, 1)
    row[1] = 5
    column.copy_(sg.tensor([7.0, 8.0, 9.0], device=device))
    turned[3, 0] = 1
    want = np.zeros((3, 4), np.float32)
    want[1, 1] = 5
    want[:, 2] = [7, 8, 9]
    want[0, 3] = 1
    np.testing.assert_array_equal(base.numpy(), want)
    np.testing.assert_array_equal(row.numpy(), want[1])
    np.testing.assert_array_equal(flat.numpy(), want.ravel())
    np.testing.assert_array_equal(turned.numpy(), want.T)
    np.testing.assert_array_equal(column.numpy(), want[:, 2])


def test_storage_writes_are_ordered_with_reads(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0, 3.0], device=device)
    before = x * 10
    x.mul_(2)
    between = x + 0
    x[1:] = 0
    assert before.tolist() == [10, 20, 30]
    assert between.tolist() == [2, 4, 6]
    assert x.tolist() == [2, 0, 0]


def test_storage_overlapping_views(device: sg.Device) -> None:
    x = sg.arange(10.0, device=device)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    y = ready(sg.arange(9.0, device=device).reshape(3, 3).clone())
    y.copy_(y.T)
    assert y.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    with pytest.raises(ValueError, match="share memory"):
        sg.zeros(1, device=device).expand(4).copy_(sg.arange(4.0, device=device))


def test_storage_saved_values_are_not_overwritten_unnoticed(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = (x * x).sum()
    with sg.no_grad():
        x.zero_()
    with pytest.raises(sg.Error, match="overwritten in place"):
        y.backward()
    assert x.tolist() == [0, 0]


def test_storage_updates_in_place_keep_memory_flat(device: sg.Device) -> None:
    w = sg.zeros(1 << 18, device=device, requires_grad=True)
    opt = sg.optim.SGD([w], lr=0.1, momentum=0.9)

    def step() -> None:
        opt.zero_grad()
        ((w - 1) * (w - 1)).sum().backward()
        opt.step()

    for _ in range(3):
        step()
    with Counted() as c:
        for _ in range(20):
            step()
    assert c["bytes_live"] == 0
    assert c["allocations"] == 0
    assert c["plan_misses"] == 0


# ---- 6. shared memory with NumPy: what reads or writes it runs at once -----------------------------------------------
def test_shared_memory_each_side_sees_the_other() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = sg.from_numpy(array)
    y = x + 1  # computed now, with the values of now
    array[:] = 10
    assert y.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert (x * 2).tolist() == [[20, 20, 20]] * 2
    x[0] = 7
    assert array.tolist() == [[7, 7, 7], [10, 10, 10]]
    x += 1
    assert array.tolist() == [[8, 8, 8], [11, 11, 11]]
    x[:, 1:] = x[:, :-1]  # reads what it overwrites
    assert array.tolist() == [[8, 8, 8], [11, 11, 11]]
    array[:] = np.arange(6).reshape(2, 3)
    x[:, 1:] = x[:, :-1]
    assert array.tolist() == [[0, 0, 1], [3, 3, 4]]


def test_shared_memory_saved_values_stay_right() -> None:
    array = np.array([2.0, 3.0], np.float32)
    w = sg.ones(2).requires_grad_()
    x = sg.from_numpy(array)
    loss = (w * x).sum()  # saves x
    x.data.zero_()  # not seen by gradients
    assert array.tolist() == [0, 0]
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [2, 3]


def test_shared_memory_read_by_a_gradient_is_read_at_once() -> None:
    array = np.array([2.0, 3.0], np.float32)
    w = sg.ones(2).requires_grad_()
    (w * sg.from_numpy(array)).sum().backward()
    array[:] = 9
    assert w.grad is not None and w.grad.tolist() == [2, 3]


def test_shared_memory_given_as_a_gradient_is_copied() -> None:
    array = np.array([2.0, 3.0], np.float32)
    w = sg.ones(2).requires_grad_()
    w.backward(sg.from_numpy(array))
    assert w.grad is not None
    array[:] = 9
    assert w.grad.tolist() == [2, 3]
    w.grad.zero_()
    assert w.grad.tolist() == [0, 0]
    assert array.tolist() == [9, 9]


def test_shared_memory_lives_as_long_as_the_tensor() -> None:
    array = np.ones(1000, np.float32)
    references = sys.getrefcount(array)
    x = sg.from_numpy(array)
    view = x[10:20]
    del x
    assert sys.getrefcount(array) > references
    assert view.sum().item() == 10
    del view
    gc.collect()
    assert sys.getrefcount(array) == references


def test_shared_memory_of_any_stride() -> None:
    base = np.zeros((4, 6), np.float32)
    x = sg.from_numpy(base.T[::2, 1:])
    assert x.shape == (3, 3) and x.stride() == (2, 6)
    x[1] = 5
    x += 1
    assert base[1:, 2].tolist() == [6, 6, 6] and base.sum() == 3 * 6 + 6 and base[1, 1] == 0
    base[:] = 2
    assert x.sum().item() == 18


def test_shared_memory_needs_writable_arrays() -> None:
    with pytest.raises(
        ValueError, match="from_numpy: the array has negative strides or another byte order; make a copy"
    ):
        sg.from_numpy(np.ones(3)[::-1])
    with pytest.raises(ValueError, match="another byte order"):
        sg.from_numpy(np.ones(3, ">f4"))
    with pytest.warns(UserWarning, match="from_numpy: the array is read-only, so the tensor has a copy"):
        x = sg.from_numpy(np.broadcast_to(np.float32(1), (3,)))
    x += 1
    assert x.tolist() == [2, 2, 2]


def test_escaped_memory_each_side_sees_the_other() -> None:
    x = sg.arange(6.0).reshape(2, 3)
    a = x.numpy()
    y = x + 1  # computed now
    a[0] = 9
    assert x.tolist() == [[9, 9, 9], [3, 4, 5]] and y.tolist() == [[1, 2, 3], [4, 5, 6]]
    x += 1
    assert a.tolist() == [[10, 10, 10], [4, 5, 6]]
    x[:, 1:] = x[:, :-1]  # reads what it overwrites
    assert a.tolist() == [[10, 10, 10], [4, 4, 5]]
    x.zero_()
    assert not a.any()
    columns = x.T[1:].numpy()
    assert columns.shape == (2, 2) and columns.strides == (4, 12)
    columns[:] = 3
    assert x.tolist() == [[0, 3, 3], [0, 3, 3]] and a.tolist() == x.tolist()
    assert x[0, 0].numpy().shape == () and sg.zeros(0, 3).numpy().shape == (0, 3)


def test_escaped_memory_what_is_pending_reads_the_old_values() -> None:
    x = sg.ones(3)
    x.realize()
    y = x * 2  # pending
    x.numpy()[:] = 5
    assert y.tolist() == [2, 2, 2]


def test_escaped_memory_saved_values_stay_right() -> None:
    w = sg.ones(2).requires_grad_()
    x = sg.tensor([2.0, 3.0])
    loss = (w * x).sum()  # saves x
    x.numpy()[:] = 7
    x.data.zero_()  # not seen by gradients
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [2, 3] and x.tolist() == [0, 0]


def test_escaped_memory_lives_as_long_as_its_arrays() -> None:
    with Counted() as c:
        x = sg.ones(1000) + 1
        a = x.numpy()[10:20]
        del x
        gc.collect()
        b = sg.ones(1000) * 3
        b.realize()
        assert a.tolist() == [2] * 10
    assert c["bytes_live"] > 0
    live = sg.stats()["bytes_live"]
    del a
    assert sg.stats()["bytes_live"] < live


def test_escaped_memory_comes_back() -> None:
    """Without arrays on it, a tensor is computed with lazily again."""
    x = sg.ones(10)
    a = x.numpy()
    before = sg.stats()["submissions"]
    x + 1
    assert sg.stats()["submissions"] == before + 1
    del a
    y = x + 1
    assert sg.stats()["submissions"] == before + 1 and y.tolist() == [2] * 10


def test_numpy_of_a_gpu_tensor_is_a_copy(device: sg.Device) -> None:
    x = sg.tensor(np.ones(4, np.float32), device=device)
    out = x.numpy()
    x.zero_()
    ready(x)
    assert out.tolist() == ([0, 0, 0, 0] if device.kind == "cpu" else [1, 1, 1, 1])


# ---- 7. failure ------------------------------------------------------------------------------------------------------
def test_failure_an_index_error_leaves_the_parameters(device: sg.Device) -> None:
    w = sg.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), device=device, requires_grad=True)
    x = sg.ones(5, 4, device=device)
    opt = sg.optim.Adam([w], lr=0.1)

    def step(y: list[int]) -> sg.Tensor:
        opt.zero_grad()
        loss = sg.cross_entropy(x @ w, sg.tensor(y, device=device))
        loss.backward()
        opt.step()
        return loss

    step([0, 1, 2, 0, 1]).item()
    old = w.detach().numpy().copy()
    with pytest.raises(IndexError, match=r"cross_entropy: index 7 out of range \[0, 3\)"):
        step([0, 1, 7, 0, 1])
        sg.synchronize(device)
    np.testing.assert_array_equal(w.detach().numpy(), old)
    assert np.isfinite(step([0, 1, 2, 0, 1]).item())  # and training goes on
    assert not np.array_equal(w.detach().numpy(), old)


def test_failure_an_index_error_leaves_escaped_parameters() -> None:
    w = sg.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), requires_grad=True)
    seen = w.detach().numpy()
    old = seen.copy()
    opt = sg.optim.SGD([w], lr=0.1)
    with pytest.raises(IndexError, match=r"cross_entropy: index 7 out of range \[0, 3\)"):
        sg.cross_entropy(sg.ones(5, 4) @ w, sg.tensor([0, 1, 7, 0, 1])).backward()
        opt.step()
    np.testing.assert_array_equal(seen, old)
    w.grad = None
    sg.cross_entropy(sg.ones(5, 4) @ w, sg.tensor([0, 1, 2, 0, 1])).backward()
    opt.step()
    assert np.isfinite(seen).all() and not np.array_equal(seen, old)


def test_failure_negative_classes_are_out_of_range(device: sg.Device) -> None:
    with pytest.raises(IndexError, match=r"index -1 out of range \[0, 3\)"):
        sg.cross_entropy(sg.zeros(2, 3, device=device), sg.tensor([0, -1], device=device)).item()
    assert sg.ones(2, device=device).sum().item() == 2


LIMITED = """
import sys
import numpy as np
import spirograd as sg

device = sys.argv[1] if len(sys.argv) > 1 else DEVICE
w = sg.ones(1 << 20, device=device, requires_grad=True)
keep = (w.detach() * 2)
sg.synchronize(device)
a = sg.zeros(1 << 24, device=device)
b = a + 1
for attempt in range(2):
    try:
        (b * 2).sum().item() if attempt else b.numpy()
        raise SystemExit("no error")
    except sg.OutOfMemoryError as e:
        assert isinstance(e, MemoryError)
        words = str(e)
        for word in ("asked", "live", "cached", "budget", "33554432"):
            assert word in words, words
del a, b
assert keep.numpy().sum() == 2 << 20
assert (w.detach() + 1).sum().item() == 2 << 20
print("fine")
"""


def test_failure_out_of_memory_names_the_numbers(device: sg.Device, run_python: Run) -> None:
    code = LIMITED.replace("DEVICE", repr(str(device)))
    assert "fine" in run_python(code, SPIROGRAD_MEMORY_LIMIT=str(32 << 20))


STEP = """
import numpy as np
import spirograd as sg

w = sg.ones(1 << 20, device=DEVICE, requires_grad=True)
opt = sg.optim.SGD([w], lr=0.5)
(w * w).sum().backward()
opt.step()
old = w.detach().numpy().copy()
opt.zero_grad()
x = sg.rand(1 << 24, device=DEVICE)
y = sg.rand(1 << 24, device=DEVICE)
try:  # where it is seen depends on how much runs before somebody looks
    ((w * 3).sum() * (x @ y)).backward()
    kept = x * y
    opt.step()
    raise SystemExit("no error")
except sg.OutOfMemoryError:
    kept = None
assert np.array_equal(w.detach().numpy(), old)
del x, y, kept
opt.zero_grad()
(w + 1).sum().backward()
opt.step()
assert np.array_equal(w.detach().numpy(), old - 0.5)
print("fine")
"""


def test_failure_a_step_without_memory_changes_nothing(device: sg.Device, run_python: Run) -> None:
    code = STEP.replace("DEVICE", repr(str(device)))
    assert "fine" in run_python(code, SPIROGRAD_MEMORY_LIMIT=str(64 << 20))


OLD_PLAN = """
import numpy as np
import spirograd as sg

a = sg.tensor(np.eye(64, dtype=np.float32) * 2, device=DEVICE)

def small():
    return ((a @ a) @ (a @ a)).softmax(1).sum().item()  # has intermediate values

want = small()
big = sg.ones(1 << 10, 1 << 10, device=DEVICE)
try:
    y = big
    for _ in range(3):
        y = (y @ big).reshape(1, 1 << 10, 1 << 10).expand(6, 1 << 10, 1 << 10) * 1.5
        y = (y @ big).sum(dim=0)
    y.numpy()
    raise SystemExit("no error")
except sg.OutOfMemoryError:
    pass
assert small() == want
print("fine")
"""


def test_failure_older_plans_still_run(device: sg.Device, run_python: Run) -> None:
    code = OLD_PLAN.replace("DEVICE", repr(str(device)))
    assert "fine" in run_python(code, SPIROGRAD_MEMORY_LIMIT=str(20 << 20))


# ---- 8. back-pressure ------------------------------------------------------------------------------------------------
def test_back_pressure_bounds_memory_without_reads(device: sg.Device) -> None:
    w = sg.zeros(1 << 16, device=device, requires_grad=True)
    opt = sg.optim.SGD([w], lr=0.01)

    def step(batch: np.ndarray[Any, Any]) -> None:
        x = sg.tensor(batch, device=device)  # a fresh upload each time
        opt.zero_grad()
        ((w - x) * (w - x)).sum().backward()
        opt.step()

    batch = np.ones(1 << 16, np.float32)
    for _ in range(5):
        step(batch)
    sg.synchronize(device)
    held = sg.stats()["bytes_live"] + sg.stats()["bytes_cached"]
    for _ in range(200):
        step(batch)
    after = sg.stats()["bytes_live"] + sg.stats()["bytes_cached"]
    assert after - held <= 8 * 4 * (1 << 16), f"{held} -> {after}"
    sg.synchronize(device)


def test_back_pressure_plans_are_bounded(device: sg.Device) -> None:
    for n in range(300):  # 256 are kept
        ((numbers(n + 1, device) + 1) * 2).numpy()
    with Counted() as c:
        ((numbers(300, device) + 1) * 2).numpy()
        ((numbers(2, device) + 1) * 2).numpy()
    assert (c["plan_hits"], c["plans_bound"]) == (1, 1)


# ---- 9. locks --------------------------------------------------------------------------------------------------------
def test_locks_sixteen_threads(device: sg.Device) -> None:
    shared = numbers(1000, device)
    want = shared.numpy()

    def work(seed: int) -> None:
        x = numbers(200, device, seed)
        exact = x.numpy()
        for i in range(40):
            y = (x * float(i) + 1).relu()
            z = (shared * float(seed)).sum()
            np.testing.assert_array_equal(y.numpy(), np.maximum(exact * np.float32(i) + np.float32(1), 0))
            assert z.item() == pytest.approx(float(want.astype(np.float64).sum() * seed), rel=1e-3, abs=1e-2)
            w = sg.tensor(exact, device=device, requires_grad=True)
            (w * w).sum().backward()
            np.testing.assert_array_equal(w.grad.numpy(), exact + exact)

    run_threads(work, 16)


def test_locks_threads_train_their_own_models(device: sg.Device) -> None:
    results: dict[int, list[float]] = {}

    def work(me: int) -> None:
        w = sg.full((64,), float(me), device=device, requires_grad=True)
        opt = sg.optim.SGD([w], lr=0.25)
        losses = []
        for _ in range(30):
            opt.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        results[me] = losses

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive(), "deadlock"
    for me, losses in results.items():
        assert losses == [64.0 * me * me * 0.25**i for i in range(30)]
    assert len(results) == 8


# ---- numbers ---------------------------------------------------------------------------------------------------------
SAME = """
import hashlib
import spirograd as sg
device = sg.Device({device!r})
for _ in range(2):
    sg.manual_seed(3)
    net = sg.nn.Sequential(sg.nn.Embedding(50, 24), sg.nn.LayerNorm(24), sg.nn.Linear(24, 700), sg.nn.Dropout(0.3),
                           sg.nn.Tanh(), sg.nn.Linear(700, 5)).to(device)
    opt = sg.optim.AdamW(net.parameters(), lr=0.05)
    for _ in range(3):
        x, y = sg.randint(0, 50, (300,), device=device), sg.randint(0, 5, (300,), device=device)
        opt.zero_grad()
        loss = sg.nn.functional.cross_entropy(net(x), y) + net[2].weight.softmax(1).std() + net[0].weight.sum().tanh()
        loss.backward()
        opt.step()
    once = b"".join(t.detach().numpy().tobytes() for t in (loss, *net.parameters()))
    print(hashlib.sha256(once).hexdigest())
"""


def test_results_are_the_same_every_time(device: sg.Device, run_python: Callable[..., str]) -> None:
    """In each process, with any number of threads, whatever Python's sets and hashes."""
    seeds = range(4 if device == "cpu" else 2)
    processes = [{"PYTHONHASHSEED": str(i), "SPIROGRAD_THREADS": str(2 * i + 1)} for i in seeds]
    printed = [run_python(SAME.format(device=str(device)), **variables) for variables in processes]
    assert len({line for out in printed for line in out.split()}) == 1, printed


def test_failure_an_index_error_reaches_later_runs_that_read_its_results(device: sg.Device) -> None:
    w = sg.zeros(4, device=device, requires_grad=True)
    opt = sg.optim.SGD([w], lr=0.5)
    x, beside = sg.arange(6.0, device=device).realize(), sg.ones(2, device=device).realize()
    taken = x.take(sg.tensor([1, 9], device=device)) * 2
    loss = (w * taken.sum()).sum()
    if device.kind == "gpu":
        taken.realize()  # a run of its own, which finds the error; a CPU says so at once
    other = (beside + 1).realize()
    with pytest.raises(IndexError, match=r"take: index 9 out of range \[0, 6\)"):
        loss.backward()
        opt.step()
        w.tolist()
    later = loss
    assert w.tolist() == [0, 0, 0, 0], "a step from wrong values was not done"
    for wrong in (taken, loss, later):
        with pytest.raises(IndexError, match="take: index 9"):
            wrong.sum().item()
    assert other.tolist() == [2, 2], "what has nothing to do with it is there"
    opt.zero_grad()
    (w * beside.sum()).sum().backward()
    opt.step()
    assert w.tolist() == [-1] * 4, "and training goes on"
