"""sg.compile: replayed calls give the bits of the function, cost one submission, and refuse what they cannot follow."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads

F = sg.nn.functional
optim = sg.optim
Make = Callable[[Any], sg.optim.Optimizer]


def replays(step: Any) -> int:
    """How many recordings a compiled function replays."""
    return sum(len(known.variants) for known in step._known.values())


class Task:
    """A small net, an optimiser, and batches that are the same each time."""

    def __init__(self, device: sg.Device | str, make: Make, dropout: float = 0.25, norm: bool = True) -> None:
        sg.manual_seed(0)
        layers: list[sg.nn.Module] = [sg.nn.Linear(6, 8), sg.nn.ReLU(), sg.nn.Dropout(dropout), sg.nn.Linear(8, 3)]
        if norm:
            layers.insert(1, sg.nn.BatchNorm1d(8))
        self.net = sg.nn.Sequential(*layers).to(device)
        self.opt = make(self.net.parameters())
        self.device = device
        self.random = np.random.default_rng(0)

    def batch(self, n: int = 8) -> tuple[sg.Tensor, sg.Tensor]:
        x, y = self.random.normal(size=(n, 6)).astype(np.float32), self.random.integers(0, 3, n)
        return sg.tensor(x, device=self.device), sg.tensor(y, device=self.device)

    def step(self, x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        loss = F.cross_entropy(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def bits(self) -> list[bytes]:
        tensors = [*self.net.parameters(), *self.net.buffers()]
        tensors += [p.grad for p in self.net.parameters() if p.grad is not None]
        return [t.detach().cpu().numpy().tobytes() for t in tensors]


def assert_same(
    device: sg.Device | str,
    make: Make,
    body: Callable[[Task], Callable[..., Any]] = lambda task: task.step,
    after: Callable[[Task, int], None] = lambda task, i: None,
    steps: int = 20,
    **options: Any,
) -> Any:
    """The compiled function leaves the losses, parameters, buffers and gradients of the plain one; gives it."""
    results = []
    for compiled in (False, True):
        task = Task(device, make, **options)
        step: Any = body(task)
        if compiled:
            step = sg.compile(step)
        losses = []
        for i in range(steps):
            losses.append(step(*task.batch()))
            after(task, i)
        results.append(([x.detach().cpu().numpy().tobytes() for x in losses], task.bits(), task.opt.state_dict()))
    (loss, bits, state), (loss2, bits2, state2) = results
    assert loss == loss2
    assert bits == bits2
    if "param_groups" in state:
        assert state["param_groups"] == state2["param_groups"]
        for number, values in state["state"].items():
            for name, value in values.items():
                assert np.array_equal(np.asarray(value), np.asarray(state2["state"][number][name])), name
    assert replays(step) > 0
    return step


OPTIMIZERS: dict[str, Make] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD plain": lambda p: optim.SGD(p, lr=0.1),
    "Adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "AdamW amsgrad": lambda p: optim.AdamW(p, lr=0.01, amsgrad=True),
    "Adamax": lambda p: optim.Adamax(p),
    "NAdam": lambda p: optim.NAdam(p),
    "RAdam": lambda p: optim.RAdam(p),
    "RMSprop": lambda p: optim.RMSprop(p, momentum=0.5, centered=True),
    "Adagrad": lambda p: optim.Adagrad(p, lr_decay=0.1),
    "Adadelta": lambda p: optim.Adadelta(p),
    "ASGD": lambda p: optim.ASGD(p, lr=0.1, t0=3, weight_decay=0.1),
    "Rprop": lambda p: optim.Rprop(p),
    "Adafactor": lambda p: optim.Adafactor(p, weight_decay=0.1),
    "LAMB": lambda p: optim.LAMB(p),
    "LARS": lambda p: optim.LARS(p, lr=0.1),
    "Lion": lambda p: optim.Lion(p, lr=1e-3, weight_decay=0.1),
    "Lookahead": lambda p: optim.Lookahead(optim.Adam(p), k=3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_gives_the_same_bits(name: str) -> None:
    assert_same("cpu", OPTIMIZERS[name])


def test_a_schedule_dropout_and_batch_norm_give_the_same_bits(device: sg.Device) -> None:
    schedulers: dict[int, Any] = {}

    def after(task: Task, i: int) -> None:
        if i == 0:
            schedulers[0] = optim.lr_scheduler.OneCycleLR(task.opt, max_lr=0.01, total_steps=30)
        schedulers[0].step()

    assert_same(device, lambda p: optim.Adam(p, lr=0.01), after=after)


def test_clipping_gives_the_same_bits() -> None:
    def body(task: Task) -> Any:
        def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
            task.opt.zero_grad()
            loss = F.cross_entropy(task.net(x), y)
            loss.backward()
            sg.nn.utils.clip_grad_norm_(task.net.parameters(), 0.1)
            task.opt.step()
            return loss

        return step

    assert_same("cpu", lambda p: optim.SGD(p, lr=0.1), body)


def test_accumulated_gradients_give_the_same_bits() -> None:
    def body(task: Task) -> Any:
        def accumulate(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
            loss = F.cross_entropy(task.net(x), y) / 2
            loss.backward()
            return loss

        return accumulate

    def after(task: Task, i: int) -> None:
        if i % 3 == 2:
            task.opt.step()
            task.opt.zero_grad(set_to_none=i > 9)

    assert_same("cpu", lambda p: optim.SGD(p, lr=0.1), body, after)


@pytest.mark.parametrize("change", ["zeros", "scaled", "zeros, then none", "seen outside"])
def test_gradients_of_the_step_before_may_be_written(change: str) -> None:
    results = []
    for compiled in (False, True):
        sg.manual_seed(0)
        w = sg.ones(3, 4, requires_grad=True)
        w.grad = held = sg.ones(3, 4)
        opt = optim.SGD([w], lr=0.1)

        def step(x: sg.Tensor, w: Any = w, opt: Any = opt, held: Any = held) -> sg.Tensor:
            loss = (w * x).sum()
            if change == "scaled":
                w.grad.mul_(0.5)
            elif change == "seen outside":
                held.mul_(0.5)
            else:
                opt.zero_grad(set_to_none=False)
            if change == "zeros, then none":
                opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        f = sg.compile(step) if compiled else step
        results.append([(f(sg.randn(3, 4)).item(), w.grad.tolist(), held.tolist()) for _ in range(8)])
    assert replays(f) >= 1
    assert results[0] == results[1]


def test_two_steps_in_one_call_count_twice() -> None:
    def body(task: Task) -> Any:
        def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
            task.step(x, y)
            return task.step(x * 2, y)

        return step

    assert_same("cpu", lambda p: optim.Adam(p), body, steps=8)


def test_embeddings_and_errors_of_indices(device: sg.Device) -> None:
    table = sg.nn.Embedding(5, 4).to(device)
    opt = optim.SGD(table.parameters(), lr=0.1)

    @sg.compile
    def step(i: sg.Tensor) -> sg.Tensor:
        opt.zero_grad()
        loss = table(i).square().sum()
        loss.backward()
        opt.step()
        return loss

    good, bad = (sg.tensor(i, device=device) for i in ([0, 1, 4], [0, 5, 1]))
    for _ in range(4):
        step(good).item()
    assert replays(step) == 1
    before = table.weight.detach().cpu().numpy().copy()
    with pytest.raises(IndexError, match="index 5 out of range"):
        step(bad).item()
    assert np.array_equal(before, table.weight.detach().cpu().numpy())
    assert step(good).item() > 0


def test_a_replayed_step_costs_one_submission(device: sg.Device) -> None:
    task = Task(device, lambda p: optim.Adam(p))
    step = sg.compile(task.step)
    x, y = task.batch()
    for _ in range(4):
        step(x, y)
    sg.synchronize(device)
    for _ in range(3):
        sg.reset_stats()
        step(x, y)
        s = sg.stats()
        assert (s["submissions"], s["plan_hits"], s["plan_misses"]) == (1, 1, 0)
        assert (s["nodes"], s["allocations"], s["bytes_read"], s["fallbacks"]) == (0, 0, 0, 0)


def test_new_shapes_are_recorded_and_old_ones_remembered() -> None:
    results = []
    for compiled in (False, True):
        task = Task("cpu", lambda p: optim.Adam(p))
        step = sg.compile(task.step) if compiled else task.step
        losses = [step(*task.batch(n)).item() for n in [8, 8, 8, 8, 5, 5, 5, 8, 5, 8]]
        results.append((losses, task.bits()))
        if compiled:
            assert replays(step) == 2
    assert results[0] == results[1]


def test_views_and_equal_arguments_are_told_apart() -> None:
    data = sg.arange(40.0).reshape(10, 4)
    f = sg.compile(lambda a, b: (a * 10 + b).sum())
    for _ in range(2):
        for i, j in itertools.product(range(0, 8, 4), repeat=2):
            a, b = data[i : i + 2], data[j : j + 2]
            expected = (a.numpy() * 10 + b.numpy()).sum()
            assert [f(a, b).item() for _ in range(3)] == [expected] * 3
    assert f(data[:2].t().clone().t(), data[2:4]).item() == (data[:2].numpy() * 10 + data[2:4].numpy()).sum()


def test_memory_shared_with_numpy_is_read_as_it_is() -> None:
    array = np.ones(3, np.float32)
    x = sg.from_numpy(array)
    f = sg.compile(lambda x: x * 2)
    for i in range(6):
        array[:] = i
        assert f(x).tolist() == [2.0 * i] * 3
    assert replays(f) == 1


def test_groups_with_rates_of_their_own() -> None:
    def make(params: Any) -> Any:
        first, *others = params
        return optim.SGD([{"params": [first], "lr": 0.3}, {"params": others}], lr=0.1, momentum=0.5)

    assert replays(assert_same("cpu", make)) == 1


def test_recurrent_layers_give_the_same_bits() -> None:
    results = []
    for compiled in (False, True):
        sg.manual_seed(0)
        net, head = sg.nn.LSTM(3, 4, 2, dropout=0.2), sg.nn.Linear(4, 2)
        opt = optim.Adam([*net.parameters(), *head.parameters()])

        def step(x: sg.Tensor, net: Any = net, head: Any = head, opt: Any = opt) -> sg.Tensor:
            opt.zero_grad()
            loss = head(net(x)[0]).square().mean()
            loss.backward()
            opt.step()
            return loss

        f = sg.compile(step) if compiled else step
        results.append([f(sg.randn(5, 2, 3)).item() for _ in range(8)])
    assert replays(f) == 1
    assert results[0] == results[1]


def test_memory_written_inside_is_not_a_gradient_that_was_given_up(device: sg.Device) -> None:
    """Its memory may lie where that of a gradient of the step before lay."""

    def body(task: Task) -> Callable[..., Any]:
        def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
            task.opt.zero_grad()
            written = [sg.zeros(8, 3, device=task.device) for _ in range(20)]
            for i, w in enumerate(written):
                w[i % 8] = float(i)
            loss = F.cross_entropy(task.net(x) + sg.stack(written).sum(0), y)
            loss.backward()
            task.opt.step()
            return loss

        return step

    assert_same(device, lambda params: optim.SGD(params, lr=0.1), body)


def test_tensors_of_the_outside_come_back_themselves() -> None:
    p = sg.nn.Parameter(sg.ones(2))

    @sg.compile
    def f(x: sg.Tensor) -> Any:
        p.grad = None
        (p * x).sum().backward()
        return p, p.grad

    for i in range(5):
        same, g = f(sg.tensor([1.0, i]))
        assert same is p
        assert g.tolist() == p.grad.tolist() == [1.0, i]


def test_a_generator_of_ones_own_goes_on() -> None:
    def draw() -> Any:
        generator = sg.Generator().manual_seed(3)
        return lambda: sg.rand(2, generator=generator)

    plain, compiled = draw(), sg.compile(draw())
    assert [plain().tolist() for _ in range(6)] == [compiled().tolist() for _ in range(6)]
    assert replays(compiled) == 1


def test_what_a_checkpoint_computes_again_draws_the_same_numbers() -> None:
    results = []
    for compiled in (False, True):
        sg.manual_seed(0)
        net = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.Dropout(0.5), sg.nn.Linear(8, 2))
        opt = optim.Adam(net.parameters())

        def step(x: sg.Tensor, net: Any = net, opt: Any = opt) -> sg.Tensor:
            noise = sg.rand(6, 4)
            loss = sg.utils.checkpoint.checkpoint(net, x + noise).square().mean() + sg.rand(()) * 0
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        f = sg.compile(step) if compiled else step
        results.append([f(sg.randn(6, 4)).item() for _ in range(8)] + [sg.rand(()).item()])
    assert replays(f) == 1
    assert results[0] == results[1]


def test_seeding_inside_is_refused() -> None:
    own = sg.Generator()

    def seeded() -> sg.Tensor:
        sg.manual_seed(3)
        return sg.rand(2)

    def seeded_own() -> sg.Tensor:
        own.manual_seed(3)
        return sg.rand(2, generator=own)

    for function in (seeded, seeded_own):
        f = sg.compile(function)
        with pytest.raises(sg.Error, match="it seeds a generator"):
            for _ in range(8):
                f()


def test_a_gradient_scaler_and_autocast_give_the_same_bits(device: sg.Device) -> None:
    def body(task: Task) -> Any:
        scaler = sg.amp.GradScaler(init_scale=1024.0, growth_interval=4)

        def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
            task.opt.zero_grad()
            with sg.autocast(task.device, dtype=sg.bfloat16):
                loss = F.cross_entropy(task.net(x), y)
            scaler.scale(loss).backward()
            scaler.step(task.opt)
            scaler.update()
            return loss

        return step

    assert_same(device, lambda p: optim.SGD(p, lr=0.1, momentum=0.9), body, steps=8, norm=False)


def test_counts_of_the_device_go_on_after_a_checkpoint(device: sg.Device) -> None:
    def losses(compiled: bool) -> list[float]:
        sg.manual_seed(0)
        net = sg.nn.Linear(3, 2).to(device)
        optimizer = sg.optim.Adam(net.parameters(), lr=sg.tensor(0.1, device=device))
        scaler = sg.amp.GradScaler(init_scale=4.0)

        def step(x: sg.Tensor) -> sg.Tensor:
            loss = net(x).square().mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()

        take, x, found = sg.compile(step) if compiled else step, sg.ones(4, 3, device=device), []
        for i in range(12):
            found.append(take(x).item())
            if i in (5, 8):  # what is counted belongs to another batch from here on
                assert optimizer.state_dict()["state"][0]["step"].item() == i + 1
        return found

    assert losses(True) == losses(False)


def test_threads_do_not_disturb_each_other() -> None:
    tasks = [Task("cpu", OPTIMIZERS[name], dropout=0.0) for name in ("Adam", "SGD") for _ in range(2)]

    def train(i: int) -> None:
        step = tasks[i].step if i in (0, 2) else sg.compile(tasks[i].step)
        for _ in range(20):
            step(*tasks[i].batch()).item()

    run_threads(train, len(tasks))
    assert tasks[0].bits() == tasks[1].bits()
    assert tasks[2].bits() == tasks[3].bits()


def test_a_value_that_is_held_elsewhere_stays() -> None:
    task = Task("cpu", lambda p: optim.SGD(p, lr=0.1), norm=False)
    step = sg.compile(task.step)
    x, y = task.batch()
    for _ in range(4):
        step(x, y)
    weight = task.net[0].weight
    kept, array = copy.deepcopy(weight), weight.detach().numpy()
    before, shown = kept.detach().numpy().copy(), array.copy()
    step(x, y)
    assert np.array_equal(before, kept.detach().numpy())
    assert not np.array_equal(shown, array), "shared memory must show the step"
    assert np.array_equal(array, weight.detach().numpy())


def test_what_was_recorded_before_a_replay_reads_the_values_of_then(device: sg.Device) -> None:
    task = Task(device, lambda p: optim.SGD(p, lr=0.1))
    step = sg.compile(task.step)
    weight = task.net[0].weight
    for _ in range(4):
        step(*task.batch())
    for _ in range(3):
        before = weight.detach().cpu().numpy() * 2
        twice = weight.detach() * 2  # not run yet
        step(*task.batch())
        assert np.array_equal(twice.cpu().numpy(), before)


def test_work_that_a_replay_does_not_disturb_waits(device: sg.Device) -> None:
    task = Task(device, lambda p: optim.SGD(p, lr=0.1))
    step = sg.compile(task.step)
    x, y = task.batch()
    losses = [step(x, y) for _ in range(4)]
    sg.synchronize(device)
    total = sg.zeros((), device=device)
    sg.reset_stats()
    for _ in range(5):
        losses.append(step(x, y))
        total = total + losses[-1]
    assert sg.stats()["submissions"] == 5
    assert np.isclose(total.item(), sum(loss.item() for loss in losses[4:]))


def test_nests_numbers_and_results() -> None:
    @sg.compile
    def f(batch: dict[str, Any], scale: float, *, flag: bool = True) -> Any:
        y = batch["x"] * scale
        return {"y": y, "row": y[0], "both": [y + 1, batch["x"]], "n": 3, "none": None, "flag": flag}

    x = sg.ones(2, 2)
    for scale in (1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 3.0):
        out = f({"x": x}, scale)
        assert out["y"].tolist() == [[scale] * 2] * 2
        assert out["both"][0].tolist() == [[scale + 1] * 2] * 2
        assert (out["n"], out["none"], out["flag"]) == (3, None, True)
    assert replays(f) == 2
    out["y"].mul_(0)
    assert out["row"].tolist() == [0, 0]
    out["both"][1].add_(1)
    assert x.tolist() == [[2, 2], [2, 2]]
    assert f({"x": x}, 1.0, flag=False)["flag"] is False


def test_arguments_written_in_place() -> None:
    f = sg.compile(lambda x: x.add_(1).sum())
    for _ in range(5):
        x = sg.zeros(3)
        assert f(x).item() == 3
        assert x.tolist() == [1, 1, 1]


def test_parts_of_an_argument_that_were_written_are_read_where_the_argument_is(device: sg.Device) -> None:
    memory = sg.zeros(10, 4, device=device).realize()
    want = np.zeros((10, 4), np.float32)

    @sg.compile
    def step(rows: sg.Tensor) -> sg.Tensor:
        rows[0] = rows[1] + 1
        rows[1, 1:3] += 2
        rows[1] = rows[0] * 2 + rows[1].cumsum(0)
        rows[0, 3] = rows[1, 2]
        return rows.sum()

    for first in (0, 0, 0, 4, 1, 7, 8):
        rows = want[first : first + 2]
        rows[0] = rows[1] + 1
        rows[1, 1:3] += 2
        rows[1] = rows[0] * 2 + rows[1].cumsum(0)
        rows[0, 3] = rows[1, 2]
        assert step(memory[first : first + 2]).item() == rows.sum()
        np.testing.assert_array_equal(memory.numpy(), want)
    assert replays(step) == 1


def test_inference_and_modes_of_modules() -> None:
    net = sg.nn.Sequential(sg.nn.Linear(4, 4), sg.nn.Dropout(0.5))

    @sg.compile
    def predict(x: sg.Tensor) -> sg.Tensor:
        with sg.no_grad():
            return net(x)

    x = sg.ones(3, 4)
    for _ in range(2):
        net.eval()
        plain = net(x).detach().numpy()
        assert all(np.array_equal(predict(x).numpy(), plain) for _ in range(4))
        net.train()
        seen = {predict(x).numpy().tobytes() for _ in range(5)}
        assert len(seen) == 5, "dropout must draw anew"
    assert replays(predict) == 2


def test_freezing_is_seen() -> None:
    def after(task: Task, i: int) -> None:
        if i == 8:
            task.net[0].weight.requires_grad_(False)
            task.net[0].weight.grad = None
        if i == 14:
            task.net[0].weight.requires_grad_(True)

    assert_same("cpu", lambda p: optim.SGD(p, lr=0.1), after=after)


def test_loading_a_state_is_seen() -> None:
    saved: dict[str, Any] = {}

    def after(task: Task, i: int) -> None:
        if i == 5:
            saved["net"] = {k: v.clone() for k, v in task.net.state_dict().items()}
            saved["opt"] = copy.deepcopy(task.opt.state_dict())
        if i == 9:
            task.net.load_state_dict(saved["net"])
            task.opt.load_state_dict(saved["opt"])

    assert_same("cpu", lambda p: optim.Adam(p), after=after)


def test_replaced_data_is_seen() -> None:
    def after(task: Task, i: int) -> None:
        if i == 6:
            task.net[0].weight.data = task.net[0].weight.data * 0.5

    assert_same("cpu", lambda p: optim.SGD(p, lr=0.1), after=after)


def test_random_numbers_go_on_and_start_again() -> None:
    f = sg.compile(lambda: sg.rand(3))
    for _ in range(3):
        f()
    assert replays(f) == 1
    sg.manual_seed(5)
    replayed = [f().tolist() for _ in range(3)] + [sg.rand(3).tolist()]
    sg.manual_seed(5)
    assert replayed == [sg.rand(3).tolist() for _ in range(4)]


def test_an_optimizer_of_ones_own() -> None:
    class Descent(optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            with sg.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.sub_(p.grad * group["lr"])

    def after(task: Task, i: int) -> None:
        if i == 10:
            task.opt.param_groups[0]["lr"] = 0.05

    assert_same("cpu", lambda p: Descent(p, {"lr": 0.1}), after=after)


def test_a_counter_of_ones_own_is_refused() -> None:
    class Decaying(optim.Optimizer):
        count = 0

        def step(self, closure: Any = None) -> None:
            self.count += 1
            with sg.no_grad():
                for p in self.param_groups[0]["params"]:
                    p.sub_(p.grad / self.count)

    task = Task("cpu", lambda p: Decaying(p, {}))
    step = sg.compile(task.step)
    with pytest.raises(RuntimeError, match="options or counts of Decaying change inside"):
        for _ in range(6):
            step(*task.batch())


def test_methods_and_nested_functions() -> None:
    inner = sg.compile(lambda x: x + 1)

    class Model:
        def __init__(self, bias: float) -> None:
            self.bias = sg.tensor([bias])

        @sg.compile
        def __call__(self, x: sg.Tensor) -> sg.Tensor:
            return inner(x) * 2 + self.bias

    one, two = Model(1.0), Model(2.0)
    for _ in range(4):
        assert (one(sg.ones(1)).item(), two(sg.ones(1)).item()) == (5, 6)


# ---- wrong uses ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: x.numpy(),
        lambda x: x.tolist(),
        lambda x: bool(x.sum() > 0),
        lambda x: x[x > 0],
    ],
)
def test_reading_a_value_is_refused_at_once(read: Callable[[sg.Tensor], Any]) -> None:
    def f(x: sg.Tensor) -> sg.Tensor:
        read(x * 2)
        return x

    with pytest.raises(RuntimeError, match=r"compile: the function .* while it is recorded"):
        sg.compile(f)(sg.ones(3))
    assert (sg.ones(2) + 1).tolist() == [2, 2], "recording has ended"


def test_swallowing_the_refusal_does_not_help() -> None:
    def f(x: sg.Tensor) -> sg.Tensor:
        try:
            return x * x.item()
        except RuntimeError:
            return x

    with pytest.raises(RuntimeError, match="reads a value"):
        sg.compile(f)(sg.ones(1))


def repeat(f: Callable[..., Any], *args: Any) -> None:
    for _ in range(8):
        f(*args)


def test_a_number_that_changes_is_refused() -> None:
    count = itertools.count()
    with pytest.raises(RuntimeError, match="a number in it changes"):
        repeat(sg.compile(lambda x: x * next(count)), sg.ones(2))
    data = sg.arange(100.0)
    with pytest.raises(RuntimeError, match="another part of a tensor"):
        repeat(sg.compile(lambda x: x + data[4 * next(count) :][:2]), sg.ones(2))
    with pytest.raises(RuntimeError, match="tensor of other values"):
        repeat(sg.compile(lambda x: x + sg.tensor([next(count)])), sg.ones(1))
    with pytest.raises(RuntimeError, match="a number that it returns"):
        repeat(sg.compile(lambda x: (x, next(count))), sg.ones(1))


def test_a_changing_structure_is_refused() -> None:
    count = itertools.count(1)
    with pytest.raises(RuntimeError, match="which operations it makes"):
        repeat(sg.compile(lambda x: sum([x] * next(count), x)), sg.ones(2))


def test_keeping_a_tensor_outside_is_refused() -> None:
    kept = []

    def f(x: sg.Tensor) -> sg.Tensor:
        kept.append(x * 2)
        return x + 1

    with pytest.raises(RuntimeError, match="is kept outside"):
        repeat(sg.compile(f), sg.ones(3))


def test_gradients_do_not_flow_through() -> None:
    w = sg.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a result wants a gradient"):
        repeat(sg.compile(lambda x: x * w), sg.ones(3))
    with pytest.raises(ValueError, match="an argument wants a gradient"):
        sg.compile(lambda x: x * 2)(w)


def test_a_scheduler_inside_is_refused() -> None:
    task = Task("cpu", lambda p: optim.SGD(p, lr=0.1))
    scheduler = optim.lr_scheduler.ExponentialLR(task.opt, 0.9)

    def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        loss = task.step(x, y)
        scheduler.step()
        return loss

    compiled = sg.compile(step)
    with pytest.raises(RuntimeError, match="call schedulers outside"):
        for _ in range(8):
            compiled(*task.batch())


def test_what_is_no_tensor() -> None:
    with pytest.raises(TypeError, match="an argument is a ndarray"):
        sg.compile(lambda x: x)(np.ones(2))
    with pytest.raises(TypeError, match="returns a ndarray"):
        sg.compile(lambda x: np.ones(2))(sg.ones(1))
    with pytest.raises(TypeError, match="cannot be called"):
        sg.compile(3)  # type: ignore[arg-type]


def test_errors_of_the_function_pass_through() -> None:
    f = sg.compile(lambda x: x @ sg.ones(3, 3))
    with pytest.raises(ValueError, match="matmul"):
        f(sg.ones(2, 2))
    for _ in range(4):
        assert f(sg.ones(1, 3)).tolist() == [[3, 3, 3]]


@pytest.mark.parametrize("constant", ["weights of classes", "elements to look for", "a part", "other sizes"])
def test_a_view_of_a_detached_tensor_from_outside_is_seen(constant: str, device: sg.Device) -> None:
    w = sg.tensor([0.5, 1.0, 2.0, 0.25], device=device, requires_grad=True)
    kinds = sg.tensor([[1, 2], [3, 0]], device=device)
    results = []
    for compiled in (False, True):

        def step(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
            if constant == "weights of classes":
                return F.nll_loss(x, y, weight=w)
            if constant == "elements to look for":
                return sg.isin(y, kinds)
            return x[:, 1:] * w.detach()[1:] if constant == "a part" else x * w.data.reshape(1, 4)

        f: Any = sg.compile(step) if compiled else step
        made = [
            (sg.arange(8.0, device=device).reshape(2, 4) * i, sg.tensor([i % 4, 1], device=device)) for i in range(6)
        ]
        results.append([f(x, y).tolist() for x, y in made])
    assert replays(f) > 0
    assert results[0] == results[1]
