"""RandAugment: some of fourteen changes, drawn for each image (Cubuk et al., 2020)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..base.keywords import naming_keywords
from . import functional as F
from ._images import Images, generator, largest
from .transform import Transform

__all__ = ["RandAugment"]

# From an image [channels, height, width] and a strength from -1 to 1 to the image.
Change: TypeAlias = Callable[[Any, float], Any]


def _factor(change: Callable[[Any, float], Any]) -> Change:
    return lambda x, strength: change(x, 1 + 0.9 * strength)


CHANGES: dict[str, Change] = {
    "Identity": lambda x, strength: x,
    "ShearX": lambda x, strength: F.affine(x, shear=(np.degrees(np.arctan(0.3 * strength)), 0.0)),
    "ShearY": lambda x, strength: F.affine(x, shear=(0.0, np.degrees(np.arctan(0.3 * strength)))),
    "TranslateX": lambda x, strength: F.affine(x, translate=(int(150 / 331 * x.shape[-1] * strength), 0)),
    "TranslateY": lambda x, strength: F.affine(x, translate=(0, int(150 / 331 * x.shape[-2] * strength))),
    "Rotate": lambda x, strength: F.rotate(x, 30 * strength),
    "Brightness": _factor(F.adjust_brightness),
    "Color": _factor(F.adjust_saturation),
    "Contrast": _factor(F.adjust_contrast),
    "Sharpness": _factor(F.adjust_sharpness),
    "Posterize": lambda x, strength: F.posterize(x, 8 - round(4 * abs(strength))),
    "Solarize": lambda x, strength: F.solarize(x, largest(x) * (1 - abs(strength))),
    "AutoContrast": lambda x, strength: F.autocontrast(x),
    "Equalize": lambda x, strength: F.equalize(x),
}


@naming_keywords
class RandAugment(Transform):
    """Some of fourteen changes of colour and place, all of one strength, drawn for each image. For arrays of bytes.

    Args:
        num_ops: changes of each image.
        magnitude: their strength, from 0 to num_magnitude_bins - 1.
        num_magnitude_bins: how many strengths there are.

    Raises:
        TypeError: when called: images are no arrays of uint8.
        ValueError: magnitude is out of range.

    Example:
        >>> sg.transforms.RandAugment()(np.zeros((3, 32, 32), np.uint8)).shape
        (3, 32, 32)
    """

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31) -> None:
        if not 0 <= magnitude < num_magnitude_bins:
            raise ValueError(f"RandAugment: magnitude is {magnitude}; use 0 to {num_magnitude_bins - 1}")
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins

    def transform(self, x: Images) -> Images:
        if not isinstance(x, np.ndarray) or x.dtype != np.uint8:
            raise TypeError(f"RandAugment: images are {type(x).__name__} of {x.dtype}; put it before ToTensor()")
        random, names = generator(), list(CHANGES)
        strength = self.magnitude / (self.num_magnitude_bins - 1)
        out = []
        for image in x:
            for name in random.choice(names, self.num_ops):
                image = CHANGES[name](image, strength * random.choice([-1, 1]))
            out.append(image)
        return np.stack(out)
