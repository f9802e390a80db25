"""Steps of fit that sg.compile replays without Python, unless that would skip Python of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import _core, compiler, tracer
from .._core import Tensor
from ..autograd import is_anomaly_enabled
from ..base.grad_mode import no_grad
from ..metrics import Mean, Metric, Sum
from ..nn import Module
from ..optim import RuleOptimizer
from .callbacks import Callback
from .data import Selection
from .step import Step

# Of the package's own classes; under `python -m spirograd run`, PyTorch's modules.
_NN = ("spirograd.nn.", "torch.nn.")
_PACKAGE = ("spirograd.", "torch.")


class ReplayedStep:
    """Steps of an optimiser whose sums of losses and metrics stay in place.

    Args:
        step: what is replayed.
        metrics: the sums, that of the losses first.
    """

    def __init__(self, step: Step, metrics: list[Sum]) -> None:
        self.step, self.metrics = step, metrics
        self._kept: list[dict[str, Any]] = []
        self._seen: Any = None
        self._run: Any = None

    def begin(self) -> None:
        """Begins an epoch with sums of 0. Things that a replay does not check may have changed since the last one."""
        seen = _attributes(self.step.model)
        if seen != self._seen:
            self._run, self._seen = compiler.compile(_recorded(self.step, self.metrics)), seen
        if self._kept:
            self._keep([{k: v.zero_() if isinstance(v, Tensor) else 0 for k, v in kept.items()} for kept in self._kept])

    def resume(self) -> None:
        """Continues an epoch with the sums that a recovery gave the metrics."""
        self._kept = [metric._kept for metric in self.metrics]

    @property
    def ready(self) -> bool:
        """Whether there are sums to add to: the first step, which is not replayed, makes them."""
        return bool(self._kept)

    def take_over(self) -> None:
        """Notes that the first step was made: later steps add to what the metrics keep."""
        self._keep([{k: v.clone() if isinstance(v, Tensor) else v for k, v in m._kept.items()} for m in self.metrics])

    def _keep(self, kept: list[dict[str, Any]]) -> None:
        """Gives the metrics these sums, submitted by themselves so that all steps are alike."""
        self._kept = kept
        for metric, own in zip(self.metrics, kept, strict=True):
            metric._kept = own
        _core._submit([[value for own in kept for value in own.values() if isinstance(value, Tensor)]])

    def __call__(self, batch: Selection, done: int) -> None:
        """A batch, after `done` others of the same step."""
        tensors = [{k: v for k, v in kept.items() if isinstance(v, Tensor)} for kept in self._kept]
        first, last = done == 0, done + 1 == self.step.batches
        for kept, counts in zip(self._kept, self._run(batch, first, last, tensors), strict=True):
            for key, count in counts.items():
                kept[key] += count


def _recorded(step: Step, metrics: list[Sum]) -> Callable[..., list[Any]]:
    """What is recorded for a batch, which may be the first and the last of its step. Returns numbers of the batch, such
    as its rows."""

    def learn(selection: Selection, first: bool, last: bool, sums: list[dict[str, Tensor]]) -> list[Any]:
        batch = selection.batch()
        output, loss = step.forward(batch)
        step.backward(loss, first, batch.share)
        counts = []
        with no_grad():
            for metric, own, value in zip(metrics, sums, [loss, *[output] * len(metrics)], strict=False):
                part = metric.part(value.detach(), batch.target.detach())
                counts.append({key: x for key, x in part.items() if not isinstance(x, Tensor)})
                for key, total in own.items():
                    total.add_(part[key])
        if last:
            step.update(step.batches)
        return counts

    return learn


def is_ours(model: Module, loss: Any, optimizer: Any, metrics: Iterable[Metric], followers: Iterable[Callback]) -> bool:
    """Whether a step runs only Python of the package, which a replay may leave out."""
    return (
        not is_anomaly_enabled()
        and all(_plain(module) for module in model.modules())
        and (all(_plain(m) for m in loss.modules()) if isinstance(loss, Module) else _of_package(loss))
        and isinstance(optimizer, RuleOptimizer)
        and _of_package(type(optimizer))
        and not (optimizer._pre_hooks or optimizer._post_hooks)
        and all(_of_package(type(m)) and not (isinstance(m, Mean) and not _of_package(m.function)) for m in metrics)
        and all(type(f).on_batch_end is Callback.on_batch_end or _of_package(type(f)) for f in followers)
    )


def sums_of(metrics: list[Metric]) -> list[Sum] | None:
    """The metrics, if all of them are sums over batches, to which a step may add in place."""
    sums = [m for m in metrics if isinstance(m, Sum) and type(m).add is Sum.add]
    return sums if len(sums) == len(metrics) else None


def _of_package(x: Any) -> bool:
    return f"{getattr(x, '__module__', '')}.".startswith(_PACKAGE)


def _plain(module: Module) -> bool:
    """A layer of nn without hooks."""
    hooks = module._hooks
    kinds = () if hooks is None else (hooks.forward_pre, hooks.forward, hooks.backward_pre, hooks.backward)
    return type(module).__module__.startswith(_NN) and not any(kinds) and "forward" not in vars(module)


def _attributes(model: Module) -> list[Any]:
    """Modules and their options, and which tensors are theirs."""
    return [tracer.options_of(model.modules()), [id(t) for t in (*model.parameters(), *model.buffers())]]
