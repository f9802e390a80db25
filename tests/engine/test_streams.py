"""Work that starts while the program records, and reads that run what they need."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import spirograd as sg
from cut_programs import PROGRAMS
from interrupts import ctrl_c
from spirograd import nn
from spirograd.nn import functional as F

Run = Callable[..., str]
SIZE = 1024  # products of so many rows are an eighth of a piece


@contextmanager
def runs() -> Iterator[dict[str, int]]:
    """What is counted from here to the end of the block."""
    counted: dict[str, int] = {}
    before = sg.stats()
    yield counted
    counted.update({name: now - before[name] for name, now in sg.stats().items() if isinstance(now, int)})


def chain(x: sg.Tensor, length: int) -> sg.Tensor:
    """Products, each of which is a good deal of work."""
    y = x
    for _ in range(length):
        y = sg.tanh(y @ x)
    return y


def skip_software(device: sg.Device) -> None:
    if device.type == "software":
        pytest.skip("as much work takes a software driver a minute; SPIROGRAD_CUT cuts there")


@pytest.fixture
def x(device: sg.Device) -> sg.Tensor:
    skip_software(device)
    return (sg.rand(SIZE, SIZE, device=device) / SIZE).realize()


def test_much_work_starts_before_somebody_looks(x: sg.Tensor) -> None:
    chain(x, 24).numpy()  # what has no kernels yet waits for them
    with runs() as c:
        y = chain(x, 24)
    assert c["submissions"] >= 1 and c["dispatches"] < 24
    want = chain(x.cpu(), 24).numpy() if x.device.kind == "gpu" else y.numpy()
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-6)


def test_little_work_waits_until_somebody_looks(device: sg.Device) -> None:
    y = sg.ones(64, 64, device=device).realize()
    with runs() as c:
        for _ in range(50):
            y = sg.tanh(y @ y)
    assert c["submissions"] == 0
    with runs() as c:
        y.sum().item()
    assert c["submissions"] == (2 if device.kind == "gpu" else 1)  # a GPU copies the number to the host


def test_a_read_runs_what_it_needs(x: sg.Tensor) -> None:
    (x @ x).realize()  # what has no kernels yet waits for them
    sg.synchronize(x.device)
    small = sg.ones(2, device=x.device) * 3
    products = [x @ x for _ in range(12)]
    del products[2:]
    with runs() as c:
        assert small.tolist() == [3.0, 3.0]
    assert c["dispatches"] <= 2
    assert np.isfinite(products[1].numpy()).all()


def test_a_read_sees_the_writes_before_it(x: sg.Tensor) -> None:
    a = sg.zeros(3, device=x.device)
    a += 1
    held = a * 2
    products = [x @ x, x @ x, x @ x, x @ x, x @ x, x @ x, x @ x, x @ x, x @ x, x @ x]
    a += products[0][0, 0] * 0 + 1
    later = a * 2
    a[1] = 7.0
    assert a.tolist() == [2.0, 7.0, 2.0]
    assert held.tolist() == [2.0] * 3 and later.tolist() == [4.0] * 3


def test_every_turn_of_a_training_loop_has_the_same_cuts(device: sg.Device) -> None:
    skip_software(device)
    net = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(SIZE, SIZE), nn.GELU())]).to(device)
    optimizer = sg.optim.Adam(net.parameters(), lr=1e-4)
    x = sg.randn(256, SIZE, device=device).realize()

    def step() -> float:
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return float(loss)

    with runs() as first:
        step()
    assert first["submissions"] >= 2
    step()
    with runs() as later:
        losses = [step() for _ in range(3)]
    assert later["plan_misses"] == later["plans_bound"] == 0 and np.isfinite(losses).all()


def test_what_was_dropped_is_computed_before_a_synchronize(device: sg.Device) -> None:
    a = sg.ones(100, 100, device=device).realize()
    sg.synchronize(device)
    with runs() as c:
        _ = sg.tanh(a @ a)
        del _
        gc.collect()
        sg.synchronize(device)
    assert c["dispatches"] >= 1
    with runs() as c:
        _ = sg.tanh(a @ a)
        del _
        gc.collect()
        (a + 1).sum().item()
        sg.synchronize(device)
    assert c["dispatches"] == 1


def test_formulas_are_not_stored_at_a_cut(device: sg.Device) -> None:
    """GELU of a product: backward computes it again from the product, as it does in one plan."""
    skip_software(device)
    layers, rows, size = 160, 256, 512
    weights = [(sg.randn(size, size, device=device) / 16).realize().requires_grad_() for _ in range(layers)]
    x = sg.randn(rows, size, device=device).realize()

    def forward() -> sg.Tensor:
        y = x
        for w in weights:
            y = F.gelu(y @ w)
        return y

    forward().realize()  # what has no kernels yet waits for them
    sg.synchronize(device)
    before = sg.stats()["bytes_live"]
    with runs() as c:
        y = forward()
    assert c["submissions"] >= 1
    assert sg.stats()["bytes_live"] - before < 1.2 * layers * rows * size * 4
    (g,) = sg.autograd.grad(y.sum(), weights[:1])
    assert np.isfinite(g.numpy()).all()


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["mlp", "cnn", "resnet", "gpt", "deep gpt", "llama", "deep llama"])
def test_a_warm_up_compiles_what_steps_with_waits_need(model: str, gpu: sg.Device, run_python: Run) -> None:
    """Nothing is left for a step that waits between forward, loss and backward."""
    out = run_python(f"import warm_up; warm_up.main({model!r})", SPIROGRAD_CACHE="0")
    first, *later = map(int, out.split())
    assert first >= 10 and later == [0, 0, 0], out


@pytest.mark.gpu
def test_a_copy_with_a_border_runs_with_its_reader(gpu: sg.Device) -> None:
    """The image is copied for the last gradient, where the backward pass is cut. Whether somebody has waited for the
    check before it makes no other plan."""
    layers = [nn.Linear(16, 16) for _ in range(66)]  # backward() is a little more than a software driver's piece
    net = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.Flatten(), nn.Linear(512, 16), *layers).to(gpu)
    x, target = sg.rand(4, 3, 16, 16, device=gpu), sg.arange(4, device=gpu)
    sg.synchronize(gpu)
    F.cross_entropy(net(x), target).backward()
    net.zero_grad()
    sg.synchronize(gpu)
    with runs() as c:
        y = net(x)
        sg.synchronize(gpu)
        loss = F.cross_entropy(y, target)
        sg.synchronize(gpu)
        loss.backward()
        sg.synchronize(gpu)
    assert c["plan_misses"] == 0


def test_after_ctrl_c_there_is_no_backlog() -> None:
    x = (sg.rand(600, 600) / 600).realize()
    timer = threading.Timer(0.3, ctrl_c)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100000):
            x = sg.tanh(x @ x)
    timer.join()
    with runs() as c:
        assert (sg.ones(3) * 2).tolist() == [2.0] * 3
    assert c["dispatches"] <= 20
    assert np.isfinite(x.numpy()).all()


def test_an_error_is_not_raised_by_other_values(device: sg.Device, run_python: Run) -> None:
    code = (
        "import spirograd as sg\n"
        f"d = '{device.kind}'\n"
        "a = sg.ones(3, device=d).realize()\n"
        "large = (sg.ones(1, device=d).expand(64 << 20) + a.sum()).cumsum(0)\n"
        "a.add_(large[0])\n"
        "b = sg.ones(3, device=d)\n"
        "try: (b * 3).tolist()\n"
        "except sg.OutOfMemoryError as e: assert 'asked' in str(e)\n"
        "else: raise AssertionError('a write was lost, and nobody said so')\n"
        "assert a.tolist() == [1.0] * 3 and (b * 3).tolist() == [3.0] * 3\n"
        "try: large[1].item()\n"
        "except sg.OutOfMemoryError: print('fine')\n"
    )
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=str(64 << 20)) == "fine\n"


@pytest.mark.gpu
@pytest.mark.parametrize("then", ["", "sg._core.empty_cache()"])
def test_memory_of_runs_that_wait_for_kernels_is_had_back(gpu: sg.Device, run_python: Run, then: str) -> None:
    code = (
        "import spirograd as sg\n"
        "y = sg.full(500_000, 0.5, device='gpu').realize()\n"
        "for i in range(12):\n"
        "    y = (y.sin() + 0.1 * y.flip(0)).cos() if i % 2 else (y * y + y.roll(i + 1, 0)).sqrt()\n"
        "    y = y - y.view(-1, (2, 4, 5, 8)[i % 4]).amax(i % 2).mean()\n"
        f"    {then}\n"
        "print(y.isfinite().all().item())\n"
    )
    limit = str(18 << 20)
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=limit, SPIROGRAD_CUT="1", SPIROGRAD_CACHE="0") == "True\n"


CUT_ON_GPU = ("folds blocks", "folds tall", "cnn")


@pytest.mark.parametrize("how", [{"SPIROGRAD_CUT": "1"}, {"SPIROGRAD_CUT": "3"}, {"SPIROGRAD_FUSE": "0"}], ids=str)
def test_bits_do_not_depend_on_cuts(how: dict[str, str], device: sg.Device, run_python: Run) -> None:
    names = CUT_ON_GPU if device.kind == "gpu" else ()
    code = f"import cut_programs; cut_programs.main({device.kind!r}, *{names})"
    if device not in WHOLE:
        WHOLE[device] = run_python(code)
    whole, cut = WHOLE[device].splitlines(), run_python(code, **how).splitlines()
    assert len(whole) == len(names or PROGRAMS)
    assert [line for line in cut if line not in whole] == []


WHOLE: dict[sg.Device, str] = {}  # what each device prints without cuts
