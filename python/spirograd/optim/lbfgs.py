"""L-BFGS: directions from the last gradients, step lengths from a line search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Tensor
from ..base.grad_mode import enable_grad, no_grad
from .optimizer import Closure, Optimizer, Params, at_least_zero


class _Point(NamedTuple):
    """A point of a line: its distance t, the loss, the slope of the loss along the line, and the gradient."""

    t: float
    loss: float
    slope: float
    gradient: Tensor


def _lowest(a: _Point, b: _Point, bounds: tuple[float, float]) -> float:
    """The minimum of the cubic through two points, within bounds (Nocedal and Wright, equation 3.59)."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (bounds[0] + bounds[1]) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, bounds[0]), bounds[1])


def _strong_wolfe(at: Callable[[float], _Point], start: _Point, t: float, size: float, most: int) -> tuple[_Point, int]:
    """Finds a point with a lower loss and a flatter slope (Nocedal and Wright, algorithms 3.5 and 3.6).

    Args:
        at: a function that evaluates the point at t.
        start: the start of the line, at t = 0.
        t: the first guess.
        size: the largest element of the direction.
        most: the largest number of evaluations after the first one.

    Returns:
        The point, and the number of evaluations.
    """
    less, flatter, shortest = 1e-4, 0.9, 1e-9

    def too_high(p: _Point) -> bool:
        return p.loss > start.loss + less * p.t * start.slope

    def flat(p: _Point) -> bool:
        return abs(p.slope) <= -flatter * start.slope

    before, here = start, at(t)
    evaluations, tries = 1, 0
    while True:  # until a minimum lies between two points
        if tries >= most:
            before = start
            break
        if too_high(here) or (tries > 1 and here.loss >= before.loss) or (here.slope >= 0 and not flat(here)):
            break
        if flat(here):
            return here, evaluations
        guess = _lowest(before, here, (here.t + 0.01 * (here.t - before.t), here.t * 10))
        before, here = here, at(guess)
        evaluations, tries = evaluations + 1, tries + 1
    low, high = (before, here) if before.loss <= here.loss else (here, before)
    near_end = False
    while tries < most and abs(high.t - low.t) * size >= shortest:
        left, right = min(low.t, high.t), max(low.t, high.t)
        t = _lowest(low, high, (left, right))
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:  # twice near an end, or at it: move away
            if near_end or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                near_end = False
            else:
                near_end = True
        else:
            near_end = False
        here = at(t)
        evaluations, tries = evaluations + 1, tries + 1
        if too_high(here) or here.loss >= low.loss:
            low, high = (low, here) if low.loss <= here.loss else (here, low)
            continue
        if flat(here):
            return here, evaluations
        if here.slope * (high.t - low.t) >= 0:
            high = low
        low = here
    return low, evaluations


def _two_loops(products: Any, s_g: Any, y_g: Any, scale: float) -> tuple[Any, Any]:
    """The coefficients a of s and b of y in the direction plus scale * gradient (Nocedal and Wright, algorithm 7.4).

    Args:
        products: the products of s and y, and of y and y: [2, n, n].
        s_g: the products of s and the gradient: [n].
        y_g: the products of y and the gradient: [n].
        scale: the scale of the first inverse.
    """
    s_y, y_y = products
    n = len(s_g)
    a, b = np.zeros(n), np.zeros(n)
    for i in reversed(range(n)):
        b[i] -= (s_y[i] @ b - s_g[i]) / s_y[i, i]
    for i in range(n):
        a[i] = -b[i] - (scale * (y_y[i] @ b - y_g[i]) + s_y[:, i] @ a) / s_y[i, i]
    return a, scale * b


