"""Fourier transforms of pieces of a signal, and back."""

from __future__ import annotations

from typing import Any

from .. import _core, fft
from .._complex import ComplexTensor, view_as_complex, view_as_real
from .._core import Tensor
from ..nn.functional import fold, pad

__all__ = ["istft", "stft"]

AnyTensor = Tensor | ComplexTensor


def _window(op: str, window: Tensor | None, n_fft: int, win_length: int | None, like: Tensor) -> Tensor:
    """The window in the middle of n_fft elements."""
    length = n_fft if win_length is None else win_length
    if not 0 < length <= n_fft:
        raise ValueError(f"{op}: win_length is {length}; use 1 to n_fft, which is {n_fft}")
    if window is None:
        window = _core.ones(length, dtype=like.dtype, device=like.device)
    if window.shape != (length,):
        raise ValueError(f"{op}: the window has shape {list(window.shape)}; give [{length}]")
    before = (n_fft - length) // 2
    return _core.pad(window, (before, n_fft - length - before))


def _hop(op: str, n_fft: int, hop_length: int | None) -> int:
    hop = n_fft // 4 if hop_length is None else hop_length
    if n_fft < 1 or hop < 1:
        raise ValueError(f"{op}: n_fft is {n_fft} and hop_length {hop}; use 1 or more")
    return hop


def stft(
    input: AnyTensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """The Fourier transforms of overlapping pieces of signals, each times a window. It has gradients.

    Args:
        input: [samples] or [n, samples], real or complex.
        n_fft: the length of a transform.
        hop_length: from the start of a piece to that of the next; None: a quarter of n_fft.
        win_length: the length of the window, which is put in the middle of n_fft zeros; None: n_fft.
        window: [win_length]; None: ones.
        center: whether pieces are centred at their places: the signal is padded by n_fft // 2 on both sides.
        pad_mode: "reflect", "constant", "replicate" or "circular".
        normalized: whether the transforms are divided by the root of n_fft.
        onesided: whether only frequencies up to the middle are given; None: those of real input.
        return_complex: True gives a complex tensor, False a real one with a last dimension of 2. A real input needs one
            of them.
        align_to_window: accepted where it changes nothing.

    Returns:
        [n, frequencies, pieces], or without n.

    Raises:
        ValueError: the signal is too short, or a length or the window does not fit.

    Example:
        >>> sg.signal.stft(sg.ones(32), 8, window=sg.signal.windows.hann(8, sym=False), return_complex=True).shape
        (5, 17)
    """
    op = "stft"
    parts = [input.real, input.imag] if isinstance(input, ComplexTensor) else [input]
    if parts[0].ndim not in (1, 2) or not parts[0].is_floating_point():
        raise ValueError(f"{op}: the input has shape {list(input.shape)}; give floats [samples] or [n, samples]")
    if return_complex is None and len(parts) == 1:
        raise ValueError(f"{op}: return_complex is not given; use return_complex=True for a complex result")
    if align_to_window and center:
        raise ValueError(f"{op}: align_to_window with center; give one of them")
    one = len(parts) == 1 if onesided is None else onesided
    if one and len(parts) == 2:
        raise ValueError(f"{op}: onesided with a complex input; use onesided=False")
    if isinstance(window, ComplexTensor):
        raise TypeError(f"{op}: the window is complex; give a real one")
    hop, weights = _hop(op, n_fft, hop_length), _window(op, window, n_fft, win_length, parts[0])
    pieces = []
    for part in parts:
        x = part if part.ndim == 2 else part.unsqueeze(0)
        if center:
            half = n_fft // 2
            if pad_mode == "reflect" and x.shape[-1] <= half:
                raise ValueError(
                    f"{op}: {x.shape[-1]} samples to be reflected by {half}; give more, or another pad_mode"
                )
            x = pad(x.unsqueeze(0), (half, half), pad_mode)[0]
        if x.shape[-1] < n_fft:
            raise ValueError(f"{op}: {x.shape[-1]} samples for n_fft {n_fft}; give as many")
        cut = x.unfold(-1, n_fft, hop) * weights
        pieces.append(cut if part.ndim == 2 else cut[0])
    norm = "ortho" if normalized else "backward"
    if one:
        made = fft.rfft(pieces[0], norm=norm)
    else:
        made = fft.fft(ComplexTensor(*pieces) if len(pieces) == 2 else pieces[0], norm=norm)
    made = made.transpose(-1, -2)
    return view_as_real(made) if return_complex is False else made


def istft(
    input: AnyTensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """The signals of which stft() made these, by least squares: pieces times the window are added and divided by the
    sum of the squared windows (Griffin and Lim, 1984). It has gradients.

    Args:
        input: [n, frequencies, pieces] or without n; complex, or real with a last dimension of 2.
        n_fft, hop_length, win_length, window, center, normalized, onesided: see stft.
        length: how many samples are wanted; None: as many as the pieces cover.
        return_complex: whether the signal is complex.

    Returns:
        [n, samples], or without n.

    Raises:
        ValueError: the frequencies are not those of n_fft, or the windows leave a sample without weight.

    Example:
        >>> x, w = sg.arange(32.0), sg.signal.windows.hann(8, sym=False)
        >>> y = sg.signal.istft(sg.signal.stft(x, 8, window=w, return_complex=True), 8, window=w)
        >>> round((y - x).abs().max().item(), 3)
        0.0
    """
    op = "istft"
    spectrum = input if isinstance(input, ComplexTensor) else view_as_complex(input)
    one = spectrum.shape[-2] != n_fft if onesided is None else onesided
    if one and return_complex:
        raise ValueError(f"{op}: a complex signal of onesided frequencies; use onesided=False")
    wanted = n_fft // 2 + 1 if one else n_fft
    if spectrum.ndim not in (2, 3) or spectrum.shape[-2] != wanted:
        raise ValueError(f"{op}: the input has shape {list(spectrum.shape)}; give [n, {wanted}, pieces]")
    hop, weights = _hop(op, n_fft, hop_length), _window(op, window, n_fft, win_length, spectrum.real)
    norm = "ortho" if normalized else "backward"
    turned = spectrum.transpose(-1, -2)
    # Of a real signal the other frequencies are known: they are not read, as in PyTorch.
    made = fft.ifft(turned, norm=norm) if return_complex else fft.irfft(turned, n_fft, norm=norm)
    count = spectrum.shape[-1]
    whole = n_fft + hop * (count - 1)

    def added(pieces: Tensor) -> Tensor:
        """[n, pieces, n_fft] at their places: [n, whole]."""
        out: Tensor = fold(pieces.transpose(-1, -2), (1, whole), (1, n_fft), stride=(1, hop))
        return out[:, 0, 0]

    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else whole - start
    total = added((weights * weights).expand(1, count, n_fft))[0, start:stop]
    if not total.numel() or total.min().item() < 1e-11:
        raise ValueError(f"{op}: the windows add up to 0 at a sample; use a smaller hop_length, or center=True")

    def signal(pieces: Tensor) -> Tensor:
        x = added((pieces if pieces.ndim == 3 else pieces.unsqueeze(0)) * weights)[:, start:stop] / total
        x = _core.pad(x, (0, stop - start - x.shape[-1]))
        return x if pieces.ndim == 3 else x[0]

    if isinstance(made, Tensor):
        return signal(made)
    return ComplexTensor(signal(made.real), signal(made.imag))
