"""Encodings of positions, for layers that do not depend on the position."""

from __future__ import annotations

import math

from .._core import Tensor, arange, cat
from .module import TensorModule

__all__ = ["RoPE", "SinusoidalPositionalEncoding"]


class RoPE(TensorModule):
    """Encodes positions as rotations (Su et al., 2021): the angle of each pair of features is proportional to the
    position.

    Args:
        dims: number of features to rotate, from the first one on; even.
        traditional: whether neighbours form a pair; otherwise feature i and feature i + dims / 2 do.
        base: pair i is rotated by base ** (-2 * i / dims) per position.
        scale: factor of the positions.

    Raises:
        ValueError: dims is odd, or the input has fewer features.

    Example:
        >>> sg.nn.RoPE(8)(sg.ones(2, 5, 8)).shape
        (2, 5, 8)
    """

    _shown = "{dims} traditional"

    def __init__(self, dims: int, traditional: bool = False, base: float = 10000.0, scale: float = 1.0) -> None:
        super().__init__()
        if dims < 2 or dims % 2:
            raise ValueError(f"RoPE: dims is {dims}; use an even number")
        self.dims, self.traditional, self.base, self.scale = dims, traditional, base, scale

    def forward(self, input: Tensor, offset: int = 0) -> Tensor:
        """Rotates [..., time, features], whose positions start at `offset`."""
        if input.ndim < 2 or input.shape[-1] < self.dims:
            raise ValueError(f"RoPE: input has shape {list(input.shape)}; use [..., time, {self.dims} or more]")
        half = self.dims // 2
        kind = input.dtype
        speed = (arange(half, dtype=kind, device=input.device) * (-math.log(self.base) / half)).exp()
        angle = ((arange(input.shape[-2], dtype=kind, device=input.device) + offset) * self.scale).unsqueeze(1) * speed
        rotated, rest = input[..., : self.dims], input[..., self.dims :]
        if self.traditional:
            a, b = rotated[..., ::2], rotated[..., 1::2]
        else:
            a, b = rotated[..., :half], rotated[..., half:]
        cos, sin = angle.cos(), angle.sin()
        a, b = a * cos - b * sin, a * sin + b * cos
        if self.traditional:
            out = cat([a.unsqueeze(-1), b.unsqueeze(-1)], -1).flatten(-2)
            return cat([out, rest], -1) if rest.shape[-1] else out
        return cat([a, b, rest], -1) if rest.shape[-1] else cat([a, b], -1)


class SinusoidalPositionalEncoding(TensorModule):
    """Computes sines and cosines of positions, at frequencies from max_freq down to min_freq (Vaswani et al., 2017).

    Args:
        dims: number of features; even.
        min_freq: the lowest frequency.
        max_freq: the highest frequency.
        scale: factor of the results, by default sqrt(2 / (dims / 2)).
        cos_first: whether the cosines come before the sines.
        full_turns: whether frequencies are in turns, not in radians.

    Raises:
        ValueError: dims is odd.

    Example:
        >>> sg.nn.SinusoidalPositionalEncoding(8)(sg.arange(5)).shape
        (5, 8)
    """

    _shown = "{dims}"

    def __init__(
        self,
        dims: int,
        min_freq: float = 0.0001,
        max_freq: float = 1.0,
        scale: float | None = None,
        cos_first: bool = False,
        full_turns: bool = False,
    ) -> None:
        super().__init__()
        if dims < 2 or dims % 2:
            raise ValueError(f"SinusoidalPositionalEncoding: dims is {dims}; use an even number")
        self.dims, self.min_freq, self.max_freq = dims, min_freq, max_freq
        self.scale = math.sqrt(4 / dims) if scale is None else scale
        self.cos_first, self.full_turns = cos_first, full_turns

    def forward(self, input: Tensor) -> Tensor:
        """Encodes positions: any shape [...] -> [..., dims]."""
        half = self.dims // 2
        input = input if input.is_floating_point() else input.float()
        low, high = math.log(self.min_freq), math.log(self.max_freq)
        step = (low - high) / max(half - 1, 1)
        frequency = (arange(half, dtype=input.dtype, device=input.device) * step + high).exp()
        angle = input.unsqueeze(-1) * frequency * (2 * math.pi if self.full_turns else 1.0)
        parts = [angle.cos(), angle.sin()] if self.cos_first else [angle.sin(), angle.cos()]
        return cat(parts, -1) * self.scale
