"""RuleOptimizer: optimisers whose update is a rule of the core, which runs for all parameters at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from .. import _core, tracer
from .._core import Tensor
from ..base.docstrings import described_by
from .optimizer import Group, Optimizer, Params, placed

# A Python number, or a 0-d tensor for a value that only the device knows.
Scalar: TypeAlias = Any
Counts: TypeAlias = dict[str, Scalar]


def power(base: float, exponent: Scalar) -> Scalar:
    """base**exponent."""
    if not isinstance(exponent, Tensor):
        return base**exponent
    return _core.exp(exponent * math.log(base)) if base else 0.0


def bias(beta: float, step: Scalar) -> Scalar:
    """1 - beta**step: the sum of the weights of a running mean that started at 0."""
    if not isinstance(step, Tensor):
        return 1 - beta**step
    return -_core.expm1(step * math.log(beta)) if beta else 1.0


def root(x: Scalar) -> Scalar:
    """The square root."""
    return _core.sqrt(x) if isinstance(x, Tensor) else math.sqrt(x)


def choose(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """a where the condition holds, else b."""
    return _core.where(condition, a, b) if isinstance(condition, Tensor) else a if condition else b


def implementation(op: str, options: dict[str, Any], known: str) -> dict[str, Any]:
    """The options by which PyTorch's optimiser of this name chooses an implementation. They change nothing here, and
    groups keep them so that state dicts have PyTorch's keys.

    Args:
        op: the optimiser.
        options: those given.
        known: the names of those that there are.
    """
    for name, value in options.items():
        if name not in known.split():
            raise TypeError(f"{op}: there is no option {name}; see help(spirograd.optim.{op})")
        if name == "differentiable" and value:
            raise ValueError(f"{op}: steps have no gradient; leave out differentiable")
    return {name: None if name in ("foreach", "fused") else False for name in known.split()} | options


def _saved_number(x: float) -> Tensor:
    return _core.tensor(x, dtype=_core.float32 if x.is_integer() else _core.float64)


def _on_device(count: Scalar, p: Tensor) -> Tensor:
    if isinstance(count, Tensor):
        return count
    dtype = _core.float64 if p.dtype == _core.float64 else _core.float32
    return _core.full((), count, dtype=dtype, device=p.device)


class _Batch:
    """Parameters of a group that have made the same number of steps."""

    def __init__(self, group: Group, params: list[Tensor], update: _core._Update, counts: Counts) -> None:
        self.group, self.params, self.update, self.counts = group, params, update, counts


@described_by(Optimizer)
class RuleOptimizer(Optimizer):
    """The base of optimisers that name a rule of the core and the numbers that it takes.

    The submission of a step changes the state of all parameters. Numbers that depend on the schedule or on the step are
    arguments of the plan. Under sg.amp.GradScaler, `found_inf` is a 0-d tensor by which the device decides whether
    anything changes, including the count of steps.

    Attributes:
        found_inf: a 0-d tensor, or None. If it is not 0, a step changes nothing.
        capturable: whether the device counts the steps, in place, so that steps without Python count as well.

    Raises:
        TypeError: a parameter is not a tensor.
        ValueError: there are no parameters, or one is not a leaf or is in two groups.
    """

    _rule: ClassVar[str]
    _has_penalty: ClassVar[bool] = True  # whether weight decay is added to the gradient
    _start: ClassVar[Counts] = {"step": 0.0}  # counts of each parameter, in its state; names with "_" are not saved

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.found_inf: Tensor | None = None
        self.capturable = False
        self._batches: dict[int, tuple[Any, list[_Batch]]] = {}
        self._made: list[tuple[Tensor, str]] = []  # states that this step created
        super().__init__(params, defaults)

    # ---- what an optimiser defines ----------------------------------------------------------------------------------
    def _rule_of(self, group: Group) -> str:
        return self._rule

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        """The names of the states that the rule changes; None for the state of an option that is off."""
        raise NotImplementedError

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        """The numbers that the rule takes."""
        raise NotImplementedError

    def _advanced(self, group: Group, counts: Counts) -> Counts:
        """The counts of the next step."""
        return {"step": counts["step"] + 1} if counts else counts

    def _fresh(self, group: Group, p: Tensor, name: str) -> Tensor | None:
        """The initial value of a state; None if a parameter of this shape has no such state."""
        return _core.zeros_like(p.detach())

    def _penalty(self, group: Group) -> float:
        """The factor of p that is added to the gradient."""
        return float(group["weight_decay"]) if self._has_penalty else 0.0

    def _replay_key(self, numbers: bool) -> Any:
        # If the device has the counts, the numbers of the options are constants of the recording.
        return _core._frozen(self.param_groups, numbers or self.capturable or self._counts_on_device())

    def _counts_on_device(self) -> bool:
        for _, batches in self._batches.values():
            for batch in batches:
                for count in batch.counts.values():
                    if isinstance(count, Tensor):
                        return True
        return False

    # ---- steps ------------------------------------------------------------------------------------------------------
    def _update(self) -> list[tuple[Any, str, Any]]:
        self._made = []
        keys = [(_core._with_gradient(g["params"]), self._rule_of(g), self._kept(g)) for g in self.param_groups]
        if [key for key, _ in self._batches.values()] != keys:
            self._settle()
            for number, (group, key) in enumerate(zip(self.param_groups, keys, strict=True)):
                self._batches[number] = key, self._gathered(group)
        return [
            (batch, "counts", self._step_batch(group, batch))
            for group, (_, batches) in zip(self.param_groups, self._batches.values(), strict=True)
            for batch in batches
        ]

    def _undo(self) -> None:
        if self._made:
            self._settle()
        for p, name in self._made:
            self._state[p].pop(name, None)
            if self._state[p].keys() <= self._start.keys():
                del self._state[p]

    def _before(self) -> list[tuple[list[Tensor], Counts]]:
        return [(batch.params, batch.counts) for _, batches in self._batches.values() for batch in batches]

    def _take_back(self, before: list[tuple[list[Tensor], Counts]]) -> None:
        self._settle()
        for params, counts in before:
            known = {name: count for name, count in counts.items() if not isinstance(count, Tensor)}
            for p in params:
                self._state[p].update(known)

    def _step_batch(self, group: Group, batch: _Batch) -> Counts:
        """Records the step of a batch, and returns the counts after it."""
        device, found = batch.params[0].device, self.found_inf
        if found is not None and found.device != device:
            found = found.to(device)
        if found is not None or self.capturable:
            batch.counts = {k: _on_device(v, batch.params[0]) for k, v in batch.counts.items()}
        counts = self._advanced(group, batch.counts)
        if found is not None:
            skip = found > 0
            counts = {k: _core.where(skip, batch.counts[k], v) for k, v in counts.items()}
        lr = group["lr"]
        if isinstance(lr, Tensor) and lr.device != device:
            lr = lr.item()
        numbers = self._numbers(group, lr, counts)
        if tracer.recording is not None:
            tracer.updates(self, batch, any(isinstance(n, Tensor) for n in numbers))
        batch.update.step(numbers, self._penalty(group), group.get("maximize", False), found)
        return {
            name: batch.counts[name].copy_(value) if isinstance(value, Tensor) else value
            for name, value in counts.items()
        }

    def _gathered(self, group: Group) -> list[_Batch]:
        same: defaultdict[tuple[Any, ...], list[Tensor]] = defaultdict(list)
        kept = self._kept(group)
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self._state[p]
            for name, value in self._start.items():
                state.setdefault(name, value)
            for one in kept:
                if one is not None and one not in state and (fresh := self._fresh(group, p, one)) is not None:
                    self._made.append((p, one))
                    state[one] = fresh
            counts = (state[name] for name in self._start)
            key = (p.device, *(id(c) if isinstance(c, Tensor) else c for c in counts))
            same[key].append(p)
        return [self._batch(group, params, kept) for params in same.values()]

    def _batch(self, group: Group, params: list[Tensor], kept: tuple[str | None, ...]) -> _Batch:
        states = [[None if name is None else self._state[p].get(name) for name in kept] for p in params]
        update = _core._Update(self._rule_of(group), params, states)
        first = self._state[params[0]]
        # Parameters that are not in this batch may share these tensors.
        counts = {k: first[k].clone() if isinstance(first[k], Tensor) else first[k] for k in self._start}
        return _Batch(group, params, update, counts)

    # ---- steps that are replayed ------------------------------------------------------------------------------------
    def _has(self, batch: _Batch) -> bool:
        """Whether the optimiser still uses the batch."""
        return any(batch in batches for _, batches in self._batches.values())

    def _next(self, batch: _Batch, counts: Counts, numbers: list[float]) -> Counts:
        """Appends the numbers of the step of a batch that follows `counts`; returns the counts after it."""
        counts = self._advanced(batch.group, counts)
        numbers += self._numbers(batch.group, batch.group["lr"], counts)
        if penalty := self._penalty(batch.group):
            numbers.append(penalty)
        return counts

    # ---- state ------------------------------------------------------------------------------------------------------
    def _settle(self) -> None:
        """Writes the counts of the batches into the state, and forgets the batches."""
        for _, batches in self._batches.values():
            for batch in batches:
                for p in batch.params:
                    self._state[p].update(batch.counts)
        self._batches.clear()

    @property
    def state(self) -> defaultdict[Tensor, dict[str, Any]]:
        """The state of each updated parameter, as a dict."""
        self._settle_open()
        self._settle()
        return self._state

    @state.setter
    def state(self, state: defaultdict[Tensor, dict[str, Any]]) -> None:
        self._batches.clear()
        self._state = state

    def _saved(self, p: Tensor) -> dict[str, Any]:
        state = self._state[p]
        names = [k for k in dict.fromkeys((*self._start, *state)) if k in state and not k.startswith("_")]
        return {k: state[k] if isinstance(state[k], Tensor) else _saved_number(state[k]) for k in names}

    def _loaded(self, p: Tensor, values: Mapping[str, Any]) -> dict[str, Any]:
        state = {}
        for name, value in values.items():
            if name in self._start:
                state[name] = float(value)
            elif value is not None:
                state[name] = placed(value, p)
        return state

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return super().__getstate__()
