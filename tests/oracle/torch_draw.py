"""Parts of calls, drawn from bytes: shapes, values, types, layouts, dimensions; the table that makers enter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torch_oracle import FLOATS, HALVES, INTEGERS, Call, Given, Type

Shape = tuple[int, ...]
Maker = Callable[["Draw"], Any]
NARROW = ("int16", "int8", "uint8")
EVERY = (*FLOATS, *INTEGERS, "bool")
# float32 comes most often.
OFTEN = ("float32", "float32", "float32", *EVERY)
OFTEN_FLOAT = ("float32", "float32", "float32", *FLOATS)
SIZES = (0, 1, 1, 2, 3, 3, 5, 7)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 20.0, -20.0, 2.5, -1.5)
LIMITS = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in INTEGERS}


class Draw:
    """Draws parts of calls from bytes, of which smaller ones make simpler calls."""

    def __init__(self, source: bytes) -> None:
        self.source = iter(source)

    def below(self, n: int) -> int:
        return next(self.source, 0) % n

    def twenty(self) -> int:
        return self.below(20)

    def seed(self) -> int:
        return self.below(256) * 256 + self.below(256)

    def pick(self, *options: Any) -> Any:
        return options[self.below(len(options))]

    def rarely(self) -> bool:
        return bool(self.twenty() == 19)

    def often(self) -> bool:
        return bool(self.twenty() % 2)

    def shape(self, low: int = 0, high: int = 3, sizes: tuple[int, ...] = SIZES) -> Shape:
        return tuple(self.pick(*sizes) for _ in range(self.pick(*range(low, high + 1))))

    def values(self, shape: Shape, dtype: str, special: bool, low: float, high: float) -> Any:
        random = np.random.default_rng(self.seed())
        if dtype == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if dtype in INTEGERS:
            bounds = LIMITS[dtype]
            values = random.integers(max(int(low), bounds[0]), int(high) + 1, shape)
            if special:
                extremes = np.array([*bounds, 0, 1, bounds[1] - 1], dtype=np.int64)
                values = np.where(random.random(shape) < 0.3, random.choice(extremes, shape), values)
            return np.asarray(values, np.int64)
        values = np.round(random.uniform(low, high, shape) * 8) / 8  # every type holds them; equal ones meet
        if special:
            values = np.where(random.random(shape) < 0.5, random.choice(np.array(SPECIAL), shape), values)
        return np.asarray(values, np.float64)

    def tensor(
        self,
        shape: Shape | None = None,
        dtypes: Sequence[str] = OFTEN,
        special: bool | None = None,
        low: float = -3.0,
        high: float = 3.0,
        grad: bool = True,
    ) -> Given:
        shape = self.shape() if shape is None else shape
        dtype = self.pick(*dtypes)
        special = self.twenty() > 14 if special is None else special
        values = self.values(shape, dtype, special, low, high)
        layout = self.pick("plain", "plain", "transposed", "strided", "repeated")
        if layout == "repeated" and shape and shape[0]:
            values = np.repeat(values[:1], shape[0], axis=0)
        return Given(values, dtype, layout, grad and dtype in FLOATS and not special and self.often())

    def index(self, shape: Shape, size: int, negative: bool = False, dtypes: Sequence[str] = ("int64",)) -> Given:
        """Places below `size`."""
        low = -size if negative else 0
        if size == 0:
            shape = tuple(0 for _ in shape) or (0,)
        given = self.tensor(shape, dtypes, False, low, max(size - 1, 0), False)
        return given

    def dim(self, rank: int) -> int:
        """Mostly one of the dimensions."""
        n = max(rank, 1)
        if self.rarely():
            return int(self.pick(-n - 1, n, n + 1)) if rank else 5
        return int(self.pick(*range(-n, n)))

    def dims(self, rank: int) -> Any:
        """One or several dimensions, or all."""
        kind = self.twenty()
        if kind < 5:
            return None
        if kind < 12:
            return self.dim(rank)
        return tuple(self.dim(rank) for _ in range(self.pick(0, 1, 2, 2, 3)))

    def number(self, beside: Given | None = None) -> Any:
        if self.often():
            n = self.pick(0, 1, 2, -1, 3, -2, 7, True)
            return abs(n) if beside is not None and beside.dtype in NARROW and n is not True else n
        return self.pick(0.5, 2.0, -1.5, 1.0, 0.0, -0.25, 3.5, 100.0, math.inf, math.nan)

    def broadcast(self, shape: Shape) -> Shape:
        """A shape that broadcasts to this one; seldom one that does not."""
        if self.rarely():
            return self.shape()
        cut = self.pick(*range(len(shape) + 1))
        return tuple(1 if self.twenty() > 14 else n for n in shape[cut:])


CALLS: dict[str, Maker] = {}
LOOSE: dict[str, float] = {}


def call(names: str, loose: float = 1.0) -> Callable[[Maker], Maker]:
    """Enters a maker of (arguments, keywords), or of a Call, under these names."""

    def enter(maker: Maker) -> Maker:
        for name in names.split():
            assert name not in CALLS, name
            CALLS[name] = maker
            LOOSE[name] = loose
        return maker

    return enter


def made(d: Draw, name: str) -> Call:
    """A call of this name."""
    out = CALLS[name](d)
    if isinstance(out, Call):
        out.name = name
        return fitting(out)
    arguments, keywords = out if isinstance(out, tuple) and len(out) == 2 and isinstance(out[1], dict) else (out, {})
    return fitting(Call(name, tuple(arguments), keywords))


def fitting(c: Call) -> Call:
    """Numbers that each type holds: what the others become is not what PyTorch says (docs/numerics.md), and halves of
    large whole numbers are infinite, or not, depending on the place where they are rounded."""
    givens = c.givens()
    if any(g.dtype in HALVES for g in givens):
        for g in givens:
            if g.dtype in INTEGERS:
                g.values = np.clip(g.values, -100, 100)
    if any(g.dtype in NARROW for g in givens):
        for g in givens:
            if g.dtype in INTEGERS and g.values.ndim == 0:
                g.values = np.clip(g.values, 0, 100)
    return tame(c)


def tame(c: Call) -> Call:
    """Gradients are compared where all numbers are ordinary."""
    wild = [x for x in (*c.arguments, *c.keywords.values()) if isinstance(x, float) and not abs(x) < 1e6]
    if wild or any(not np.all(np.abs(g.values.astype(np.float64)) < 1e4) for g in c.givens()):
        for g in c.givens():
            g.wants_grad = False
    return c


def pair(d: Draw, dtypes: Sequence[str] = OFTEN, low: float = -3.0, high: float = 3.0) -> tuple[Given, Given]:
    a = d.shape()
    b = d.broadcast(a)
    x, y = d.tensor(a, dtypes, None, low, high), d.tensor(b, dtypes, None, low, high)
    return (x, y) if d.often() else (y, x)


def keep(d: Draw) -> dict[str, Any]:
    return {"keepdim": True} if d.twenty() > 13 else {}


def distinct(d: Draw, x: Given) -> None:
    """No two values alike: which of equal ones comes first is not said."""
    x.values = np.random.default_rng(d.seed()).permutation(x.values.size).reshape(x.values.shape)
    if x.layout == "repeated":
        x.layout = "plain"
    if x.dtype == "bool":
        x.dtype = "int64"
    if x.dtype in FLOATS:
        x.values = x.values.astype(np.float64)


def along(d: Draw, x: Given) -> tuple[int, int]:
    """A dimension and its size."""
    dim = d.dim(x.values.ndim)
    return dim, x.values.shape[dim] if -x.values.ndim <= dim < x.values.ndim else 1


def place(d: Draw, n: int) -> int:
    return int(d.pick(0, n - 1, -1, -n, n // 2)) if not d.rarely() else int(d.pick(n, -n - 1))


def size(d: Draw) -> int:
    return int(d.pick(*SIZES))


def method(names: str) -> Callable[[Maker], Maker]:
    """The same, for methods."""

    def enter(maker: Maker) -> Maker:
        def of_tensor(d: Draw) -> Call:
            arguments, keywords = maker(d)
            return Call("", tuple(arguments), keywords, method=True)

        return call(names)(of_tensor)

    return enter


def written(x: Given) -> Given:
    """One that can be written to: no leaf that wants a gradient, no element in two places."""
    if x.wants_grad or x.layout == "repeated":
        x.layout = "copied"
    return x


def of_type(d: Draw) -> dict[str, Any]:
    return {"dtype": Type(d.pick(*EVERY))} if d.often() else {}


def wrong_or(d: Draw, index: Given, n: int, shape: Shape) -> Given:
    """Seldom an index that is out of range, if it points into something."""
    if d.rarely() and index.values.size and 0 not in shape:
        index.layout, index.values = "plain", np.array(index.values)
        index.values[...] = d.pick(n, -n - 1)
    return index
