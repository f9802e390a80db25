"""The figure that all functions of `viz` return."""

from __future__ import annotations

import io

from matplotlib.figure import Figure as Plain


class Figure(Plain):
    """A figure of matplotlib that a notebook shows by itself, whether or not pyplot was imported."""

    def _repr_png_(self) -> bytes:
        self.savefig(file := io.BytesIO(), format="png", dpi=100)
        return file.getvalue()
