"""Transforms without chance, for images [..., channels, height, width], arrays or tensors on any device.

Bytes stay bytes: they are rounded. Floating types have values from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..base.types import DTypeLike
from ._images import Images, as_array, back, floats, indices, largest, of, on_batch

__all__ = ["adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "adjust_sharpness", "affine"]
__all__ += ["autocontrast", "center_crop", "crop", "equalize", "gaussian_blur", "hflip", "horizontal_flip", "invert"]
__all__ += ["normalize", "pad", "pil_to_tensor", "posterize", "resize", "rgb_to_grayscale", "rotate", "solarize"]
__all__ += ["to_dtype", "to_tensor", "vertical_flip", "vflip"]

GREY = (0.2989, 0.587, 0.114)  # of red, green, blue
_REACH = {"bilinear": 1, "bicubic": 2}


# ---- types -----------------------------------------------------------------------------------------------------------
def to_dtype(image: Any, dtype: DTypeLike | Any = None, scale: bool = False) -> Any:
    """An image in another type.

    Args:
        image: [..., channels, height, width].
        dtype: a type of spirograd or of NumPy; float32 when None.
        scale: also changes the range: 0 to 255 of bytes, 0 to 1 of floating types.

    Example:
        >>> sg.transforms.functional.to_dtype(np.full((1, 1, 1), 51, np.uint8), np.float32, scale=True)
        array([[[0.2]]], dtype=float32)
    """
    x = as_array("to_dtype", image)
    name = str(np.dtype(dtype) if isinstance(dtype, type) else dtype or "float32").removeprefix("spirograd.")
    wanted: Any = getattr(_core, name) if isinstance(x, Tensor) else np.dtype(name)
    bytes_wanted = name == "uint8"
    if not scale or bytes_wanted == (largest(x) == 255):
        return x.to(wanted) if isinstance(x, Tensor) else x.astype(wanted, copy=False)
    values = floats(x) * 255 if bytes_wanted else floats(x) / 255
    values = of(x).round(values.clip(0, 255)) if bytes_wanted else values
    return values.to(wanted) if isinstance(x, Tensor) else values.astype(wanted)


def to_tensor(image: Any) -> Tensor:
    """A float32 tensor [channels, height, width] from 0 to 1, of such an array or of a picture of Pillow.

    Example:
        >>> sg.transforms.functional.to_tensor(np.full((1, 1, 2), 255, np.uint8)).tolist()
        [[[1.0, 1.0]]]
    """
    x = to_dtype(image, "float32", scale=True) if largest(as_array("to_tensor", image)) == 255 else as_array("", image)
    return x if isinstance(x, Tensor) else _core.tensor(np.ascontiguousarray(x))


def pil_to_tensor(image: Any) -> Tensor:
    """A tensor of bytes [channels, height, width] of a picture of Pillow."""
    x = as_array("pil_to_tensor", image)
    return x if isinstance(x, Tensor) else _core.tensor(np.ascontiguousarray(x))


def normalize(image: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """(image - mean) / std, channel by channel.

    Args:
        image: of a floating type.
        mean, std: one number for each channel.
        inplace: accepted; the result is always new.

    Raises:
        TypeError: the image has integers.
        ValueError: there is not one number for each channel, or one in std is 0.

    Example:
        >>> sg.transforms.functional.normalize(sg.ones(1, 1, 2), [0.5], [0.25]).tolist()
        [[[2.0, 2.0]]]
    """
    x = as_array("normalize", image)
    if not (x.is_floating_point() if isinstance(x, Tensor) else x.dtype.kind == "f"):
        raise TypeError(f"normalize: the image has {x.dtype}; put ToTensor() or ToDtype(float32, scale=True) before")
    if {len(mean), len(std)} - {1, x.shape[-3]} or 0 in std:
        raise ValueError(
            f"normalize: mean {list(mean)}, std {list(std)} for {x.shape[-3]} channels; give one each, not 0"
        )
    if len(set(mean)) == len(set(std)) == 1:
        return (x - mean[0]) / std[0]
    dtype = x.dtype if isinstance(x, np.ndarray) else None
    of_channel: list[Any] = [np.asarray(values, dtype or np.float32).reshape(-1, 1, 1) for values in (mean, std)]
    if isinstance(x, Tensor):
        of_channel = [_core.tensor(values, dtype=x.dtype, device=x.device) for values in of_channel]
    return (x - of_channel[0]) / of_channel[1]


# ---- places ----------------------------------------------------------------------------------------------------------
def horizontal_flip(image: Any) -> Any:
    """The image, left and right exchanged."""
    x = as_array("horizontal_flip", image)
    return x.flip(-1) if isinstance(x, Tensor) else np.flip(x, -1)


def vertical_flip(image: Any) -> Any:
    """The image, top and bottom exchanged."""
    x = as_array("vertical_flip", image)
    return x.flip(-2) if isinstance(x, Tensor) else np.flip(x, -2)


hflip, vflip = horizontal_flip, vertical_flip


def pad(image: Any, padding: int | Sequence[int], fill: float = 0, padding_mode: str = "constant") -> Any:
    """The image with a border.

    Args:
        image: [..., channels, height, width].
        padding: pixels at each side; or left and right, top and bottom; or left, top, right, bottom.
        fill: the value of a constant border.
        padding_mode: "constant", "edge" or "reflect" (without repeating the edge), or "symmetric" (with it).

    Raises:
        ValueError: padding or padding_mode are none of these.

    Example:
        >>> sg.transforms.functional.pad(np.ones((1, 1, 1), np.uint8), 1)[0].tolist()
        [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    """
    x = as_array("pad", image)
    each = [padding] * 4 if isinstance(padding, int) else [*padding, *padding] if len(padding) == 2 else [*padding]
    if len(each) != 4 or min(each) < 0:
        raise ValueError(f"pad: padding is {padding}; give one number, two or four, of 0 or more")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"pad: padding_mode is {padding_mode!r}; use constant, edge, reflect or symmetric")
    left, top, right, bottom = each
    if isinstance(x, np.ndarray):
        sides = [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)]
        if padding_mode == "constant":
            return np.pad(x, sides, constant_values=fill)
        return np.pad(x, sides, padding_mode)  # type: ignore[call-overload]
    if padding_mode == "constant":
        shape = (*x.shape[:-2], x.shape[-2] + top + bottom, x.shape[-1] + left + right)
        out = _core.full(shape, fill, dtype=x.dtype, device=x.device)
        out[..., top : top + x.shape[-2], left : left + x.shape[-1]] = x
        return out
    for dim, size, before, after in ((-2, x.shape[-2], top, bottom), (-1, x.shape[-1], left, right)):
        order = np.pad(np.arange(size), (before, after), padding_mode)  # type: ignore[call-overload]
        x = x.index_select(dim, _core.tensor(order, device=x.device))
    return x


def crop(image: Any, top: int, left: int, height: int, width: int) -> Any:
    """A part of an image; what lies outside is 0."""
    x = as_array("crop", image)
    over = [max(0, -left), max(0, -top), max(0, left + width - x.shape[-1]), max(0, top + height - x.shape[-2])]
    if any(over):
        x, top, left = pad(x, over), max(top, 0), max(left, 0)
    return x[..., top : top + height, left : left + width]


def center_crop(image: Any, output_size: int | Sequence[int]) -> Any:
    """The middle of an image, height and width or one number for both; a smaller image gets a border of 0."""
    x = as_array("center_crop", image)
    height, width = both("center_crop", output_size)
    return crop(x, round((x.shape[-2] - height) / 2), round((x.shape[-1] - width) / 2), height, width)


def crop_at(x: Images, tops: Any, lefts: Any, height: int, width: int) -> Images:
    """Parts of images, each from its own place; tops, lefts: [n, 1, 1, 1]."""
    if isinstance(x, np.ndarray):
        corners = zip(x, tops.ravel().tolist(), lefts.ravel().tolist(), strict=True)
        return np.stack([one[:, top : top + height, left : left + width] for one, top, left in corners])
    n, c = indices(x, len(x)).reshape(-1, 1, 1, 1), indices(x, x.shape[1]).reshape(1, -1, 1, 1)
    return x[n, c, tops + indices(x, height).reshape(-1, 1), lefts + indices(x, width)]


def resize(image: Any, size: int | Sequence[int], interpolation: Any = "bilinear", max_size: int | None = None) -> Any:
    """The image in another size. Each pixel is a weighted mean of those below it, as Pillow computes it.

    Args:
        image: [..., channels, height, width].
        size: height and width, or one number for the shorter side.
        interpolation: "bilinear", "bicubic" or "nearest".
        max_size: the largest longer side, where size is one number.

    Raises:
        ValueError: a size is below 1, or interpolation is unknown.

    Example:
        >>> sg.transforms.functional.resize(np.zeros((3, 40, 60), np.uint8), 20).shape
        (3, 20, 30)
    """
    x = as_array("resize", image)
    height, width = x.shape[-2:]
    if isinstance(size, int) or len(size) == 1:
        short = size if isinstance(size, int) else size[0]
        factor = short / min(height, width)
        if max_size is not None:
            factor = min(factor, max_size / max(height, width))
        sizes = [int(height * factor), int(width * factor)]
        sizes[0 if height <= width else 1] = short if max_size is None else int(min(height, width) * factor)
    else:
        sizes = list(size)
    if min(sizes) < 1:
        raise ValueError(f"resize: to {sizes}; use sizes of 1 or more")
    if sizes == [height, width]:
        return x
    return on_batch("resize", lambda y: resized_crop_at(y, 0.0, 0.0, height, width, sizes, str(interpolation)), x)


def resized_crop_at(
    x: Images, tops: Any, lefts: Any, heights: Any, widths: Any, size: Sequence[int], interpolation: str = "bilinear"
) -> Images:
    """Parts of images in a new size; where and how large they are: numbers, or [n, 1, 1, 1]."""
    mode = interpolation.rpartition(".")[2].lower()  # InterpolationMode.BILINEAR, too
    if mode not in (*_REACH, "nearest"):
        raise ValueError(f"resize: interpolation is '{interpolation}'; use bilinear, bicubic or nearest")
    rows = _weights(x, tops, heights, x.shape[-2], size[0], mode)
    columns = _weights(x, lefts, widths, x.shape[-1], size[1], mode)
    return back(_weighted(rows, x, _turned(columns)), x)


def _weighted(rows: Any, x: Images, columns: Any) -> Any:
    """rows @ x @ columns, but what is not finite makes NaN only of the pixels in which it has a weight."""
    values = floats(x)
    whole = not str(x.dtype).rpartition(".")[2].startswith(("float", "bfloat"))
    if whole or (isinstance(x, np.ndarray) and np.isfinite(x).all()):
        return rows @ (values @ columns)
    finite = of(x).isfinite(values)
    reached = floats(rows != 0) @ (floats(~finite) @ floats(columns != 0))
    return of(x).where(reached > 0, math.nan, rows @ (of(x).where(finite, values, 0.0) @ columns))


def _weights(x: Images, start: Any, length: Any, before: int, after: int, mode: str) -> Any:
    """What each pixel of one side, of `before` pixels, counts in each of `after`: [n or 1, 1, after, before]."""
    place = indices(x, before).reshape(1, 1, 1, -1) + 0.5
    step = length / after
    centre = (indices(x, after).reshape(1, 1, -1, 1) + 0.5) * step + start
    inside = (place > start) & (place < start + length)
    if mode == "nearest":
        weights = inside & (place - 0.5 <= centre) & (centre < place + 0.5)
        return floats(weights)
    wide = step.clip(min=1) if hasattr(step, "clip") else max(step, 1.0)
    far = abs(place - centre) / wide
    if mode == "bilinear":
        weights = (1 - far).clip(min=0)
    else:  # Keys' cubic with a = -0.5, as Pillow has it
        weights = ((1.5 * far - 2.5) * far * far + 1) * (far < 1)
        weights = weights + (((-0.5 * far + 2.5) * far - 4) * far + 2) * ((far >= 1) & (far < 2))
    weights = weights * inside
    weights = weights / weights.sum(-1)[..., None]
    return weights.to(floats(x).dtype) if isinstance(x, Tensor) else weights.astype(floats(x).dtype)


def _turned(matrix: Any) -> Any:
    return matrix.transpose(-1, -2) if isinstance(matrix, Tensor) else np.swapaxes(matrix, -1, -2)


def affine(
    image: Any,
    angle: float = 0.0,
    translate: Sequence[float] = (0, 0),
    scale: float = 1.0,
    shear: Sequence[float] = (0.0, 0.0),
    interpolation: Any = "nearest",
    fill: float = 0,
    center: Sequence[float] | None = None,
) -> Any:
    """The image turned, moved, scaled and sheared around its middle.

    Args:
        image: [..., channels, height, width].
        angle: degrees, clockwise.
        translate: pixels to the right and down.
        scale: factor.
        shear: degrees, along x and along y.
        interpolation: "nearest" or "bilinear".
        fill: the value of what was outside.
        center: x and y of the point that stays; the middle when None.

    Raises:
        ValueError: interpolation is unknown.

    Example:
        >>> image = np.arange(4.0).reshape(1, 2, 2)
        >>> sg.transforms.functional.affine(image, translate=(1, 0))[0].tolist()
        [[0.0, 0.0], [0.0, 2.0]]
    """
    mode = str(interpolation).rpartition(".")[2].lower()
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f"affine: interpolation is '{interpolation}'; use nearest or bilinear")
    x = as_array("affine", image)
    height, width = x.shape[-2:]
    # Turning clockwise on the screen, where y grows downwards; then the shears.
    a, (sx, sy) = math.radians(angle), (math.radians(s) for s in shear)
    turn = np.array([[math.cos(a - sy), 0], [math.sin(a - sy), 0]]) / math.cos(sy)
    turn[:, 1] = (
        -turn[0, 0] * math.tan(sx) - math.sin(a),
        -turn[1, 0] * math.tan(sx) + math.cos(a),
    )
    inverse = np.linalg.inv(turn * scale)
    middle = np.array([width / 2, height / 2]) if center is None else np.asarray(center, float)
    moved = middle + np.asarray(translate, float)
    columns = indices(x, width).reshape(1, -1) + (0.5 - moved[0])
    rows = indices(x, height).reshape(-1, 1) + (0.5 - moved[1])
    # Where each pixel of the result comes from.
    from_x = columns * float(inverse[0, 0]) + rows * float(inverse[0, 1]) + (float(middle[0]) - 0.5)
    from_y = columns * float(inverse[1, 0]) + rows * float(inverse[1, 1]) + (float(middle[1]) - 0.5)
    if mode == "nearest":
        return _at(x, of(x).floor(from_y + 0.5), of(x).floor(from_x + 0.5), fill)
    low_y, low_x = of(x).floor(from_y), of(x).floor(from_x)
    share_y, share_x = floats(from_y - low_y), floats(from_x - low_x)
    y = floats(x)
    upper = _at(y, low_y, low_x, fill) * (1 - share_x) + _at(y, low_y, low_x + 1, fill) * share_x
    lower = _at(y, low_y + 1, low_x, fill) * (1 - share_x) + _at(y, low_y + 1, low_x + 1, fill) * share_x
    return back(upper * (1 - share_y) + lower * share_y, x)


def _at(x: Any, rows: Any, columns: Any, fill: float) -> Any:
    """The pixels at these places, `fill` outside."""
    height, width = x.shape[-2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    rows, columns = rows.clip(0, height - 1), columns.clip(0, width - 1)
    if isinstance(x, Tensor):
        return _core.where(
            inside, x[..., rows.long(), columns.long()], _core.full((), fill, dtype=x.dtype, device=x.device)
        )
    return np.where(inside, x[..., rows.astype(np.int64), columns.astype(np.int64)], np.asarray(fill, x.dtype))


def rotate(image: Any, angle: float, interpolation: Any = "nearest", fill: float = 0) -> Any:
    """The image turned around its middle by so many degrees, counter-clockwise; the size stays."""
    return affine(image, -angle, interpolation=interpolation, fill=fill)


# ---- colours ---------------------------------------------------------------------------------------------------------
def rgb_to_grayscale(image: Any, num_output_channels: int = 1) -> Any:
    """How bright each pixel is: 0.2989 red + 0.587 green + 0.114 blue, in one channel or three."""
    x = as_array("rgb_to_grayscale", image)
    grey = back(_grey(x), x)
    return grey if num_output_channels == 1 else of(x).concatenate([grey] * num_output_channels, -3)


def _grey(x: Any) -> Any:
    if x.shape[-3] == 1:
        return floats(x)
    if x.shape[-3] != 3:
        raise ValueError(f"rgb_to_grayscale: the image has {x.shape[-3]} channels; give 3 or 1")
    y = floats(x)
    return y[..., 0:1, :, :] * GREY[0] + y[..., 1:2, :, :] * GREY[1] + y[..., 2:3, :, :] * GREY[2]


def _blend(x: Any, other: Any, factor: Any) -> Any:
    """From other (0) over x (1) and beyond."""
    return back((floats(x) * factor + other * (1 - factor)).clip(0, largest(x)), x)


def adjust_brightness(image: Any, brightness_factor: Any) -> Any:
    """0 gives black, 1 the image, 2 twice as bright; a number, or one for each image, [n, 1, 1, 1]."""
    return _blend(as_array("adjust_brightness", image), 0.0, brightness_factor)


def adjust_contrast(image: Any, contrast_factor: Any) -> Any:
    """0 gives the mean grey, 1 the image; a number, or one for each image, [n, 1, 1, 1]."""
    x = as_array("adjust_contrast", image)
    grey = floats(back(_grey(x), x))
    mean = grey.mean((-3, -2, -1))[..., None, None, None]
    return _blend(x, mean, contrast_factor)


def adjust_saturation(image: Any, saturation_factor: Any) -> Any:
    """0 gives grey, 1 the image; a number, or one for each image, [n, 1, 1, 1]."""
    x = as_array("adjust_saturation", image)
    return _blend(x, floats(back(_grey(x), x)), saturation_factor)


def adjust_hue(image: Any, hue_factor: Any) -> Any:
    """Turns the colours: -0.5 and 0.5 give the opposite ones; a number, or one for each image, [n, 1, 1, 1]."""
    x = as_array("adjust_hue", image)
    if x.shape[-3] == 1:
        return x
    xp, y = of(x), floats(x) / largest(x)
    r, g, b = (y[..., i : i + 1, :, :] for i in range(3))
    top, low = xp.maximum(xp.maximum(r, g), b), xp.minimum(xp.minimum(r, g), b)
    spread = top - low
    grey = spread == 0
    by = xp.where(grey, xp.ones_like(spread), spread)
    of_red, of_green = top == r, (top != r) & (top == g)
    hue = ((g - b) / by) * of_red + (2 + (b - r) / by) * of_green + (4 + (r - g) / by) * ~(of_red | of_green)
    hue = hue / 6 + hue_factor
    parts = []
    for n in (5, 3, 1):
        k = (n + hue * 6) % 6
        parts.append(top - spread * xp.minimum(k, 4 - k).clip(0, 1))
    return back(xp.concatenate(parts, -3) * largest(x), x)


def adjust_sharpness(image: Any, sharpness_factor: float) -> Any:
    """0 gives the image smoothed over neighbours, 1 the image, 2 a sharper one. The border stays."""
    x = as_array("adjust_sharpness", image)
    height, width = x.shape[-2:]
    if min(height, width) <= 2:
        return x
    y = floats(x)
    total = 5 * y[..., 1:-1, 1:-1]
    for i in range(3):
        for j in range(3):
            total = total + y[..., i : height - 2 + i, j : width - 2 + j] * (1 if (i, j) != (1, 1) else 0)
    smooth = total / 13
    smooth = floats(back(smooth, x))
    out = y.clone() if isinstance(y, Tensor) else y.copy()
    out[..., 1:-1, 1:-1] = smooth
    return _blend(x, out, sharpness_factor)


def autocontrast(image: Any) -> Any:
    """Stretches each channel over the whole range."""
    x = as_array("autocontrast", image)
    y = floats(x)
    flat = y.reshape(*y.shape[:-2], -1)
    low, high = (flat.amin(-1), flat.amax(-1)) if isinstance(x, Tensor) else (flat.min(-1), flat.max(-1))
    low, high = low[..., None, None], high[..., None, None]
    even = low == high
    scale = largest(x) / of(x).where(even, of(x).ones_like(high), high - low)
    return back(of(x).where(even, y, ((y - low) * scale).clip(0, largest(x))), x)


def equalize(image: Any) -> Any:
    """Spreads the values of each channel, so that all are about as frequent. For arrays of bytes.

    Raises:
        TypeError: the image is a tensor, or has another type.
    """
    x = as_array("equalize", image)
    if not isinstance(x, np.ndarray) or x.dtype != np.uint8:
        raise TypeError(f"equalize: the image is {type(x).__name__} of {x.dtype}; it is for NumPy arrays of uint8")
    out = np.empty_like(x)
    for at in np.ndindex(x.shape[:-2]):
        counts = np.bincount(x[at].ravel(), minlength=256)
        used = counts[counts > 0]
        step = int(used[:-1].sum()) // 255
        table = np.arange(256)
        if step:
            table = np.concatenate([[0], ((np.cumsum(counts) + step // 2) // step)[:-1]]).clip(0, 255)
        out[at] = table[x[at]]
    return out


def invert(image: Any) -> Any:
    """The negative."""
    x = as_array("invert", image)
    return largest(x) - x


def solarize(image: Any, threshold: float) -> Any:
    """The negative of all values of threshold or more."""
    x = as_array("solarize", image)
    return of(x).where(x >= threshold, largest(x) - x, x)


def posterize(image: Any, bits: int) -> Any:
    """Keeps the upper bits of bytes."""
    x = as_array("posterize", image)
    if largest(x) == 255:
        return x & (256 - (1 << (8 - bits)))
    levels = 1 << bits
    return (of(x).floor(x * levels).clip(0, levels - 1)) / levels


def gaussian_blur(image: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Any:
    """Blurs by a Gaussian; the border is mirrored.

    Args:
        image: [..., channels, height, width].
        kernel_size: odd numbers of pixels along x and y, or one for both.
        sigma: width in pixels along x and y; None follows from the size.

    Raises:
        ValueError: a size is even or below 1, or a sigma is not above 0.
    """
    x = as_array("gaussian_blur", image)
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    widths = (
        [0.15 * k + 0.35 for k in sizes] if sigma is None else [sigma] * 2 if isinstance(sigma, (int, float)) else sigma
    )
    if min(sizes) < 1 or any(k % 2 == 0 for k in sizes) or min(widths) <= 0:
        raise ValueError(f"gaussian_blur: kernel_size {kernel_size}, sigma {sigma}; use odd sizes and widths above 0")
    y = floats(pad(x, [sizes[0] // 2, sizes[1] // 2], padding_mode="reflect"))
    for axis, k, width in ((-1, sizes[0], widths[0]), (-2, sizes[1], widths[1])):
        weights = np.exp(-0.5 * ((np.arange(k) - k // 2) / width) ** 2)
        weights /= weights.sum()
        length = x.shape[axis]
        cut = [
            (..., slice(i, i + length)) if axis == -1 else (..., slice(i, i + length), slice(None)) for i in range(k)
        ]
        y = sum(float(w) * y[where] for w, where in zip(weights, cut, strict=True))
    return back(y, x)


def both(op: str, size: int | Sequence[int]) -> tuple[int, int]:
    """Height and width."""
    pair = (size, size) if isinstance(size, int) else tuple(size) * (2 if len(size) == 1 else 1)
    if len(pair) != 2 or min(pair) < 1:
        raise ValueError(f"{op}: size is {size}; give height and width of 1 or more")
    return pair[0], pair[1]
