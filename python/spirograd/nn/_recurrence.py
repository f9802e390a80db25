"""Recurrent layers over time. The core does all steps of a layer as one operation each way: of an LSTM, and on GPUs of
other cells; elsewhere a step is two kernels, forward and backward. The gradient of a weight is one product for all
steps.

The products of the inputs with their weight are computed before, for all steps at once. A step writes the values that
its gradient needs into memory for all steps. Before the backward pass, `factors` computes for all steps everything that
does not depend on the following step.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from .._core import (
    Tensor,
    _gru,
    _gru_gradient,
    _lstm,
    _lstm_gradient,
    _rnn,
    _rnn_gradient,
    _stored,
    arange,
    bfloat16,
    cat,
    empty,
    float16,
    float32,
    float64,
    is_grad_enabled,
    promote_types,
    stack,
    where,
    zeros_like,
)
from ..autograd import Function, grad
from ..base.casts import narrow
from ..base.grad_mode import enable_grad

States = tuple[Tensor, ...]

_STARTED_AT_ONCE = 32  # steps
_MOST_OF_A_STEP = 1 << 27  # multiplications: kernels of products do more of them in less time on a GPU


class Rnn:
    """h = tanh(x + p), or relu, where p is the product of h with its weight."""

    gates, kept, rows, product = 1, 0, 1, slice(0, 1)  # rows of a gradient, and those that belong to the product

    def __init__(self, nonlinearity: str) -> None:
        self.nonlinearity = nonlinearity

    def step(self, x: Tensor, p: Tensor, states: States) -> tuple[States, States]:
        """The next states, and the other values that the gradient needs."""
        y = x + p
        return (y.tanh() if self.nonlinearity == "tanh" else y.relu(),), ()

    def factors(self, before: States, after: States, kept: States) -> States:
        """The factors by which back() multiplies gradients, for all steps at once."""
        (h,) = after
        return ((1 - h * h if self.nonlinearity == "tanh" else h > 0).unsqueeze(2),)

    def back(self, dh: Tensor, carry: Tensor | None, factors: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """From the gradient of h: those of the sums, [batch, rows, hidden], and the carry to the previous step."""
        dh = dh.unsqueeze(1)
        return dh * factors[0] if self.nonlinearity == "tanh" else where(factors[0], dh, 0.0), None

    def of_inputs(self, rows: Tensor) -> Tensor:
        return rows


class Lstm:
    """c = f * c + i * u, h = o * tanh(c), with the gates i, f, u, o in this order."""

    gates, kept, rows, product = 4, 4, 5, slice(0, 4)

    def step(self, x: Tensor, p: Tensor, states: States) -> tuple[States, States]:
        i, f, u, o = (x + p).chunk(4, -1)
        i, f, u, o = i.sigmoid(), f.sigmoid(), u.tanh(), o.sigmoid()
        c = _stored(f * states[1] + i * u)
        return (o * c.tanh(), c), (i, f, u, o)

    def factors(self, before: States, after: States, kept: States) -> States:
        i, f, u, o = kept
        y = after[1].tanh()
        of_c = stack([u * i * (1 - i), before[1] * f * (1 - f), i * (1 - u * u), y * o * (1 - o), f], 2)
        of_h = _stored(arange(5, device=f.device) == 3).unsqueeze(1)
        return of_c, _stored(o * (1 - y * y)), of_h.expand(len(f), 5, 1)

    def back(self, dh: Tensor, carry: Tensor | None, factors: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        dc = dh * factors[1]
        if carry is not None:
            dc = dc + carry
        rows = where(factors[2], dh.unsqueeze(1), dc.unsqueeze(1)) * factors[0]
        return rows, rows[:, 4]

    def of_inputs(self, rows: Tensor) -> Tensor:
        return rows[:, :, :4]


class Gru:
    """h = n + z * (h - n) with the gates r, z, n in this order; n = tanh(x + r * p)."""

    gates, kept, rows, product = 3, 4, 5, slice(1, 4)

    def step(self, x: Tensor, p: Tensor, states: States) -> tuple[States, States]:
        (xr, xz, xn), (pr, pz, pn) = x.chunk(3, -1), p.chunk(3, -1)
        r, z = (xr + pr).sigmoid(), (xz + pz).sigmoid()
        n = (xn + r * pn).tanh()
        return (n + z * (states[0] - n),), (r, z, n, pn)

    def factors(self, before: States, after: States, kept: States) -> States:
        r, z, n, p = kept
        of_n = (1 - z) * (1 - n * n)
        return (stack([of_n, of_n * p * r * (1 - r), (before[0] - n) * z * (1 - z), of_n * r, z], 2),)

    def back(self, dh: Tensor, carry: Tensor | None, factors: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        rows = (dh if carry is None else dh + carry).unsqueeze(1) * factors[0]
        return rows, rows[:, 4]

    def of_inputs(self, rows: Tensor) -> Tensor:
        return cat([rows[:, :, 1:3], rows[:, :, :1]], 2)


Kind = Rnn | Lstm | Gru


@narrow
def run(
    kind: Kind, x: Tensor, weight: Tensor, bias: Tensor | None, states: States, reverse: bool
) -> tuple[Tensor, States]:
    """Does all steps of one layer in one direction.

    Args:
        kind: the kind of cell.
        x: products of the inputs with their weight, [time, batch, gates * hidden].
        weight: the recurrent weight, [gates * hidden, hidden].
        bias: the bias of the recurrent product, or None.
        states: the states before the first step, each [batch, hidden].
        reverse: whether to start at the last step.

    Returns:
        h of each step, [time, batch, hidden], and the states after the last one, in the common type of all.
    """
    tensors = [x, weight, *states] + ([] if bias is None else [bias])
    common = functools.reduce(promote_types, (t.dtype for t in tensors))
    x, weight, bias = x.to(common), weight.to(common), None if bias is None else bias.to(common)
    states = tuple(s.to(common) for s in states)
    if is_grad_enabled() and any(t.requires_grad for t in tensors):
        made: tuple[Tensor, ...] = Recurrence.apply(kind, reverse, x, weight, bias, *states)
        h, *others = made
    else:
        (h, *others), _ = _forward(kind, reverse, x, weight, bias, states, False)
    return h, (h[0 if reverse else -1], *others)


def _walk(order: range, x: Tensor) -> Iterator[int]:
    """Yields the steps in this order, and starts the pending work on the device of x from time to time: a GPU runs it
    while the next steps are recorded, and the records of few steps stay in the caches of the CPU."""
    for n, t in enumerate(order):
        if n and n % _STARTED_AT_ONCE == 0:
            x.realize()
        yield t


def _is_one_operation(kind: Kind, x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether the core does all steps as one operation."""
    on_cpu = x.device.kind == "cpu"
    if not on_cpu and x.shape[1] * weight.numel() > _MOST_OF_A_STEP:
        return False
    types = (float32, float64) if on_cpu else (float32, float16, bfloat16)
    cell = isinstance(kind, Lstm) or not on_cpu
    return cell and x.dtype in types and (bias is None or isinstance(kind, Gru)) and x.numel() > 0


