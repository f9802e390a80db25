"""The training loop: what it records, what it costs, what it takes, and how it ends."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import callbacks, metrics
from spirograd.nn import functional as F


def moons(count: int = 200, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    angle, label = random.uniform(0, np.pi, count), np.arange(count) % 2
    x = np.where(label, 1 - np.cos(angle), np.cos(angle)), np.where(label, 0.5 - np.sin(angle), np.sin(angle))
    return (np.stack(x, 1) + random.normal(0, 0.1, (count, 2))).astype(np.float32), label.astype(np.int64)


def network(device: Any = "cpu", seed: int = 0) -> sg.nn.Sequential:
    sg.manual_seed(seed)
    return sg.nn.Sequential(sg.nn.Linear(2, 16), sg.nn.ReLU(), sg.nn.Linear(16, 2)).to(device)


QUIET: dict[str, Any] = {"verbose": 0, "seed": 0}


# ---- what it records -------------------------------------------------------------------------------------------------


def test_it_learns_moons(device: sg.Device) -> None:
    x, y = moons()
    net = network(device)
    history = sg.fit(
        net, x, y, lr=0.03, epochs=20, batch_size=20, validation_data=moons(60, 1), metrics=["accuracy"], **QUIET
    )
    assert history.epochs == list(range(1, 21)) and len(history.times) == 20 and history.steps == 200
    assert history.metrics["loss"][-1] < 0.2 < history.metrics["loss"][0]
    assert history.metrics["accuracy"][-1] > 0.95 and history.val_metrics["accuracy"][-1] > 0.95
    assert list(history.metrics) == list(history.val_metrics) == ["loss", "accuracy"]
    assert not history.interrupted and not history.stopped
    assert re_last(repr(history)), repr(history)


def re_last(text: str) -> bool:
    return text.startswith("History(20 epochs, ") and "val_accuracy" in text


def test_it_is_the_loop_that_one_would_write() -> None:
    x, y = (sg.tensor(part) for part in moons(50))
    net, twin = network(), network()
    history = sg.fit(
        net, x, y, optimizer=sg.optim.SGD(net.parameters(), lr=0.1), epochs=3, batch_size=16, shuffle=False, **QUIET
    )
    opt, losses = sg.optim.SGD(twin.parameters(), lr=0.1), []
    for _ in range(3):
        total = 0.0
        for i in range(0, 50, 16):
            loss = F.cross_entropy(twin(x[i : i + 16]), y[i : i + 16])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y[i : i + 16])
        losses.append(total / 50)
    np.testing.assert_allclose(history.metrics["loss"], losses, rtol=1e-6)
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_every_row_is_seen_once_an_epoch_in_a_new_order() -> None:
    seen: list[list[float]] = []

    class Spy(sg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = sg.nn.Parameter(sg.ones(1))

        def forward(self, x: sg.Tensor) -> sg.Tensor:
            seen.append(x.flatten().tolist())
            return x * self.factor

    x = np.arange(10, dtype=np.float32).reshape(10, 1)
    for seed in (3, 3, 4):
        sg.fit(Spy(), x, x, loss="mse", epochs=2, batch_size=4, seed=seed, verbose=0)
    epochs = [sum(seen[i : i + 3], []) for i in range(0, len(seen), 3)]  # noqa: RUF017
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert [len(batch) for batch in seen[:3]] == [4, 4, 2]
    assert epochs[0] != epochs[1] and epochs[:2] == epochs[2:4] and epochs[0] != epochs[4]


def test_a_training_taken_up_again_sees_the_same_batches() -> None:
    x, y = moons(40)
    whole, parts = network(), network()
    options: dict[str, Any] = {"epochs": 4, "batch_size": 8, **QUIET}
    sg.fit(whole, x, y, optimizer=sg.optim.SGD(whole.parameters(), 0.1), **options)
    opt = sg.optim.SGD(parts.parameters(), 0.1)
    sg.fit(parts, x, y, optimizer=opt, **{**options, "epochs": 2})
    history = sg.fit(parts, x, y, optimizer=opt, initial_epoch=2, **options)
    assert history.epochs == [3, 4]
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_rows_are_held_back() -> None:
    x, y = moons(100)
    history = sg.fit(network(), x, y, validation_split=0.25, batch_size=25, metrics=["accuracy"], **QUIET)
    assert history.steps == 3 and 0 <= history.val_metrics["accuracy"][0] <= 1
    last = sg.fit(
        network(), x, y, validation_split=0.25, shuffle=False, optimizer="sgd", lr=0.0, batch_size=25, **QUIET
    )
    with sg.no_grad():
        want = F.cross_entropy(network()(sg.tensor(x[75:])), sg.tensor(y[75:])).item()
    assert last.val_metrics["loss"][0] == pytest.approx(want, rel=1e-6)


def test_validation_is_in_eval_mode_and_the_mode_is_put_back() -> None:
    modes: list[bool] = []

    class Spy(sg.nn.Linear):
        def forward(self, x: sg.Tensor) -> sg.Tensor:
            modes.append(self.training)
            return super().forward(x)

    x, y = moons(8)
    net = Spy(2, 2)
    sg.fit(net, x, y, epochs=2, validation_data=(x, y), **QUIET)
    assert modes == [True, False] * 2 and net.training
    net.eval()
    sg.fit(net, x, y, **QUIET)
    assert modes[-1] and not net.training
    sg.evaluate(net.train(), x, y)
    assert not modes[-1] and net.training


def test_an_optimiser_may_ask_again() -> None:
    class Twice(sg.optim.SGD):
        def step(self, closure: Any) -> Any:  # type: ignore[override]
            loss = closure()
            super().step()
            closure()
            super().step()
            return loss

    x, y = moons(30)
    net, twin = network(), network()
    history = sg.fit(net, x, y, optimizer=Twice(net.parameters(), lr=0.1), shuffle=False, batch_size=30, **QUIET)
    plain = sg.fit(
        twin, x, y, optimizer=sg.optim.SGD(twin.parameters(), lr=0.1), epochs=2, shuffle=False, batch_size=30, **QUIET
    )
    assert history.metrics["loss"] == plain.metrics["loss"][:1]
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_lbfgs_asks_several_times() -> None:
    x, y = moons(60)
    net = network()
    history = sg.fit(
        net,
        x,
        y,
        optimizer=sg.optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe"),
        epochs=3,
        batch_size=60,
        **QUIET,
    )
    assert history.steps == 3 and history.metrics["loss"][2] < 0.5 * history.metrics["loss"][0]


def test_evaluate_counts_a_short_batch_by_its_rows() -> None:
    x, y = moons(50)
    values = sg.evaluate(network(), x, y, metrics=["accuracy", "f1", metrics.ConfusionMatrix()], batch_size=16)
    with sg.no_grad():
        out = network()(sg.tensor(x))
        assert values["loss"] == pytest.approx(F.cross_entropy(out, sg.tensor(y)).item(), rel=1e-6)
        assert values["accuracy"] == pytest.approx(metrics.accuracy(out, sg.tensor(y)).item())
    assert np.sum(values["confusion_matrix"]) == 50


# ---- what it costs ---------------------------------------------------------------------------------------------------


def test_a_step_is_one_submission_and_nothing_is_read_or_planned_again(device: sg.Device) -> None:
    x, y = moons(40)
    counts: list[dict[str, int]] = []

    class Count(callbacks.Callback):
        def on_epoch_begin(self, training: Any) -> None:
            sg.synchronize(device)
            sg.reset_stats()

        def on_batch_end(self, training: Any) -> None:
            counts.append(sg.stats())

    net = network(device)
    sg.fit(net, x, y, epochs=3, batch_size=16, metrics=["accuracy"], callbacks=[Count()], **QUIET)
    last = counts[-3:]  # 16 + 16 + 8 rows
    start = last[0]["submissions"]
    assert start <= 2, "an epoch's order and its first step"
    assert [c["submissions"] - start for c in last] == [0, 1, 2]
    assert last[-1]["plan_misses"] == last[-1]["allocations"] == last[-1]["kernels_compiled"] == 0
    assert last[-1]["bytes_read"] == last[-1]["fallbacks"] == 0
    new = [c["plan_misses"] + c["plans_bound"] for c in counts]
    short = [b - a for a, b in zip(new[1::3], new[2::3], strict=True)]
    assert short == [1, 0, 0], "a short last batch is planned once"


def test_memory_is_flat_and_an_epoch_is_read_at_once(device: sg.Device) -> None:
    x, y = moons(64)
    lives: list[tuple[int, int]] = []

    class Count(callbacks.Callback):
        def on_epoch_end(self, training: Any) -> None:
            s = sg.stats()
            lives.append((s["bytes_live"], s["bytes_read"]))

    sg.reset_stats()
    sg.fit(
        network(device),
        x,
        y,
        epochs=6,
        batch_size=8,
        metrics=["accuracy", "f1"],
        validation_data=(x, y),
        callbacks=[Count()],
        **QUIET,
    )
    assert lives[-1][0] <= lives[2][0]
    assert [b[1] - a[1] for a, b in itertools.pairwise(lives)] == [24 if device.kind == "gpu" else 0] * 5, (
        "loss and two metrics, of training and validation; the processor reads in place"
    )


# ---- callbacks -------------------------------------------------------------------------------------------------------


class Script(callbacks.Callback):
    """Puts values in the place of what was measured."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def on_epoch_end(self, training: Any) -> None:
        training.logs["val_loss"] = self.values[training.epoch - 1]


