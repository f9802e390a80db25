"""fit and evaluate: a training, or a validation, from its arguments."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .. import optim
from .._core import DeviceLostError, DeviceTimeoutError
from ..amp import GradScaler
from ..base.keywords import naming_keywords
from ..distributed import get_rank, get_world_size
from ..nn import Module
from ..progress import is_shown
from .bar import Bar
from .callbacks import Callback, LearningRateScheduler
from .data import Rows, data_of, destination_of, held_back, inputs_of
from .join import any_process, common_seed, joined
from .loop import run_epoch, run_evaluation, run_prediction
from .names import Loss, LossFunction, Metrics, loss_named, optimizer_named
from .recovery import Recovery
from .replay import ReplayedStep, is_ours, sums_of
from .state import History, Training, short
from .step import Step, casts_of
from .sums import Sums
from .trial import largest_batch
from .weights import WeightedLoss, class_weights_of, weigh

__all__ = ["evaluate", "fit", "predict"]


@naming_keywords
def fit(
    model: Module,
    x: Any,
    y: Any = None,
    *,
    loss: Loss = "cross_entropy",
    optimizer: Any = "adam",
    lr: float | None = None,
    epochs: int = 1,
    batch_size: int | str = 32,
    validation_data: Any = None,
    validation_split: float = 0.0,
    shuffle: bool = True,
    seed: int | None = None,
    callbacks: Iterable[Any] = (),
    metrics: Metrics = (),
    verbose: int = 1,
    initial_epoch: int = 0,
    clip_grad_norm: float | None = None,
    clip_grad_value: float | None = None,
    accumulate_grad_batches: int = 1,
    precision: str | None = None,
    class_weight: Any = None,
    sample_weight: Any = None,
    compile: bool | None = None,
    on_device_lost: str = "raise",
    snapshot_every: int = 100,
    distributed: bool = False,
) -> History:
    """Trains a model. Arrays go to the model's device once, floats in its type; batches are rows, picked there.

    Args:
        model: a module; it may be on any device.
        x: an array or tensor [n, ...], or a tuple of them for a model with several inputs. Or, without y, anything that
            gives batches (inputs, target) each time it is iterated over, such as a DataLoader.
        y: targets, [n, ...].
        loss: a function of (output, target), a module, or the name of a loss of `nn.functional`, with or without
            "_loss": "cross_entropy", "mse", "l1", "bce_with_logits", "hinge".
        optimizer: an optimiser, or the name of one of `optim` ("adam", "sgd"), made for all parameters.
        lr: learning rate of an optimiser that is given by name; others have their own.
        epochs: how many times to go through the data.
        batch_size: rows a step; the last step of an epoch takes what is left. "auto", with x and y: the largest power
            of two that fits into the memory that is free, found by trying; `history.batch_size` tells it. Fewer, larger
            steps are faster, and may need a larger lr.
        validation_data: (x, y), or what gives batches; evaluated after each epoch.
        validation_split: share of the rows that is held back for that, in place of validation_data: the last ones, or,
            with shuffle, some that are drawn once.
        shuffle: a new random order of the rows each epoch.
        seed: of these orders; None takes them from the common stream. With a seed an epoch's order depends on its
            number alone, so a training that is resumed sees the same batches.
        callbacks: see `spirograd.callbacks`; a scheduler of learning rates will do too, and steps once an epoch.
        metrics: names ("accuracy", "top5", "precision", "recall", "f1", "perplexity", "mae", "mse", "r2"), metrics of
            `spirograd.metrics`, or functions of (output, target).
        verbose: 1 shows a bar on a terminal and in a notebook, which tells of a GPU the memory in use and the share of
            the time in which it computes, and elsewhere, as in a file or a pipe, prints a line an epoch; 2 prints these
            lines everywhere; 0 is silent.
        initial_epoch: epochs that were done before, in a training that is resumed.
        clip_grad_norm: the largest norm of all gradients together; longer ones are scaled, as by
            `nn.utils.clip_grad_norm_`.
        clip_grad_value: the largest magnitude of each element of the gradients.
        accumulate_grad_batches: batches to a step, which takes the mean of their gradients: batches of 8 with 4 of them
            to a step learn like batches of 32, in less memory. The last step of an epoch takes what is left.
        precision: "bf16" or "fp16": the forward pass runs in `amp.autocast`, with "fp16" under a `GradScaler`.
        class_weight: how much each class counts in the loss: one weight a class; with x and y also a dict of those that
            are not 1, or "balanced": as much as the class is rare.
        sample_weight: how much each row counts in the loss, [n], beside x and y. The loss is the weighted mean; the
            validation is not weighted.
        compile: whether steps are replayed as by `sg.compile`, with the same bits and without their Python. None: if
            the step runs no Python of yours: layers of `nn` without hooks, losses, optimisers and metrics of the
            package. True: also with modules and functions of your own, under the conditions of `sg.compile`.
        on_device_lost: "raise", or "recover": when the model's GPU is lost or hangs, it is reopened and the training
            continues from copies on the host: data, parameters, states of the optimiser and of schedulers, random
            numbers, and the sums of the epoch. Callbacks are called again for steps that are repeated. A loader must
            give the same batches when an epoch is repeated.
        snapshot_every: steps between two such copies; each waits for the device.
        distributed: train together with the other processes that `python -m spirograd launch`, or another launcher,
            started: each calls fit with the same arguments. A step takes batch_size rows in each process, and the model
            learns as one process does from batches of all of them together; at the end of an epoch, fewer rows than
            processes are left out. A loader must give each process its own share (DistributedSampler), in equally many
            batches. History and logs are those of all processes; the first one alone writes logs, checkpoints and the
            bar. A loss with weights is the mean of the processes' weighted means.

    Returns:
        A History. Ctrl-C ends the training early and returns what there is.

    Raises:
        TypeError: the model is not a module of tensors.
        ValueError: the data do not fit together, a name is unknown, or compile=True with what cannot be replayed: an
            optimiser that is not a `RuleOptimizer`, a metric that is not a `metrics.Sum`, precision="fp16"; or
            distributed=True with what several processes cannot do: LBFGS, recovery, an uneven loader.
        DeviceLostError, DeviceTimeoutError: the GPU failed; with "recover": twice in the same steps.
        IndexError: a class is out of range; raised at the end of an epoch at the latest.

    Example:
        >>> X, y = sg.randn(256, 2), sg.randint(0, 2, (256,))
        >>> y = (X[:, 0] * X[:, 1] > 0).long()
        >>> net = sg.nn.Sequential(sg.nn.Linear(2, 16), sg.nn.Tanh(), sg.nn.Linear(16, 2))
        >>> history = sg.fit(net, X, y, lr=0.05, epochs=20, metrics=["accuracy"], seed=0, verbose=0)
        >>> history.metrics["loss"][-1] < history.metrics["loss"][0]
        True
        >>> history.metrics["accuracy"][-1] > 0.8
        True
    """
    if on_device_lost not in ("raise", "recover"):
        raise ValueError(f"fit: on_device_lost is {on_device_lost!r}; use raise or recover")
    if snapshot_every < 1:
        raise ValueError(f"fit: snapshot_every is {snapshot_every}; use 1 or more")
    if distributed:
        seed = common_seed(seed)
    place = destination_of("fit", model)
    casts = casts_of("fit", precision, place.device)
    scaler = GradScaler() if precision == "fp16" else None
    loss_of = loss_named("fit", loss)
    if isinstance(optimizer, str):
        optimizer = optimizer_named(optimizer, model, lr)
    elif lr is not None:
        raise ValueError("fit: lr is only for an optimiser given by its name; pass the rate to this one's constructor")
    auto = batch_size == "auto"
    if auto and (y is None or distributed):
        raise ValueError("fit: batch_size='auto' needs x and y, and one process; give a number")
    if not auto and not hasattr(batch_size, "__index__"):
        raise TypeError(f"fit: batch_size is {batch_size!r}; give a whole number or 'auto'")
    rows = 1 if auto else int(batch_size)
    data = data_of("fit", x, y, place, rows)
    weighted: LossFunction | WeightedLoss = loss_of
    if class_weight is not None or sample_weight is not None:
        weighted = WeightedLoss(loss_of, None if class_weight is None else class_weights_of(class_weight, data, place))
    if sample_weight is not None:
        data = weigh(data, sample_weight, place)
    data, later = held_back(data, validation_data, validation_split, place, rows, shuffle, seed)
    if isinstance(data, Rows):
        data.shuffle, data.seed = shuffle, seed
    learner = model
    if distributed:
        learner, model = joined(model, optimizer, data, later, on_device_lost)
    training = Training(model, optimizer, epochs)
    training.writes = not distributed or get_rank() == 0
    followers = [_follower(c) for c in callbacks]
    sums = Sums("fit", loss_of, metrics)
    sums.joint = distributed and get_world_size() > 1
    step = Step(learner, optimizer, weighted, casts, scaler, clip_grad_norm, clip_grad_value, accumulate_grad_batches)
    if auto and isinstance(data, Rows):
        rows = data.batch_size = largest_batch(step, data, place.device)
        if isinstance(later, Rows):
            later.batch_size = rows
    training.history.batch_size = rows
    replayed = _replayed(compile, step, sums, followers)
    mode, steps = model.training, data.steps()
    training.recovers, recovery, epoch = on_device_lost == "recover", None, initial_epoch
    bar = None
    if verbose == 1 and training.writes and is_shown(sys.stderr):
        bar = Bar(steps and steps * (epochs - initial_epoch), place.device)
    prints = bool(verbose) and bar is None and training.writes
    try:
        for follower in followers:
            follower.on_train_begin(training)
        if training.recovers:
            kept = [sums.loss_sum, *sums.metrics]
            recovery = Recovery(training, scaler, [data, later], kept, followers, place.device, snapshot_every)
        while epoch < epochs:
            epoch = training.epoch = epoch + 1
            try:
                run_epoch(training, step, data, later, sums, followers, bar, replayed, recovery)
            except (DeviceLostError, DeviceTimeoutError):
                if recovery is None or not recovery.go_back():
                    raise
                epoch = training.epoch - 1 if recovery.done else initial_epoch
                continue
            if sums.joint:
                training.stop = any_process(training.stop)
            if prints:
                _print_epoch(training)
            if training.stop:
                training.history.stopped = True
                break
    except KeyboardInterrupt:
        training.history.interrupted = True
    finally:
        model.train(mode)
        if bar is not None:
            bar.close()
    if training.history.interrupted and verbose and training.writes:
        print(f"fit: interrupted in epoch {epoch} of {epochs}; the weights are those of the last step", flush=True)
    for follower in followers:
        follower.on_train_end(training)
    return training.history


@naming_keywords
def evaluate(
    model: Module,
    x: Any,
    y: Any = None,
    *,
    loss: Loss = "cross_entropy",
    metrics: Metrics = (),
    batch_size: int = 32,
    precision: str | None = None,
) -> dict[str, float]:
    """Loss and metrics of a model, which does not change; arguments as in fit.

    Returns:
        "loss" and the metrics, by name.

    Raises:
        TypeError: the model is not a module of tensors.
        ValueError: the data do not fit together, or a name is unknown.

    Example:
        >>> sg.evaluate(sg.nn.Linear(2, 1), sg.zeros(4, 2), sg.zeros(4), loss="mse", metrics=["mse"])
        Traceback (most recent call last):
        ...
        ValueError: mse_loss: input has shape [4, 1], target [4]; reshape one of them
        >>> sg.evaluate(sg.nn.Flatten(), sg.zeros(4, 2), sg.ones(4, 2), loss="mse")
        {'loss': 1.0}
    """
    place = destination_of("evaluate", model)
    data = data_of("evaluate", x, y, place, batch_size)
    sums = Sums("evaluate", loss_named("evaluate", loss), metrics)
    return run_evaluation(model, data, sums, casts_of("evaluate", precision, place.device))


@naming_keywords
def predict(model: Module, x: Any, *, batch_size: int = 32, precision: str | None = None) -> Any:
    """The outputs of a model for all rows, with the model in eval mode; nothing is kept for gradients.

    Args:
        model: a module; it may be on any device.
        x: an array or tensor [n, ...], or a tuple of them for a model with several inputs; or anything else that gives
            batches of these each time it is iterated over.
        batch_size: rows at a time.
        precision: as in fit.

    Returns:
        What the model gives, for all rows: a tensor [n, ...] on its device, or a tuple, list or dict of tensors.

    Raises:
        TypeError: the model is not a module of tensors.
        ValueError: there are no rows.

    Example:
        >>> net = sg.nn.Sequential(sg.nn.Linear(2, 3), sg.nn.Softmax(1))
        >>> sg.predict(net, sg.randn(100, 2)).shape
        (100, 3)
    """
    place = destination_of("predict", model)
    return run_prediction(
        model, inputs_of("predict", x, place, batch_size), casts_of("predict", precision, place.device)
    )


def _follower(given: Any) -> Callback:
    if isinstance(given, (str, type)):
        name = given if isinstance(given, str) else given.__name__
        raise TypeError(f"fit: the callback {name!r} is a {type(given).__name__}; give an object, {name}(...)")
    return given if isinstance(given, Callback) else LearningRateScheduler(given)


def _replayed(compile: bool | None, step: Step, sums: Sums, followers: Sequence[Callback]) -> ReplayedStep | None:
    added = sums_of(sums.metrics)
    possible = added is not None and isinstance(step.optimizer, optim.RuleOptimizer) and step.scaler is None
    if compile and not possible:
        raise ValueError(
            "fit: compile=True needs a RuleOptimizer, metrics that are sums, and another precision than 'fp16'; leave "
            "compile out"
        )
    if compile is None:
        compile = possible and is_ours(step.model, sums.loss, step.optimizer, sums.metrics, followers)
    return ReplayedStep(step, [sums.loss_sum, *added]) if compile and added is not None else None


def _print_epoch(training: Training) -> None:
    shown = "".join(f"  {name} {short(value)}" for name, value in training.logs.items())
    print(f"epoch {training.epoch}/{training.epochs}{shown}  {training.history.times[-1]:.1f} s", flush=True)