class LBFGS(Optimizer):
    """L-BFGS (Nocedal, 1980; Liu and Nocedal, 1989). A step evaluates the closure several times and reads each loss.

    Args:
        params: the parameters: tensors of one device, in a single group.
        lr: the length of a step, or the first guess of the line search.
        max_iter: the largest number of directions in one step().
        max_eval: the largest number of evaluations in one step(), by default max_iter * 5 / 4.
        tolerance_grad: a step ends if no element of the gradient is larger.
        tolerance_change: a step ends if the loss or the parameters change by less.
        history_size: the number of gradients that directions are computed from.
        line_search_fn: None, or "strong_wolfe".

    Raises:
        ValueError: a number is negative, there are groups, or the line search is unknown.

    Example:
        >>> w = sg.tensor([3.0, -2.0], requires_grad=True)
        >>> opt = sg.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     opt.zero_grad()
        ...     loss = ((w - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> loss = opt.step(closure)
        >>> [round(x, 4) for x in w.tolist()]
        [1.0, 1.0]
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        at_least_zero("LBFGS", lr=lr, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f"LBFGS: line_search_fn '{line_search_fn}' is unknown; use strong_wolfe or None")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        self._products: Any = np.zeros((2, 0, 0))
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS: {len(self.param_groups)} groups; pass all parameters in one")

    # ---- all parameters as one vector -------------------------------------------------------------------------------
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    def _position(self) -> Tensor:
        return _core.cat([p.detach().reshape(-1) for p in self._params()])

    def _move(self, x: Tensor) -> None:
        params = self._params()
        for p, part in zip(params, _core.split(x, [p.numel() for p in params]), strict=True):
            p.copy_(part.reshape(p.shape))

    def _evaluated(self, closure: Closure) -> tuple[Any, float, Tensor]:
        """The result of the closure, this result as a number, and the gradient."""
        with enable_grad():
            loss = closure()
        parts = [_core.zeros_like(p.detach()) if p.grad is None else p.grad.detach() for p in self._params()]
        return loss, float(loss), _core.cat([g.reshape(-1) for g in parts])

    # ---- steps ------------------------------------------------------------------------------------------------------
    def step(self, closure: Closure | None = None) -> Any:
        """Moves the parameters towards a minimum.

        Args:
            closure: a function that resets the gradients, computes the loss, calls backward() and returns the loss.

        Returns:
            The loss before the step.

        Raises:
            TypeError: there is no closure.
        """
        if closure is None:
            raise TypeError("LBFGS: step() evaluates the loss several times; pass a closure that returns it")
        state = self._state[self._params()[0]]
        with no_grad():
            start = self._position()
            kept = {name: list(v) if isinstance(v, list) else v for name, v in state.items()}, self._products
            try:
                loss = self._minimised(closure, state)
                _core._submit([self._params()])
                self._step_count += 1
            except BaseException:  # as if the step had not started
                state.clear()
                state.update(kept[0])
                self._products = kept[1]
                with suppress(_core.Error):
                    self._move(start)
                raise
        return loss

    def _minimised(self, closure: Closure, state: dict[str, Any]) -> Any:
        group = self.param_groups[0]
        first, loss, gradient = self._evaluated(closure)
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        if gradient.abs().max().item() <= group["tolerance_grad"]:
            return first
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient)
            before = loss
            state["prev_flat_grad"], state["prev_loss"], state["d"] = gradient, loss, direction
            sizes = _core.stack([gradient.abs().sum(), (gradient * direction).sum(), direction.abs().max()])
            length, slope, size = sizes.tolist()
            t = min(1.0, 1.0 / length) * group["lr"] if state["n_iter"] == 1 else float(group["lr"])
            state["t"] = t
            if slope > -group["tolerance_change"]:
                break
            x, used = self._position(), 0
            if group["line_search_fn"] is not None:

                def at(t: float, x: Tensor = x, direction: Tensor = direction) -> _Point:
                    self._move(x + direction * t)
                    _, loss, gradient = self._evaluated(closure)
                    return _Point(t, loss, (gradient * direction).sum().item(), gradient)

                start = _Point(0.0, loss, slope, gradient)
                end, used = _strong_wolfe(at, start, t, size, min(25, group["max_eval"] - evaluations))
                state["t"], loss, gradient = end.t, end.loss, end.gradient
                self._move(x + direction * end.t)
            else:
                self._move(x + direction * t)
                if iteration < group["max_iter"]:
                    (_, loss, gradient), used = self._evaluated(closure), 1
            evaluations += used
            state["func_evals"] += used
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or gradient.abs().max().item() <= group["tolerance_grad"]
                or size * state["t"] <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def _direction(self, state: dict[str, Any], gradient: Tensor) -> Tensor:
        """The negative gradient times an inverse of the curvature, from the steps s and the changes y of the gradient.

        The two loops of the method compute coefficients of these vectors on the host. They need only the products of
        pairs of vectors, and each step adds three columns of them (Chen, Wang and Zhou, 2014).
        """
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            self._products = np.zeros((2, 0, 0))
            return -gradient
        s, y = state["d"] * state["t"], gradient - state["prev_flat_grad"]
        steps, changes = state["old_stps"], state["old_dirs"]
        if len(self._products[0]) != len(steps):  # a state was loaded
            rows = _core.stack(changes)
            self._products = np.stack([(_core.stack(left) @ rows.T).numpy() for left in (steps, changes)])
        vectors = _core.stack([*steps, s, *changes, y])
        columns = (vectors @ _core.stack([s, y, gradient]).T).cpu().numpy().astype(np.float64)
        n = len(steps) + 1
        by_s, by_y = columns[:n], columns[n:]  # products with s, y and the gradient
        products = np.zeros((2, n, n))
        products[:, :-1, :-1] = self._products
        products[:, :, -1] = by_s[:, 1], by_y[:, 1]
        products[:, -1, :] = by_y[:, 0], by_y[:, 1]
        kept = slice(0, n - 1)
        if products[0, -1, -1] > 1e-10:
            kept = slice(max(0, n - self.param_groups[0]["history_size"]), n)
            state["H_diag"] = float(products[0, -1, -1] / products[1, -1, -1])
            for known, new in ((steps, s), (changes, y), (state["ro"], float(1 / products[0, -1, -1]))):
                known.append(new)
                del known[: kept.start]
        self._products = products[:, kept, kept]
        a, b = np.zeros(n), np.zeros(n)
        scale = state["H_diag"]
        a[kept], b[kept] = _two_loops(self._products, by_s[kept, 2], by_y[kept, 2], scale)
        state["al"] = (-b[kept] / scale).tolist()  # kept for PyTorch's sake, which overwrites it in the next step
        coefficients = _core.tensor(np.concatenate([a, b]), dtype=gradient.dtype, device=gradient.device)
        direction: Tensor = coefficients @ vectors - gradient * scale
        return direction

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Loads a state that state_dict() returned, here or in PyTorch; the values are copied.

        Args:
            state_dict: the state of an LBFGS with the same number of parameters.

        Raises:
            ValueError: the number of parameters differs; nothing was changed.
        """
        super().load_state_dict(state_dict)
        self._products = np.zeros((2, 0, 0))
