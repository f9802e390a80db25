"""The table of Module.summary()."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from ..base.grad_mode import no_grad
from ..base.tables import table_html

__all__ = ["Summary"]


class _Line(NamedTuple):
    depth: int
    name: str
    output: str
    parameters: int


class Summary:
    """A table of modules; print() shows it.

    Attributes:
        lines: the depth, the name, the shape of the output and the number of parameters of each module.
        parameters: the number of elements of all parameters, each counted once.
        trained: the number of those that have a gradient.
    """

    def __init__(self, lines: list[_Line], parameters: int, trained: int) -> None:
        self.lines, self.parameters, self.trained = lines, parameters, trained

    def _repr_html_(self) -> str:
        indented = ["\N{NO-BREAK SPACE}" * 4 * line.depth + line.name for line in self.lines]
        rows = [[name, line.output, f"{line.parameters:,}"] for name, line in zip(indented, self.lines, strict=True)]
        step = 1 if any(line.output for line in self.lines) else 2  # without the column of outputs
        headings = ["module", "output", "parameters"][::step]
        return table_html(
            f"parameters: {self.parameters:,}, trained: {self.trained:,}", headings, [row[::step] for row in rows]
        )

    def __repr__(self) -> str:
        names = [f"{'  ' * line.depth}{line.name}" for line in self.lines]
        first = max(len("module"), *map(len, names)) + 3
        second = max(len("output"), *(len(line.output) for line in self.lines)) + 3
        table = [f"{'module':{first}}{'output':{second}}parameters"]
        rule = "-" * len(table[0])
        table.append(rule)
        for name, line in zip(names, self.lines, strict=True):
            table.append(f"{name:{first}}{line.output:{second}}{line.parameters:>10,}")
        return "\n".join([*table, rule, f"parameters: {self.parameters:,}, trained: {self.trained:,}"])


def summary(model: Any, inputs: tuple[Any, ...]) -> Summary:
    """Makes the table of Module.summary()."""
    shapes = _shapes(model, tuple(_example(model, x) for x in inputs)) if inputs else {}
    lines: list[_Line] = []

    def walk(module: Any, name: str, depth: int) -> None:
        count = sum(p.numel() for p in module.parameters())
        lines.append(_Line(depth, name + type(module).__name__, shapes.get(id(module), ""), count))
        for key, child in module._modules.items():
            walk(child, f"{key}: ", depth + 1)

    walk(model, "", 0)
    numbers: list[tuple[int, bool]] = [(p.numel(), p.requires_grad) for p in model.parameters()]
    return Summary(lines, sum(n for n, _ in numbers), sum(n for n, trained in numbers if trained))


def _example(model: Any, x: Any) -> Any:
    """The tensor of zeros of a shape; other arguments as they are."""
    if not (isinstance(x, tuple) and all(isinstance(size, int) for size in x)):
        return x
    like = next(model.parameters(), None)
    return _core.zeros(x) if like is None else _core.zeros(x, dtype=like.dtype, device=like.device)


def _shapes(model: Any, inputs: tuple[Any, ...]) -> dict[int, str]:
    """The shape of the output of each called module, by its id."""
    shapes: dict[int, str] = {}

    def see(module: Any, args: Any, output: Any) -> None:
        shapes[id(module)] = _shape(output)

    modules = list(model.modules())
    modes = [module.training for module in modules]
    handles = [module.register_forward_hook(see) for module in modules]
    try:
        with no_grad():
            model.eval()(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
    return shapes


def _shape(output: Any) -> str:
    if isinstance(output, Tensor):
        return str(tuple(output.shape))
    if isinstance(output, (tuple, list)):
        return ", ".join(_shape(part) for part in output)
    return type(output).__name__
