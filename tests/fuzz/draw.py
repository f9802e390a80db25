"""Draws programs: line after line, each tried at once on a reference, so that the next one knows all shapes.

VALUES and WRITES are the tables of statements.py. An entry is a function of a `Drawing` that gives the text of the
right side of a line, or of the whole line for writes in place; None or LookupError where nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from program import Backend, Program, Run, array_of

LARGEST = 400.0  # magnitude of a value
MOST = 3000  # elements of a value

Statement = Callable[["Drawing"], "str | None"]
VALUES: list[tuple[int, Statement]] = []  # weight, what a new name is bound to
WRITES: list[tuple[int, Statement]] = []  # whole lines


def value(weight: int) -> Callable[[Statement], Statement]:
    return lambda f: (VALUES.append((weight, f)), f)[1]


def write(weight: int) -> Callable[[Statement], Statement]:
    return lambda f: (WRITES.append((weight, f)), f)[1]


class Drawing:
    def __init__(self, seed: int, reference: Backend) -> None:
        self.random = np.random.default_rng([seed, 1 << 21])
        self.seed, self.reference = seed, reference
        self.lines: list[str] = []
        self.run = Run(Program(seed, ()), reference, 0)
        self.names = self.run.names()
        self.made: list[str] = []  # names of tensors
        self.leaves: list[str] = []  # those that want gradients
        self.given: set[str] = set()  # all leaves
        self.roots: dict[str, str] = {}  # whose memory a name may share
        self.keys = self.names_given = 0

    # ---- chance ------------------------------------------------------------------------------------------------------
    def below(self, n: int) -> int:
        return int(self.random.integers(n))

    def maybe(self, chance: float) -> bool:
        return bool(self.random.random() < chance)

    def pick(self, *options: Any) -> Any:
        return options[self.below(len(options))]

    def number(self) -> str:
        return self.pick("n0", "n1", "n2", "n3", "0.5", "2.0", "-1.0")  # type: ignore[no-any-return]

    # ---- what is there -----------------------------------------------------------------------------------------------
    def tensor(self, name: str) -> Any:
        return self.names[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.tensor(name).shape)

    def is_float(self, name: str) -> bool:
        return bool(self.tensor(name).dtype.is_floating_point)

    def pick_value(
        self, low: int = 0, high: int = 8, floats: bool = True, fits: Callable[[str], bool] | None = None
    ) -> str:
        """The name of a tensor of so many dimensions; later ones more often. LookupError where there is none."""
        found = [n for n in self.made if low <= len(self.shape(n)) <= high and (not floats or self.is_float(n))]
        found = [n for n in found if fits is None or fits(n)]
        if not found:
            raise LookupError
        return found[max(self.below(len(found)), self.below(len(found)))]

    def is_leaf(self, name: str) -> bool:
        return name in self.given

    def like(self, name: str) -> str:
        """A tensor that broadcasts with that one."""

        def fits(other: str) -> bool:
            try:
                return np.broadcast_shapes(self.shape(name), self.shape(other)) is not None
            except ValueError:
                return False

        return self.pick_value(fits=fits)

    def dim(self, name: str) -> int:
        rank = len(self.shape(name))
        d = self.below(rank)
        return d - rank if self.maybe(0.3) else d

    def dims(self, name: str) -> tuple[int, ...]:
        rank = len(self.shape(name))
        return tuple(d for d in range(rank) if self.maybe(0.5)) or (self.below(rank),)

    def new_name(self) -> str:
        self.names_given += 1
        return f"v{self.names_given - 1}"

    def key(self) -> int:
        self.keys += 1
        return self.keys

    def part(self, name: str, full: bool = False) -> str:
        """An index: slices with offsets and steps, numbers, None, and sometimes a list of places."""
        parts = []
        for n in self.shape(name):
            kind = self.below(10)
            if kind < 4 or n == 0 or full:
                parts.append(":")
            elif kind < 5 and n > 1:
                parts.append("k0:k0 - 1" if n > 2 and self.maybe(0.5) else "k1:")
                parts[-1] = "k0:" if parts[-1] == "k1:" else f"k0:k0 + {n - 1}"
            elif kind < 7:
                start = self.below(n)
                step = self.pick(1, 1, 2, 3)
                stop = start + 1 + self.below(n - start)
                parts.append(f"{start}:{stop}:{step}" if step > 1 else f"{start}:{stop}")
            elif kind < 8:
                parts.append(f"{start}:" if (start := self.below(n)) else f":{1 + self.below(n)}")
            else:
                parts.append(str(self.below(n) - (n if self.maybe(0.3) else 0)))
        if self.maybe(0.1):
            parts.insert(self.below(len(parts) + 1), "None")
        return f"{name}[{', '.join(parts) or '...'}]"

    def places(self, count: int, high: int) -> str:
        return f"ints({self.key()}, ({count},), {high})"

    def overlaps(self, name: str) -> bool:
        """Some element of its memory is seen more than once."""
        x = self.tensor(name)
        stride = x.stride()
        at = np.zeros(tuple(x.shape), np.int64)
        for d, n in enumerate(x.shape):
            at += (np.arange(n) * stride[d]).reshape(-1, *[1] * (at.ndim - d - 1))
        return len(np.unique(at)) < at.size

    def wants_gradient(self, name: str) -> bool:
        try:
            return self.is_float(name) and bool(self.tensor(name).requires_grad)
        except RuntimeError:  # a view made under no_grad() whose base was written since
            return False

    # ---- making lines ------------------------------------------------------------------------------------------------
    def try_line(self, line: str) -> bool:
        try:
            with self.reference.set_up():
                exec(line, self.names)
        except (ValueError, TypeError, IndexError, RuntimeError, AttributeError, NotImplementedError):
            return False
        self.lines.append(line)
        return True

    def fits(self, name: str) -> bool:
        x = self.tensor(name)
        if x.numel() > MOST:
            return False
        a = array_of(x)
        return not a.size or a.dtype.kind != "f" or bool(np.isfinite(a).all() and np.abs(a).max() <= LARGEST)

    def add_value(self, text: str, sources: tuple[str, ...] = ()) -> str | None:
        name = self.new_name()
        if not self.try_line(f"{name} = {text}"):
            return None
        if not hasattr(self.names[name], "shape") or not self.fits(name):
            self.lines.pop()
            del self.names[name]
            return None
        self.name_it(name, text)
        return name

    def name_it(self, name: str, text: str) -> None:
        words = [w for w in self.made if f"{w}." in text or f"{w}[" in text or f"{w})" in text or f"{w}," in text]
        self.roots[name] = self.root(words[0]) if words else name
        self.made.append(name)

    def root(self, name: str) -> str:
        while self.roots.get(name, name) != name:
            name = self.roots[name]
        return name

    def add_leaf(self, grad: bool) -> None:
        rank = self.pick(0, 1, 1, 2, 2, 2, 3, 3, 4)
        sizes = [str(self.pick(1, 2, 2, 3, 3, 4, 5, 7)) for _ in range(rank)]
        if rank and self.maybe(0.3):
            sizes[0] = "B"
        if rank == 1 and self.maybe(0.1):
            sizes[0] = str(self.pick(0, 33, 130, 1025))
        shape = f"({', '.join(sizes)}{',' if rank == 1 else ''})"
        name = self.add_value(f"leaf({self.key()}, {shape}{', True' if grad else ''})")
        if name:
            self.given.add(name)
        if name and grad:
            self.leaves.append(name)

    def add_statement(self, table: list[tuple[int, Statement]]) -> bool:
        weights = np.array([w for w, _ in table], float)
        statement = table[int(self.random.choice(len(table), p=weights / weights.sum()))][1]
        try:
            text = statement(self)
        except LookupError:
            return False
        if text is None:
            return False
        if table is VALUES:
            if self.maybe(0.08):
                name = self.new_name()
                if not self.try_line(f"with t.no_grad(): {name} = {text}"):
                    return False
                if not hasattr(self.names[name], "shape") or not self.fits(name):
                    self.lines.pop()
                    return False
                self.name_it(name, text)
                return True
            return self.add_value(text) is not None
        if not self.try_line(text):
            return False
        if all(self.fits(n) for n in self.made):
            return True
        self.made = []  # what was written is too large: nothing sensible comes after it
        return False


def draw(seed: int, reference: Backend) -> Program:
    d = Drawing(seed, reference)
    compiled = d.maybe(0.12)
    for _ in range(1 + d.below(3)):
        d.add_leaf(grad=not compiled and d.maybe(0.5))
    if compiled:
        return draw_step(d)
    wanted = 3 + d.below(23)
    for _ in range(4 * wanted):
        if len(d.lines) >= wanted or not d.made:
            break
        chance = d.random.random()
        if chance < 0.05:
            d.add_leaf(grad=d.maybe(0.4))
        elif chance < 0.10:
            d.try_line(f"out({d.pick_value(floats=False)})")
        elif chance < 0.13 and len(d.made) > 2:
            d.made.remove(name := d.pick(*d.made))
            d.try_line(f"del {name}")
        elif chance < 0.30:
            d.add_statement(WRITES)
        else:
            d.add_statement(VALUES)
    finish(d)
    runs = 3 if d.maybe(0.4) else 1
    return Program(seed, tuple(d.lines), runs, (3, 3, 4) if d.maybe(0.5) else (3,))


def finish(d: Drawing) -> None:
    """Gradients, sometimes twice; some values are held to the end."""
    held = [n for n in d.made if d.maybe(0.5)] or d.made[-1:]
    want = [n for n in d.made if d.wants_gradient(n)]
    leaves = [n for n in d.leaves if n in d.made]
    if want and leaves and d.maybe(0.75):
        ends = {want[max(d.below(len(want)), d.below(len(want)))] for _ in range(2)}
        terms = [f"({n} * {d.number()}).sum()" if d.maybe(0.5) else f"({n} * {n}).mean()" for n in sorted(ends)]
        if not d.try_line(f"loss = {' + '.join(terms)}"):
            return
        what = "twice" if d.maybe(0.25) else "grad"
        if any("logcumsumexp" in line for line in d.lines):  # PyTorch's second gradient of it is NaN, or wrong
            what = "grad"
        if d.maybe(0.3):
            d.try_line(f"keep({', '.join(held)})")
            held = []
        d.try_line(f"keep(*{what}(loss, [{', '.join(leaves)}]))")
    if held:
        d.try_line(f"keep({', '.join(held)})")


def draw_step(d: Drawing) -> Program:
    """A step of an optimiser over leaves that it is given, called several times."""
    given = tuple((line.split(" = ")[0], line.split(" = ")[1].replace("B", "3")) for line in d.lines)
    d.lines.clear()
    shape = d.pick((3,), (2, 3), (3, 4), (4, 1), ())
    d.add_value(f"leaf({d.key()}, {shape}, True)")
    d.leaves = d.made[-1:]
    if not d.made or not d.leaves:
        return Program(d.seed, ("pass",))
    p = d.leaves[0]
    rule = d.pick("SGD([{}], lr=0.125)", "SGD([{}], lr=0.125, momentum=0.5)", "Adam([{}], lr=0.125)")
    d.try_line(f"opt = t.optim.{rule.format(p)}")
    before = tuple(d.lines)
    d.lines.clear()
    d.lines.append("pass")
    wanted = 3 + d.below(12)
    for _ in range(3 * wanted):
        if len(d.lines) >= wanted or not d.made:
            break
        d.add_statement(WRITES if d.maybe(0.15) else VALUES)
    held = [n for n in d.made if n != p and d.maybe(0.5)]
    want = [n for n in d.made if d.wants_gradient(n) and n != p]
    if want and d.try_line(f"loss = ({want[-1]} * {want[-1]}).mean() + ({p} * {p}).sum() * 0.125"):
        for line in ("opt.zero_grad()", "loss.backward()", "opt.step()", f"keep({p}.grad)"):
            d.try_line(line)
    d.try_line(f"keep({', '.join([*held, p])})")
    return Program(d.seed, tuple(d.lines), before=before, given=given)
