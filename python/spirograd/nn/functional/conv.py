"""Convolutions, and the columns that a kernel reads from images."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Tensor, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, pad
from .._arguments import described
from .._sizes import Size, for_each_dimension

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold", "unfold"]


def _spread(x: Tensor, strides: Sequence[int]) -> Tensor:
    """The tensor with stride - 1 zeros after each element of the last three dimensions."""
    sizes = [int(n) for n in x.shape[2:]]
    spread = x.reshape(*x.shape[:2], *(k for n in sizes for k in (n, 1)))
    spread = pad(spread, [k for s in strides[::-1] for k in (0, s - 1, 0, 0)])
    return spread.reshape(*x.shape[:2], *(n * s for n, s in zip(sizes, strides, strict=True)))


def _flipped(weight: Tensor, groups: int) -> Tensor:
    """[rows, columns of a group, ...] -> [columns, rows of a group, ...], with the kernel flipped."""
    rows, columns = weight.shape[0] // groups, weight.shape[1]
    flipped = weight.flip((2, 3, 4)).reshape(groups, rows, columns, *weight.shape[2:]).transpose(1, 2)
    return flipped.reshape(groups * columns, rows, *weight.shape[2:])


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
    """Computes the gradient of conv3d with respect to its input: a convolution of `input` with zeros between elements.

    Args:
        input: [n, in_channels, depth, height, width], or without n.
        weight: [in_channels, out_channels / groups, ...].
        bias: [out_channels], or None.
        stride: step in the result for one step in the input.
        padding: elements cut off the result on both sides.
        output_padding: elements added to the end of the result.
        groups: number of groups of channels; each is convolved separately.
        dilation: distance between the elements of the kernel.

    Raises:
        ValueError: the channels or sizes do not fit.

    Example:
        >>> sg.nn.functional.conv_transpose3d(sg.ones(1, 2, 3, 3, 3), sg.ones(2, 4, 2, 2, 2), stride=2).shape
        (1, 4, 6, 6, 6)
    """
    op = "conv_transpose3d"
    s, d = for_each_dimension(op, "stride", stride, 3), for_each_dimension(op, "dilation", dilation, 3)
    p = for_each_dimension(op, "padding", padding, 3)
    more = for_each_dimension(op, "output_padding", output_padding, 3)
    if input.ndim not in (4, 5) or weight.ndim != 5 or input.shape[-4] != weight.shape[0] or weight.shape[0] % groups:
        raise ValueError(
            f"{op}: input {list(input.shape)} and weight {list(weight.shape)} with groups={groups} do not "
            "fit; give [n, channels, depth, height, width] and [channels, result / groups, ...]"
        )
    if min(s) < 1 or min(d) < 1:
        raise ValueError(f"{op}: stride {list(s)}, dilation {list(d)}; use 1 or more")
    if any(not 0 <= a < max(b, c) for a, b, c in zip(more, s, d, strict=True)):
        raise ValueError(
            f"{op}: output_padding {list(more)} with stride {list(s)}; use less than the stride or the dilation"
        )
    x = _spread(input if input.ndim == 5 else input.unsqueeze(0), s)
    # The last tap of the kernel reads the first element; the first tap reads the last element, which no zeros follow.
    reach = [c * (int(k) - 1) for c, k in zip(d, weight.shape[2:], strict=True)]
    borders = [(r - a, r - a + e - (b - 1)) for r, a, b, e in zip(reach, p, s, more, strict=True)]
    x = pad(x, [k for border in borders[::-1] for k in border])
    out = conv3d(x, _flipped(weight, groups), bias, 1, 0, d, groups)
    return out if input.ndim == 5 else out[0]


def unfold(input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Tensor:
    """Copies the elements that a kernel reads at each position to a column: [n, channels, height, width] -> [n,
    channels * kernel, positions].

    Args:
        input: [n, channels, height, width], or without n.
        kernel_size: height and width of the kernel: one number, or two.
        dilation: distance between the elements of the kernel.
        padding: zeros added on both sides.
        stride: step of the kernel.

    Raises:
        ValueError: the kernel is larger than the input.

    Example:
        >>> sg.nn.functional.unfold(sg.ones(1, 3, 4, 4), 2).shape
        (1, 12, 9)
    """
    options = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (for_each_dimension("unfold", k, v, 2) for k, v in options.items())
    x = input if input.dim() == 4 else input.unsqueeze(0)
    if ph or pw:
        x = pad(x, (pw, pw, ph, ph))
    height, width = dh * (kh - 1) + 1, dw * (kw - 1) + 1
    if height > x.shape[2] or width > x.shape[3]:
        raise ValueError(
            f"unfold: a kernel that reaches over {height} x {width} on input {list(input.shape)} with padding "
            f"{[ph, pw]}; use a smaller kernel, or more padding"
        )
    seen = x.unfold(2, height, sh).unfold(3, width, sw)[..., ::dh, ::dw]
    columns = seen.permute(0, 1, 4, 5, 2, 3).clone()
    out = columns.reshape(x.shape[0], x.shape[1] * kh * kw, seen.shape[2] * seen.shape[3])
    return out if input.dim() == 4 else out[0]


def _added(x: Tensor, dim: int, dilation: int, stride: int, least: int) -> Tensor:
    """Adds the values of a kernel at each position where they overlap: [.., kernel, positions, ..] -> [.., line, ..] at
    dimension dim. The line has at least `least` elements; the last ones may be zeros."""
    kernel, positions = (int(n) for n in x.shape[dim : dim + 2])
    before, after = x.shape[:dim], x.shape[dim + 2 :]
    whole = [0] * (2 * len(after))
    if dilation > 1:  # zeros between the elements of a kernel
        x = pad(x.unsqueeze(dim + 1), [*whole, 0, 0, 0, dilation - 1])
        kernel *= dilation
    # The kernel is cut into runs of one stride.
    runs = max(-(-kernel // stride), -(-least // stride) - positions + 1)
    ends, length = runs - 1, positions + runs - 1
    x = pad(x.reshape(*before, kernel, positions, *after), [*whole, ends, ends, 0, runs * stride - kernel])
    x = x.reshape(*before, runs, stride, length + ends, *after)
    line = x.select(dim, 0).narrow(dim + 1, ends, length)
    for run in range(1, runs):
        line = line + x.select(dim, run).narrow(dim + 1, ends - run, length)
    return line.transpose(dim, dim + 1).reshape(*before, length * stride, *after)


@described(unfold)
def fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Adds the columns that unfold makes to an image, the gradient of unfold: [n, channels * kernel, positions] -> [n,
    channels, height, width].

    Args:
        input: [n, channels * kernel, positions], or without n.
        output_size: height and width of the result: one number, or two.
        padding: elements cut off on both sides.

    Raises:
        ValueError: the number of positions or channels of the input does not fit.

    Example:
        >>> sg.nn.functional.fold(sg.ones(1, 4, 4), (3, 3), 2)[0, 0].tolist()
        [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    size = for_each_dimension("fold", "output_size", output_size, 2)
    options = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernel, d, p, s = (for_each_dimension("fold", k, v, 2) for k, v in options.items())
    x = input if input.dim() == 3 else input.unsqueeze(0)
    reach = [d[i] * (kernel[i] - 1) + 1 for i in (0, 1)]
    positions = [(size[i] + 2 * p[i] - reach[i]) // s[i] + 1 for i in (0, 1)]
    taps = kernel[0] * kernel[1]
    if min(positions) < 1 or x.dim() != 3 or x.shape[1] % taps or x.shape[2] != positions[0] * positions[1]:
        raise ValueError(
            f"fold: input {list(input.shape)} for a kernel of {list(kernel)} at {positions[0]} x {positions[1]} "
            f"positions; give [n, channels * {taps}, {positions[0] * positions[1]}]"
        )
    image = x.reshape(x.shape[0], x.shape[1] // taps, *kernel, *positions).transpose(3, 4)
    for i in (0, 1):
        image = _added(image, 2 + i, d[i], s[i], p[i] + size[i]).narrow(2 + i, p[i], size[i])
    out = image.clone()
    return out if input.dim() == 3 else out[0]
