"""What `graph()`, `plan()` and `explain()` give: texts and lists that are shown as tables. Called from C++ by these
names."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from ._core import PlanStep
from .base.tables import Rows, table_html, table_text

__all__ = ["Explanation", "Graph", "Plan"]

NODE = re.compile(r"%(\d+) = (\w+) (\w+)\[([\d, ]*)\](?: folds([\d ]+))? \((.*)\)(  held)?")
STRIDES = re.compile(r" strides \[[-\d, ]*\]")


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
        rows = [(f"%{m[1]}", m[2], m[3], f"[{m[4]}]", STRIDES.sub("", m[6]), "yes" if m[7] else "") for m in lines]
        return f"{len(rows)} pending operations", ("", "operation", "type", "sizes", "of", "held"), rows


class Plan(list[PlanStep]):
    """The kernels that would run."""

    def table(self) -> tuple[str, Sequence[str], Rows]:
        """A caption, headings and rows."""
        if not self:
            return "nothing is pending", (), ()
        rows = [
            (str(i), s.name, str(len(s.nodes)), s.shapes, f"{s.bytes:,}", f"{s.flops:,}") for i, s in enumerate(self)
        ]
        kernels = "1 kernel" if len(self) == 1 else f"{len(self)} kernels"
        return kernels, ("", "kernel", "operations", "sizes", "bytes", "flops"), rows

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
