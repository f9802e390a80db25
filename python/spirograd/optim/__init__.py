"""Optimisers. A step updates all parameters in one launch and submits everything that is pending."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core import Tensor, _Adam, _Sgd


def _leaves(op: str, params: Iterable[Tensor]) -> list[Tensor]:
    tensors = [params] if isinstance(params, Tensor) else list(params)
    if not tensors:
        raise ValueError(f"{op}: no parameters; pass model.parameters()")
    for p in tensors:
        if not isinstance(p, Tensor):
            raise TypeError(f"{op}: a parameter is a {type(p).__name__}; pass tensors")
        if not p.is_leaf:
            raise ValueError(f"{op}: a parameter was made by an operation; pass leaves")
    return tensors


def _positive(op: str, **values: float) -> None:
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"{op}: {name} is {value}; use 0 or more")


class Optimizer:
    """What all optimisers share.

    Attributes:
        params: the tensors that are updated.
        lr: the learning rate; may be changed between steps.
    """

    _state: _Sgd | _Adam

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        name = type(self).__name__
        _positive(name, lr=lr)
        self.params = _leaves(name, params)
        self.lr = lr

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients.

        Args:
            set_to_none: drop them; False writes zeros.
        """
        self._state.zero_grad(set_to_none)

    def step(self) -> None:
        """Updates the parameters from their gradients; those without one stay."""
        raise NotImplementedError

    def __repr__(self) -> str:
        numbers = ", ".join(f"{k}={v}" for k, v in vars(self).items() if k not in ("params", "_state"))
        return f"{type(self).__name__}({len(self.params)} parameters, {numbers})"


class SGD(Optimizer):
    """Stochastic gradient descent: p -= lr * v, v = momentum * v + g + weight_decay * p.

    Args:
        params: tensors, usually model.parameters().
        lr: the learning rate.
        momentum: share of the previous step that is kept.
        weight_decay: L2 penalty.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.SGD([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.tolist()
        [0.0]
    """

    _state: _Sgd

    def __init__(
        self, params: Iterable[Tensor], lr: float = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, lr)
        _positive("SGD", momentum=momentum, weight_decay=weight_decay)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self._state = _Sgd(self.params)

    def step(self) -> None:
        self._state.step(self.lr, self.momentum, self.weight_decay)

    def state_dict(self) -> dict[str, Any]:
        """The settings and the momentum of each parameter."""
        return {
            "lr": self.lr,
            "momentum": self.momentum,
            "weight_decay": self.weight_decay,
            "velocity": list(self._state.momentum),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over what state_dict() gave."""
        self.lr, self.momentum, self.weight_decay = state["lr"], state["momentum"], state["weight_decay"]
        self._state.momentum = [t.clone() for t in state["velocity"]]


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014), with PyTorch's bias correction and L2 weight decay.

    Args:
        params: tensors, usually model.parameters().
        lr: the learning rate.
        betas: decay of the running mean and of the running square.
        eps: added to the denominator.
        weight_decay: L2 penalty.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.9
    """

    _state: _Adam

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr)
        _positive("Adam", eps=eps, weight_decay=weight_decay)
        for beta in betas:
            if not 0 <= beta < 1:
                raise ValueError(f"Adam: beta is {beta}; use a number in [0, 1)")
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self._state = _Adam(self.params)

    def step(self) -> None:
        self._state.step(self.lr, *self.betas, self.eps, self.weight_decay)

    def state_dict(self) -> dict[str, Any]:
        """The settings and the running means of each parameter."""
        return {
            "lr": self.lr,
            "betas": self.betas,
            "eps": self.eps,
            "weight_decay": self.weight_decay,
            "steps": self._state.steps,
            "mean": list(self._state.m),
            "square": list(self._state.v),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over what state_dict() gave."""
        self.lr, self.betas, self.eps = state["lr"], tuple(state["betas"]), state["eps"]
        self.weight_decay = state["weight_decay"]
        self._state.steps = state["steps"]
        self._state.m = [t.clone() for t in state["mean"]]
        self._state.v = [t.clone() for t in state["square"]]
