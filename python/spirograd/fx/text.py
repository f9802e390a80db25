"""A graph as the text of a Python function."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from .node import Node, map_arg, target_name

__all__ = ["PythonCode", "code_of"]

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
BINARY = {getattr(operator, name): sign for name, sign in _SIGNS.items()}
UNARY = {operator.neg: "-", operator.invert: "~", operator.pos: "+"}
_MODULES = ("", ".nn.functional", ".linalg", ".special", ".fft", ".signal")
_PLACES = [f"{package}{module}" for package in ("torch", "spirograd") for module in _MODULES]


@dataclass
class PythonCode:
    """The text of a function, and the names that it needs.

    Attributes:
        src: the text.
        globals: what its names mean.
    """

    src: str
    globals: dict[str, Any]


class _Code(str):
    def __repr__(self) -> str:
        return str(self)


def code_of(nodes: Iterable[Node], root: str, taken: Container[str]) -> PythonCode:
    """The text of `forward` of a graph.

    Args:
        nodes: the graph's, in order.
        root: what the module is called.
        taken: names that nodes have.
    """
    writer = _Writer(root, taken)
    inputs, lines = [root], []
    for node in nodes:
        if node.op == "placeholder":
            name = str(node.target)
            inputs.append(f"{name} = {node.args[0]!r}" if node.args else name)
            if name.lstrip("*") != node.name:
                lines.append(f"{node.name} = {name.lstrip('*')}")
        else:
            lines.append(writer.line(node))
    body = "\n    ".join(lines or ["pass"])
    return PythonCode(f"def forward({', '.join(inputs)}):\n    {body}\n", writer.names)


class _Writer:
    """Writes nodes, and gathers the names that the text needs."""

    def __init__(self, root: str, taken: Container[str]) -> None:
        self.root, self.taken = root, taken
        self.names: dict[str, Any] = {"inf": float("inf"), "nan": float("nan")}

    def line(self, node: Node) -> str:
        if node.op == "output":
            return f"return {self.shown(node.args[0])}"
        args = [self.shown(a) for a in node.args]
        arguments = ", ".join([*args, *(f"{k} = {self.shown(v)}" for k, v in node.kwargs.items())])
        if node.op == "get_attr":
            value = _attribute(self.root, str(node.target))
        elif node.op == "call_module":
            value = f"{_attribute(self.root, str(node.target))}({arguments})"
        elif node.op == "call_method":
            value = f"{args[0]}.{node.target}({arguments[len(args[0]) :].removeprefix(', ')})"
        else:
            value = self.call(node, args, arguments)
        return f"{node.name} = {value}"

    def call(self, node: Node, args: list[str], arguments: str) -> str:
        target: Any = node.target
        if target in BINARY and len(args) == 2:
            return f"{args[0]} {BINARY[target]} {args[1]}"
        if target in UNARY and len(args) == 1:
            return f"{UNARY[target]}{args[0]}"
        if target is operator.getitem and len(args) == 2:
            return f"{args[0]}[{self.index(node.args[1])}]"
        if target is getattr and len(args) == 2 and str(node.args[1]).isidentifier():
            return f"{args[0]}.{node.args[1]}"
        return f"{self.function(target)}({arguments})"

    def index(self, value: Any) -> str:
        if isinstance(value, slice):
            parts = ["" if v is None else self.shown(v) for v in (value.start, value.stop, value.step)]
            return ":".join(parts if parts[2] else parts[:2])
        if isinstance(value, tuple) and value:
            return ", ".join(self.index(v) for v in value) + "," * (len(value) == 1)
        return self.shown(value)

    def shown(self, value: Any) -> str:
        return repr(map_arg(self.plain(value), lambda n: _Code(n.name)))

    def function(self, target: Any) -> str:
        """How the text names a function: as programs do, if it is one of the library."""
        module = _place(target)
        if not module:
            return self.name(target, re.sub(r"\W+", "_", target_name(target)).strip("_"))
        package = module.partition(".")[0]
        self.names["sg" if package == "spirograd" else package] = sys.modules[package]
        return f"{module.replace('spirograd', 'sg', 1)}.{target.__name__}"

    def plain(self, value: Any) -> Any:
        """Types, devices and other objects by a name, so that the text can be read back."""
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self.plain(v) for v in value)
        if isinstance(value, dict):
            return {k: self.plain(v) for k, v in value.items()}
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return _Code(f"slice({', '.join(repr(self.plain(v)) for v in parts)})")
        if value is ...:
            return _Code("...")
        if value is None or isinstance(value, (Node, str, bool, int, float, complex)):
            return value
        base = re.sub(r"\W+", "_", getattr(value, "__name__", None) or str(value)).strip("_")
        return _Code(self.name(value, base if base.isidentifier() else f"_{base}"))

    def name(self, value: Any, base: str) -> str:
        """A name for a value that no other value and no node has."""
        name, number = base, 0
        while self.names.get(name, value) is not value or name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.names[name] = value
        return name


def _place(function: Any) -> str:
    """The module in which programs find a function; "" for one that is not of the library."""
    name, module = getattr(function, "__name__", ""), str(getattr(function, "__module__", ""))
    places = _PLACES if module.startswith(("spirograd", "torch")) else ()
    return next((p for p in places if getattr(sys.modules.get(p), name, None) is function), "")


def _attribute(root: str, target: str) -> str:
    text = root
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text