def run(*followers: Any, epochs: int = 10, net: Any = None) -> sg.training.History:
    x, y = moons(8)
    return sg.fit(net or network(), x, y, epochs=epochs, callbacks=followers, **QUIET)


def test_early_stopping_waits_and_puts_the_best_weights_back() -> None:
    weights: list[list[float]] = []

    class Record(callbacks.Callback):
        def on_epoch_end(self, training: Any) -> None:
            weights.append(next(training.model.parameters()).flatten().tolist())

    net = network()
    stop = callbacks.EarlyStopping(patience=2, restore_best_weights=True)
    history = run(Script(3.0, 1.0, math.nan, 1.0, 0.5), Record(), stop, net=net)
    assert history.epochs == [1, 2, 3, 4] and history.stopped and (stop.best, stop.best_epoch) == (1.0, 2)
    assert next(net.parameters()).flatten().tolist() == weights[1] != weights[3]
    assert run(Script(*[1.0] * 10), callbacks.EarlyStopping(patience=3)).epochs == [1, 2, 3, 4]
    assert run(Script(*range(10)), callbacks.EarlyStopping(patience=1, mode="max")).epochs == list(range(1, 11))
    assert run(Script(1.0, 0.99, 0.98), callbacks.EarlyStopping(patience=2, min_delta=0.1)).epochs == [1, 2, 3]


