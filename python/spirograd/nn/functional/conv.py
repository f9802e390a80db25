"""Convolutions, and images as columns of what a kernel sees."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Tensor, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, eye, pad

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "unfold",
]

Size = int | Sequence[int]


def _pair(v: Size) -> tuple[int, int]:
    a, b = (v, v) if isinstance(v, int) else v
    return a, b


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """The gradient of conv3d by its input: a convolution of the input with zeros between its elements.

    Args:
        input: [n, in_channels, depth, height, width] or without n.
        weight: [in_channels, out_channels / groups, ...].
        bias: [out_channels], or None.
        stride: of the result for one step in the input.
        padding: taken off the result on both sides.
        output_padding: more of the result at its end.
        groups: into how many groups the channels are cut.
        dilation: from element to element of the kernel.

    Raises:
        ValueError: channels or sizes do not fit.

    Example:
        >>> sg.nn.functional.conv_transpose3d(sg.ones(1, 2, 3, 3, 3), sg.ones(2, 4, 2, 2, 2), stride=2).shape
        (1, 4, 6, 6, 6)
    """
    s, p, more, d = ([v] * 3 if isinstance(v, int) else list(v) for v in (stride, padding, output_padding, dilation))
    if input.ndim not in (4, 5) or weight.ndim != 5 or input.shape[-4] != weight.shape[0] or weight.shape[0] % groups:
        raise ValueError(
            f"conv_transpose3d: input {list(input.shape)} and weight {list(weight.shape)} with groups={groups} do not "
            "fit; give [n, channels, depth, height, width] and [channels, result / groups, ...]"
        )
    if min(s) < 1 or min(d) < 1:
        raise ValueError(f"conv_transpose3d: stride {s}, dilation {d}; use 1 or more")
    if any(not 0 <= a < max(b, c) for a, b, c in zip(more, s, d, strict=True)):
        raise ValueError(
            f"conv_transpose3d: output_padding {more} with stride {s}; use less than the stride or the dilation"
        )
    x = input if input.ndim == 5 else input.unsqueeze(0)
    sizes = [int(n) for n in x.shape[2:]]
    apart = pad(
        x.reshape(*x.shape[:2], *(k for n in sizes for k in (n, 1))), [k for b in s[::-1] for k in (0, b - 1, 0, 0)]
    )
    x = apart.reshape(*x.shape[:2], *(n * b for n, b in zip(sizes, s, strict=True)))
    # A kernel sees the first element with its last tap; the last one, behind which are no zeros, with its first.
    reach = [c * (int(k) - 1) for c, k in zip(d, weight.shape[2:], strict=True)]
    x = pad(
        x, [k for r, a, b, e in list(zip(reach, p, s, more, strict=True))[::-1] for k in (r - a, r - a + e - (b - 1))]
    )
    rows, columns = weight.shape[0] // groups, weight.shape[1]
    turned = weight.flip((2, 3, 4)).reshape(groups, rows, columns, *weight.shape[2:]).transpose(1, 2)
    out = conv3d(x, turned.reshape(groups * columns, rows, *weight.shape[2:]), bias, 1, 0, d, groups)
    return out if input.ndim == 5 else out[0]


def unfold(input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Tensor:
    """What a kernel sees at each of its places, as columns.

    Args:
        input: [n, channels, height, width] or without n.
        kernel_size: rows and columns of the kernel.
        dilation: from element to element of the kernel.
        padding: zeros on both sides.
        stride: from place to place.

    Returns:
        [n, channels * kernel, places].

    Raises:
        ValueError: the kernel is larger than the input.

    Example:
        >>> sg.nn.functional.unfold(sg.ones(1, 3, 4, 4), 2).shape
        (1, 12, 9)
    """
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (_pair(v) for v in (kernel_size, dilation, padding, stride))
    x = input if input.dim() == 4 else input.unsqueeze(0)
    if ph or pw:
        x = pad(x, (pw, pw, ph, ph))
    rows, columns = dh * (kh - 1) + 1, dw * (kw - 1) + 1
    if rows > x.shape[2] or columns > x.shape[3]:
        raise ValueError(
            f"unfold: a kernel that reaches over {rows} x {columns} on input {list(input.shape)} with padding "
            f"{[ph, pw]}; use a smaller kernel, or more padding"
        )
    seen = x.unfold(2, rows, sh).unfold(3, columns, sw)[..., ::dh, ::dw]
    out = seen.permute(0, 1, 4, 5, 2, 3).reshape(x.shape[0], x.shape[1] * kh * kw, seen.shape[2] * seen.shape[3])
    return out if input.dim() == 4 else out[0]


def fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Columns put back to their places and summed where they overlap: the gradient of unfold.

    Args:
        input: [n, channels * kernel, places] or without n.
        output_size: height and width of the result.
        kernel_size: rows and columns of the kernel.
        dilation: from element to element of the kernel.
        padding: taken off on both sides.
        stride: from place to place.

    Returns:
        [n, channels, height, width].

    Raises:
        ValueError: input does not have that many places or channels.

    Example:
        >>> sg.nn.functional.fold(sg.ones(1, 4, 4), (3, 3), 2)[0, 0].tolist()
        [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    size, kernel, d, p, s = (_pair(v) for v in (output_size, kernel_size, dilation, padding, stride))
    x = input if input.dim() == 3 else input.unsqueeze(0)
    reach = [d[i] * (kernel[i] - 1) + 1 for i in (0, 1)]
    places = [(size[i] + 2 * p[i] - reach[i]) // s[i] + 1 for i in (0, 1)]
    taps = kernel[0] * kernel[1]
    if min(places) < 1 or x.dim() != 3 or x.shape[1] % taps or x.shape[2] != places[0] * places[1]:
        raise ValueError(
            f"fold: input {list(input.shape)} for a kernel of {list(kernel)} at {places[0]} x {places[1]} places; "
            f"give [n, channels * {taps}, {places[0] * places[1]}]"
        )
    channels = x.shape[1] // taps
    weight = eye(taps, dtype=x.dtype, device=x.device).reshape(taps, 1, *kernel).repeat(channels, 1, 1, 1)
    rest = [size[i] + 2 * p[i] - reach[i] - (places[i] - 1) * s[i] for i in (0, 1)]
    image = x.reshape(x.shape[0], x.shape[1], *places)
    out = conv_transpose2d(image, weight, None, s, p, rest, channels, d)
    return out if input.dim() == 3 else out[0]
