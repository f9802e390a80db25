"""Rows of ops that move, join and cut: values come out as they went in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import spirograd as sg

from .row import EACH, EVERY, INTEGERS, NUMBERS, Array, Row, Shape, relative

MATRICES: Sequence[Sequence[Shape]] = [[(2, 3)], [(5, 7)], [(1, 1)], [(3, 4, 5)], [(0, 3)]]
TENSORS: Sequence[Sequence[Shape]] = [[(2, 3, 4)], [(7, 1, 5)], [(1, 1, 1)], [(0, 2, 3)]]
TWO: Sequence[Sequence[Shape]] = [[(2, 3), (2, 3)], [(5, 7), (5, 7)], [(1, 1), (1, 1)], [(3, 2, 2), (3, 2, 2)]]


def shaped(
    name: str,
    op: Callable[..., Any],
    oracle: Callable[..., Any] | None = None,
    shapes: Sequence[Sequence[Shape]] = MATRICES,
    dtypes: Sequence[str] = EVERY,
) -> Row:
    """Moves values and changes none."""
    return Row(name, op, oracle or op, shapes, dtypes)


def part(name: str, op: Callable[..., Any], oracle: Callable[..., Any], n: int) -> list[Row]:
    """Ops with several results, one row each."""
    return [shaped(f"{name}:{i}", lambda x, i=i: op(x)[i], lambda x, i=i: oracle(x)[i], [[(5, 7)]]) for i in range(n)]


def windows(x: Array, axis: int, size: int, step: int) -> Array:
    all_windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=axis)
    return np.moveaxis(np.moveaxis(all_windows, axis, 0)[::step], 0, axis)


def torch_pad(x: Array, pad: tuple[int, ...], mode: str, **more: Any) -> Array:
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    return np.pad(x, pairs, mode, **more)  # type: ignore[call-overload,no-any-return]


def embedded_diagonals(x: Array, offset: int) -> Array:
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return out


def block_diagonal(a: Array, b: Array) -> Array:
    out = np.zeros((a.shape[0] + b.shape[0], a.shape[1] + b.shape[1]), a.dtype)
    out[: a.shape[0], : a.shape[1]] = a
    out[a.shape[0] :, a.shape[1] :] = b
    return out


def turned(x: sg.Tensor, shape: Shape) -> sg.Tensor:
    """A tensor whose shape is asked for, of the type and place of x."""
    return sg.zeros(shape, dtype=x.dtype, device=x.device)


ROWS: list[Row] = [
    shaped("reshape_as", lambda x: x.reshape_as(turned(x, x.shape[::-1])), lambda x: x.reshape(x.shape[::-1])),
    shaped("expand_as", lambda x: x.expand_as(turned(x, (4, *x.shape))), lambda x: np.broadcast_to(x, (4, *x.shape))),
    shaped("broadcast_to", lambda x: x.broadcast_to((2, *x.shape)), lambda x: np.broadcast_to(x, (2, *x.shape)), EACH),
    shaped("ravel", lambda x: x.ravel(), None, EACH),
    shaped("flatten:some", lambda x: x.flatten(1), lambda x: x.reshape(x.shape[0], -1), TENSORS[:3]),
    shaped("unflatten", lambda x: x.unflatten(-1, (2, -1)), lambda x: x.reshape(3, 2, -1), [[(3, 4)], [(3, 14)]]),
    shaped("t", lambda x: x.t(), lambda x: x.T, [[(2, 3)], [(3,)], [()], [(0, 3)]]),
    shaped("moveaxis", lambda x: x.moveaxis((0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0)), TENSORS),
    shaped("squeeze:several", lambda x: x.squeeze((0, 2)), lambda x: x.reshape(x.shape[1:2]), [[(1, 3, 1)]]),
    shaped("select", lambda x: x.select(1, -1), lambda x: x[:, -1], MATRICES),
    shaped("narrow", lambda x: x.narrow(-1, 0, 1), lambda x: x[..., :1], MATRICES),
    *(
        shaped(f"diagonal:{k}", lambda x, k=k: x.diagonal(k), lambda x, k=k: np.diagonal(x, k), MATRICES)
        for k in (0, 1, -1, 9)
    ),
    shaped("diagonal:dims", lambda x: x.diagonal(1, 2, 0), lambda x: np.diagonal(x, 1, 2, 0), TENSORS),
    *(
        shaped(f"unfold:{n}_{k}", lambda x, n=n, k=k: x.unfold(1, n, k), lambda x, n=n, k=k: windows(x, 1, n, k), s)
        for n, k in ((3, 1), (2, 2), (3, 2), (2, 4), (1, 1))
        for s in ([[(2, 5)], [(3, 7)], [(2, 4, 3)]],)
    ),
    shaped(
        "as_strided",
        lambda x: x.clone().as_strided((2, 3), (2, 1), 1),
        lambda x: np.stack([x.reshape(-1)[1:4], x.reshape(-1)[3:6]]),
        [[(2, 3)], [(5, 7)]],
    ),
    *part("unbind", lambda x: x.unbind(1), lambda x: np.moveaxis(x, 1, 0), 7),
    *part("split", lambda x: x.split(3, 1), lambda x: np.split(x, [3, 6], 1), 3),
    *part("split:list", lambda x: x.split([2, 0, 5], -1), lambda x: np.split(x, [2, 2], 1), 3),
    *part("split_with_sizes", lambda x: x.split_with_sizes([4, 1]), lambda x: np.split(x, [4]), 2),
    *part("chunk", lambda x: x.chunk(3, 1), lambda x: np.split(x, [3, 6], 1), 3),
    *part("tensor_split", lambda x: x.tensor_split(3, 1), lambda x: np.array_split(x, 3, 1), 3),
    *part("tensor_split:at", lambda x: x.tensor_split((1, 1, 4)), lambda x: np.split(x, [1, 1, 4]), 4),
    *part("hsplit", lambda x: x.hsplit([2]), lambda x: np.hsplit(x, [2]), 2),
    *part("vsplit", lambda x: x.vsplit([2]), lambda x: np.vsplit(x, [2]), 2),
    *(
        shaped(name, lambda x, n=name: getattr(sg, n)(x), lambda x, n=name: getattr(np, n)(x), [[()], [(3,)], [(2, 3)]])
        for name in ("atleast_1d", "atleast_2d")
    ),
    shaped(
        "atleast_3d",
        lambda x: x.atleast_3d(),
        lambda x: x.reshape({0: (1, 1, 1), 1: (1, -1, 1), 2: (*x.shape, 1)}[x.ndim]),
        [[()], [(3,)], [(2, 3)]],
    ),
    shaped(
        "broadcast_tensors",
        lambda a, b: sg.broadcast_tensors(a, b)[0],
        lambda a, b: np.broadcast_arrays(a, b)[0],
        [[(2, 1), (3,)], [(), (2, 3)]],
    ),
    *(
        shaped(f"cat:{d}", lambda a, b, d=d: sg.cat([a, b, a], d), lambda a, b, d=d: np.concatenate([a, b, a], d), s)
        for d, s in (
            (0, [[(2, 3), (5, 3)], [(1, 1), (0, 1)], [(3,), (4,)], [(129, 3), (65, 3)]]),
            (-1, [[(2, 3), (2, 5)], [(1, 1), (1, 0)], [(3, 2, 1), (3, 2, 2)]]),
        )
    ),
    shaped("cat:one", lambda x: sg.cat([x]), lambda x: x),
    shaped(
        "cat:many",
        lambda a, b: sg.cat([a, b, a, b, a], dim=1),
        lambda a, b: np.concatenate([a, b, a, b, a], 1),
        [[(2, 1), (2, 2)]],
    ),
    *(
        shaped(f"stack:{d}", lambda a, b, d=d: sg.stack([a, b, a], d), lambda a, b, d=d: np.stack([a, b, a], d), TWO)
        for d in (0, 1, -1)
    ),
    shaped("stack", lambda a, b: sg.stack((a, b)), lambda a, b: np.stack((a, b)), [[(), ()], [(0,), (0,)]]),
    *(
        shaped(
            name,
            lambda a, b, n=name: getattr(sg, n)((a, b)),
            lambda a, b, n=name: getattr(np, n)((a, b)),
            [[(2, 3), (2, 3)], [(3,), (3,)], [(), ()]],
        )
        for name in ("hstack", "vstack", "dstack")
    ),
    shaped("block_diag", sg.block_diag, block_diagonal, [[(2, 3), (1, 2)], [(1, 1), (1, 1)]]),
    *(
        shaped(
            f"meshgrid:{how}_{i}",
            lambda a, b, i=i, h=how: sg.meshgrid(a, b, indexing=h)[i],
            lambda a, b, i=i, h=how: np.meshgrid(a, b, indexing=h)[i],
            [[(2,), (3,)], [(7,), (1,)]],
        )
        for how in ("ij", "xy")
        for i in (0, 1)
    ),
    shaped(
        "cartesian_prod",
        sg.cartesian_prod,
        lambda a, b: np.stack([np.repeat(a, b.size), np.tile(b, a.size)], 1),
        [[(2,), (3,)]],
    ),
    shaped("repeat", lambda x: x.repeat(2, 1, 3), lambda x: np.tile(x, (2, 1, 3)), [[(2, 3)], [(3,)], [()], [(7, 5)]]),
    shaped("repeat:none", lambda x: x.repeat(0, 2), lambda x: np.tile(x, (0, 2)), [[(2, 3)], [(3,)]]),
    shaped("tile", lambda x: x.tile(2), lambda x: np.tile(x, 2), EACH),
    shaped("repeat_interleave", lambda x: x.repeat_interleave(3), lambda x: np.repeat(x, 3), EACH),
    shaped("repeat_interleave:1", lambda x: x.repeat_interleave(2, 1), lambda x: np.repeat(x, 2, 1), MATRICES),
    shaped("flip", lambda x: x.flip(0), lambda x: np.flip(x, 0), EACH[:1] + EACH[2:]),
    shaped("flip:several", lambda x: sg.flip(x, (0, -1)), lambda x: np.flip(x, (0, -1)), TENSORS),
    shaped("fliplr", sg.fliplr, np.fliplr),
    shaped("flipud", sg.flipud, np.flipud),
    shaped("roll", lambda x: x.roll(2), lambda x: np.roll(x, 2), EACH),
    shaped("roll:dims", lambda x: x.roll((1, -2), (0, 1)), lambda x: np.roll(x, (1, -2), (0, 1)), MATRICES),
    *(shaped(f"rot90:{k}", lambda x, k=k: x.rot90(k), lambda x, k=k: np.rot90(x, k)) for k in (0, 1, 2, 3, -1)),
    shaped("rot90:dims", lambda x: x.rot90(1, (2, 0)), lambda x: np.rot90(x, 1, (2, 0)), TENSORS),
    *(
        shaped(
            f"pad:{mode}",
            lambda x, m=mode, w=width: sg.pad(x, w, m),
            lambda x, m=how, w=width: torch_pad(x, w, m),
            [[(3, 4)], [(5, 7)], [(2, 3, 3)]],
        )
        for mode, how, width in (
            ("constant", "constant", (1, 2, 0, 3)),
            ("reflect", "reflect", (2, 1, 0, 1)),
            ("replicate", "edge", (1, 4, 2, 0)),
            ("circular", "wrap", (2, 3, 1, 0)),
        )
    ),
    shaped(
        "pad:value", lambda x: sg.pad(x, (1, 0), value=1), lambda x: torch_pad(x, (1, 0), "constant", constant_values=1)
    ),
    shaped("pad:cut", lambda x: sg.pad(x, (-1, 2)), lambda x: torch_pad(x[..., 1:], (0, 2), "constant"), MATRICES),
    *(
        shaped(
            f"diag:{k}", lambda x, k=k: x.diag(k), lambda x, k=k: np.diag(x, k), [[(3,)], [(1,)], [(2, 3)], [(5, 2)]]
        )
        for k in (0, 1, -2)
    ),
    *(
        shaped(
            f"diag_embed:{k}",
            lambda x, k=k: x.diag_embed(k),
            lambda x, k=k: embedded_diagonals(x, k),
            [[(3,)], [(2, 3)], [(2, 1, 4)]],
        )
        for k in (0, 2, -1)
    ),
    *(shaped(f"tril:{k}", lambda x, k=k: x.tril(k), lambda x, k=k: np.tril(x, k), MATRICES) for k in (0, 1, -2)),
    *(shaped(f"triu:{k}", lambda x, k=k: x.triu(k), lambda x, k=k: np.triu(x, k), MATRICES) for k in (0, 1, -2)),
    Row(
        "tril_indices",
        lambda x: sg.tril_indices(4, 3, 1, device=x.device),
        lambda x: np.stack(np.tril_indices(4, 1, 3)),
        [[(1,)]],
        INTEGERS,
        differentiable=False,
    ),
    Row(
        "triu_indices",
        lambda x: sg.triu_indices(4, 3, -1, device=x.device),
        lambda x: np.stack(np.triu_indices(4, -1, 3)),
        [[(1,)]],
        INTEGERS,
        differentiable=False,
    ),
    Row(
        "masked_fill",
        lambda x: x.masked_fill(x > 0, 2),
        lambda x: np.where(x > 0, np.asarray(2, x.dtype), x),
        EACH,
        NUMBERS,
        kinks=(0.0,),
    ),
    Row(
        "one_hot",
        lambda x: sg.one_hot(x, 4),
        lambda x: (x[..., None] == np.arange(4)).astype(np.int64),
        EACH,
        INTEGERS,
        ((0, 3),),
        differentiable=False,
    ),
    shaped("diff:none", lambda x: x.diff(0), lambda x: x),
    Row("diff", lambda x: x.diff(), np.diff, MATRICES, NUMBERS, ulp=0.5),
    Row("diff:2", lambda x: x.diff(2, 0), lambda x: np.diff(x, 2, 0), [[(5, 7)], [(3, 1)]], NUMBERS, bound=relative(4)),
    Row(
        "diff:ends",
        lambda x: x.diff(prepend=x, append=x[..., :1]),
        lambda x: np.diff(x, prepend=x, append=x[..., :1]),
        [[(2, 3)]],
        NUMBERS,
        ulp=0.5,
    ),
]
