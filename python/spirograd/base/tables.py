"""Tables, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

__all__ = ["Rows", "table_html", "table_text", "wrapped"]

MOST_ROWS = 60

Rows: TypeAlias = Sequence[Sequence[str]]


def table_text(caption: str, headings: Sequence[str], rows: Rows) -> str:
    """The table within the width of the terminal: the widest column is cut in the middle."""
    cells = [list(headings), *map(list, _some(rows))]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    over = sum(widths) + 2 * len(widths) - 2 - shutil.get_terminal_size().columns
    if over > 0:
        widest = widths.index(max(widths))
        widths[widest] = max(widths[widest] - over, 12)
    numbers = [all(re.fullmatch(r"[\d,.]*", row[i]) for row in cells[1:]) for i in range(len(headings))]
    lines = [
        "  ".join(
            _cut(cell, width).rjust(width) if number else _cut(cell, width).ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([caption, *(lines if headings else [])])


def wrapped(text: str) -> str:
    """The lines within the width of the terminal: what follows a label, or a column, continues below it."""
    width = shutil.get_terminal_size().columns
    return "\n".join(_wrapped(line, width) if len(line) > width else line for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    own = len(line) - len(line.lstrip())
    column = re.match(r" *\*?[^ ]+ {2,}", line)
    indent = column.end() if column and column.end() <= width // 2 else own + 2
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def table_html(caption: str, headings: Sequence[str], rows: Rows) -> str:
    """The table for a notebook."""

    def line(cells: Iterable[Any], tag: str) -> str:
        return (
            "<tr>" + "".join(f'<{tag} style="text-align: left">{html.escape(str(c))}</{tag}>' for c in cells) + "</tr>"
        )

    body = "".join(line(row, "td") for row in _some(rows))
    return f"<table><caption>{html.escape(caption)}</caption>{line(headings, 'th') if headings else ''}{body}</table>"


def _some(rows: Rows) -> Rows:
    if len(rows) <= MOST_ROWS:
        return rows
    left = f"({len(rows) - MOST_ROWS} more)"
    return [*rows[:MOST_ROWS], ["", left, *[""] * (len(rows[0]) - 2)]]


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"
