"""Draws programs: line after line, each tried at once on a reference, so that the next one knows all shapes.

VALUES and WRITES are tables that statements.py, gradients.py, training.py and types_and_chances.py fill. An entry is a
function of a `Drawing` that gives the text of the right side of a line, or of whole lines for writes in place; None or
LookupError where nothing fits. It belongs to a family, and the fuzzer says how much of what it draws each of them is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from program import Backend, Program, Run, array_of

LARGEST = 400.0  # magnitude of a value
MOST = 3000  # elements of a value
OF_STATE = ("modules", "training", "shared gradients")  # families that no step has
# With a large eps: a gradient that is rounding and nothing else must not become a step of full length. Rprop has none,
# so calm() comes before it.
OPTIMIZERS = (
    "SGD({}, lr=0.125)",
    "SGD({}, lr=0.125, momentum=0.5, nesterov=True, weight_decay=0.125)",
    "SGD({}, lr=0.125, momentum=0.5, dampening=0.25, maximize=True)",
    "Adam({}, lr=0.125, eps=0.125)",
    "Adam({}, lr=0.125, eps=0.125, amsgrad=True, weight_decay=0.125)",
    "AdamW({}, lr=0.125, eps=0.125)",
    "NAdam({}, lr=0.125, eps=0.125)",
    "RAdam({}, lr=0.125, eps=0.125)",
    "Adamax({}, lr=0.125, eps=0.125)",
    "Adagrad({}, lr=0.125, eps=0.125, lr_decay=0.25)",
    "Adadelta({}, lr=0.125, eps=0.125)",
    "RMSprop({}, lr=0.125, eps=0.125, momentum=0.5, centered=True)",
    "Rprop({}, lr=0.125)",
    "ASGD({}, lr=0.125, t0=2)",
    "Adafactor({}, lr=0.125, eps=(0.125, 0.001))",  # without: that of the type, and the reference has another one
)

Statement = Callable[["Drawing"], "str | None"]
Table = list[tuple[int, str, Statement]]  # weight, family, statement
VALUES: Table = []  # what a new name is bound to
WRITES: Table = []  # whole lines


def value(weight: int, family: str = "tensors") -> Callable[[Statement], Statement]:
    return entry(VALUES, weight, family)


def write(weight: int, family: str = "writes") -> Callable[[Statement], Statement]:
    return entry(WRITES, weight, family)


def entry(table: Table, weight: int, family: str) -> Callable[[Statement], Statement]:
    def add(statement: Statement) -> Statement:
        table.append((weight, family, statement))
        return statement

    return add


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
        self.modules: dict[str, Callable[[], str]] = {}  # names, and what gives the text of a call
        self.pulled: list[tuple[str, str, str]] = []  # gradients with a graph: of what, along what
        self.half = self.maybe(0.25)  # half types come in, and all is judged by their accuracy
        self.families: list[str] = []  # of the statements
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

    def new_name(self, kind: str = "v") -> str:
        self.names_given += 1
        return f"{kind}{self.names_given - 1}"

    def module(self) -> str:
        return self.pick(*self.known_modules())  # type: ignore[no-any-return]

    def known_modules(self) -> list[str]:
        found = [name for name in self.modules if name in self.names]
        if not found:
            raise LookupError
        return found

    def with_gradient(self) -> list[str]:
        """Leaves that have a .grad."""
        found = [n for n in self.leaves if n in self.made and self.tensor(n).grad is not None]
        if not found:
            raise LookupError
        return found

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
        except (ValueError, TypeError, IndexError, RuntimeError, AttributeError, NotImplementedError, NameError):
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

    def add_leaf(self, grad: bool, shape: tuple[int, ...] | None = None) -> str | None:
        if shape is not None:
            return self.add_given(str(shape), grad)
        rank = self.pick(0, 1, 1, 2, 2, 2, 3, 3, 4)
        sizes = [str(self.pick(1, 2, 2, 3, 3, 4, 5, 7)) for _ in range(rank)]
        if rank and self.maybe(0.3):
            sizes[0] = "B"
        if rank == 1 and self.maybe(0.1):
            sizes[0] = str(self.pick(0, 33, 130, 1025))
        return self.add_given(f"({', '.join(sizes)}{',' if rank == 1 else ''})", grad)

    def add_given(self, shape: str, grad: bool) -> str | None:
        name = self.add_value(f"leaf({self.key()}, {shape}{', True' if grad else ''})")
        if name:
            self.given.add(name)
        if name and grad:
            self.leaves.append(name)
        return name

    def add_statement(self, table: Table) -> bool:
        weights = np.array([w for w, _, _ in table], float)
        _, family, statement = table[int(self.random.choice(len(table), p=weights / weights.sum()))]
        try:
            text = statement(self)
        except LookupError:
            return False
        if text is None or not self.add_text(table, text):
            return False
        self.families += [family] * len(text.split("\n"))
        return True

    def add_text(self, table: Table, text: str) -> bool:
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
        if not all(self.try_line(line) for line in text.split("\n")):
            return False
        if all(self.fits(n) for n in self.made):
            return True
        self.made = []  # what was written is too large: nothing sensible comes after it
        return False


def draw(seed: int, reference: Backend) -> Program:
    d = Drawing(seed, reference)
    compiled = d.maybe(0.15)
    for _ in range(1 + d.below(3)):
        d.add_leaf(grad=not compiled and d.maybe(0.6))
    program = draw_step(d) if compiled else draw_lines(d)
    return replace(program, families=tuple(d.families))


def draw_lines(d: Drawing) -> Program:
    wanted = 6 + d.below(18)
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
        elif chance < 0.42:
            d.add_statement(WRITES)
        else:
            d.add_statement(VALUES)
    finish(d)
    runs = 3 if d.maybe(0.4) else 1
    return Program(d.seed, tuple(d.lines), runs, (3, 3, 4) if d.maybe(0.5) else (3,))


def finish(d: Drawing) -> None:
    """Gradients, sometimes twice; some values are held to the end."""
    held = [n for n in d.made if d.maybe(0.5)] or d.made[-1:]
    want = [n for n in d.made if d.wants_gradient(n)]
    leaves = [n for n in d.leaves if n in d.made]
    owners = [*leaves, *(n for n in d.modules if n in d.names)]
    if owners and d.maybe(0.9):
        d.try_line(f"keep(*gradients({', '.join(owners)}))")
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
    p = d.add_leaf(True, shape)
    q = d.add_leaf(True, shape) if d.maybe(0.4) else p
    if not p or not q:
        return Program(d.seed, ("pass",))
    both = ", ".join(dict.fromkeys((p, q)))
    d.try_line(f"opt = t.optim.{d.pick(*OPTIMIZERS).format(f'[{both}]')}")
    before = tuple(d.lines)
    d.lines.clear()
    d.lines.append("pass")
    wanted = 3 + d.below(16)
    for _ in range(3 * wanted):
        if len(d.lines) >= wanted or not d.made:
            break
        table = WRITES if d.maybe(0.2) else VALUES
        d.add_statement([row for row in table if row[1] not in OF_STATE])
    held = [n for n in d.made if n not in (p, q) and d.maybe(0.5)]
    want = [n for n in d.made if d.wants_gradient(n) and n not in (p, q)]
    end = f"({want[-1]} * {want[-1]}).mean() + " if want else ""
    if d.try_line(f"loss = {end}(({p} + {q}) * {p}).sum() * 0.125"):
        lines = [f"opt.zero_grad({d.pick('', 'set_to_none=False')})", "loss.backward()"]
        if d.maybe(0.3):
            lines.append(f"({p} + {q}).sin().sum().backward()")
        if d.maybe(0.3):
            lines.append(f"t.nn.utils.clip_grad_norm_([{both}], 0.5)")
        if "Rprop" in before[-1]:
            lines.append(f"calm({both})")
        for line in (*lines, f"keep({p}.grad)", "opt.step()"):
            d.families += ["replays"] * d.try_line(line)
    d.try_line(f"keep({', '.join([*held, *dict.fromkeys((p, q))])})")
    return Program(d.seed, tuple(d.lines), before=before, given=given)
