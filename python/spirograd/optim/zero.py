"""ZeroRedundancyOptimizer: each process keeps the state of a share of the parameters, and updates that share."""

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

# Optimisers whose update of an element depends only on that element.
BY_ELEMENT = (Adam, Adamax, Lion, NAdam, RAdam, Adadelta, Adagrad, RMSprop, SGD)


class _Part(NamedTuple):
    """The position of a parameter in the row of all parameters of its group."""

    parameter: Tensor
    first: int
    last: int


class _Row:
    """The parameters of a group, of one type and device, in one row, split into equal shares of the processes."""

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
        """The share of this process of values of the parameters, without a gradient."""
        start = self.rank * self.share
        pieces = []
        for part, value in zip(self.parts, values, strict=True):
            first, last = max(part.first, start), min(part.last, start + self.share)
            if first < last:
                pieces.append(value.reshape(-1)[first - part.first : last - part.first])
        return self._filled(pieces, self.share)

    def _filled(self, pieces: list[Tensor], size: int) -> Tensor:
        """The pieces in one row, padded with zeros to this size."""
        like = self.parts[0].parameter
        left = size - sum(piece.numel() for piece in pieces)
        zeros = [_core.zeros(left, dtype=like.dtype, device=like.device)] if left else []
        return _core.cat([*pieces, *zeros])

    def take_gradients(self) -> None:
        """Sets the gradient of the share: the mean over the processes."""
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
        """Writes the shares of all processes into the parameters."""
        with no_grad():
            row = self.own.detach()
            if self.processes > 1:
                row = _core.empty(self.share * self.processes, dtype=row.dtype, device=row.device)
                distributed.all_gather_into_tensor(row, self.own.detach(), group=self.where)
            for part, value in zip(self.parts, self.split(row), strict=True):
                part.parameter.copy_(value)

    def split(self, row: Tensor) -> list[Tensor]:
        """A row, split into tensors of the shapes of the parameters."""
        return [row[part.first : part.last].reshape(part.parameter.shape) for part in self.parts]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimiser whose state is distributed among N processes, so that each keeps 1/N of it.

    A step sums the gradients, of which each process gets its share (reduce_scatter; if
    `nn.parallel.DistributedDataParallel` has already averaged them, a process only takes its share), updates its share
    of the parameters, and collects the shares of the others (all_gather). Besides the state, a process keeps a copy of
    its share of the parameters.

    Args:
        params: the parameters, as for other optimisers, and the same in all processes; the values of the first process
            are used.
        optimizer_class: SGD, Adam, AdamW or another class whose update of an element depends only on that element.
        process_group: the processes, by default all.
        parameters_as_bucket_view: accepted for compatibility with PyTorch.
        overlap_with_ddp: accepted for compatibility with PyTorch; nothing overlaps.
        defaults: the options of optimizer_class.

    Attributes:
        optim: the optimiser of the share of this process.
        found_inf: a 0-d tensor, or None, as in RuleOptimizer.

    Raises:
        ValueError: optimizer_class needs whole parameters.

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
                f"ZeroRedundancyOptimizer: {name} does not update each element separately; use one of "
                f"{', '.join(kind.__name__ for kind in BY_ELEMENT)}, or a class derived from them"
            )
        self.process_group = process_group
        self.found_inf: Tensor | None = None
        self._class, self._options = optimizer_class, defaults
        self._rows: list[_Row] = []
        self._whole: dict[str, Any] | None = None  # the result of consolidate_state_dict()
        super().__init__(params, optimizer_class([_core.zeros(1, requires_grad=True)], **defaults).defaults)

    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters with their own options, as for other optimisers."""
        super().add_param_group(param_group)
        number = len(self.param_groups) - 1
        kinds: dict[Any, list[Tensor]] = {}
        for p in self.param_groups[number]["params"]:
            kinds.setdefault((p.dtype, str(p.device)), []).append(p)
        for parameters in kinds.values():
            if not all(are_averaged(parameters)):  # DistributedDataParallel has done it
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
        """Passes the options of the groups, which may have changed, to the optimiser of the shares."""
        for row, group in zip(self._rows, self.optim.param_groups, strict=True):
            group.update(self._options_of(row))

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the parameters by their gradients, in all processes.

        Args:
            closure: a function that computes the loss and the gradients; it is called first.

        Returns:
            The result of the closure.
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
        self._share_options()  # a replay gets its numbers from the optimiser of the shares
        return _core._frozen(self.param_groups, numbers)

    # ---- state -------------------------------------------------------------------------------------------------------
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the whole state in the host memory of one process. All processes call it before state_dict().

        Args:
            to: the rank of that process.
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
        """Returns the whole state in the form of optimizer_class, which can continue from it, as can any number of
        processes.

        Raises:
            Error: there are several processes, and consolidate_state_dict() to this one was not called since the last
                step.
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
        """Loads the share of this process of a whole state, from any number of processes."""
        empty = {**state_dict, "state": {}}
        super().load_state_dict(empty)
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        own: dict[int, dict[str, Any]] = {}
        for index, row in enumerate(self._rows):
            found = [state_dict["state"].get(numbers[id(part.parameter)]) for part in row.parts]
            first = next((state for state in found if state), None)
            if first is not None:
                own[index] = {name: _share_of(row, name, found, self._class._start) for name in first}
        self._share_options()
        self.optim.load_state_dict({**self.optim.state_dict(), "state": own})
        self._whole = None


def _array(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, Tensor) else value


def _joined(row: _Row, everyone: list[dict[str, Any]]) -> Iterator[tuple[Tensor, dict[str, Any]]]:
    """Yields each parameter of a row and its state, joined from the states of all shares."""
    whole = {
        name: row.split(_core.cat([state[name] for state in everyone])) if value.ndim else value
        for name, value in everyone[0].items()
    }
    for i, part in enumerate(row.parts):
        yield part.parameter, {k: v[i].clone() if isinstance(v, list) else v.clone() for k, v in whole.items()}


def _share_of(row: _Row, name: str, states: list[dict[str, Any] | None], counts: Container[str]) -> Any:
    """The share of this process of one state, by its name, of the parameters of a row."""
    if name in counts:  # the same for the whole row
        return next(state[name] for state in states if state)
    values = [_core.zeros_like(part.parameter.detach()) for part in row.parts]
    for i, (part, state) in enumerate(zip(row.parts, states, strict=True)):
        if state and state[name] is not None:
            values[i] = placed(state[name], part.parameter).reshape(part.parameter.shape)
    return row.slice_of(values)
