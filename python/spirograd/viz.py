"""Pictures of graphs, models, training and benchmarks. matplotlib and graphviz are imported when they draw.

Figures are made without pyplot, so no window system is needed and the caller's matplotlib settings stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core import Tensor, float32, tensor
from ._grad_mode import no_grad
from .scalar import MLP, Layer, Neuron, _alike

__all__ = [
    "draw_dot",
    "plot_confusion_matrix",
    "plot_decision_boundary",
    "plot_filters",
    "plot_history",
    "plot_loss",
    "plot_times",
]

Curve = Sequence[tuple[float, float]]

# Told apart by people who see red and green alike, and in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#000000")
DASHES = ("-", "--", "-.", ":")
PALE = ("#b3d4e8", "#f7cfb3", "#b3e2d5", "#f0d7e4", "#ddf0fa", "#f8e6bf", "#d0d0d0", "#b0b0b0")  # COLOURS, as ground


def draw_dot(root: Any, format: str = "svg", rankdir: str = "LR") -> Any:
    """The graph behind a value, as micrograd's notebooks draw it; a notebook shows it by itself.

    Args:
        root: a `Value`, whose nodes show `data | grad` (and the label in front); or a tensor, whose pending nodes show
            `shape | type`, shaded where the values will be in memory afterwards, and whose operations have one colour
            a kernel: what is fused is alike.
        format: of the picture: "svg", "png", "pdf".
        rankdir: "LR", from left to right, or "TB", from top to bottom.

    Returns:
        A `graphviz.Digraph`. `.render("file")` writes the picture, `.source` is its text. Pictures need Graphviz's
        program `dot`, or the package pygraphviz; the text needs neither.

    Raises:
        ImportError: the package graphviz is not installed.
        ValueError: rankdir is unknown, or the graph is too large to be laid out.
    """
    if rankdir not in ("LR", "TB"):
        raise ValueError(f"draw_dot: rankdir is {rankdir!r}; use LR (left to right) or TB (top to bottom)")
    try:
        from . import _dot
    except ImportError as error:
        if error.name != "graphviz":
            raise
        raise ImportError(
            "draw_dot: the package graphviz is not installed; pip install graphviz", name="graphviz"
        ) from None
    draw = _dot.tensor_graph if isinstance(root, Tensor) else _dot.value_graph
    return draw(root, format, rankdir)


def plot_decision_boundary(
    model: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    path: str | os.PathLike[str] | None = None,
    title: str = "Decision boundary",
    steps: int = 80,
) -> Any:
    """Draws points of the plane and which class a model gives to the ground below them.

    Args:
        model: a module that takes a tensor [n, 2], or anything that takes two numbers, as micrograd's MLP does. With
            one output its sign tells the class, with several the largest.
        X: points, [n, 2].
        y: the class of each, [n]: any two numbers, or 0, 1, 2 ... for a model with several outputs.
        path: file to write, or None; the ending chooses the format.
        title: above the axes.
        steps: the model is asked on a grid of this many by this many points.

    Returns:
        A matplotlib figure, which a notebook shows after `%matplotlib inline`.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: X is no list of points of the plane, or y no list of as many classes.
    """
    from matplotlib.colors import to_rgb

    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2 or labels.shape != points.shape[:1]:
        raise ValueError(
            f"plot_decision_boundary: X has shape {list(points.shape)}, y {list(labels.shape)}; give [n, 2] and [n]"
        )
    low, high = points.min(axis=0) - 0.5, points.max(axis=0) + 0.5
    x1, x2 = (np.linspace(low[k], high[k], steps) for k in range(2))
    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    scores = _scores(model, grid)
    if scores.shape[1] == 2:
        scores = scores[:, 1:] - scores[:, :1]  # its sign tells the class
    classes, which = np.unique(labels, return_inverse=True)

    width, height = high - low
    figure = _figure(6.0, 4.7 * height / width + 0.7)
    axes = figure.add_subplot()
    if scores.shape[1] == 1:
        surface = scores[:, 0].reshape(steps, steps)
        axes.contourf(x1, x2, surface, levels=[-np.inf, 0, np.inf], colors=PALE[:2])
        if surface.min() < 0 < surface.max():
            axes.contour(x1, x2, surface, levels=[0], colors="#333333", linewidths=1.2)
    else:
        ground = [to_rgb(colour) for colour in PALE]
        axes.pcolormesh(x1, x2, np.array(ground)[scores.argmax(axis=1) % len(PALE)].reshape(steps, steps, 3))
    for i, name in enumerate(classes):
        x, colour = points[which == i], COLOURS[i % len(COLOURS)]
        axes.scatter(x[:, 0], x[:, 1], s=36, color=colour, edgecolors="white", linewidths=0.8, label=f"{name:g}")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("x1")
    axes.set_ylabel("x2")
    axes.set_aspect("equal")
    axes.legend(title="class", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, handletextpad=0.2)
    if path is not None:
        figure.savefig(path)
    return figure


def _scores(model: Any, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What the model says about each point, [n, outputs]."""
    if _takes_tensors(model):
        x = tensor(points, dtype=float32)
        for first in model.parameters():
            x = x.to(first.device, getattr(first, "dtype", float32))  # a Value has none
            break
        with no_grad():
            return np.asarray(model(x).numpy(), dtype=np.float64).reshape(len(points), -1)
    # All are asked before one is read, so that values on a GPU run at once.
    answers = [model([float(a), float(b)]) for a, b in points]
    return np.array([[_number(value) for value in (a if isinstance(a, (list, tuple)) else [a])] for a in answers])


