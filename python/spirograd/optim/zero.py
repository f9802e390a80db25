"""ZeroRedundancyOptimizer: each process keeps the state of a part of the parameters, and updates that part."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

from .. import _core, distributed
from .._core import Tensor
from ..base.grad_mode import enable_grad, no_grad
from ..nn.parallel.averages import are_averaged
from .adam import Adam, Adamax, Lion, NAdam, RAdam
from .optimizer import Closure, Group, Optimizer, Params, placed
from .rmsprop import Adadelta, Adagrad, RMSprop
from .rule import RuleOptimizer
from .sgd import SGD

# Those whose update of an element depends on that element alone.
BY_ELEMENT = (Adam, Adamax, Lion, NAdam, RAdam, Adadelta, Adagrad, RMSprop, SGD)


class _Part(NamedTuple):
    """Where a parameter lies in the row of all parameters of its group."""

    parameter: Tensor
    first: int
    last: int


class _Row:
    """The parameters of a group, of one type and device, in one row, which is cut into equal shares, one a process."""

    def __init__(self, group: int, parameters: list[Tensor], where: Any) -> None:
        self.group, self.where = group, where
        self.rank, self.processes = distributed.get_rank(where), distributed.get_world_size(where)
        self.parts: list[_Part] = []
        at = 0
        for p in parameters:
            self.parts.append(_Part(p, at, at + p.numel()))
            at += p.numel()
        self.size, self.share = at, -(-at // self.processes)
        self.averaged = all(are_averaged(parameters))
        with no_grad():
            self.own = self.slice_of([p.detach() for p in parameters])
        self.own.requires_grad = True

    def slice_of(self, values: list[Tensor]) -> Tensor:
        """This process's share of values of the parameters, without a gradient."""
        start = self.rank * self.share
        pieces = []
        for part, value in zip(self.parts, values, strict=True):
            first, last = max(part.first, start), min(part.last, start + self.share)
            if first < last:
                pieces.append(value.reshape(-1)[first - part.first : last - part.first])
        return self._filled(pieces, self.share)

    def _filled(self, pieces: list[Tensor], size: int) -> Tensor:
        """The pieces in one row, with zeros after them up to this size."""
        like = self.parts[0].parameter
        left = size - sum(piece.numel() for piece in pieces)
        zeros = [_core.zeros(left, dtype=like.dtype, device=like.device)] if left else []
        return _core.cat([*pieces, *zeros])

    def take_gradients(self) -> None:
        """Gives the share its gradient: the mean over the processes."""
        parameters = [part.parameter for part in self.parts]
        if not any(p.grad is not None for p in parameters) and (self.averaged or self.processes == 1):
            self.own.grad = None
            return
        with no_grad():
            gradients = [_core.zeros_like(p.detach()) if p.grad is None else p.grad for p in parameters]
            if self.averaged or self.processes == 1:
                self.own.grad = self.slice_of(gradients)
                return
            whole = self._filled([g.reshape(-1) for g in gradients], self.share * self.processes) / self.processes
            mean = _core.empty_like(self.own.detach())
            distributed.reduce_scatter_tensor(mean, whole, group=self.where)
            self.own.grad = mean

    def give_values(self) -> None:
        """Writes the shares of all processes to the parameters."""
        with no_grad():
            row = self.own.detach()
            if self.processes > 1:
                row = _core.empty(self.share * self.processes, dtype=row.dtype, device=row.device)
                distributed.all_gather_into_tensor(row, self.own.detach(), group=self.where)
            for part, value in zip(self.parts, self.split(row), strict=True):
                part.parameter.copy_(value)

    def split(self, row: Tensor) -> list[Tensor]:
        """A row in pieces of the parameters' shapes."""
        return [row[part.first : part.last].reshape(part.parameter.shape) for part in self.parts]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimiser whose state is shared out among the processes, so that each keeps 1/N of it.

    A step sums the gradients so that each process gets its share of the sum (reduce_scatter; where
    `nn.parallel.DistributedDataParallel` has made means of them already, it only takes its share), updates its share of
    the parameters, and collects the others' (all_gather). Besides the state, a process keeps a copy of its share of the
    parameters.

    Args:
        params: as in other optimisers, the same in all processes; those of the first process count.
        optimizer_class: SGD, Adam, AdamW or another whose update of an element depends on that element alone.
        process_group: the processes; None: all.
        parameters_as_bucket_view: accepted for PyTorch's sake.
        overlap_with_ddp: accepted: nothing overlaps.
        defaults: the options of optimizer_class.

    Attributes:
        optim: the optimiser of this process's share.
        found_inf: as in RuleOptimizer.

    Raises:
        ValueError: optimizer_class looks at whole parameters.

    Example:
        >>> net = sg.nn.Linear(3, 1)
        >>> opt = sg.optim.ZeroRedundancyOptimizer(net.parameters(), sg.optim.Adam, lr=0.1)
        >>> net(sg.ones(2, 3)).sum().backward()
        >>> opt.step()
    """

    def __init__(
        self,
        params: Params,
        optimizer_class: type[RuleOptimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if not isinstance(optimizer_class, type) or not issubclass(optimizer_class, BY_ELEMENT):
            name = getattr(optimizer_class, "__name__", optimizer_class)
            raise ValueError(
                f"ZeroRedundancyOptimizer: {name} does not update each element by itself; use one of "
                f"{', '.join(kind.__name__ for kind in BY_ELEMENT)}, or a class derived from them"
            )
        self.process_group = process_group
        self.found_inf: Tensor | None = None
        self._class, self._options = optimizer_class, defaults
        self._rows: list[_Row] = []
        self._whole: dict[str, Any] | None = None  # of consolidate_state_dict()
        super().__init__(params, optimizer_class([_core.zeros(1, requires_grad=True)], **defaults).defaults)

    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters with their own options, as in other optimisers."""
        super().add_param_group(param_group)
        number = len(self.param_groups) - 1
        kinds: dict[Any, list[Tensor]] = {}
        for p in self.param_groups[number]["params"]:
            kinds.setdefault((p.dtype, str(p.device)), []).append(p)
        for parameters in kinds.values():
            if not all(are_averaged(parameters)):  # else it was done
                root = distributed.get_process_group_ranks(self.process_group)[0]
                distributed.broadcast_coalesced([p.detach() for p in parameters], root, self.process_group)
            row = _Row(number, parameters, self.process_group)
            self._rows.append(row)
            group = {**self._options_of(row), "params": [row.own]}
            if len(self._rows) > 1:
                self.optim.add_param_group(group)
            else:
                self.optim: RuleOptimizer = self._class([group], **self._options)

    def _options_of(self, row: _Row) -> dict[str, Any]:
        return {k: v for k, v in self.param_groups[row.group].items() if k not in ("params", "param_names")}

    def _share_options(self) -> None:
        """Gives the options of the groups, which may have changed, to the optimiser of the shares."""
        for row, group in zip(self._rows, self.optim.param_groups, strict=True):
            group.update(self._options_of(row))

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the parameters from their gradients, in all processes.

        Args:
            closure: computes the loss and its gradients; called first.

        Returns:
            What the closure returned.
        """
        for before in tuple(self._pre_hooks.values()):
            before(self, (closure,), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._share_options()
        for row in self._rows:
            row.take_gradients()
        self.optim.found_inf = self._found_anywhere()
        try:
            self.optim.step()
        finally:
            self.optim.found_inf = None
            for row in self._rows:
                row.own.grad = None
        for row in self._rows:
            row.give_values()
        self._step_count += 1
        self._whole = None
        for after in tuple(self._post_hooks.values()):
            after(self, (closure,), {})
        return loss

    def _found_anywhere(self) -> Tensor | None:
        found = self.found_inf
        if found is None or all(row.averaged for row in self._rows):
            return found
        with no_grad():
            found = found.clone()
            distributed.all_reduce(found, "max", self.process_group)
        return found

    def _replay_key(self, numbers: bool) -> Any:
        self._share_options()  # a replay asks the optimiser of the shares for its numbers
        return _core._frozen(self.param_groups, numbers)

    # ---- state -------------------------------------------------------------------------------------------------------
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the whole state, on the host of one process; all processes call it, before state_dict().

        Args:
            to: the number of that process.
        """
        ranks = distributed.get_process_group_ranks(self.process_group)
        states = []
        for row in self._rows:
            own = {k: _array(v) for k, v in self.optim._saved(row.own).items()} if row.own in self.optim.state else {}
            everyone: list[Any] = [None] * len(ranks)
            distributed.all_gather_object(everyone, own, self.process_group)
            if distributed.get_rank() == to:
                states.append(dict(_joined(row, everyone)))
        self._whole = None
        if distributed.get_rank() == to:
            numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
            found = {numbers[id(p)]: state for of_row in states for p, state in of_row.items() if state}
            self._whole = {**super().state_dict(), "state": dict(sorted(found.items()))}

    def state_dict(self) -> dict[str, Any]:
        """The whole state in the form of the optimiser that is shared out, so that it, or any number of processes, can
        go on from it.

        Raises:
            Error: with several processes, there was no consolidate_state_dict() to this one since the last step.
        """
        if distributed.get_world_size(self.process_group) == 1:
            self.consolidate_state_dict(distributed.get_rank())
        if self._whole is None:
            raise _core.Error(
                "ZeroRedundancyOptimizer: the state is in several processes; call consolidate_state_dict() in all of "
                "them, then state_dict() in the one that it names"
            )
        return self._whole

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes this process's share of a whole state, whatever number of processes it came from."""
        empty = {**state_dict, "state": {}}
        super().load_state_dict(empty)
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        own: dict[int, dict[str, Any]] = {}
        for place, row in enumerate(self._rows):
            found = [state_dict["state"].get(numbers[id(part.parameter)]) for part in row.parts]
            first = next((state for state in found if state), None)
            if first is not None:
                own[place] = {name: _share_of(row, name, found, self._class._start) for name in first}
        self._share_options()
        self.optim.load_state_dict({**self.optim.state_dict(), "state": own})
        self._whole = None


def _array(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, Tensor) else value


def _joined(row: _Row, everyone: list[dict[str, Any]]) -> Iterator[tuple[Tensor, dict[str, Any]]]:
    """Each parameter of a row, and its state from the states of all shares."""
    whole = {
        name: row.split(_core.cat([state[name] for state in everyone])) if value.ndim else value
        for name, value in everyone[0].items()
    }
    for i, part in enumerate(row.parts):
        yield part.parameter, {k: v[i].clone() if isinstance(v, list) else v.clone() for k, v in whole.items()}


def _share_of(row: _Row, name: str, states: list[dict[str, Any] | None], counts: Container[str]) -> Any:
    """This process's share of the states of this name of the parameters of a row."""
    if name in counts:  # one for the row
        return next(state[name] for state in states if state)
    values = [_core.zeros_like(part.parameter.detach()) for part in row.parts]
    for i, (part, state) in enumerate(zip(row.parts, states, strict=True)):
        if state and state[name] is not None:
            values[i] = placed(state[name], part.parameter).reshape(part.parameter.shape)
    return row.slice_of(values)
