"""What a program asks of PyTorch that spirograd does not have, found in its text without running it."""

from __future__ import annotations

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..torch.finder import MissingName
from ..torch.packages import fault_of
from ..torch.unused import Unused

__all__ = ["missing_names"]


def missing_names(script: Path, text: str | None = None) -> list[str]:
    """A line for each name, `file:line: name`, of a script and of the modules beside it that it imports.

    Names that stand for something else by the time they are used, and methods of tensors, are not followed.

    Args:
        script: the file; install() must have been called.
        text: its content, for a program that is no file.

    Raises:
        OSError: it cannot be read.
        SyntaxError: it is not Python.
    """
    found: list[str] = []
    todo, seen = [script], set[Path]()
    while todo:
        path = todo.pop(0)
        if path not in seen:
            seen.add(path)
            file = _File(path, script.parent)
            given = text if text is not None and path == script else path.read_text(encoding="utf-8")
            file.visit(ast.parse(given, str(path)))
            found += [f"{path}:{line}: {name}" for line, name in sorted(set(file.missing))]
            todo += file.beside
    return found


class _File(ast.NodeVisitor):
    """Follows the names of one file that stand for modules of PyTorch."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.folder, self.parent = folder, path.parent
        self.names: dict[str, tuple[str, Any]] = {}  # what a name of the file is called, and what it is
        self.missing: list[tuple[int, str]] = []
        self.beside: list[Path] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not _of_torch(alias.name):
                self._other(alias.name, node.lineno)
            elif (module := self._imported(alias.name, node.lineno)) is not None:
                top = importlib.import_module("torch")
                self.names[alias.asname or "torch"] = (alias.name, module) if alias.asname else ("torch", top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            base = self.parent.joinpath(*[".."] * (node.level - 1))
            self._follow(base, module)
            for alias in node.names:
                self._follow(base, f"{module}.{alias.name}".lstrip("."))
        elif not _of_torch(module):
            self._other(module, node.lineno)
        elif (place := self._imported(module, node.lineno)) is not None:
            for alias in node.names:
                if alias.name != "*":
                    value = self._attribute(module, place, alias.name, node.lineno)
                    self.names[alias.asname or alias.name] = f"{module}.{alias.name}", value

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain: list[ast.Attribute] = []
        start: ast.expr = node
        while isinstance(start, ast.Attribute):
            chain.insert(0, start)
            start = start.value
        if not isinstance(start, ast.Name):
            self.generic_visit(node)
        elif start.id in self.names:
            name, value = self.names[start.id]
            for part in chain:
                if not isinstance(value, (ModuleType, type)):
                    break
                value = self._attribute(name, value, part.attr, part.lineno)
                name = f"{name}.{part.attr}"

    def _attribute(self, name: str, value: Any, attribute: str, line: int) -> Any:
        try:
            found = getattr(value, attribute)
            if isinstance(found, Unused):
                self.missing.append((line, f"{name}.{attribute} (raises when it is used: {found.instead})"))
            return found
        except (AttributeError, ImportError) as error:
            if isinstance(value, ModuleType) or isinstance(error, MissingName):
                self.missing.append((line, f"{name}.{attribute}"))
            return None

    def _imported(self, name: str, line: int) -> ModuleType | None:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            self.missing.append((line, name))
            return None

    def _other(self, module: str, line: int) -> None:
        """A third-party module: beside the script, installed, or missing."""
        name = module.split(".")[0]
        if not self._follow(self.folder, module) and (why := fault_of(name) or _absence(name)):
            self.missing.append((line, f"{name} ({why})"))

    def _follow(self, base: Path, module: str) -> bool:
        path = base.joinpath(*module.split("."))
        files = [p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()]
        self.beside += files
        return bool(files) or path.is_dir()


def _of_torch(module: str) -> bool:
    return module.split(".")[0] == "torch"


def _absence(module: str) -> str | None:
    try:
        return None if find_spec(module) is not None else "not installed"
    except (ImportError, ValueError):
        return "not installed"
