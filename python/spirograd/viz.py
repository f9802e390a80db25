"""Pictures of training and of benchmarks, as files. matplotlib is imported when a picture is drawn.

Figures are made without pyplot, so no window system is needed and the caller's matplotlib settings stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["plot_loss", "plot_times"]

Curve = Sequence[tuple[float, float]]

# Told apart by people who see red and green alike, and in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#000000")
DASHES = ("-", "--", "-.", ":")


def plot_loss(history: Mapping[str, Curve], path: str | os.PathLike[str], title: str = "Training loss") -> None:
    """Draws loss against step.

    Args:
        history: a curve of (step, loss) for each name.
        path: file to write; the ending chooses the format.
        title: above the axes.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure, axes = _axes(title, "training step", "cross-entropy loss, nats")
    for i, (name, curve) in enumerate(history.items()):
        steps, losses = [step for step, _ in curve], [loss for _, loss in curve]
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(steps, losses, color=colour, alpha=0.25, linewidth=1.0)
        axes.plot(steps, _smooth(losses), DASHES[i % len(DASHES)], color=colour, linewidth=1.8, label=name)
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)
    _save(figure, axes, path)


def plot_times(
    series: Mapping[str, Sequence[tuple[float, float, float, float]]],
    path: str | os.PathLike[str],
    title: str,
    xlabel: str,
    ylabel: str = "time, ms",
) -> None:
    """Draws time against size, both logarithmic, with the quartiles as a band.

    Args:
        series: for each name points (size, median, lower quartile, upper quartile).
        path: file to write; the ending chooses the format.
        title: above the axes.
        xlabel: what the size is, with its unit.
        ylabel: what the time is, with its unit.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure, axes = _axes(title, xlabel, ylabel)
    draw_times(axes, series)
    _save(figure, axes, path)


def draw_times(axes: Any, series: Mapping[str, Sequence[tuple[float, float, float, float]]]) -> None:
    """The curves of `plot_times` on axes that exist."""
    for i, (name, points) in enumerate(series.items()):
        sizes, medians, low, high = ([p[k] for p in sorted(points)] for k in range(4))
        colour = COLOURS[i % len(COLOURS)]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(sizes, medians, DASHES[i % len(DASHES)], marker="o", markersize=4, color=colour, label=name)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: _binary(value))
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)


def panels(count: int, title: str) -> tuple[Any, list[Any]]:
    """A figure with `count` axes side by side, for `draw_times`."""
    figure = _figure(4.4 * count, 4.2)
    figure.suptitle(title)
    return figure, [figure.add_subplot(1, count, i + 1) for i in range(count)]


def label(axes: Any, title: str, xlabel: str, ylabel: str) -> None:
    """Title, labels and a quiet grid."""
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(True, which="major", color="#d8d8d8", linewidth=0.7)
    axes.grid(True, which="minor", color="#eeeeee", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def _axes(title: str, xlabel: str, ylabel: str) -> tuple[Any, Any]:
    figure = _figure(7.0, 4.2)
    axes = figure.add_subplot()
    label(axes, title, xlabel, ylabel)
    return figure, axes


def _save(figure: Any, axes: Any, path: str | os.PathLike[str]) -> None:
    axes.legend(frameon=False)
    figure.savefig(path)


def _smooth(values: Sequence[float], reach: int = 2) -> list[float]:
    """The mean over neighbours on both sides, so that the curve is not late."""
    windows = (values[max(0, i - reach) : i + reach + 1] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def _binary(value: float) -> str:
    """4096 as 4K, 2^20 as 1M: K is 1,024."""
    for unit, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _plain_numbers(axis: Any) -> None:
    """0.2 instead of 2 x 10^-1, on a logarithmic axis; small steps between get a number where there is room."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = axis.get_view_interval()
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if high / low < 1000:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
