"""Rows of a profile, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..base.tables import Rows, table_html, table_text
from .events import Event

__all__ = ["EventList", "Row"]

IDLE = "idle"


@dataclass(slots=True)
class Row:
    """All events of one name and category. Times are microseconds; `self` times leave out the stages inside."""

    key: str
    category: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    device_time_total: float = 0.0
    bytes: int = 0
    flops: int = 0
    shapes: str = ""
    stack: str = ""

    @property
    def self_device_time_total(self) -> float:
        """Time of the GPU."""
        return self.device_time_total

    @property
    def cpu_time(self) -> float:
        """The host's time for each call."""
        return self.cpu_time_total / max(1, self.count)

    @property
    def device_time(self) -> float:
        """The GPU's time for each call."""
        return self.device_time_total / max(1, self.count)

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes over the time of whoever moved them; 0 when nothing was counted."""
        return self._rate(self.bytes, 1e-3)

    @property
    def teraflops(self) -> float:
        """Floating-point operations a second, in units of 10**12."""
        return self._rate(self.flops, 1e-6)

    def _rate(self, amount: int, scale: float) -> float:
        time = self.device_time_total or self.self_cpu_time_total
        return amount * scale / time if time and amount else 0.0

    def add(self, event: Event) -> None:
        """Counts an event."""
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.device_time_total += event.device_time_total
        self.bytes += event.bytes
        self.flops += event.flops
        outer = event.cpu_parent  # a stage inside one of the same name is already part of its time
        while outer is not None and (outer.name, outer.category) != (event.name, event.category):
            outer = outer.cpu_parent
        if outer is None:
            self.cpu_time_total += event.cpu_time_total


_SORTS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time", "device_time_total", "self_device_time_total",
    "count", "bytes", "flops",
)  # fmt: skip


class EventList(list[Row]):
    """Rows of a profile, `wall` microseconds long in all."""

    def __init__(self, rows: Iterable[Row], wall: float, clocks: dict[str, str]) -> None:
        super().__init__(rows)
        self.wall, self._clocks = wall, clocks

    def __repr__(self) -> str:
        return table_text(*_short(self))

    def _repr_html_(self) -> str:
        return table_html(*_short(self))

    def total_average(self) -> Row:
        """The sum of all rows but idle ones."""
        total = Row("Total", "")
        for row in self:
            if row.category == IDLE:
                continue
            total.count += row.count
            total.self_cpu_time_total += row.self_cpu_time_total
            total.device_time_total += row.device_time_total
            total.bytes += row.bytes
            total.flops += row.flops
        total.cpu_time_total = total.self_cpu_time_total
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55) -> str:
        """The rows as text.

        Args:
            sort_by: a column, largest first: cpu_time, cpu_time_total, self_cpu_time_total, count, bytes, flops, or
                device_time and so on; `cuda_time` and `gpu_time` mean the same. None: by the time of whoever did it.
            row_limit: how many rows; -1 for all. What is left out is summed up in one row; idle rows always stay.
            max_name_column_width: longer names are cut in the middle.

        Raises:
            ValueError: there is no such column.
        """
        column = (sort_by or "").replace("cuda_", "device_").replace("gpu_", "device_")
        if column and column not in _SORTS:
            raise ValueError(f"table: there is no column '{sort_by}' to sort by; use one of {', '.join(_SORTS)}")
        rows = sorted(
            (r for r in self if r.category != IDLE),
            key=lambda r: getattr(r, column) if column else r.device_time_total + r.self_cpu_time_total,
            reverse=True,
        )
        idle = [r for r in self if r.category == IDLE]
        if 0 <= row_limit < len(rows):
            rest = EventList(rows[row_limit:], self.wall, {}).total_average()
            rest.key = f"({len(rows) - row_limit} more)"
            rows = [*rows[:row_limit], rest]
        return _text([*rows, *idle], self, max_name_column_width)


_HEADINGS = (
    "Name", "Category", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "Self GPU %", "Self GPU",
    "GPU time avg", "# of Calls", "MB", "MFLOP", "GB/s", "TFLOP/s",
)  # fmt: skip


def _short(rows: EventList) -> tuple[str, Sequence[str], Rows]:
    """A table that fits a window: what took longest."""
    kept = sorted(rows, key=lambda r: r.device_time_total + r.self_cpu_time_total, reverse=True)
    cells = [
        [r.key, r.category, *_cells(r, rows.wall, 0)[2:4], *_cells(r, rows.wall, 0)[6:8], str(r.count)] for r in kept
    ]
    columns = ["Name", "Category", "Self CPU %", "Self CPU", "Self GPU %", "Self GPU", "Calls"]
    if not any(r.device_time_total for r in rows):
        columns[4:6], cells = [], [[*row[:4], row[6]] for row in cells]
    return f"{_time(rows.wall)} in all; .table() has every column", columns, cells


def _time(us: float) -> str:
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _cells(row: Row, wall: float, width: int) -> list[str]:
    name = row.key
    if len(name) > width > 0:
        half = (width - 3) // 2
        name = f"{name[: width - 3 - half]}...{name[-half:]}"
    cpu, gpu = row.self_cpu_time_total, row.self_device_time_total
    percent = 100 / wall if wall else 0.0
    return [
        name,
        row.category,
        f"{cpu * percent:.2f}%" if cpu else "--",
        _time(cpu) if cpu else "--",
        _time(row.cpu_time_total) if row.cpu_time_total else "--",
        _time(row.cpu_time) if row.cpu_time_total and row.count else "--",
        f"{gpu * percent:.2f}%" if gpu else "--",
        _time(gpu) if gpu else "--",
        _time(row.device_time) if gpu and row.count else "--",
        str(row.count) if row.count else "--",
        f"{row.bytes / 1e6:.3f}" if row.bytes else "--",
        f"{row.flops / 1e6:.3f}" if row.flops else "--",
        f"{row.gigabytes_per_second:.2f}" if row.bytes else "--",
        f"{row.teraflops:.3f}" if row.flops else "--",
    ]


def _text(rows: list[Row], of: EventList, width: int) -> str:
    lines = [list(_HEADINGS), *(_cells(r, of.wall, width) for r in rows)]
    for extra in ("shapes", "stack"):
        if any(getattr(r, extra) for r in rows):
            for line, text in zip(lines, [extra.capitalize(), *(getattr(r, extra) for r in rows)], strict=True):
                line.append(text)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rule = "  ".join("-" * w for w in widths)
    left = {0, 1, len(_HEADINGS), len(_HEADINGS) + 1}
    body = [
        "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]
    total = of.total_average()
    footer = [f"Self CPU time total: {_time(total.self_cpu_time_total)}", f"Wall time: {_time(of.wall)}"]
    if of._clocks:
        footer.insert(1, f"Self GPU time total: {_time(total.device_time_total)}")
        footer += [f"Clock of {device}: {how}" for device, how in of._clocks.items()]
    return "\n".join([rule, body[0], rule, *body[1:], rule, *footer])