def _all_steps(
    kind: Kind, reverse: bool, x: Tensor, weight: Tensor, bias: Tensor | None, states: States, keep: bool
) -> tuple[States, States]:
    """By one operation: the states before the first step and after each, [steps + 1, batch, hidden]; kept values."""
    if isinstance(kind, Lstm):
        h, c, gates = _lstm(x, weight, states[0], states[1], reverse, keep)
        return (h, c), (gates,)
    if isinstance(kind, Gru):
        h, gates = _gru(x, weight, bias, states[0], reverse, keep)
        return (h,), (gates,)
    return (_rnn(x, weight, states[0], kind.nonlinearity == "relu", reverse),), ()


def _all_gradients(
    kind: Kind,
    reverse: bool,
    dh: Tensor,
    carried: Sequence[Tensor | None],
    weight: Tensor,
    around: tuple[States, States],
    kept: States,
) -> tuple[Tensor, Tensor, States]:
    """By one operation: the gradients of x, of the products of all steps, and of the first states."""
    before, after = around
    end = -1 if reverse else 0
    if isinstance(kind, Lstm):
        dc = zeros_like(after[1][0]) if carried[0] is None else carried[0]
        sums, dc = _lstm_gradient(dh, dc, weight, before[1], after[1], kept[0], reverse)
        return sums, sums, (sums[end] @ weight, dc)
    if isinstance(kind, Gru):
        products, inputs, carry = _gru_gradient(dh, weight, before[0], kept[0], reverse)
        return inputs, products, (products[end] @ weight + carry,)
    sums = _rnn_gradient(dh, weight, after[0], kind.nonlinearity == "relu", reverse)
    return sums, sums, (sums[end] @ weight,)


def _forward(
    kind: Kind, reverse: bool, x: Tensor, weight: Tensor, bias: Tensor | None, states: States, keep: bool
) -> tuple[list[Tensor], tuple[tuple[States, States], States]]:
    """h of all steps and the other last states; for gradients, the states around each step, and the kept values."""
    if _is_one_operation(kind, x, weight, bias):
        made, kept = _all_steps(kind, reverse, x, weight, bias, states, keep)
        sides = [(m[1:], m[:-1]) if reverse else (m[:-1], m[1:]) for m in made]
        before, after = (tuple(s) for s in zip(*sides, strict=True))
        return [after[0], *(m[0 if reverse else -1] for m in made[1:])], ((before, after), kept)
    steps = x.shape[0]
    order = range(steps - 1, -1, -1) if reverse else range(steps)
    shape = (steps, *states[0].shape)
    track = len(states) if keep else 1
    whole = [empty((steps + 1, *shape[1:]), dtype=x.dtype, device=x.device) for _ in range(track)]
    for memory, state in zip(whole, states, strict=False):
        memory[steps if reverse else 0] = state
    first, second = [m[:-1] for m in whole], [m[1:] for m in whole]
    before, after = (tuple(m) for m in ((second, first) if reverse else (first, second)))
    kept = tuple(empty(shape, dtype=x.dtype, device=x.device) for _ in range(kind.kept if keep else 0))
    rows = [m.unbind(0) for m in (*after, *kept)]
    inputs, transposed = x.unbind(0), weight.T.contiguous()  # each step's product reads it in order
    for t in _walk(order, x):
        p = states[0] @ transposed
        states, gates = kind.step(inputs[t], p if bias is None else p + bias, states)
        for memory_rows, value in zip(rows, (*states[:track], *gates), strict=False):
            memory_rows[t].copy_(value)
    return [after[0], *states[1:]], ((before, after), kept)


