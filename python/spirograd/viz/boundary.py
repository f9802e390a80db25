"""Which class a model gives to each point of the plane."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import float32, tensor
from ..base.docstrings import described_by
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..nn import Module
from ..scalar import MLP, Layer, Neuron, _alike
from .style import COLOURS, PALE, PICTURE, figure_of

__all__ = ["plot_decision_boundary"]


@naming_keywords
@described_by(PICTURE)
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
        steps: the model is asked on a grid of this many by this many points.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: X is not a list of points of the plane, or y not a list of as many classes.
    """
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
        scores = scores[:, 1:] - scores[:, :1]  # its sign is the class
    classes, which = np.unique(labels, return_inverse=True)

    width, height = high - low
    figure = figure_of(6.0, 4.7 * height / width + 0.7)
    from matplotlib.colors import to_rgb

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
    """The model's output for each point, [n, outputs]."""
    if _takes_tensors(model):
        x = tensor(points, dtype=float32)
        for first in model.parameters():
            x = x.to(first.device, getattr(first, "dtype", float32))  # a Value has no shape
            break
        with no_grad():
            return np.asarray(model(x).numpy(), dtype=np.float64).reshape(len(points), -1)
    # All outputs are computed before the first is read, so that values on a GPU run together.
    answers = [model([float(a), float(b)]) for a, b in points]
    return np.array([[_number(value) for value in (a if isinstance(a, (list, tuple)) else [a])] for a in answers])


def _takes_tensors(model: Any) -> bool:
    if type(model) is MLP:
        return all(map(_takes_tensors, model.layers))
    if type(model) in (Layer, Neuron):
        return _alike(model.neurons if type(model) is Layer else [model])
    return isinstance(model, Module)


def _number(value: Any) -> float:
    """A number, or what a `Value` holds."""
    return float(value.data if hasattr(value, "data") else value)
