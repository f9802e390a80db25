"""Calls of creation and conversion, and of functions of neural networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from torch_draw import EVERY, OFTEN_FLOAT, Draw, Maker, call, method, of_type, written, wrong_or
from torch_oracle import FLOATS, HALVES, Given, Type

# ---- creation --------------------------------------------------------------------------------------------------------


@call("arange")
def arange(d: Draw) -> Any:
    numbers = (0, 1, 5, -3, 7, 2.5, -1.5, 10.0, 0.1)
    kind = d.pick(1, 2, 3)
    steps = (1, 2, -1, 0.5, 0, 3, -0.25)
    more = of_type(d)
    if more and more["dtype"].name in (*HALVES, "bool", "uint8"):
        more = {}
    return [d.pick(*numbers) for _ in range(min(kind, 2))] + ([d.pick(*steps)] if kind == 3 else []), more


@call("linspace")
def linspace(d: Draw) -> Any:
    more = of_type(d)
    if more and more["dtype"].name == "uint8":
        more = {}
    return [d.pick(0, 1, -2, 2.5), d.pick(0, 5, -7, 3.5), d.pick(0, 1, 2, 3, 7, -1)], more


@call("logspace", loose=4)
def logspace(d: Draw) -> Any:
    more = {"dtype": Type(d.pick("float32", "float64"))} if d.often() else {}
    return [
        d.pick(0, 1, -2, 0.5),
        d.pick(0, 2, -1, 1.5),
        d.pick(0, 1, 2, 5),
        *([d.pick(2, 2.5, 10)] if d.often() else []),
    ], more


@call("eye")
def eye(d: Draw) -> Any:
    return [d.pick(0, 1, 3, 5, -1), *([d.pick(0, 1, 4)] if d.often() else [])], of_type(d)


@call("zeros ones")
def zeros(d: Draw) -> Any:
    return [d.shape()], of_type(d)


@call("full")
def full(d: Draw) -> Any:
    return [d.shape(), d.pick(0, 1, 2.5, -1, True, 0.5, math.inf)], exact(d, of_type(d))


def exact(d: Draw, more: dict[str, Any]) -> dict[str, Any]:
    """Numbers that do not fit a type have no meaning there."""
    return more if not more or more["dtype"].name in FLOATS else {}


@call("zeros_like ones_like")
def zeros_like(d: Draw) -> Any:
    return [d.tensor()], of_type(d)


@call("full_like")
def full_like(d: Draw) -> Any:
    return [d.tensor(dtypes=(*OFTEN_FLOAT, "bool", "int64", "int32")), d.pick(0, 1, 2.5, True, 0.5, -2)], of_type(
        d
    ) if d.rarely() else {}


@method("new_zeros new_ones")
def new_zeros(d: Draw) -> Any:
    return [d.tensor(), d.shape()], of_type(d)


@method("new_full")
def new_full(d: Draw) -> Any:
    return [d.tensor(dtypes=(*OFTEN_FLOAT, "bool", "int64", "int32")), d.shape(), d.pick(0, 1, 2.5, True, 0.5)], {}


@method("new_tensor")
def new_tensor(d: Draw) -> Any:
    return [d.tensor(dtypes=(*OFTEN_FLOAT, "int64")), d.pick(1, [1, 2], [1.5], [[1.0], [2.0]], [], True)], of_type(
        d
    ) if d.rarely() else {}


@method("float double half bfloat16 int long short char byte bool cpu tolist numel nelement dim ndimension "
        "element_size is_floating_point is_signed is_complex size is_contiguous")  # fmt: skip
def plain_method(d: Draw) -> Any:
    return [d.tensor(special=False, low=0)], {}


@method("stride")
def stride(d: Draw) -> Any:
    return [d.tensor(d.shape(sizes=(2, 3, 5)))], {}


@method("to")
def to(d: Draw) -> Any:
    other = d.tensor((), grad=False)
    return [d.tensor(special=False, low=0), d.pick(Type(d.pick(*EVERY)), "cpu", other)], {
        "copy": True
    } if d.often() else {}


@method("type_as")
def type_as(d: Draw) -> Any:
    return [d.tensor(special=False, low=0), d.tensor((), grad=False)], {}


@method("item")
def item(d: Draw) -> Any:
    return [d.tensor(d.pick((), (1,), (1, 1), (2,), (0,)))], {}


@method("copy_")
def copy_(d: Draw) -> Any:
    x = d.tensor()
    return [written(x), d.tensor(d.broadcast(x.values.shape), special=False, low=0)], {}


@method("fill_")
def fill_(d: Draw) -> Any:
    x = written(d.tensor(dtypes=(*OFTEN_FLOAT, "bool", "int64", "int32")))
    return [x, d.pick(0, 1, 2.5, True, 0.5, -2) if d.often() else d.tensor((), special=False, low=0, grad=False)], {}


@method("zero_")
def zero_(d: Draw) -> Any:
    return [written(d.tensor())], {}


@call("result_type")
def result_type(d: Draw) -> Any:
    kind = d.twenty()
    return (d.tensor(), d.tensor()) if kind < 10 else (d.tensor(), d.number())


@call("promote_types can_cast")
def promote_types(d: Draw) -> Any:
    return Type(d.pick(*EVERY)), Type(d.pick(*EVERY))


@call("broadcast_shapes")
def broadcast_shapes(d: Draw) -> Any:
    shape = d.shape()
    return [shape, d.broadcast(shape)]


@call("tensor as_tensor asarray")
def tensor(d: Draw) -> Any:
    values = d.pick(
        1,
        1.5,
        True,
        [1, 2],
        [1.0, 2],
        [[1, 2], [3, 4]],
        [],
        [[]],
        [True, False],
        [True, 2],
        [1, [2]],
        (1, 2),
        [[1], [2, 3]],
    )
    return [values], of_type(d)


# ---- neural networks -------------------------------------------------------------------------------------------------
@call("one_hot")
def one_hot(d: Draw) -> Any:
    x = d.index(d.shape(), 4, dtypes=("int64",) * 5 + ("int32", "float32"))
    return [x, *([d.pick(4, 5, 3, -1, 0)] if d.often() else [])]


@call("cross_entropy nll_loss", loose=4)
def cross_entropy(d: Draw) -> Any:
    n, c = d.pick(1, 2, 3, 5), d.pick(1, 2, 3, 5)
    more_dims = d.pick((), (), (2,), (2, 3))
    x = d.tensor((n, c, *more_dims), OFTEN_FLOAT, False)
    target = d.index((n, *more_dims), c)
    if d.rarely():
        target.values = np.where(
            np.arange(target.values.size).reshape(target.values.shape) % 2 == 0, -100, target.values
        )
        target.layout = "plain"
    if d.rarely():
        target = wrong_or(d, target, c, x.values.shape)
    more: dict[str, Any] = {"reduction": d.pick("mean", "sum", "none")} if d.often() else {}
    if d.often():
        more["weight"] = d.tensor((c,), (x.dtype,), False, 0.25, 3, grad=False)
    return [x, target], more


def window(d: Draw, n: int, wide: tuple[int, ...] = (1, 2, 3)) -> Any:
    return d.pick(*wide) if d.often() else tuple(d.pick(*wide) for _ in range(n))


def image(d: Draw, n: int, dtypes: Sequence[str] = OFTEN_FLOAT) -> Given:
    spatial = tuple(d.pick(3, 4, 5, 7, 1) for _ in range(n))
    lead = (d.pick(0, 1, 2) if d.rarely() else d.pick(1, 2), d.pick(1, 2, 4))
    return d.tensor((*(lead if d.twenty() < 15 else lead[1:]), *spatial), dtypes, False)


def pooling(n: int, average: bool) -> Maker:
    def maker(d: Draw) -> Any:
        x = image(d, n)
        kernel = window(d, n)
        more: dict[str, Any] = {}
        if d.often():
            more["stride"] = window(d, n)
        if d.often():
            more["padding"] = window(d, n, (0, 1, 1, 2))
        if d.often():
            more["ceil_mode"] = True
        if average and d.often():
            more["count_include_pad"] = False
        if not average and d.often():
            more["dilation"] = window(d, n, (1, 2))
            more.pop("padding", None)  # a window that lies in the padding: PyTorch reads what is beside the image
        return [x, kernel], more

    return maker


for n in (1, 2):
    call(f"avg_pool{n}d")(pooling(n, True))
    call(f"max_pool{n}d max_pool{n}d_with_indices")(pooling(n, False))


def convolution(n: int, transposed: bool) -> Maker:
    def maker(d: Draw) -> Any:
        groups = d.pick(1, 1, 2)
        channels, outputs = groups * d.pick(1, 2), groups * d.pick(1, 2, 3)
        dtype = d.pick(*OFTEN_FLOAT)
        batch = (d.pick(1, 2, 3),) if d.twenty() < 16 else ()
        x = d.tensor((*batch, channels, *(d.pick(3, 4, 5, 7) for _ in range(n))), (dtype,), False)
        kernel = tuple(d.pick(1, 2, 3) for _ in range(n))
        lead = (channels, outputs // groups) if transposed else (outputs, channels // groups)
        w = d.tensor((*(d.shape(2, 2, (1, 2, 3)) if d.rarely() else lead), *kernel), (dtype,), False)
        bias = d.tensor((outputs,), (dtype,), False) if d.often() else None
        more: dict[str, Any] = {"groups": groups}
        if d.often():
            more["stride"] = window(d, n, (1, 2, 3, 0) if d.rarely() else (1, 2, 3))
        if d.often():
            more["padding"] = window(d, n, (0, 1, 2)) if transposed or d.often() else d.pick("same", "valid", "what")
        if d.often():
            more["dilation"] = window(d, n, (1, 2))
        if transposed and d.often():
            more["output_padding"] = window(d, n, (0, 1))
        return [x, w, bias], more

    return maker


for n in (1, 2, 3):
    call(f"conv{n}d", loose=8)(convolution(n, False))
    if n < 3:
        call(f"conv_transpose{n}d", loose=8)(convolution(n, True))
