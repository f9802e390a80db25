"""Memory ends with the last name for it: nothing of the package's waits for Python's collector of cycles."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import spirograd as sg
from spirograd import nn
from spirograd.optim import lr_scheduler, swa_utils
from spirograd.utils.data import DataLoader, TensorDataset

Thing = Any
Make = Callable[[sg.Device], "list[Thing]"]  # what is made; the test lets it go


pytestmark = pytest.mark.usefixtures("no_collector")


def net(device: sg.Device) -> nn.Sequential:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to(device)


def data(device: sg.Device) -> tuple[sg.Tensor, sg.Tensor]:
    return sg.randn(8, 64, device=device), sg.randint(0, 8, (8,), device=device)


def one_step(model: nn.Module, optimizer: Any, x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
    def closure() -> sg.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    if isinstance(optimizer, sg.optim.LBFGS):
        return optimizer.step(closure)  # type: ignore[no-any-return]
    loss = closure()
    optimizer.step()
    return loss


def trained(device: sg.Device, make: Callable[[list[nn.Parameter]], Any], steps: int = 2) -> list[Thing]:
    model = net(device)
    optimizer = make(list(model.parameters()))
    for _ in range(steps):
        one_step(model, optimizer, *data(device))
    return [model, optimizer]


def matrices(params: list[nn.Parameter]) -> list[nn.Parameter]:
    return [p for p in params if p.ndim == 2]


OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], Any]] = {
    **{
        name: functools.partial(getattr(sg.optim, name), lr=0.01)
        for name in sg.optim.__all__
        if name[0].isupper()
        and name not in ("Muon", "Lookahead", "Optimizer", "RuleOptimizer", "ZeroRedundancyOptimizer")
    },
    "Muon": lambda params: sg.optim.Muon(matrices(params), lr=0.01),
    "ZeroRedundancyOptimizer": lambda params: sg.optim.ZeroRedundancyOptimizer(params, sg.optim.Adam, lr=0.01),
    "Lookahead": lambda params: sg.optim.Lookahead(sg.optim.Adam(params), k=1),
}


def scheduled(make: Callable[[Any], Any]) -> Make:
    def run(device: sg.Device) -> list[Thing]:
        model, optimizer = trained(device, lambda p: sg.optim.SGD(p, lr=0.1))
        scheduler = make(optimizer)
        for _ in range(3):
            one_step(model, optimizer, *data(device))
            if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
                scheduler.step(1.0)
            else:
                scheduler.step()
        return [model, optimizer, scheduler]

    return run


SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 1),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.5**epoch),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=9),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o), lr_scheduler.ExponentialLR(o, 0.5)], [2]
    ),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o)]),
    "SWALR": lambda o: swa_utils.SWALR(o, 0.05),
}


def scaled(device: sg.Device) -> list[Thing]:
    model, optimizer = trained(device, sg.optim.Adam)
    scaler = sg.amp.GradScaler()
    x, y = data(device)
    for _ in range(2):
        optimizer.zero_grad()
        with sg.autocast(device.kind, dtype=sg.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return [model, optimizer, scaler]


def averaged(device: sg.Device) -> list[Thing]:
    model, optimizer = trained(device, sg.optim.SGD)
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    for _ in range(2):
        average.update_parameters(model)
    average(data(device)[0]).sum().item()
    return [model, optimizer, average]


def fitted(device: sg.Device) -> list[Thing]:
    model = net(device)
    x, y = data(device)
    optimizer = sg.optim.Adam(model.parameters())
    history = sg.fit(model, x, y, optimizer=optimizer, epochs=3, batch_size=4, metrics=["accuracy"], verbose=0)
    return [model, optimizer, history]


def fitted_with_callbacks(device: sg.Device) -> list[Thing]:
    model = net(device)
    x, y = data(device)
    stopping = sg.callbacks.EarlyStopping(patience=1, restore_best_weights=True)
    history = sg.fit(model, x, y, epochs=3, validation_data=(x, y), callbacks=[stopping], verbose=0)
    return [model, history, stopping]


def compiled(device: sg.Device) -> list[Thing]:
    model, optimizer = trained(device, sg.optim.Adam)

    @sg.compile
    def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(5):
        step(*data(device))
    return [model, optimizer, step]


def watched(device: sg.Device) -> list[Thing]:
    """A module with hooks of every kind."""
    model = net(device)
    model[0].register_forward_pre_hook(lambda module, args: None)
    model[0].register_forward_hook(lambda module, args, output: output * 1)
    model[2].register_full_backward_pre_hook(lambda module, grads: None)
    model[2].register_full_backward_hook(lambda module, before, after: None)
    model[2].weight.register_hook(lambda g: g * 2)
    model[2].weight.register_post_accumulate_grad_hook(lambda p: None)
    model.summary((1, 64))
    model(data(device)[0]).sum().backward()
    return [model]


def loaded(workers: int, persistent: bool) -> Make:
    def run(device: sg.Device) -> list[Thing]:
        x, y = data(device)
        loader = DataLoader(
            TensorDataset(x, y), batch_size=2, shuffle=True, num_workers=workers, persistent_workers=persistent
        )
        for _ in range(2):
            for batch in loader:
                batch[0].sum().item()
        return [loader, x, y]

    return run


class Square(sg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: sg.Tensor, in_place: bool) -> sg.Tensor:
        ctx.save_for_backward(x.clone())
        if in_place:
            ctx.mark_dirty(x)
            return x.pow_(2)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: sg.Tensor) -> tuple[sg.Tensor, None]:
        (x,) = ctx.saved_tensors
        return g * 2 * x, None


def functions(device: sg.Device) -> list[Thing]:
    """Results of functions of one's own, before and after backward()."""
    made = []
    for in_place in (False, True):
        for passes in range(2):
            x = sg.randn(64, 64, device=device, requires_grad=True)
            out = Square.apply(x * 1, in_place)
            if passes:
                out.sum().backward()
            made += [x, out]
    return made


