"""Lookahead: slow weights that follow the weights of another optimiser."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from .._core import Tensor
from ..base.grad_mode import no_grad
from .optimizer import Closure, Optimizer, placed


class Lookahead(Optimizer):
    """Moves slow weights a part of the way to the parameters every k steps of another optimiser, which continues from
    there (Zhang et al., 2019): slow += alpha * (p - slow), p = slow.

    Args:
        optimizer: the optimiser that makes the steps; both share the parameter groups.
        k: number of steps between two updates of the slow weights.
        alpha: the part of the way, in [0, 1].

    Raises:
        ValueError: k is less than 1, or alpha is not in [0, 1].

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Lookahead(sg.optim.SGD([w], lr=0.25), k=2, alpha=0.5)
        >>> for _ in range(2):
        ...     opt.zero_grad()
        ...     (w * w).sum().backward()
        ...     opt.step()
        >>> w.tolist()
        [0.625]
    """

    _has_phases = True

    def __init__(self, optimizer: Optimizer, k: int = 5, alpha: float = 0.5) -> None:
        if k < 1:
            raise ValueError(f"Lookahead: k is {k}; use 1 or more")
        if not 0 <= alpha <= 1:
            raise ValueError(f"Lookahead: alpha is {alpha}; use a number in [0, 1]")
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.defaults, self.param_groups = optimizer.defaults, optimizer.param_groups
        self._state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self._step_count = 0
        self._open = []

    @property
    def found_inf(self) -> Tensor | None:
        """A 0-d tensor, or None. If it is not 0, a step changes nothing; see sg.amp.GradScaler."""
        found: Tensor | None = self.optimizer.found_inf  # type: ignore[attr-defined]
        return found

    @found_inf.setter
    def found_inf(self, value: Tensor | None) -> None:
        self.optimizer.found_inf = value  # type: ignore[attr-defined]

    def step(self, closure: Closure | None = None) -> Any:
        """Makes a step of the other optimiser, and every k-th time one of the slow weights.

        Args:
            closure: a function that computes the loss and the gradients.

        Returns:
            The result of the closure.
        """
        params = [p for group in self.param_groups for p in group["params"]]
        with no_grad():
            for p in params:
                if p not in self._state:
                    self._state[p]["slow"] = p.detach().clone()
        count = self.optimizer._step_count
        try:
            return self.optimizer.step(closure)
        finally:  # a completed step counts, even if an interrupt follows it
            if self.optimizer._step_count != count:
                self._follow(params)

    def _follow(self, params: list[Tensor]) -> None:
        """Counts a step, and every k-th time updates the slow weights."""
        self._step_count += 1
        if self._step_count % self.k == 0:
            with no_grad():
                for p in params:
                    slow = self._state[p]["slow"]
                    slow.copy_(slow + (p.detach() - slow) * self.alpha)
                    p.copy_(slow)

    def _replay_key(self, numbers: bool) -> Any:
        return self.k, self.alpha, (self._step_count + 1) % self.k == 0, len(self._state)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of the other optimiser, the slow weights in order, and the number of steps."""
        params = [p for group in self.param_groups for p in group["params"]]
        slow = [self._state[p]["slow"] for p in params if p in self._state]
        return {"optimizer": self.optimizer.state_dict(), "slow": slow, "steps": self._step_count}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Loads a state that state_dict() returned.

        Args:
            state_dict: the state of a Lookahead with the same number of parameters.
        """
        self.optimizer.load_state_dict(state_dict["optimizer"])
        self._step_count = state_dict["steps"]
        params = [p for group in self.param_groups for p in group["params"]]
        self._state.clear()
        for p, slow in zip(params, state_dict["slow"], strict=False):
            self._state[p]["slow"] = placed(slow, p)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters to the other optimiser.

        Args:
            param_group: a dict with "params".
        """
        self.optimizer.add_param_group(param_group)

    def __repr__(self) -> str:
        return f"Lookahead(k={self.k}, alpha={self.alpha}, {self.optimizer!r})"
