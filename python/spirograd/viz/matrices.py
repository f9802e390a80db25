"""Matrices and weights as pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import Tensor
from ..base.docstrings import described_by
from ..base.keywords import naming_keywords
from .style import PICTURE, figure_of

__all__ = ["plot_confusion_matrix", "plot_filters"]


@naming_keywords
@described_by(PICTURE)
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
    figure = figure_of(side + 0.9, side)
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


@naming_keywords
@described_by(PICTURE)
def plot_filters(
    weight: Any, path: str | os.PathLike[str] | None = None, columns: int = 8, title: str = "Filters"
) -> Any:
    """Draws the weights of a convolution as small pictures, one a filter.

    Filters of three channels are in colour, each stretched to its own range. Others show each channel in blue
    (negative) and red (positive), 0 white, on one scale for all.

    Args:
        weight: [filters, channels, height, width], or a module that has such a `weight`.
        columns: pictures in a row; a filter of several channels that are not colours takes a row of its own.
        title: above the pictures.

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
    figure = figure_of(0.75 * columns + 1.0, 0.75 * rows + 0.6)
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
