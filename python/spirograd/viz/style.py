"""Colours, axes and labels that all figures share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

# What every picture has in common.
PICTURE = """
Args:
    path: a file to write, whose ending chooses the format, or None.
    title: the title above the axes.

Returns:
    A matplotlib figure, which a notebook shows by itself.

Raises:
    ImportError: matplotlib is not installed.
"""

# Distinguishable with red-green colour blindness, and in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#000000")
DASHES = ("-", "--", "-.", ":")
PALE = ("#b3d4e8", "#f7cfb3", "#b3e2d5", "#f0d7e4", "#ddf0fa", "#f8e6bf", "#d0d0d0", "#b0b0b0")  # COLOURS, as ground


def panels(count: int, title: str) -> tuple[Any, list[Any]]:
    """A figure with `count` axes side by side, for `draw_times`."""
    figure = figure_of(4.4 * count, 4.2)
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


def figure_of(width: float, height: float) -> Any:
    """A figure of this size in inches."""
    try:
        from ._figure import Figure
    except ImportError:
        raise ImportError(
            "viz: the package matplotlib is not installed; pip install spirograd[viz]", name="matplotlib"
        ) from None
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def axes_of(title: str, xlabel: str, ylabel: str) -> tuple[Any, Any]:
    """A figure with one labelled plot."""
    figure = figure_of(7.0, 4.2)
    axes = figure.add_subplot()
    label(axes, title, xlabel, ylabel)
    return figure, axes


def save(figure: Any, axes: Any, path: str | os.PathLike[str]) -> None:
    """Adds the legend and writes the file."""
    axes.legend(frameon=False)
    figure.savefig(path)


def plain_numbers(axis: Any) -> None:
    """0.2 instead of 2 x 10^-1, on a logarithmic axis; small steps between get a number where there is room."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = axis.get_view_interval()
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if high / low < 1000:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def smooth(values: Sequence[float], neighbours: int = 2) -> list[float]:
    """The mean over so many neighbours on both sides, so that the curve is not late."""
    windows = (values[max(0, i - neighbours) : i + neighbours + 1] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def png_of(plot: Callable[[], Any]) -> bytes | None:
    """The figure as a notebook shows it; None without matplotlib."""
    try:
        figure = plot()
    except ImportError:
        return None
    picture: bytes = figure._repr_png_()
    return picture
