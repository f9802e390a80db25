"""Curves: losses, metrics, times."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.docstrings import described_by
from ..base.keywords import naming_keywords
from .style import COLOURS, DASHES, PICTURE, axes_of, label, panels, plain_numbers, save, smooth

__all__ = ["plot_history", "plot_loss", "plot_lr_find", "plot_times"]

Curve = Sequence[tuple[float, float]]


@naming_keywords
@described_by(PICTURE)
def plot_loss(
    history: Mapping[str, Curve], path: str | os.PathLike[str] | None = None, title: str = "Training loss"
) -> Any:
    """Draws loss against step.

    Args:
        history: a curve of (step, loss) for each name. What `fit` returned is drawn by `plot_history`.
    """
    figure, axes = axes_of(title, "training step", "cross-entropy loss, nats")
    for i, (name, curve) in enumerate(history.items()):
        steps, losses = [step for step, _ in curve], [loss for _, loss in curve]
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(steps, losses, color=colour, alpha=0.25, linewidth=1.0)
        axes.plot(steps, smooth(losses), DASHES[i % len(DASHES)], color=colour, linewidth=1.8, label=name)
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    axes.legend(frameon=False)
    if path is not None:
        figure.savefig(path)
    return figure


@naming_keywords
@described_by(PICTURE)
def plot_history(history: Any, path: str | os.PathLike[str] | None = None, title: str = "Training") -> Any:
    """Draws loss and metrics of a training against the epoch, each beside its value over the validation data.

    Args:
        history: what `fit` returned.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no epoch in it.
    """
    names = [name for name, column in history.metrics.items() if not isinstance(column[0], list)]
    if not history.epochs:
        raise ValueError("plot_history: the history has no epoch; train for one at least")
    figure, axes = panels(len(names), title)
    from matplotlib.ticker import MaxNLocator

    for name, ax in zip(names, axes, strict=True):
        label(ax, "", "epoch", name)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        curves = [("training", history.metrics[name]), ("validation", history.val_metrics.get(name, []))]
        for i, (part, values) in enumerate(curves):
            if values:
                few = "o" if len(values) < 20 else None
                ax.plot(history.epochs, values, DASHES[i], marker=few, markersize=3.5, color=COLOURS[i], label=part)
        ax.legend(frameon=False)
    if path is not None:
        figure.savefig(path)
    return figure


@naming_keywords
@described_by(PICTURE)
def plot_lr_find(found: Any, path: str | os.PathLike[str] | None = None, title: str = "Learning rates") -> Any:
    """Draws the loss against the learning rate, with the suggested rate as a line.

    Args:
        found: what `training.lr_find` returned.
    """
    figure, axes = axes_of(title, "learning rate", "loss")
    axes.plot(found.learning_rates, found.losses, color=COLOURS[0], alpha=0.3, linewidth=1.0, label="each step")
    axes.plot(found.learning_rates, found.smoothed(), color=COLOURS[0], linewidth=1.8, label="mean")
    if (rate := found.suggestion()) is not None:
        axes.axvline(rate, color=COLOURS[1], linestyle=DASHES[1], label=f"suggestion: {rate:.2g}")
    axes.set_xscale("log")
    axes.legend(frameon=False)
    if path is not None:
        figure.savefig(path)
    return figure


@naming_keywords
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
        path: a file to write, whose ending chooses the format.
        title: the title above the axes.
        xlabel: what the size is, with its unit.
        ylabel: what the time is, with its unit.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure, axes = axes_of(title, xlabel, ylabel)
    draw_times(axes, series)
    save(figure, axes, path)


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
    plain_numbers(axes.yaxis)


def _binary(value: float) -> str:
    """4096 as 4K, 2^20 as 1M: K is 1,024."""
    for unit, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