def _takes_tensors(model: Any) -> bool:
    from .nn import Module

    if type(model) is MLP:
        return all(map(_takes_tensors, model.layers))
    if type(model) in (Layer, Neuron):
        return _alike(model.neurons if type(model) is Layer else [model])
    return isinstance(model, Module)


def _number(value: Any) -> float:
    """A number, or what a `Value` holds."""
    return float(value.data if hasattr(value, "data") else value)


def plot_loss(history: Mapping[str, Curve], path: str | os.PathLike[str], title: str = "Training loss") -> None:
    """Draws loss against step.

    Args:
        history: a curve of (step, loss) for each name. What `fit` returned is drawn by `plot_history`.
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


def plot_history(history: Any, path: str | os.PathLike[str] | None = None, title: str = "Training") -> Any:
    """Draws loss and metrics of a training against the epoch, each beside its value over the validation data.

    Args:
        history: what `fit` returned.
        path: file to write, or None; the ending chooses the format.
        title: above the axes.

    Returns:
        A matplotlib figure, which a notebook shows after `%matplotlib inline`.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no epoch in it.
    """
    names = [name for name, column in history.metrics.items() if not isinstance(column[0], list)]
    if not history.epochs:
        raise ValueError("plot_history: the history has no epoch; train for one at least")
    from matplotlib.ticker import MaxNLocator

    figure, axes = panels(len(names), title)
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


def plot_confusion_matrix(
    matrix: Any,
    classes: Sequence[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = "Confusion matrix",
) -> Any:
    """Draws how often each class (row) was taken for each (column): counts as text, shares of the row as shades.

    Args:
        matrix: [classes, classes], as `metrics.confusion_matrix` gives it.
        classes: their names; numbers when None.
        path: file to write, or None; the ending chooses the format.
        title: above the axes.

    Returns:
        A matplotlib figure.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: matrix is not square, or there is not one name a class.
    """
    counts = np.asarray(matrix.detach().cpu().numpy() if isinstance(matrix, Tensor) else matrix)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"plot_confusion_matrix: matrix has shape {list(counts.shape)}; give [classes, classes]")
    names = [str(i) for i in range(len(counts))] if classes is None else list(classes)
    if len(names) != len(counts):
        raise ValueError(f"plot_confusion_matrix: {len(names)} names for {len(counts)} classes; give one each")
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = 2.2 + 0.46 * len(counts)
    figure = _figure(side + 0.9, side)
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if len(counts) <= 30:
        for (i, j), count in np.ndenumerate(counts):
            colour = "white" if shares[i, j] > 0.55 else "#222222" if count else "#bbbbbb"
            axes.text(j, i, f"{count:g}", ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("said")
    axes.set_ylabel("is")
    axes.set_title(title, fontsize=11)
    figure.colorbar(image, label="share of the row", shrink=0.8)
    if path is not None:
        figure.savefig(path)
    return figure


def plot_filters(
    weight: Any, path: str | os.PathLike[str] | None = None, columns: int = 8, title: str = "Filters"
) -> Any:
    """Draws the weights of a convolution as small pictures, one a filter.

    Filters of three channels are in colour, each stretched to its own range. Others show each channel in blue
    (negative) and red (positive), 0 white, on one scale for all.

    Args:
        weight: [filters, channels, height, width], or a module that has such a `weight`.
        path: file to write, or None; the ending chooses the format.
        columns: pictures in a row; a filter of several channels that are not colours takes a row of its own.
        title: above the pictures.

    Returns:
        A matplotlib figure.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: weight has another shape.
    """
    weight = getattr(weight, "weight", weight)
    values = np.asarray(weight.detach().cpu().numpy() if isinstance(weight, Tensor) else weight, dtype=np.float64)
    if values.ndim != 4 or 0 in values.shape:
        raise ValueError(
            f"plot_filters: weight has shape {list(values.shape)}; give [filters, channels, height, width]"
        )
    channels = values.shape[1]
    if channels == 3:
        low, high = values.min(axis=(1, 2, 3), keepdims=True), values.max(axis=(1, 2, 3), keepdims=True)
        pictures = list(((values - low) / np.where(high > low, high - low, 1)).transpose(0, 2, 3, 1))
    else:
        pictures = list(values.reshape(-1, *values.shape[2:]))
        columns = channels if channels > 1 else columns
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    figure = _figure(0.75 * columns + 1.0, 0.75 * rows + 0.6)
    figure.suptitle(title, fontsize=11)
    grid = figure.subplots(rows, columns, squeeze=False)
    reach = np.abs(values).max() or 1.0
    image = None
    for i, axes in enumerate(grid.flat):
        axes.set_axis_off()
        if i < len(pictures):
            image = axes.imshow(pictures[i], cmap="RdBu_r", vmin=-reach, vmax=reach)
    if channels != 3:
        figure.colorbar(image, ax=grid, shrink=0.8)
    if path is not None:
        figure.savefig(path)
    return figure


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


def _smooth(values: Sequence[float]) -> list[float]:
    """The mean over two neighbours on both sides, so that the curve is not late."""
    windows = (values[max(0, i - 2) : i + 3] for i in range(len(values)))
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
