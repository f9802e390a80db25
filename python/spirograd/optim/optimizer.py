"""Optimizer: parameter groups, and the state and how it is saved. A step is one submission."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

from .. import _core, tracer
from .._core import Tensor, tensor
from ..base.docstrings import described_by
from ..base.grad_mode import enable_grad, no_grad
from ..base.keywords import naming_keywords
from ..base.stand_in import StandIn
from ..nn.hooks import RemovableHandle

Group: TypeAlias = dict[str, Any]
Params: TypeAlias = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
Closure: TypeAlias = Callable[[], Any]
F = TypeVar("F", bound=Callable[..., Any])

# Descriptions of arguments that several optimisers take.
ARGUMENTS = """
Args:
    params: the parameters p: tensors, usually model.parameters(), or groups: dicts with "params" and options.
    lr: the learning rate, a number or a 0-d tensor.
    betas: the decays of the running mean and of the running mean square.
    eps: added to the denominator.
    weight_decay: the factor of an L2 penalty: adds weight_decay * p to the gradient g.
    momentum: the share of the previous step that is kept.
    amsgrad: whether to divide by the largest v so far (Reddi, Kale and Kumar, 2018).
    decoupled_weight_decay: whether weight decay subtracts lr * weight_decay * p from p, and adds nothing to g.
    maximize: whether to maximise the loss instead of minimising it.
    options: `foreach`, `fused` and `capturable`, accepted for compatibility with PyTorch.

Raises:
    ValueError: a number is negative, or a beta is not in [0, 1).
"""
DECOUPLED = """
Args:
    weight_decay: the factor of the weight decay: subtracts lr * weight_decay * p from p.
"""


def at_least_zero(op: str, **values: Any) -> None:
    """Raises ValueError unless all numbers are 0 or more."""
    for name, value in values.items():
        if not isinstance(value, Tensor) and not value >= 0:
            raise ValueError(f"{op}: {name} is {value}; use 0 or more")


def below_one(op: str, **values: float) -> None:
    """Raises ValueError unless all numbers are in [0, 1)."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{op}: {name} is {value}; use a number in [0, 1)")


