"""What fit does to gradients, weights and types; predict, lr_find, and what is shown."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import _core, callbacks
from spirograd.nn import functional as F


def moons(count: int = 64, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x, y = sg.datasets.moons(count, noise=0.1, seed=seed)
    return np.asarray(x, np.float32), np.asarray(y, np.int64)


def network(device: Any = "cpu", seed: int = 0) -> sg.nn.Sequential:
    sg.manual_seed(seed)
    return sg.nn.Sequential(sg.nn.Linear(2, 16), sg.nn.ReLU(), sg.nn.Linear(16, 2)).to(device)


def weights(net: sg.nn.Module) -> list[np.ndarray[Any, Any]]:
    return [p.detach().cpu().numpy().copy() for p in net.parameters()]


def assert_same(a: list[Any], b: list[Any], tolerance: float = 0.0) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


QUIET: dict[str, Any] = {"verbose": 0, "shuffle": False}


# ---- gradients -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize("limit", [{"clip_grad_norm": 0.05}, {"clip_grad_value": 0.01}], ids=str)
def test_gradients_are_clipped_as_in_a_loop(limit: dict[str, float], compiled: bool | None, device: sg.Device) -> None:
    x, y = moons()
    net, twin = network(device), network(device)
    sgd = lambda model: sg.optim.SGD(model.parameters(), lr=0.5)  # noqa: E731
    sg.fit(net, x, y, optimizer=sgd(net), epochs=3, batch_size=16, compile=compiled, **limit, **QUIET)
    optimizer = sgd(twin)
    for _ in range(3):
        for i in range(0, 64, 16):
            loss = F.cross_entropy(
                twin(sg.tensor(x[i : i + 16], device=device)), sg.tensor(y[i : i + 16], device=device)
            )
            optimizer.zero_grad()
            loss.backward()
            if "clip_grad_norm" in limit:
                assert sg.nn.utils.clip_grad_norm_(twin.parameters(), limit["clip_grad_norm"]).item() > 0.05
            else:
                sg.nn.utils.clip_grad_value_(twin.parameters(), limit["clip_grad_value"])
            optimizer.step()
    assert_same(weights(net), weights(twin), 1e-6)


@pytest.mark.parametrize("compiled", [None, False])
def test_accumulated_batches_learn_like_one(compiled: bool | None, device: sg.Device) -> None:
    x, y = moons(72)
    steps = []

    class Count(callbacks.Callback):
        def on_batch_end(self, training: Any) -> None:
            steps.append(training.history.steps)

    net, twin = network(device), network(device)
    options: dict[str, Any] = {"epochs": 4, "optimizer": "adam", "lr": 0.01, **QUIET}
    followers = [Count()] if compiled is False else []
    history = sg.fit(
        net, x, y, batch_size=8, accumulate_grad_batches=4, compile=compiled, callbacks=followers, **options
    )
    whole = sg.fit(twin, x, y, batch_size=32, **options)  # the last step of an epoch has 8 rows in both
    assert history.steps == whole.steps == 12 and steps in ([], list(range(1, 13)))
    assert_same(weights(net), weights(twin), 2e-5)
    np.testing.assert_allclose(history.metrics["loss"], whole.metrics["loss"], rtol=1e-4)


def test_replayed_accumulation_has_the_bits_of_the_plain_one(device: sg.Device) -> None:
    results = []
    for compiled in (None, False):
        net = network(device)
        history = sg.fit(
            net, *moons(50), batch_size=8, accumulate_grad_batches=3, clip_grad_norm=0.2, epochs=5, seed=1, verbose=0,
            compile=compiled, metrics=["accuracy"],
        )  # fmt: skip
        results.append((history.metrics, [w.tobytes() for w in weights(net)]))
    assert results[0] == results[1]


@pytest.mark.gpu
def test_an_accumulated_training_survives_its_device() -> None:
    """The copies are taken between steps, where no gradient is pending."""
    device = sg.Device("gpu")
    results = []
    for lose in (False, True):
        net = network(device)

        class Lose(callbacks.Callback):
            done = not lose

            def on_batch_end(self, training: Any) -> None:
                if not self.done and training.history.steps == 5:
                    self.done = True
                    raise sg.DeviceLostError("the test says so")

        options: dict[str, Any] = {
            "on_device_lost": "recover",
            "snapshot_every": 2,
            "callbacks": [Lose(), callbacks.EMA(0.5)],
        }
        sg.fit(net, *moons(), batch_size=8, accumulate_grad_batches=3, epochs=3, seed=0, verbose=0, **options)
        results.append([w.tobytes() for w in weights(net)])
    assert results[0] == results[1]


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_types_learn(precision: str, device: sg.Device) -> None:
    kinds = set()

    class Spy(sg.nn.Module):
        def forward(self, x: Any) -> Any:
            kinds.add(x.dtype)
            return x

    net = network(device)
    net.append(Spy())
    x, y = moons(128)
    history = sg.fit(
        net, x, y, epochs=15, lr=0.03, precision=precision, validation_data=(x, y), metrics=["accuracy"],
        clip_grad_norm=5.0, accumulate_grad_batches=2, verbose=0, seed=0,
    )  # fmt: skip
    assert kinds == {sg.bfloat16 if precision == "bf16" else sg.float16}
    assert history.val_metrics["accuracy"][-1] > 0.9 and net[0].weight.dtype == sg.float32
    assert sg.evaluate(net, x, y, precision=precision)["loss"] == history.val_metrics["loss"][-1]
    assert sg.predict(net, x, precision=precision).dtype in kinds


def test_replayed_bf16_has_the_bits_of_the_plain_one(device: sg.Device) -> None:
    results = []
    for compiled in (None, False):
        net = network(device)
        sg.fit(net, *moons(), epochs=4, batch_size=16, precision="bf16", compile=compiled, seed=1, verbose=0)
        results.append([w.tobytes() for w in weights(net)])
    assert results[0] == results[1]


# ---- weights of classes and rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["cross_entropy", sg.nn.CrossEntropyLoss()], ids=["name", "module"])
def test_class_weights_are_those_of_the_loss(loss: Any, device: sg.Device) -> None:
    x, y = moons()
    net, twin = network(device), network(device)
    options: dict[str, Any] = {"epochs": 2, "batch_size": 16, "optimizer": "sgd", "lr": 0.3, **QUIET}
    sg.fit(net, x, y, loss=loss, class_weight=[1.0, 5.0], **options)
    weight = sg.tensor([1.0, 5.0], device=device)
    sg.fit(twin, x, y, loss=lambda output, target: F.cross_entropy(output, target, weight=weight), **options)
    assert_same(weights(net), weights(twin), 1e-6)
    named = network(device)
    sg.fit(named, x, y, loss=loss, class_weight={1: 5}, **options)
    assert_same(weights(net), weights(named))
    assert loss == "cross_entropy" or loss.reduction == "mean"


def test_balanced_classes_weigh_the_same() -> None:
    from spirograd.training.data import data_of, destination_of
    from spirograd.training.weights import class_weights_of

    place = destination_of("fit", network())
    data = data_of("fit", np.zeros((8, 2)), np.array([0, 0, 0, 0, 0, 0, 2, -100]), place, 2)
    np.testing.assert_allclose(class_weights_of("balanced", data, place).numpy(), [7 / 12, 3.5, 3.5])


def test_row_weights_are_counts(device: sg.Device) -> None:
    x, y = moons(20)
    count = np.arange(20) % 3
    net, twin = network(device), network(device)
    options: dict[str, Any] = {"epochs": 3, "batch_size": 100, "optimizer": "sgd", "lr": 0.3, **QUIET}
    sg.fit(net, x, y, sample_weight=count, **options)
    sg.fit(twin, np.repeat(x, count, 0), np.repeat(y, count), **options)
    assert_same(weights(net), weights(twin), 1e-5)


def test_row_weights_go_with_their_rows(device: sg.Device) -> None:
    """Rows without weight teach nothing, whatever the order and however many are held back."""
    x, y = moons()
    wrong = np.concatenate([y, 1 - y])
    weight = np.repeat([1.0, 0.0], len(y))
    net = network(device)
    x = np.concatenate([x, x])
    sg.fit(net, x, wrong, sample_weight=weight, validation_split=0.1, epochs=40, lr=0.03, verbose=0, seed=0)
    assert sg.evaluate(net, x[: len(y)], y, metrics=["accuracy"])["accuracy"] > 0.95


def test_weights_of_ignored_targets_are_zero() -> None:
    from spirograd.training.weights import WeightedLoss

    output, target = sg.randn(4, 3, 5), sg.randint(0, 3, (4, 5))
    target[1, 2] = target[3, 0] = -100
    weight = sg.tensor([0.5, 2.0, 1.0])
    wanted = F.cross_entropy(output, target, weight=weight)
    assert WeightedLoss(F.cross_entropy, weight)(output, target, None).item() == pytest.approx(wanted.item(), rel=1e-6)
    nothing = WeightedLoss(F.cross_entropy, None)(output, target, sg.zeros(4))
    assert nothing.item() == 0.0


# ---- averages of weights ---------------------------------------------------------------------------------------------


def test_averages_are_validated_and_kept(device: sg.Device) -> None:
    x, y = moons()
    decay, expected, seen = 0.8, [], []

    class Follow(callbacks.Callback):
        def on_batch_end(self, training: Any) -> None:
            now = weights(training.model)
            old = expected[-1] if expected else now
            expected.append([decay * a + (1 - decay) * b for a, b in zip(old, now, strict=True)])

        def on_validation_begin(self, training: Any) -> None:
            seen.append(weights(training.model))

    net, ema = network(device), callbacks.EMA(decay)
    history = sg.fit(net, x, y, epochs=3, batch_size=16, validation_data=(x, y), callbacks=[ema, Follow()], **QUIET)
    assert_same(seen[1], expected[7], 1e-5)
    assert_same(weights(net), expected[-1], 1e-5)
    assert sg.evaluate(net, x, y)["loss"] == pytest.approx(history.val_metrics["loss"][-1], rel=1e-6)


def test_averages_do_not_disturb_the_training(device: sg.Device) -> None:
    losses = [
        sg.fit(network(device), *moons(), epochs=4, validation_data=moons(), callbacks=followers, **QUIET).metrics
        for followers in ([], [callbacks.EMA(0.9)])
    ]
    assert losses[0] == losses[1]


# ---- predict, lr_find ------------------------------------------------------------------------------------------------


def test_predict_gives_all_rows_in_order(device: sg.Device) -> None:
    x, _ = moons(50)
    net = sg.nn.Sequential(sg.nn.Dropout(0.5), *network()).to(device).train()
    output = sg.predict(net, x, batch_size=16)
    assert output.device == net[1].weight.device and net.training and not output.requires_grad
    wanted = net.eval()(sg.tensor(x, device=device)).detach().cpu().numpy()
    np.testing.assert_allclose(output.cpu().numpy(), wanted, rtol=1e-5, atol=1e-6)
    loader = sg.utils.data.DataLoader(sg.utils.data.TensorDataset(x), batch_size=20)
    np.testing.assert_allclose(sg.predict(net, loader).cpu().numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_predict_keeps_the_form_of_the_output() -> None:
    class Several(sg.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return {"sum": a + b, "parts": (a, b)}

    a, b = np.arange(5.0), np.ones(5)
    out = sg.predict(Several(), (a, b), batch_size=2)
    assert out["sum"].tolist() == (a + b).tolist() and [p.tolist() for p in out["parts"]] == [a.tolist(), b.tolist()]
    with pytest.raises(ValueError, match=r"^predict: there are no rows; give at least one$"):
        sg.predict(Several(), (a[:0], b[:0]))


def test_lr_find_leaves_everything_as_it_was(device: sg.Device) -> None:
    net = network(device)
    optimizer = sg.optim.Adam(net.parameters(), lr=0.123)
    sg.fit(net, *moons(), optimizer=optimizer, **QUIET)
    before, state, random = weights(net), optimizer.state_dict(), sg.get_rng_state()
    moments = [s["exp_avg"].cpu().numpy().copy() for s in state["state"].values()]
    found = sg.training.lr_find(net, *moons(), optimizer=optimizer, batch_size=8, seed=0)
    assert_same(weights(net), before)
    assert_same([s["exp_avg"].cpu().numpy() for s in optimizer.state_dict()["state"].values()], moments)
    assert optimizer.param_groups[0]["lr"] == 0.123 and sg.equal(sg.get_rng_state(), random)
    assert len(found.losses) == len(found.learning_rates) <= 100


def test_lr_find_suggests_a_rate_that_learns_and_stops_when_it_diverges() -> None:
    x = np.random.default_rng(0).normal(size=(256, 4)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32)
    net = sg.nn.Linear(4, 1)
    found = sg.training.lr_find(net, x, y, loss="mse", optimizer=sg.optim.SGD(net.parameters(), lr=1.0), seed=0)
    assert 50 < len(found.losses) < 100 and found.losses[-1] < 1e3
    rate = found.suggestion()
    assert rate is not None and 1e-3 < rate < 1
    assert (
        sg.fit(net, x, y, loss="mse", optimizer=sg.optim.SGD(net.parameters(), lr=rate), epochs=20, **QUIET).last()[
            "loss"
        ]
        < 0.01
    )
    assert sg.training.LRFinder([0.1] * 20, list(range(20))).suggestion() is None


def test_lr_find_suggests_alike_for_every_seed_and_nothing_when_unsure() -> None:
    rates = []
    for seed in range(4):
        sg.manual_seed(seed)
        net = sg.nn.Sequential(sg.nn.Linear(2, 32), sg.nn.ReLU(), sg.nn.Linear(32, 2))
        rates.append(sg.training.lr_find(net, *moons(400, seed), seed=seed).suggestion())
    assert min(rates) > 0.003 and max(rates) < 0.1 and max(rates) < 4 * min(rates), rates
    sg.fit(net, *moons(400, seed), lr=0.01, epochs=30, **QUIET)
    assert sg.training.lr_find(net, *moons(400, seed), seed=0).suggestion() is None, "a trained one only gets worse"
    noise = np.random.default_rng(0).normal(1, 0.1, 100)
    grow = np.geomspace(1e-7, 10, 100).tolist()
    assert sg.training.LRFinder(grow, noise.tolist()).suggestion() is None
    falls_twice = np.r_[np.ones(40), np.linspace(1, 0.5, 11), np.linspace(0.5, 3, 20), np.linspace(3, 0.1, 29)]
    assert grow[40] < sg.training.LRFinder(grow, falls_twice.tolist()).suggestion() < grow[51], "up to the first rise"


def test_the_largest_batch_that_fits(device: sg.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = moons(100)
    nets = [network(device), network(device)]
    histories = [sg.fit(net, x, y, batch_size=b, seed=0, **QUIET) for net, b in zip(nets, ("auto", 64), strict=True)]
    assert [h.batch_size for h in histories] == [64, 64] and histories[0].metrics == histories[1].metrics
    assert_same(weights(nets[0]), weights(nets[1]))
    seen = []

    def taken(step: Any, data: Any, size: int, device: Any) -> int:
        seen.append(size)
        return 1000 + 50 * size

    monkeypatch.setattr("spirograd.training.trial._taken", taken)
    for free, wanted in ((10_000, 128), (1e9, 512), (0, 1)):
        monkeypatch.setattr("spirograd.training.trial.FULL", free / device.memory_free)
        assert sg.fit(network(device), *moons(900), batch_size="auto", **QUIET).batch_size == wanted, seen
    with pytest.raises(ValueError, match="fit: batch_size='auto' needs x and y, and one process; give a number"):
        sg.fit(network(), [(x, y)], batch_size="auto", **QUIET)
    with pytest.raises(TypeError, match="fit: batch_size is 'large'; give a whole number or 'auto'"):
        sg.fit(network(), x, y, batch_size="large", **QUIET)


# ---- what is shown ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_epoch_and_loss_when_epochs_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    history = sg.fit(network(), *moons(), epochs=2, validation_data=moons())
    last = screen.getvalue().split("\r")[-1]
    assert f"epoch 2/2, loss {history.last()['loss']:.4g}, val_loss {history.last()['val_loss']:.4g}" in last


@pytest.mark.gpu
def test_the_bar_tells_how_busy_a_gpu_is(monkeypatch: pytest.MonkeyPatch, gpu: sg.Device) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    sg.fit(network().to(gpu), *moons(), epochs=30)
    last = screen.getvalue().split("\r")[-1]
    share = re.search(r", [\d,]+ MiB, busy (\d+)%", last)
    assert share and 0 < int(share[1]) <= 100
    before = _core._busy_nanoseconds(gpu)
    sg.fit(network().to(gpu), *moons(), epochs=3, **QUIET)
    assert _core._busy_nanoseconds(gpu) == before, "measured although no bar is shown"


def test_a_notebook_shows_the_curves() -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    history = sg.fit(network(), *moons(), epochs=2, **QUIET)
    found = sg.training.lr_find(network(), *moons(), seed=0)
    for shown in (history, found):
        assert shown._repr_png_().startswith(b"\x89PNG")
    assert sg.training.History()._repr_png_() is None


def test_a_notebook_shows_text_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spirograd.viz._figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.ticker", None)
    assert sg.fit(network(), *moons(), **QUIET)._repr_png_() is None


def test_tensorboard_reads_the_log(tmp_path: Path) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard")
    log = callbacks.TensorBoardLogger(tmp_path, histograms=True)
    history = sg.fit(
        network(), *moons(), epochs=3, validation_data=moons(), metrics=["accuracy"], callbacks=[log], **QUIET
    )
    events = reading.EventAccumulator(str(tmp_path), {"histograms": 0}).Reload()
    for part, columns in (("train", history.metrics), ("validation", history.val_metrics)):
        for name, column in columns.items():
            scalars = events.Scalars(f"{name}/{part}")
            assert [s.step for s in scalars] == [1, 2, 3]
            np.testing.assert_allclose([s.value for s in scalars], column, rtol=1e-6)
    assert events.Scalars("learning_rate")[0].value == pytest.approx(0.001)
    assert len(events.Histograms("0.weight")) == 3


def test_wrong_options_are_said() -> None:
    x, y = moons(8)
    net = network()
    loader = [(x, y)]
    for message, options in (
        ("fit: clip_grad_norm is 0; use a number above 0, or None", {"clip_grad_norm": 0}),
        ("fit: accumulate_grad_batches is 0; use 1 or more", {"accumulate_grad_batches": 0}),
        ("fit: precision is 'half'; use None, 'bf16' or 'fp16'", {"precision": "half"}),
        ("fit: sample_weight has shape [3], there are 8 rows; give one each", {"sample_weight": [1, 2, 3]}),
        ("fit: class_weight is 'even'; use 'balanced', one weight a class, or a dict", {"class_weight": "even"}),
        ("fit: class_weight has shape [1, 2]; give one weight of 0 or more for each class", {"class_weight": [[1, 1]]}),
        ("fit: compile=True needs a RuleOptimizer", {"precision": "fp16", "compile": True}),
        ("fit: LBFGS evaluates the loss itself", {"optimizer": "lbfgs", "accumulate_grad_batches": 2}),
    ):  # fmt: skip
        with pytest.raises(ValueError) as caught:
            sg.fit(net, x, y, **QUIET, **options)
        assert str(caught.value).startswith(message)
    for options in ({"sample_weight": np.ones(8)}, {"class_weight": "balanced"}):
        with pytest.raises(ValueError, match="needs x and y"):
            sg.fit(net, loader, **QUIET, **options)
    with pytest.raises(ValueError, match=r"has no reduction='none'; use a loss of nn.functional"):
        sg.fit(net, x, y, loss=lambda output, target: output.mean(), class_weight=[1, 1], **QUIET)


def test_cross_entropy_of_one_class_is_refused() -> None:
    x = sg.randn(8, 2)
    with pytest.raises(ValueError, match=r"one output for each example.*loss='mse'"):
        sg.fit(sg.nn.Linear(2, 1), x, x.sum(1, keepdim=True), epochs=1, verbose=0)
    assert sg.fit(sg.nn.Linear(2, 1), x, x.sum(1, keepdim=True), loss="mse", epochs=1, verbose=0).metrics["loss"][0] > 0
