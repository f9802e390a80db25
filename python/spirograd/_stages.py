"""What `graph()`, `plan()` and `explain()` give: texts and lists that are shown as tables. Called from C++ by these
names."""

from __future__ import annotations

import html
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from ._core import PlanStep
from .base.tables import Rows, table_html, table_text

__all__ = ["Explanation", "Graph", "Plan"]

NODE = re.compile(r"%(\d+) = (\w+) (\w+)\[([\d, ]*)\](?: folds([\d ]+))? \((.*?)\)(  held)?(?:  # (.*))?")
STRIDES = re.compile(r" strides \[[-\d, ]*\]")


def _short(line: str) -> str:
    """'train.py:12' of '/home/me/train.py:12', 'In[3]:2' of a line in a cell of a notebook."""
    file, _, number = line.rpartition(":")
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    compiler: Any = getattr(shell, "compile", None)
    cell = compiler.format_code_name(file) if hasattr(compiler, "format_code_name") else None
    return f"{cell[1] if cell else os.path.basename(file)}:{number}" if number else ""


def _short_lines(lines: Sequence[str]) -> str:
    """Lines of one file share its name: 'train.py:12, 14, 20'."""
    numbers: dict[str, list[str]] = {}
    for line in lines:
        file, _, number = _short(line).rpartition(":")
        numbers.setdefault(file, []).append(number)
    return ", ".join(f"{file}:{', '.join(of_file)}" for file, of_file in numbers.items())


def _table(caption: str, headings: Sequence[str], rows: Rows) -> tuple[str, Sequence[str], Rows]:
    """Without the last column, that of lines, where none are known."""
    if any(row[-1] for row in rows):
        return caption, headings, rows
    return caption, headings[:-1], [row[:-1] for row in rows]


class _Shown(str):
    """A text, which print() and str() give, and a table in its place where it is the last line of a cell."""

    def table(self) -> tuple[str, Sequence[str], Rows]:
        """A caption, headings and rows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return table_text(*self.table())

    def __str__(self) -> str:
        return self[:]

    def _repr_html_(self) -> str:
        caption, headings, rows = self.table()
        text = f"<details><summary>text</summary><pre>{html.escape(self)}</pre></details>"
        return table_html(caption, headings, rows) + text


class Graph(_Shown):
    """What is pending: a line for each operation."""

    def table(self) -> tuple[str, Sequence[str], Rows]:
        lines = [match for line in self.splitlines() if (match := NODE.fullmatch(line))]
        if not lines:
            return self.strip(), (), ()
        rows = [
            (f"%{m[1]}", m[2], m[3], f"[{m[4]}]", STRIDES.sub("", m[6]), "yes" if m[7] else "", _short(m[8] or ""))
            for m in lines
        ]
        headings = ("", "operation", "type", "sizes", "of", "held", "line")
        return _table(f"{len(rows)} pending operations", headings, rows)


class Plan(list[PlanStep]):
    """The kernels that would run."""

    def table(self) -> tuple[str, Sequence[str], Rows]:
        """A caption, headings and rows."""
        if not self:
            return "nothing is pending", (), ()
        rows = [
            (str(i), s.name, str(len(s.nodes)), s.shapes, f"{s.bytes:,}", f"{s.flops:,}", _short_lines(s.lines))
            for i, s in enumerate(self)
        ]
        kernels = "1 kernel" if len(self) == 1 else f"{len(self)} kernels"
        return _table(kernels, ("", "kernel", "operations", "sizes", "bytes", "flops", "line"), rows)

    def __repr__(self) -> str:
        return table_text(*self.table())

    def _repr_html_(self) -> str:
        return table_html(*self.table())


class Explanation(_Shown):
    """Graph, plan and kernels as text; the table is that of the plan."""

    plan: Plan

    def __new__(cls, text: str, plan: Plan) -> Explanation:
        self = super().__new__(cls, text)
        self.plan = plan
        return self

    def table(self) -> tuple[str, Sequence[str], Rows]:
        caption, headings, rows = self.plan.table()
        return f"{caption}; print() shows all stages as text" if rows else caption, headings, rows
