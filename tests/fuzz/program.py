"""Programs as text: lines of Python over a library `t` with PyTorch's names, run on one backend or another.

A line may use `t`, `F` (the floating type), `D` (the device), `B` (the batch size of this run), `n0` ... (numbers) and
`k0` ... (offsets), which are others in each run, and the functions of `Run` that are given to it. So one text is a
program of spirograd on each device and of PyTorch, and can be copied into a file to look at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import spirograd as sg

Array = np.ndarray[Any, Any]
NUMBERS = (0.5, -1.5, 2.0, 0.25, 1.75, -0.5, 1.25)
REPLAYS = 4  # calls of a compiled step
TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Program:
    """`lines` run as they are; or, with `given`, they are the body of a step, a function of these leaves (name, text)
    that runs after the lines `before`, several times, compiled where the library can."""

    seed: int
    lines: tuple[str, ...]
    runs: int = 1
    batches: tuple[int, ...] = (3,)
    before: tuple[str, ...] = ()
    given: tuple[tuple[str, str], ...] = ()
    families: tuple[str, ...] = ()  # of the statements that were drawn

    def text(self) -> str:
        if not self.given:
            return "\n".join([*self.before, *self.lines])
        names, leaves = zip(*self.given, strict=True)
        return "\n".join(
            [
                *self.before,
                "@compiled",
                f"def step({', '.join(names)}):",
                *(f"    {line}" for line in self.lines),
                "    return kept()",
                f"replay(step, lambda: ({', '.join(leaves)},))",
            ]
        )


@dataclass(frozen=True)
class Backend:
    name: str
    t: Any  # spirograd or torch
    device: Any
    double: bool = False
    fuse: bool = True

    @contextmanager
    def set_up(self) -> Iterator[None]:
        before = os.environ.get("SPIROGRAD_FUSE")
        os.environ["SPIROGRAD_FUSE"] = "1" if self.fuse else "0"
        try:
            yield
        finally:
            if before is None:
                del os.environ["SPIROGRAD_FUSE"]
            else:
                os.environ["SPIROGRAD_FUSE"] = before


def array_of(x: Any) -> Array:
    """A copy of a tensor of either library; floating ones in float64."""
    x = x.detach().cpu()
    if x.dtype.is_floating_point:
        x = x.to(sg.float64 if isinstance(x, sg.Tensor) else __import__("torch").float64)
    return np.array(x.numpy(), copy=True)


@dataclass
class Run:
    """One run of a program, and what its lines may call."""

    program: Program
    backend: Backend
    number: int  # of the run: its data
    noise: float = 0.0  # added to floating data; with some, PyTorch rounds at random
    noise_seed: int = 0
    shown: list[Array | None] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)

    def random(self, key: int) -> np.random.Generator:
        return np.random.default_rng([self.program.seed, key, self.number])

    # ---- what lines call ---------------------------------------------------------------------------------------------
    def leaf(self, key: int, shape: Sequence[int], grad: bool = False) -> Any:
        values = self.random(key).integers(-16, 17, tuple(shape)) / 8
        if self.noise:
            values = values + self.noise * np.random.default_rng([self.noise_seed, key]).standard_normal(values.shape)
        x = self.backend.t.tensor(values, dtype=self.float_type(), device=self.backend.device)
        return x.requires_grad_() if grad else x

    def ints(self, key: int, shape: Sequence[int], high: int) -> Any:
        """Places below `high`: in memory, all the same, or made of a range, both of which nothing computes before."""
        t, random = self.backend.t, self.random(key)
        values = random.integers(0, high, tuple(shape))
        how = {"dtype": t.int64, "device": self.backend.device}
        match random.integers(4):
            case 0:
                return t.full(tuple(shape), int(random.integers(high)), **how)
            case 1:
                return (t.arange(values.size, **how).reshape(tuple(shape)) + int(random.integers(high))) % high
        return t.tensor(values, **how)

    def out(self, *tensors: Any) -> None:
        """Read now."""
        self.shown += [None if x is None else array_of(x) for x in tensors]

    def keep(self, *tensors: Any) -> None:
        """Held until the end, and read then."""
        self.held += tensors

    def grad(self, loss: Any, leaves: Sequence[Any], **options: Any) -> list[Any]:
        return list(self.backend.t.autograd.grad(loss, list(leaves), allow_unused=True, **options))

    def twice(self, loss: Any, leaves: Sequence[Any]) -> list[Any]:
        """Gradients, and those of the sum of their squares."""
        first = self.grad(loss, leaves, create_graph=True)
        ends = [(g * g).sum() for g in first if g is not None and g.requires_grad]
        return first + (self.grad(sum(ends[1:], ends[0]), leaves) if ends else [None for _ in leaves])

    def loop(self, step: Callable[[Any], Any], x: Any, rounds: int, every: bool = False) -> Any:
        """What a step makes of x in so many rounds; with `every` a sum of what each round made."""
        seen = []
        for _ in range(rounds):
            x = step(x)
            seen.append(x.sum())
        return self.backend.t.stack(seen) if every else x

    def distinct(self, x: Any) -> Any:
        """No two elements of what lies on a grid are equal: who is chosen among equals is not promised."""
        t = self.backend.t
        return x + t.arange(x.numel(), dtype=x.dtype, device=x.device).reshape(x.shape) * 2.0**-12

    def kept(self) -> list[Any]:
        held, self.held = self.held, []
        return [None if x is None else x.detach() for x in held]

    def replay(self, step: Callable[..., Any], given: Callable[[], Sequence[Any]]) -> None:
        """Calls a step several times, with other data."""
        for call in range(REPLAYS):
            self.number = call
            self.out(*step(*given()))

    def module(self, key: int, m: Any) -> Any:
        """The module with small parameters."""
        m = m.to(self.backend.device, self.float_type())
        with self.backend.t.no_grad():
            for i, p in enumerate(m.parameters()):
                p.copy_(self.leaf(1000 * key + i, p.shape) * 0.25)
        return m

    def gradients(self, *owners: Any) -> list[Any]:
        """The .grad of tensors, and of the parameters of modules."""
        return [p.grad for x in owners for p in (x.parameters() if hasattr(x, "parameters") else [x])]

    def calm(self, *owners: Any) -> None:
        """Gradients that may be rounding and nothing else are none: their signs are chance."""
        for g in self.gradients(*owners):
            if g is not None:
                g.masked_fill_(g.abs() < 2.0**-10, 0.0)

    def typed(self, x: Any) -> Any:
        """The tensor, whose type is shown."""
        self.shown.append(np.array(TYPES.index(str(x.dtype).rpartition(".")[2])))
        return x

    def pathwise(self, make: Callable[..., Any], *options: Any) -> Any:
        """0, whatever the noise was: F(sample, options) does not move with the options, so that
        density * d sample / d option + d F / d option = 0. Options have the shape of the sample. Not where rounding of
        the sample moves F, near 1 for example: backends draw other numbers, so that the reference has none there."""
        options = tuple(x.detach().clone().requires_grad_() for x in options)
        sample = make(*options).rsample()
        moves = self.grad(sample.sum(), options)
        place = sample.detach().clone().requires_grad_()
        density, *rest = self.grad(make(*options).cdf(place).sum(), (place, *options))
        total = sum(move * density + r for move, r in zip(moves, rest, strict=True))
        return total.masked_fill(density * place.detach().abs() * 2.0**-24 > 1e-6, 0.0)

    # ---- running -----------------------------------------------------------------------------------------------------
    def float_type(self) -> Any:
        return self.backend.t.float64 if self.backend.double else self.backend.t.float32

    def rounding(self) -> AbstractContextManager[object]:
        if not self.noise or hasattr(self.backend.t, "Device"):  # only PyTorch shows each of its operations
            return nullcontext()
        from rounding import Rounding

        return Rounding(self.noise_seed)

    def compiled(self, step: Callable[..., Any]) -> Callable[..., Any]:
        t = self.backend.t
        return t.compile(step) if hasattr(t, "Device") else step  # not PyTorch's

    def names(self) -> dict[str, Any]:
        random = self.random(1 << 20)
        batches = self.program.batches
        called = ("leaf", "ints", "out", "keep", "grad", "twice", "loop", "distinct", "kept", "compiled", "replay")
        called += ("module", "gradients", "calm", "typed", "pathwise")
        names = {name: getattr(self, name) for name in called}
        names |= {"t": self.backend.t, "F": self.float_type()}
        names |= {"D": self.backend.device, "B": batches[self.number % len(batches)]}
        names |= {f"n{i}": float(random.choice(NUMBERS)) for i in range(4)}
        names |= {f"k{i}": int(random.integers(0, 2)) for i in range(4)}
        return names

    def values(self) -> list[Array | None]:
        """Everything that the program shows, in order."""
        with self.backend.set_up(), self.rounding():
            self.backend.t.manual_seed(self.program.seed)
            exec(compile(self.program.text(), "program", "exec"), self.names())
            self.out(*self.held)
        return self.shown


def begin(seed: int, number: int, batches: tuple[int, ...] = (3,)) -> dict[str, Any]:
    """What a printed program begins with: the names that it uses, on the CPU; what is read is printed."""
    run = Run(Program(seed, (), batches=batches), Backend("CPU", sg, sg.Device.cpu()), number)
    return run.names() | {"out": lambda *tensors: print(*tensors, sep="\n")}


class Refused(Exception):
    """The program raised; the text says what."""


def run(program: Program, backend: Backend, number: int, noise: float = 0.0, noise_seed: int = 0) -> list[Array | None]:
    try:
        return Run(program, backend, number, noise, noise_seed).values()
    except (ValueError, TypeError, IndexError, RuntimeError, AttributeError, NotImplementedError, NameError) as error:
        raise Refused(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from error