def checkpointed(device: sg.Device) -> list[Thing]:
    x = sg.randn(64, 64, device=device, requires_grad=True)
    out = sg.utils.checkpoint.checkpoint(lambda v: (v * v).tanh() * v, x)
    out.sum().backward()
    return [x, out]


MAKERS: dict[str, Make] = {
    **{name: lambda device, make=make: trained(device, make) for name, make in OPTIMIZERS.items()},  # type: ignore[misc]
    **{name: scheduled(make) for name, make in SCHEDULERS.items()},
    "GradScaler": scaled,
    "EMA": averaged,
    "fit": fitted,
    "fit with callbacks": fitted_with_callbacks,
    "sg.compile": compiled,
    "hooks of a module": watched,
    "autograd.Function": functions,
    "checkpoint": checkpointed,
    "DataLoader": loaded(0, False),
    "DataLoader with workers": loaded(2, False),
    "DataLoader with persistent workers": loaded(2, True),
}


def live(device: sg.Device) -> int:
    for thread in threading.enumerate():  # a worker that was told to end holds its batch until it does
        if thread.name.startswith("DataLoader"):
            thread.join(10)
    sg.synchronize(device)
    return int(sg.stats()["bytes_live"])


# Which device it is makes no difference to Python's references; those of plans in flight are the GPU's alone.
CASES = [pytest.param("cpu", name, id=name) for name in MAKERS]
CASES += [pytest.param("gpu", name, id=f"{name} on a GPU", marks=pytest.mark.gpu) for name in ("Adam", "sg.compile")]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_memory_ends_with_the_last_name(kind: str, name: str) -> None:
    device = sg.Device(kind)
    MAKERS[name](device)  # kernels, plans and the arena of their temporaries
    before = live(device)
    things = MAKERS[name](device)
    sg.synchronize(device)
    held = int(sg.stats()["bytes_live"]) - before
    ends = [weakref.ref(thing) for thing in things]
    assert held > 0
    things.clear()
    after = live(device)
    assert after <= before, f"{after - before} of {held} bytes stay"
    assert [end() for end in ends] == [None] * len(ends)


@pytest.mark.gpu
def test_an_emptied_cache_keeps_no_temporaries_of_plans(gpu: sg.Device) -> None:
    x, w = sg.randn(512, 64, device=gpu).realize(), sg.randn(64, 2048, device=gpu).realize()

    def run() -> list[float]:
        return ((x @ w).softmax(1) @ w.T).sum(0).tolist()  # type: ignore[no-any-return]

    def taken() -> int:
        return int(sg.stats()["bytes_live"] + sg.stats()["bytes_cached"])

    sg.empty_cache()
    before = taken()
    first = run()
    assert taken() >= before + 4 * 512 * 2048
    sg.empty_cache()
    assert taken() <= before + (1 << 16)
    assert run() == first and taken() >= before + 4 * 512 * 2048