class Recurrence(Function):
    """The steps with their gradient. Second derivatives are computed step by step."""

    @staticmethod
    def forward(
        ctx: Any, kind: Kind, reverse: bool, x: Tensor, weight: Tensor, bias: Tensor | None, *states: Tensor
    ) -> tuple[Tensor, ...]:
        out, ((before, after), kept) = _forward(kind, reverse, x, weight, bias, states, True)
        ctx.kind, ctx.reverse = kind, reverse
        ctx.save_for_backward(x, weight, bias, *states, *before, *after, *kept)
        ctx.set_materialize_grads(False)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, dy: Tensor | None, *carried: Tensor | None) -> tuple[Tensor | None, ...]:
        x, weight, bias, *saved = ctx.saved_tensors
        n = 1 + len(carried)
        states, before, after, kept = saved[:n], saved[n : 2 * n], saved[2 * n : 3 * n], saved[3 * n :]
        kind, reverse = ctx.kind, ctx.reverse
        if is_grad_enabled():
            return _step_by_step(kind, reverse, (x, weight, bias, *states), (dy, *carried))
        if _is_one_operation(kind, x, weight, bias):
            dy = zeros_like(after[0]) if dy is None else dy
            dx, of_products, firsts = _all_gradients(kind, reverse, dy, carried, weight, (before, after), kept)
            flat = of_products.flatten(0, 1)
            of_bias = None if bias is None else flat.sum(0)
            return None, None, dx, flat.T @ before[0].flatten(0, 1), of_bias, *firsts
        steps, batch, hidden = after[0].shape
        factors = [f.unbind(0) for f in kind.factors(before, after, kept)]
        memory = empty((steps, batch, kind.rows, hidden), dtype=x.dtype, device=x.device)
        targets, arrived = memory.unbind(0), dy.unbind(0) if dy is not None else None
        rows: Any = None
        carry = carried[0] if carried else None

        def of_state(rows: Tensor) -> Tensor:
            out: Tensor = rows[:, kind.product].flatten(1) @ weight
            return out

        for t in _walk(range(steps) if reverse else range(steps - 1, -1, -1), x):
            if rows is None:
                dh = arrived[t] if arrived else zeros_like(after[0][t])
            else:
                dh = of_state(rows)
                if arrived:
                    dh = _stored(arrived[t] + dh)
            rows, carry = kind.back(dh, carry, [f[t] for f in factors])
            targets[t].copy_(rows)
        grads: list[Tensor | None] = [None] * (5 + n)
        products = memory[:, :, kind.product].flatten(2).flatten(0, 1)
        needs = ctx.needs_input_grad
        if needs[2]:
            grads[2] = kind.of_inputs(memory).flatten(2)
        if needs[3]:
            grads[3] = products.T @ before[0].reshape(steps * batch, hidden)
        if needs[4]:
            grads[4] = products.sum(0)
        if any(needs[5:]):
            dh = of_state(rows)
            grads[5] = dh if n > 1 or carry is None else dh + carry
            grads[6:] = [carry] if n > 1 else []
        return tuple(grads)


def _step_by_step(
    kind: Kind, reverse: bool, inputs: tuple[Any, ...], grads: tuple[Tensor | None, ...]
) -> tuple[Tensor | None, ...]:
    """The gradients of the inputs, computed by operations that have gradients themselves."""
    x, weight, bias, *states = inputs
    with enable_grad():
        out: list[Tensor] = []
        now = tuple(states)
        for t in range(len(x) - 1, -1, -1) if reverse else range(len(x)):
            p = now[0] @ weight.T
            now, _ = kind.step(x[t], p if bias is None else p + bias, now)
            out.append(now[0])
        made = [stack(out[::-1] if reverse else out), *now[1:]]
        wanted = [t for t in inputs if t is not None and t.requires_grad]
        pairs = [(y, g) for y, g in zip(made, grads, strict=True) if g is not None]
        found = grad([y for y, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True)
    by = iter(found)
    return (None, None, *(next(by) if t is not None and t.requires_grad else None for t in inputs))
