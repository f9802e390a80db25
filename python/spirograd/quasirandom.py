"""Sobol's sequence: points that fill a cube evenly. SciPy has its table of directions."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from . import _core
from ._core import Tensor
from .base.out import placed

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points that fill the unit cube evenly.

    Args:
        dimension: how many numbers make a point.
        scramble: mixes the points at random, so that no point is at 0.
        seed: of the mixing; None: drawn from the default generator. The numbers are not PyTorch's.

    Raises:
        ValueError: there is no such dimension.
        ImportError: SciPy is not installed.

    Example:
        >>> sg.quasirandom.SobolEngine(2).draw(3).tolist()
        [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25]]
    """

    MAXBIT: ClassVar[int] = 30
    MAXDIM: ClassVar[int] = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"SobolEngine: dimension is {dimension}; use 1 to {self.MAXDIM}")
        try:
            from scipy.stats.qmc import Sobol
        except ImportError:
            raise ImportError(
                "SobolEngine: SciPy is not installed, and has the table of directions; pip install scipy"
            ) from None
        import numpy as np

        self.dimension, self.scramble, self.seed, self.num_generated = dimension, scramble, seed, 0
        start = seed if seed is not None else int(_core.randint(0, 2**31 - 1, (1,)).item()) if scramble else 0
        keyword = "rng" if "rng" in inspect.signature(Sobol).parameters else "seed"
        options = {"scramble": scramble, "bits": self.MAXBIT, keyword: np.random.default_rng(start)}
        self._sequence = Sobol(dimension, **options)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next n points: [n, dimension].

        Args:
            n: how many.
            out: where to write them.
            dtype: their type; by default, the default one.
        """
        import warnings

        kind = _core.get_default_dtype() if dtype is None else dtype
        with warnings.catch_warnings():  # of numbers of points that are no powers of 2
            warnings.simplefilter("ignore")
            points = _core.tensor(self._sequence.random(n), dtype=kind)
        self.num_generated += n
        return points if out is None else placed("draw", points, out)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2 ** m points.

        Raises:
            ValueError: the number of all points would be no power of 2.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"draw_base2: {self.num_generated} points and 2 ** {m} are {total}, no power of 2; use draw({2**m})"
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Starts again with the first point."""
        self._sequence.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Passes over n points."""
        self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}", *(["scramble=True"] if self.scramble else [])]
        return f"SobolEngine({', '.join(shown + ([f'seed={self.seed}'] if self.seed is not None else []))})"
