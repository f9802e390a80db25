"""What benchmark_gpu.py says about its results: a table a section, one sentence, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.common import Result, number
from rows.gpu.networks import NETWORK
from rows.gpu.sizes import SIZES
from rows.gpu.tensors import PARTS
from spirograd.viz import style
from spirograd.viz.curves import draw_times

Speedups = dict[str, dict[int, float]]  # GPU -> parameters -> how many times faster than the CPU


def times(value: float) -> str:
    """How many times faster."""
    return f"{value:,.0f}x" if value >= 10 else f"{value:.2g}x"


def comparison(results: list[Result]) -> str:
    """A line a case, a column a device, and how many times faster than the CPU each GPU is."""
    devices = list(dict.fromkeys(r.device for r in results))
    gpus = [d for d in devices if d != "cpu" and "cpu" in devices]
    found = {(r.row, r.case, r.device): r for r in results}
    cases = list(dict.fromkeys((r.row, r.case) for r in results))
    left, middle = (max(len(case[k]) for case in cases) for k in (0, 1))
    head = "".join(f"{f'{d}, {results[0].unit}':>13} " for d in devices)
    lines = [(" " * (left + middle + 2) + head + "".join(f"{f'{d} speed-up':>16}" for d in gpus)).rstrip()]
    for row, case in cases:
        here = {d: r for d in devices if (r := found.get((row, case, d)))}
        line = f"{row:<{left}}  {case:<{middle}}"
        for d in devices:
            line += f"{number(here[d].value):>13}{'!' if unsteady(here[d]) else ' '}" if d in here else f"{'-':>13} "
        for d in gpus:
            line += f"{times(here['cpu'].value / here[d].value) if {'cpu', d} <= set(here) else '-':>16}"
        lines.append(line.rstrip())
    if any(unsteady(r) for r in results):
        lines.append("! the median is over twice the least: the machine was not quiet, do not compare this number")
    return "\n".join(lines)


def unsteady(result: Result) -> bool:
    return result.timing is not None and result.timing.unsteady


def speedups(results: list[Result]) -> Speedups:
    """Of the section of model sizes, where both devices did one."""
    sizes = [r for r in results if r.facts["section"] == SIZES.name]
    cpu = {r.facts["size"]: r.value for r in sizes if r.device == "cpu"}
    found: Speedups = {}
    for r in sizes:
        if r.device != "cpu" and r.facts["size"] in cpu:
            found.setdefault(r.device, {})[r.facts["size"]] = cpu[r.facts["size"]] / r.value
    return found


def verdict(results: list[Result], names: dict[str, str]) -> str:
    """One sentence: from which size on a GPU wins. `names` are those of the devices."""
    parts = []
    for gpu, sizes in speedups(results).items():
        order = sorted(sizes)
        lost = [k for k, size in enumerate(order) if sizes[size] <= 1]
        first = lost[-1] + 1 if lost else 0  # from here on it wins at every size
        if first == len(order):
            outcome = f"does not win up to {order[-1]:,} parameters, the largest model tried"
        else:
            outcome = f"wins from {order[first]:,} parameters on" if first else "wins at every size tried"
        shown = sorted({0, min(first, len(order) - 1), len(order) - 1})
        figures = ", ".join(f"{times(sizes[order[k]])} at {order[k]:,}" for k in shown)
        parts.append(f"{names[gpu]} {outcome} ({figures})")
    if not parts:
        return "From which size on a GPU wins was not measured: that needs the CPU and a GPU in one run."
    return f"On this machine {'; '.join(parts)}."


def picture(results: list[Result], names: dict[str, str], path: Path) -> None:
    """Time against size for each device, and how many times faster than the CPU each GPU is.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.0), dpi=130, layout="constrained")
    figure.suptitle("CPU and GPU: median and quartiles, less time is better")
    panels = [figure.add_subplot(2, 3, k + 1) for k in range(6)]
    for axes, (part, (unit, *_)) in zip(panels, PARTS.items(), strict=False):
        style.label(axes, part, unit, "time, ms")
        curves(axes, [r for r in results if r.row == part], names)
    networks, sizes, gains = panels[3:]
    style.label(networks, "forward + backward, one sample", "parameters", "time, ms")
    both = [r for r in results if r.facts["section"] == NETWORK.name and r.facts["what"] == "forward + backward"]
    curves(networks, both, names, "kind")
    style.label(sizes, "training step by model size", "parameters", "time, ms")
    curves(sizes, [r for r in results if r.facts["section"] == SIZES.name], names)
    for axes in (networks, sizes):
        axes.set_xscale("log", base=10)
        axes.xaxis.set_major_formatter(lambda value, _: decimal(value))
    panels[0].legend(frameon=False, fontsize=8)
    networks.legend(frameon=False, fontsize=8)
    if found := speedups(results):
        bars(gains, found, names)
    else:
        gains.set_axis_off()
        gains.text(0.5, 0.5, "no speed-up by model size:\nthat needs the CPU and a GPU", ha="center", va="center")
    figure.savefig(path)


def curves(axes: Any, results: list[Result], names: dict[str, str], by: str = "") -> None:
    """A curve a device, and a value of the fact `by`."""
    series: dict[str, list[tuple[float, float, float, float]]] = {}
    for r in results:
        if r.timing:
            name = f"{r.device}, {r.facts[by]}" if by else names[r.device]
            point = (r.facts["size"], *(1e3 * s for s in (r.timing.median, r.timing.low, r.timing.high)))
            series.setdefault(name, []).append(point)
    draw_times(axes, series)


def bars(axes: Any, found: Speedups, names: dict[str, str]) -> None:
    """Speed-up by model size, from the line at 1: above it the GPU wins, below it the CPU."""
    style.label(axes, "speed-up over the CPU by model size", "parameters", "times faster")
    order = sorted({size for sizes in found.values() for size in sizes})
    width = 0.8 / len(found)
    for i, (gpu, sizes) in enumerate(found.items()):
        for k, size in enumerate(order):
            if size not in sizes:
                continue
            left, gain = k + (i - (len(found) - 1) / 2) * width, sizes[size]
            colour = style.COLOURS[(i + 1) % len(style.COLOURS)]  # that of its curves
            axes.bar(left, gain - 1, width * 0.95, bottom=1, color=colour, label=None if k else names[gpu])
            offset, at = (3, "bottom") if gain >= 1 else (-3, "top")
            axes.annotate(
                times(gain), (left, gain), (0, offset), textcoords="offset points", ha="center", va=at, fontsize=8
            )
    axes.axhline(1, color="#333333", linewidth=1)
    axes.set_yscale("log")
    axes.use_sticky_edges = False
    axes.margins(y=0.15)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xticks(range(len(order)), [decimal(size) for size in order])
    axes.legend(frameon=False, fontsize=8)


def decimal(value: float) -> str:
    """9,930 as 9.93k, 10,010,122 as 10M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
