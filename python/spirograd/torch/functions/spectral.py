"""Transforms of signals and windows, under the names that `torch` itself has."""

from __future__ import annotations

from typing import Any

from ... import signal
from ..._core import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "istft", "kaiser_window", "stft"]

stft, istft = signal.stft, signal.istft


def hann_window(window_length: int, periodic: bool = True, *, pin_memory: bool = False, **options: Any) -> Tensor:
    """signal.windows.hann(), periodic by default."""
    return signal.windows.hann(window_length, sym=not periodic, **options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    pin_memory: bool = False,
    **options: Any,
) -> Tensor:
    """alpha - beta cos(t), periodic by default."""
    return signal.windows.general_cosine(window_length, a=[alpha, beta], sym=not periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, *, pin_memory: bool = False, **options: Any) -> Tensor:
    """signal.windows.blackman(), periodic by default."""
    return signal.windows.blackman(window_length, sym=not periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, *, pin_memory: bool = False, **options: Any) -> Tensor:
    """signal.windows.bartlett(), periodic by default."""
    return signal.windows.bartlett(window_length, sym=not periodic, **options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, pin_memory: bool = False, **options: Any
) -> Tensor:
    """signal.windows.kaiser(), periodic by default."""
    return signal.windows.kaiser(window_length, beta=beta, sym=not periodic, **options)
