"""Points in the plane, made by formulas: two moons, circles, spirals, blobs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.keywords import naming_keywords
from ..utils.data.sampler import draw_seed

__all__ = ["Points", "blobs", "circles", "moons", "spirals"]

Array = npt.NDArray[np.float64]


class Points(NamedTuple):
    """Points and their classes: row i of `x` belongs to `y[i]`."""

    x: npt.NDArray[np.float32]  # [n, 2], or [n, features]
    y: npt.NDArray[np.int64]  # [n]


@naming_keywords
def moons(n_samples: int = 100, *, noise: float = 0.0, shuffle: bool = True, seed: int | None = None) -> Points:
    """Two half circles that reach into each other: (cos t, sin t) and (1 - cos t, 1/2 - sin t) for t from 0 to pi.

    Args:
        n_samples: how many points, half of them in each class.
        noise: the deviation of normal noise.
        shuffle: whether the classes are mixed.
        seed: of the random numbers; None draws one from the common stream.

    Raises:
        ValueError: there is less than one point in a class, or `noise` is negative.

    Example:
        >>> x, y = sg.datasets.moons(200, noise=0.1, seed=0)
        >>> x.shape, np.bincount(y).tolist()
        ((200, 2), [100, 100])
    """
    sizes = _sizes("moons", n_samples, 2)
    outer, inner = (np.linspace(0, np.pi, size) for size in sizes)
    parts = [_plane(np.cos(outer), np.sin(outer)), _plane(1 - np.cos(inner), 0.5 - np.sin(inner))]
    return _mixed("moons", parts, noise, shuffle, seed)


@naming_keywords
def circles(
    n_samples: int = 100, *, noise: float = 0.0, factor: float = 0.8, shuffle: bool = True, seed: int | None = None
) -> Points:
    """A circle of radius 1 and one of radius `factor` inside it.

    Args:
        n_samples: how many points, half of them in each class.
        noise: the deviation of normal noise.
        factor: the inner radius, from 0 to 1.
        shuffle: whether the classes are mixed.
        seed: of the random numbers; None draws one from the common stream.

    Raises:
        ValueError: `factor` is not between 0 and 1; else as `moons`.

    Example:
        >>> x, y = sg.datasets.circles(10, factor=0.5, seed=0)
        >>> sorted(set(np.hypot(*x.T).round(3).tolist()))
        [0.5, 1.0]
    """
    if not 0 <= factor < 1:
        raise ValueError(f"circles: factor is {factor}; give a radius from 0 to 1")
    parts = []
    for size, radius in zip(_sizes("circles", n_samples, 2), (1.0, factor), strict=True):
        angle = np.linspace(0, 2 * np.pi, size, endpoint=False)
        parts.append(radius * _plane(np.cos(angle), np.sin(angle)))
    return _mixed("circles", parts, noise, shuffle, seed)


@naming_keywords
def spirals(
    n_samples: int = 100,
    *,
    classes: int = 2,
    turns: float = 1.5,
    noise: float = 0.0,
    shuffle: bool = True,
    seed: int | None = None,
) -> Points:
    """Arms that wind out from the middle: r (cos a, sin a), a = 2 pi (turns r + class / classes), r up to 1.

    Args:
        n_samples: how many points, shared out evenly.
        classes: how many arms.
        turns: how often each goes round.
        noise: the deviation of normal noise.
        shuffle: whether the classes are mixed.
        seed: of the random numbers; None draws one from the common stream.

    Raises:
        ValueError: as `moons`.

    Example:
        >>> x, y = sg.datasets.spirals(90, classes=3, seed=0)
        >>> np.bincount(y).tolist()
        [30, 30, 30]
    """
    parts = []
    for k, size in enumerate(_sizes("spirals", n_samples, classes)):
        radius = np.arange(1, size + 1) / size
        angle = 2 * np.pi * (turns * radius + k / classes)
        parts.append(_plane(radius * np.cos(angle), radius * np.sin(angle)))
    return _mixed("spirals", parts, noise, shuffle, seed)


@naming_keywords
def blobs(
    n_samples: int = 100,
    *,
    n_features: int = 2,
    centers: Any = 3,
    cluster_std: float = 1.0,
    center_box: tuple[float, float] = (-10.0, 10.0),
    shuffle: bool = True,
    seed: int | None = None,
) -> Points:
    """Normal clouds around centres.

    Args:
        n_samples: how many points, shared out evenly.
        n_features: how many numbers a point has, when `centers` is a number.
        centers: how many, drawn evenly from `center_box`; or where they are, [classes, features].
        cluster_std: the deviation of each cloud.
        center_box: from where to where centres lie, in each direction.
        shuffle: whether the classes are mixed.
        seed: of the random numbers; None draws one from the common stream.

    Raises:
        ValueError: there is less than one point in a class, or `cluster_std` is negative.

    Example:
        >>> x, y = sg.datasets.blobs(6, centers=[[0, 0], [9, 9]], cluster_std=0.1, seed=0)
        >>> np.array_equal(x[:, 0] > 5, y == 1)
        True
    """
    seed = draw_seed(None) if seed is None else seed
    random = np.random.default_rng((seed, 1))  # another stream than that of the noise
    if isinstance(centers, int):
        where = random.uniform(*center_box, (centers, n_features))
    else:
        where = np.asarray(centers, np.float64)
    if where.ndim != 2:
        raise ValueError(f"blobs: centers has shape {list(where.shape)}; give a number or [classes, features]")
    sizes = _sizes("blobs", n_samples, len(where))
    parts = [np.broadcast_to(center, (size, len(center))) for center, size in zip(where, sizes, strict=True)]
    return _mixed("blobs", parts, cluster_std, shuffle, seed)


def _sizes(name: str, n_samples: int, classes: int) -> list[int]:
    """Points in each class; the first ones have one more if it does not come out even (as in scikit-learn's blobs)."""
    if classes < 1 or n_samples < classes:
        raise ValueError(f"{name}: n_samples is {n_samples} for {classes} classes; give at least one point each")
    return [n_samples // classes + (k < n_samples % classes) for k in range(classes)]


def _plane(x: Array, y: Array) -> Array:
    return np.stack([x, y], 1)


def _mixed(name: str, parts: list[Array], noise: float, shuffle: bool, seed: int | None) -> Points:
    if noise < 0:
        raise ValueError(f"{name}: the deviation is {noise}; it is not negative")
    random = np.random.default_rng(draw_seed(None) if seed is None else seed)
    x = np.concatenate(parts)
    y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    x = x + random.normal(0, noise, x.shape) if noise else x
    if shuffle:
        order = random.permutation(len(x))
        x, y = x[order], y[order]
    return Points(x.astype(np.float32), y.astype(np.int64))
