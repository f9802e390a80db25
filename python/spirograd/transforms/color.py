"""Transforms of values: types, normalisation, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from ..base.keywords import naming_keywords
from . import functional as F
from ._images import Images, as_array, generator, of, uniform
from .transform import Transform, probability

__all__ = ["ColorJitter", "ConvertImageDtype", "GaussianBlur", "Grayscale", "Normalize", "PILToTensor"]
__all__ += ["RandomGrayscale", "ToDtype", "ToImage", "ToTensor"]


class ToTensor(Transform):
    """A float32 tensor from 0 to 1, of bytes or of values that are so already.

    Arrays have channels first here, [channels, height, width], as the data sets of spirograd give them.

    Example:
        >>> import numpy as np
        >>> sg.transforms.ToTensor()(np.full((28, 28), 255, np.uint8)).shape
        (1, 28, 28)
    """

    def __call__(self, image: Any) -> Tensor:
        return F.to_tensor(image)


class PILToTensor(Transform):
    """A tensor of bytes, [channels, height, width], of a picture of Pillow."""

    def __call__(self, image: Any) -> Tensor:
        return F.pil_to_tensor(image)


class ToImage(Transform):
    """An array [channels, height, width] of a picture of Pillow; arrays and tensors stay."""

    def __call__(self, image: Any) -> Any:
        return as_array("ToImage", image)


@naming_keywords
class ToDtype(Transform):
    """Another type; arguments as in `functional.to_dtype`."""

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        self.dtype, self.scale = dtype, scale

    def __call__(self, image: Any) -> Any:
        return F.to_dtype(image, self.dtype, self.scale)


@naming_keywords
class ConvertImageDtype(ToDtype):
    """ToDtype with scale=True."""

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__(dtype, True)


@naming_keywords
class Normalize(Transform):
    """(image - mean) / std, channel by channel, of images of a floating type.

    Args:
        mean, std: one number for each channel.
        inplace: accepted; the result is always new.

    Example:
        >>> import numpy as np
        >>> sg.transforms.Normalize([0.5], [0.5])(np.ones((1, 1, 1), np.float32)).tolist()
        [[[1.0]]]
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean, self.std = mean, std

    def transform(self, x: Images) -> Images:
        return F.normalize(x, self.mean, self.std)


@naming_keywords
class Grayscale(Transform):
    """Brightness, in one channel or three."""

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = num_output_channels

    def transform(self, x: Images) -> Images:
        return F.rgb_to_grayscale(x, self.num_output_channels)


@naming_keywords
class RandomGrayscale(Transform):
    """Brightness in all channels, with a probability."""

    def __init__(self, p: float = 0.1) -> None:
        self.p = probability("RandomGrayscale", p)

    def transform(self, x: Images) -> Images:
        return of(x).where(uniform(x) < self.p, F.rgb_to_grayscale(x, x.shape[1]), x)


@naming_keywords
class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue at random, in random order.

    Args:
        brightness, contrast, saturation: the range of the factor; one number d is (1 - d, 1 + d); 0 changes nothing.
        hue: the range of the shift, within -0.5 to 0.5; one number d is (-d, d).

    Raises:
        ValueError: a range is out of bounds.

    Example:
        >>> sg.transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)(sg.rand(4, 3, 8, 8)).shape
        (4, 3, 8, 8)
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        self.brightness = self._range("brightness", brightness, 1.0, 0.0, float("inf"))
        self.contrast = self._range("contrast", contrast, 1.0, 0.0, float("inf"))
        self.saturation = self._range("saturation", saturation, 1.0, 0.0, float("inf"))
        self.hue = self._range("hue", hue, 0.0, -0.5, 0.5)

    @staticmethod
    def _range(
        name: str, value: float | Sequence[float], middle: float, low: float, high: float
    ) -> tuple[float, float] | None:
        if isinstance(value, (int, float)):
            pair = (max(middle - value, low) if middle else -value, middle + value)
            if value < 0:
                pair = (1.0, 0.0)
        else:
            pair = (value[0], value[1])
        if not low <= pair[0] <= pair[1] <= high:
            raise ValueError(f"ColorJitter: {name} is {value}; use numbers of 0 or more, for hue at most 0.5")
        return None if pair == (middle, middle) else pair

    def transform(self, x: Images) -> Images:
        changes = [
            (F.adjust_brightness, self.brightness),
            (F.adjust_contrast, self.contrast),
            (F.adjust_saturation, self.saturation),
            (F.adjust_hue, self.hue),
        ]
        used = [(change, limits) for change, limits in changes if limits is not None]
        for i in generator().permutation(len(used)).tolist():
            change, limits = used[i]
            x = change(x, uniform(x, *limits))
        return x


@naming_keywords
class GaussianBlur(Transform):
    """Blurs by a Gaussian of random width, one for all images of a batch.

    Args:
        kernel_size: odd numbers of pixels along x and y, or one for both.
        sigma: the range of the width, or the width.
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.kernel_size = kernel_size
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else (sigma[0], sigma[1])

    def transform(self, x: Images) -> Images:
        return F.gaussian_blur(x, self.kernel_size, float(generator().uniform(*self.sigma)))