def test_early_stopping_says_what_it_cannot_find() -> None:
    with pytest.raises(
        ValueError, match="EarlyStopping: there is no 'val_loss' among loss; give validation_data, or mon"
    ):
        run(callbacks.EarlyStopping())
    with pytest.raises(ValueError, match="EarlyStopping: mode is 'up'; use auto, min or max"):
        callbacks.EarlyStopping(mode="up")


def test_checkpoints_are_stored_each_epoch_or_when_better() -> None:
    seen: list[int] = []

    def save(folder: str, step: int, **state: Any) -> None:
        assert folder == "runs" and {"model", "optimizer", "keep", "epoch", "noise"} == set(state)
        seen.append(step)

    run(Script(3.0, 4.0, 1.0), callbacks.ModelCheckpoint("runs", save=save, noise=1), epochs=3)
    assert seen == [1, 2, 3]
    run(Script(3.0, 4.0, 1.0), callbacks.ModelCheckpoint("runs", save_best_only=True, save=save, noise=1), epochs=3)
    assert seen[3:] == [1, 3]


def test_a_stored_training_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    x, y = moons(32)
    options: dict[str, Any] = {"batch_size": 8, **QUIET}
    whole, cut = network(), network()
    sg.fit(whole, x, y, optimizer=sg.optim.Adam(whole.parameters()), epochs=4, **options)
    keeper = callbacks.ModelCheckpoint(tmp_path)
    sg.fit(cut, x, y, optimizer=sg.optim.Adam(cut.parameters()), epochs=2, callbacks=[keeper], **options)
    again = network(seed=7)
    opt = sg.optim.Adam(again.parameters())
    found = sg.utils.checkpoints.restore(tmp_path, model=again, optimizer=opt)
    assert found is not None and (found.step, found.epoch) == (8, 2)
    sg.fit(again, x, y, optimizer=opt, epochs=4, initial_epoch=found.epoch, **options)
    for a, b in zip(whole.parameters(), again.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


class Halving:
    """What a scheduler looks like."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def step(self, *values: Any) -> None:
        self.calls.append(values)


def test_schedulers_step_once_an_epoch_or_a_step_or_see_a_value() -> None:
    each, step, plateau = Halving(), Halving(), Halving()
    x, y = moons(32)
    followers = [
        Script(3.0, 2.0),
        each,
        callbacks.LearningRateScheduler(step, each="step"),
        callbacks.LearningRateScheduler(plateau, monitor="val_loss"),
    ]
    sg.fit(network(), x, y, epochs=2, batch_size=8, callbacks=followers, **QUIET)
    assert each.calls == [()] * 2 and step.calls == [()] * 8 and plateau.calls == [(3.0,), (2.0,)]


def test_schedulers_of_optim() -> None:
    x, y = moons(16)
    net = network()
    opt = sg.optim.SGD(net.parameters(), lr=1.0)
    halve = sg.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    assert sg.fit(net, x, y, optimizer=opt, epochs=3, callbacks=[halve], **QUIET).learning_rates == [1.0, 0.5, 0.25]
    plateau = sg.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, factor=0.1)
    history = sg.fit(net, x, y, optimizer=opt, epochs=3, callbacks=[Script(1.0, 2.0, 3.0), plateau], **QUIET)
    np.testing.assert_allclose(history.learning_rates, [0.125, 0.125, 0.0125])


def test_logs_have_a_line_an_epoch(tmp_path: Path) -> None:
    table, lines = tmp_path / "a" / "log.csv", tmp_path / "log.jsonl"
    history = run(Script(1.0, math.nan), callbacks.CSVLogger(table), callbacks.JSONLogger(lines), epochs=2)
    rows = list(csv.DictReader(table.open()))
    assert [row["epoch"] for row in rows] == ["1", "2"] and float(rows[1]["seconds"]) == round(history.times[1], 4)
    assert [float(row["loss"]) for row in rows] == history.metrics["loss"] and float(rows[0]["lr"]) == 0.001
    objects = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [o["loss"] for o in objects] == history.metrics["loss"]
    assert [o["val_loss"] for o in objects] == [1.0, None]
    run(callbacks.CSVLogger(table, append=True), epochs=1)
    assert len(table.read_text().splitlines()) == 4
    run(callbacks.CSVLogger(table), epochs=1)
    assert len(table.read_text().splitlines()) == 2


def test_callbacks_are_called_in_order() -> None:
    calls: list[str] = []
    hooks = [name for name in vars(callbacks.Callback) if name.startswith("on_")]
    spy = type("Spy", (callbacks.Callback,), {name: lambda self, t, name=name: calls.append(name) for name in hooks})
    run(spy(), epochs=2)
    epoch = ["on_epoch_begin", "on_batch_end", "on_epoch_end"]
    assert calls == ["on_train_begin", *epoch, *epoch, "on_train_end"]


# ---- how it ends -----------------------------------------------------------------------------------------------------


def test_ctrl_c_returns_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    class Stop(callbacks.Callback):
        def on_batch_end(self, training: Any) -> None:
            if training.history.steps == 7:
                raise KeyboardInterrupt

        def on_train_end(self, training: Any) -> None:
            self.ended = True

    x, y = moons(32)
    stop, net = Stop(), network()
    history = sg.fit(net, x, y, epochs=5, batch_size=8, callbacks=[stop])
    assert "fit: interrupted in epoch 2 of 5; " in capsys.readouterr().out
    assert history.interrupted and stop.ended and history.epochs == [1] and len(history.metrics["loss"]) == 1
    assert "interrupted" in repr(history) and net.training and sg.is_grad_enabled()
    sg.fit(net, x, y, **QUIET)


# ---- what it takes ---------------------------------------------------------------------------------------------------


def test_batches_may_come_from_anything_that_gives_them() -> None:
    x, y = moons(24)
    batches = [(x[i : i + 8], y[i : i + 8]) for i in range(0, 24, 8)]
    net, twin = network(), network()
    history = sg.fit(net, batches, epochs=2, validation_data=batches, optimizer="SGD", lr=0.1, **QUIET)
    other = sg.fit(twin, x, y, epochs=2, batch_size=8, shuffle=False, optimizer="sgd", lr=0.1, **QUIET)
    assert history.metrics == other.metrics and history.val_metrics
    with pytest.raises(
        ValueError, match="fit: there was no batch in epoch 2; give a list or a DataLoader, not an iterator"
    ):
        sg.fit(network(), iter(batches), epochs=2, **QUIET)
    with pytest.raises(ValueError, match=r"fit: a batch is a ndarray; give \(inputs, target\)"):
        sg.fit(network(), [x], **QUIET)


def test_a_loader_of_ours() -> None:
    x, y = moons(24)
    rows = sg.utils.data.TensorDataset(sg.tensor(x.astype(np.float64)), sg.tensor(y))
    loader = sg.utils.data.DataLoader(rows, batch_size=8, shuffle=True)
    history = sg.fit(network(), loader, epochs=3, validation_data=loader, lr=0.05, metrics=["accuracy"], **QUIET)
    assert history.steps == 9 and history.metrics["loss"][-1] < history.metrics["loss"][0]


def test_several_inputs() -> None:
    class Sum(sg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = sg.nn.Linear(2, 2)

        def forward(self, a: sg.Tensor, b: sg.Tensor) -> sg.Tensor:
            return self.last(a + b)

    x, y = moons(16)
    first = sg.fit(Sum(), (x, x), y, batch_size=8, **QUIET)
    assert first.steps == 2
    assert sg.fit(Sum(), [((x, x), y)], **QUIET).steps == sg.fit(Sum(), [(x, x, y)], **QUIET).steps == 1


def test_numbers_take_the_type_of_the_model() -> None:
    x, y = moons(16)
    net = network().to(sg.float64)
    assert sg.fit(net, x.astype(np.float16), y.astype(np.uint8), **QUIET).metrics["loss"][0] > 0


def test_losses_and_metrics_of_all_kinds() -> None:
    x, y = moons(32)
    probability = sg.nn.Sequential(sg.nn.Linear(2, 1), sg.nn.Sigmoid(), sg.nn.Flatten(0))
    history = sg.fit(probability, x, y.astype(np.float32), loss="bce", metrics=["accuracy", "recall"], **QUIET)
    with sg.no_grad():
        assert sg.evaluate(probability, x, y.astype(np.float32), loss="bce", metrics=["accuracy"])["accuracy"] == (
            ((probability(sg.tensor(x)).numpy() > 0.5) == y).mean().astype(np.float32)
        ), "a probability of a half is the border"
    assert 0 <= history.metrics["recall"][0] <= 1
    largest = lambda output, target: output.max()  # noqa: E731
    history = sg.fit(
        network(), x, y, loss=sg.nn.CrossEntropyLoss(), metrics=[metrics.Mean(largest, "largest"), "top1"], **QUIET
    )
    assert list(history.metrics) == ["loss", "largest", "top1"]


def test_what_is_wrong_is_said() -> None:
    x, y = moons(8)
    for wrong, error, words in [
        (
            lambda: sg.fit(sg.MLP(2, [4, 1]), x, y),
            TypeError,
            "fit: MLP is a model of scalar values; use modules of tens",
        ),
        (lambda: sg.fit(print, x, y), TypeError, "fit: model is a builtin_function_or_method; pass an sg.nn.Module"),
        (lambda: sg.fit(network(), x), ValueError, "fit: x has no target; give y, or an iterable of batches"),
        (
            lambda: sg.fit(network(), x, y[:5]),
            ValueError,
            "fit: x has 8 rows, y has 5; give the same number",
        ),
        (lambda: sg.fit(network(), x[:0], y[:0]), ValueError, "fit: there are no rows; give at least one"),
        (lambda: sg.fit(network(), x, y, batch_size=0), ValueError, "fit: batch_size is 0; use 1 or more"),
        (lambda: sg.fit(network(), x, y, loss="cross"), ValueError, "fit: loss 'cross' is unknown; use bce, "),
        (lambda: sg.fit(network(), x, y, metrics=["acc"]), ValueError, "fit: metric 'acc' is unknown; use accuracy, "),
        (lambda: sg.fit(network(), x, y, optimizer="adams"), ValueError, "fit: optimizer 'adams' is unknown; use "),
        (
            lambda: sg.fit(network(), x, y, validation_split=0.01),
            ValueError,
            "validation_split 0.01 of 8 rows leaves 8 ",
        ),
        (
            lambda: sg.fit(network(), x, y, validation_split=0.5, validation_data=(x, y)),
            ValueError,
            "fit: both validation_data and validation_split are given; give one",
        ),
        (
            lambda: sg.fit(network(), [(x, y)], validation_split=0.5),
            ValueError,
            "fit: validation_split needs x and y; give validation_data beside a loader",
        ),
        (
            lambda: sg.fit(network(), x, y, optimizer=sg.optim.SGD(network().parameters()), lr=1.0),
            ValueError,
            "fit: lr is only for an optimiser given by its name; pass the rate to this one's constructor",
        ),
    ]:
        with pytest.raises(error) as raised:
            wrong()
        assert words in str(raised.value)
    with pytest.raises(IndexError, match="cross_entropy: index 5 out of range"):
        sg.fit(network(), x, y + 4 * (y == 1), **QUIET)


def test_wrong_options_say_what_to_give() -> None:
    x, y = moons(8)
    for options, error, words in (
        ({"validation_data": x}, ValueError, "fit: validation_data is a ndarray without a target; give (x, y)"),
        ({"validation_split": 1.5}, ValueError, "fit: validation_split is 1.5; use 0 to 1"),
        ({"callbacks": ["EMA"]}, TypeError, "fit: the callback 'EMA' is a str; give an object, EMA(...)"),
        ({"callbacks": [callbacks.EMA]}, TypeError, "fit: the callback 'EMA' is a type; give an object, EMA(...)"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            sg.fit(network(), x, y, **QUIET, **options)


def test_a_loss_that_is_no_number_is_told_once() -> None:
    x, y = moons(8)
    x[0, 0] = np.nan
    with pytest.warns(UserWarning, match="fit: the loss of epoch 1 is nan; try a smaller lr") as told:
        sg.fit(network(), x, y, epochs=3, **QUIET)
    assert len(told) == 1


# ---- what it shows ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_on_a_terminal_and_reads_seldom(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = moons(32)
    screen, pipe = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    sg.reset_stats()
    sg.fit(network(), x, y, epochs=4, batch_size=4, seed=0)
    assert "32/32" in screen.getvalue() and sg.stats()["bytes_read"] <= 4 * 4 + 4 * 8
    screen.truncate(0)
    sg.fit(network(), x, y, verbose=0)
    assert not screen.getvalue().strip("\0")
    monkeypatch.setattr(sys, "stderr", pipe)
    sg.fit(network(), x, y, epochs=2)
    assert not pipe.getvalue() and capsys.readouterr().out.count("epoch ") == 2, "elsewhere a line an epoch"


def test_a_bar_without_a_known_end(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = moons(32)
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    sg.fit(network(), ((x[i : i + 8], y[i : i + 8]) for i in range(0, 32, 8)))
    assert "fit: 4, " in screen.getvalue()


def test_a_line_an_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = moons(32)
    sg.fit(network(), x, y, epochs=2, validation_data=(x, y), verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[1].startswith("epoch 2/2  loss 0.") and "  val_loss 0." in lines[1]


def test_the_history_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    x, y = moons(32)
    path = tmp_path / "history.png"
    history = sg.fit(network(), x, y, epochs=3, validation_data=(x, y), metrics=["accuracy"], **QUIET)
    figure = history.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "accuracy"]


# ---- steps that are replayed -----------------------------------------------------------------------------------------


def history_and_bits(net: Any, **options: Any) -> tuple[Any, ...]:
    x, y = moons(50)
    history = sg.fit(
        net, x, y, epochs=5, batch_size=16, metrics=["accuracy", "f1", "perplexity"], **{**QUIET, **options}
    )
    return history.metrics, history.val_metrics, [p.detach().cpu().numpy().tobytes() for p in net.parameters()]


@pytest.mark.parametrize("options", [{}, {"shuffle": False, "optimizer": "sgd"}, {"validation_split": 0.3}], ids=str)
def test_replayed_steps_have_the_bits_of_others(options: dict[str, Any], device: sg.Device) -> None:
    results = []
    for compiled in (None, False):
        net = network(device)
        net.insert(2, sg.nn.Dropout(0.3))
        net.insert(1, sg.nn.BatchNorm1d(16).to(device))
        decay = callbacks.LearningRateScheduler(lambda epoch: 0.1 / epoch)
        results.append(history_and_bits(net, compile=compiled, callbacks=[decay], **options))
    assert results[0] == results[1]


def nodes_of_an_epoch(steps: int, compile: bool | None) -> int:
    """How many nodes of the graph Python makes in the last epoch."""
    x, y = moons(8 * steps)
    counts: list[int] = []

    class Count(callbacks.Callback):
        def on_epoch_begin(self, training: Any) -> None:
            counts.append(sg.stats()["nodes"])

        on_epoch_end = on_epoch_begin

    sg.fit(network(), x, y, epochs=4, batch_size=8, metrics=["accuracy"], callbacks=[Count()], compile=compile, **QUIET)
    return counts[-1] - counts[-2]


def test_a_replayed_step_makes_no_node() -> None:
    few = nodes_of_an_epoch(2, None)
    assert nodes_of_an_epoch(20, None) == nodes_of_an_epoch(20, True) == few
    assert nodes_of_an_epoch(20, False) > 1000


def test_python_of_the_users_is_run_in_each_step() -> None:
    calls: list[int] = []

    class Custom(sg.nn.Linear):
        def forward(self, x: sg.Tensor) -> sg.Tensor:
            calls.append(len(x))
            return super().forward(x)

    def loss(output: sg.Tensor, target: sg.Tensor) -> sg.Tensor:
        calls.append(1)
        return F.cross_entropy(output, target)

    def metric(output: sg.Tensor, target: sg.Tensor) -> sg.Tensor:
        calls.append(2)
        return output.mean()

    x, y = moons(8)
    hooked = network()
    hooked.register_forward_hook(lambda *args: calls.append(3))
    opt = sg.optim.SGD((stepped := network()).parameters(), lr=0.1)
    opt.register_step_post_hook(lambda *args: calls.append(4))
    cases: list[tuple[Any, dict[str, Any]]] = [
        (sg.nn.Sequential(Custom(2, 2)), {}), (network(), {"loss": loss}), (network(), {"metrics": [metric]}),
        (hooked, {}), (stepped, {"optimizer": opt}),
    ]  # fmt: skip
    for net, options in cases:
        calls.clear()
        sg.fit(net, x, y, epochs=6, **QUIET, **options)
        assert len(calls) == 6
    calls.clear()
    sg.fit(sg.nn.Sequential(Custom(2, 2)), x, y, epochs=6, compile=True, **QUIET)
    assert 2 <= len(calls) < 6


def test_what_changes_between_epochs_is_seen() -> None:
    class Change(callbacks.Callback):
        def on_epoch_end(self, training: Any) -> None:
            if training.epoch == 3:
                training.model[2].p = 0.0
                training.model[0].weight = sg.nn.Parameter(training.model[0].weight.detach() * 2)
                training.model[0].requires_grad_(False)

    results = []
    for compiled in (None, False):
        net = network()
        net.insert(2, sg.nn.Dropout(0.5))
        results.append(history_and_bits(net, compile=compiled, callbacks=[Change()]))
    assert results[0] == results[1]


def test_what_cannot_be_replayed_is_said() -> None:
    net = network()
    for options in ({"optimizer": sg.optim.LBFGS(net.parameters())}, {"metrics": [metrics.R2()]}):
        with pytest.raises(ValueError, match="fit: compile=True needs a RuleOptimizer, metrics that are sums"):
            sg.fit(net, *moons(8), compile=True, **QUIET, **options)