def _added(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    number = max(hooks, default=0) + 1
    hooks[number] = hook
    return RemovableHandle(hooks, number)


def _announced(step: F) -> F:
    @functools.wraps(step)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        tracer.steps(self)
        return step(self, *args, **kwargs)

    return call  # type: ignore[return-value]


class Optimizer:
    """The base of all optimisers. Derive from it and write step(), or derive from RuleOptimizer.

    Args:
        params: tensors, pairs of names and tensors, or dicts with "params" and their own options.
        defaults: the options of groups that do not have their own.

    Attributes:
        param_groups: dicts with "params" and the options, which may be changed between steps.
        defaults: the options given to the constructor.

    Raises:
        TypeError: a parameter is not a tensor.
        ValueError: there are no parameters, or one is not a leaf or is in two groups.

    Example:
        >>> class Descent(sg.optim.Optimizer):
        ...     def step(self, closure=None):
        ...         with sg.no_grad():
        ...             for group in self.param_groups:
        ...                 for p in group["params"]:
        ...                     p.sub_(p.grad * group["lr"])
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = Descent([w], {"lr": 0.5})
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.tolist()
        [0.0]
    """

    _sources: ClassVar[tuple[str, ...]] = (ARGUMENTS,)  # the descriptions of arguments that a class leaves out
    _has_phases: ClassVar[bool] = False  # whether its steps change _replay_key()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "step" in vars(cls):
            cls.step = _announced(cls.step)  # type: ignore[method-assign]
        if cls.__module__.startswith("spirograd."):
            described_by(*cls._sources)(cls)
            if "__init__" in vars(cls):
                cls.__init__ = naming_keywords(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._pre_hooks: dict[int, Any] = {}
        self._post_hooks: dict[int, Any] = {}
        self._step_count = 0
        self._open: list[tuple[_core._Transaction, Any]] = []  # steps that may be lost, and the counts before them
        if hasattr(params, "parameters"):
            raise TypeError(f"{self._name}: params is a {type(params).__name__}; pass its parameters()")
        groups: list[Any] = [params] if isinstance(params, Tensor) else list(params)
        if not groups:
            raise ValueError(f"{self._name}: no parameters; pass model.parameters()")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def state(self) -> defaultdict[Tensor, dict[str, Any]]:
        """The state of each updated parameter, as a dict."""
        return self._state

    @state.setter
    def state(self, state: defaultdict[Tensor, dict[str, Any]]) -> None:
        self._state = state

    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters with their own options.

        Args:
            param_group: a dict with "params"; missing options come from the defaults.

        Raises:
            TypeError: the group is not a dict, or a parameter is not a tensor.
            ValueError: a parameter is in another group, or is not a leaf.

        Example:
            >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=0.1)
            >>> opt.add_param_group({"params": sg.ones(2, requires_grad=True), "lr": 0.01})
            >>> [group["lr"] for group in opt.param_groups]
            [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"{self._name}: a group is a {type(param_group).__name__}; pass a dict with 'params'")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(f"{self._name}: params is a set, which has no order; pass a list")
        tensors: list[Any] = [given] if isinstance(given, (Tensor, StandIn)) else list(given)
        # Complex parameters are updated by their parts, as in PyTorch.
        tensors = [part for p in tensors for part in (p.parts() if isinstance(p, StandIn) else (p,))]
        group = {**self.defaults, **param_group}
        if tensors and isinstance(tensors[0], tuple):
            group["param_names"] = [name for name, _ in tensors]
            tensors = [p for _, p in tensors]
        named = "param_names" in group
        if self.param_groups and named != ("param_names" in self.param_groups[0]):
            raise ValueError(f"{self._name}: some groups name their parameters and some do not; name all or none")
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in tensors:
            if not isinstance(p, Tensor):
                raise TypeError(f"{self._name}: a parameter is a {type(p).__name__}; pass tensors")
            if not p.is_leaf:
                raise ValueError(f"{self._name}: a parameter was made by an operation; pass leaves")
            if id(p) in known:
                raise ValueError(f"{self._name}: a parameter is given twice; name it in one group, once")
            known.add(id(p))
        group["params"] = tensors
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients.

        Args:
            set_to_none: whether to drop them instead of writing zeros.
        """
        _core._drop_gradients([group["params"] for group in self.param_groups], set_to_none)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the parameters by their gradients; those without a gradient do not change.

        Args:
            closure: a function that computes the loss and the gradients; it is called first.

        Returns:
            The result of the closure.
        """
        self._settle_open(True)
        tracer.steps(self)
        for before in tuple(self._pre_hooks.values()):
            before(self, (closure,), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        parameters = [group["params"] for group in self.param_groups]
        count = self._step_count
        try:
            _core._begin_whole(parameters)
            changes = self._update()
            changes.append((self, "_step_count", count + 1))
            _core._submit_step(parameters, changes, self._open, self._before())
        except BaseException:  # an interrupt, too, which comes between any two lines
            if self._step_count == count:
                _core._take_back(parameters)
                self._undo()
            raise
        for after in tuple(self._post_hooks.values()):
            after(self, (closure,), {})
        return loss

    def _replay_key(self, numbers: bool) -> Any:
        """The values, besides tensors, that a step depends on and that a replay does not read again: here, all of them.
        With `numbers`, also the options that a replay reads again."""
        return _core._frozen({k: v for k, v in vars(self).items() if k not in ("_step_count", "_open")}, True)

    def _update(self) -> list[tuple[Any, str, Any]]:
        """Records a step. Returns its other changes, besides those of tensors: objects, attributes, values."""
        raise NotImplementedError(f"{self._name} has no step()")

    def _undo(self) -> None:
        """Undoes the changes of _update() when the step failed."""

    def _before(self) -> Any:
        """The values that _take_back() needs to undo the counts of the last step."""

    def _take_back(self, before: Any) -> None:
        """Undoes the counts of a step that changed nothing, because something it depends on failed."""

    def _settle_open(self, raises: bool = False) -> None:
        """Takes back the counts of lost steps. With `raises`, raises the reason, unless it was raised before."""
        while self._open and self._open[0][0].fate() == "done":
            del self._open[0]
        lost = next((i for i, (step, _) in enumerate(self._open) if step.fate() == "lost"), None)
        if lost is None:
            return
        taken = self._open[lost:]  # later steps depend on the first one, so they are lost too
        del self._open[lost:]
        self._step_count -= len(taken)
        for _, before in reversed(taken):
            self._take_back(before)
        if raises:
            taken[0][0].raise_if_lost()

    def __getstate__(self) -> dict[str, Any]:
        self._settle_open()
        return {**self.__dict__, "_open": []}

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) before each step."""
        return _added(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) after each step."""
        return _added(self._post_hooks, hook)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state and the options in PyTorch's form. Parameters are numbered in the order of the groups.

        Returns:
            A dict: {"state": {number: {name: tensor}}, "param_groups": [{"lr": ..., "params": [numbers]}]}. The tensors
            share memory with those of the optimiser.

        Example:
            >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=0.1)
            >>> opt.state_dict()["param_groups"][0]["params"]
            [0]
        """
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        states = {numbers[id(p)]: self._saved(p) for p in self.state if id(p) in numbers}
        return {
            "state": {number: state for number, state in sorted(states.items()) if state},
            "param_groups": [
                {
                    **{k: v for k, v in group.items() if k != "params"},
                    "params": [numbers[id(p)] for p in group["params"]],
                }
                for group in self.param_groups
            ],
        }

    def _saved(self, p: Tensor) -> dict[str, Any]:
        return dict(self._state[p])

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Loads a state that state_dict() returned, here or in PyTorch; the values are copied.

        Args:
            state_dict: the state of an optimiser of the same class, with the same numbers of parameters in its groups.

        Raises:
            ValueError: the groups differ; nothing was changed.

        Example:
            >>> w = sg.ones(1, requires_grad=True)
            >>> opt = sg.optim.Adam([w], lr=0.1)
            >>> opt.load_state_dict(sg.optim.Adam([w], lr=0.2).state_dict())
            >>> opt.param_groups[0]["lr"]
            0.2
        """
        groups = state_dict["param_groups"]
        here, there = ([len(g["params"]) for g in gs] for gs in (self.param_groups, groups))
        if here != there:
            raise ValueError(
                f"{self._name}: the state has groups of {there} parameters, the optimiser of {here}; "
                "use the same groups"
            )
        tensors = {
            number: p
            for ours, theirs in zip(self.param_groups, groups, strict=True)
            for p, number in zip(ours["params"], theirs["params"], strict=True)
        }
        self.state.clear()
        for number, values in state_dict["state"].items():
            if number in tensors:
                self._state[tensors[number]] = self._loaded(tensors[number], values)
        for ours, theirs in zip(self.param_groups, groups, strict=True):
            kept = {k: v for k, v in ours.items() if k in ("params", "param_names")}
            ours.clear()
            ours.update({**self.defaults, **theirs, **kept})

    def _loaded(self, p: Tensor, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: placed(value, p) for name, value in values.items()}

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key not in ("params", "param_names")]
        return "\n".join([*lines, ")"])


def placed(value: Any, p: Tensor) -> Any:
    """A copy of a tensor, ours or another library's, on the device and of the type of p; other values as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(placed(v, p) for v in value)
    if isinstance(value, (dict, OrderedDict)):
        return {k: placed(v, p) for k, v in value.items()}
    if not isinstance(value, Tensor) and not hasattr(value, "__array__"):
        return value
    with no_grad():
        own = value.detach().clone() if isinstance(value, Tensor) else tensor(value.detach().cpu().numpy())
        return own.to(p.device, p.dtype) if own.is_floating_point() and p.is_floating_point() else own.to(p.device)
