"""Transforms of images, with the names of torchvision's `transforms.v2`.

Images are NumPy arrays or tensors [..., channels, height, width]: arrays in data sets and their workers, tensors in
batches on a device. Pictures of Pillow become arrays.

Example:
    >>> import numpy as np
    >>> augment = sg.transforms.Compose([sg.transforms.RandomCrop(32, padding=4), sg.transforms.RandomHorizontalFlip()])
    >>> augment(np.zeros((3, 32, 32), np.uint8)).shape  # one image of a data set
    (3, 32, 32)
    >>> augment(sg.zeros(128, 3, 32, 32)).shape  # a batch on a device, each image in its own way
    (128, 3, 32, 32)
"""

from . import functional
from .auto_augment import RandAugment
from .color import (
    ColorJitter,
    ConvertImageDtype,
    GaussianBlur,
    Grayscale,
    Normalize,
    PILToTensor,
    RandomGrayscale,
    ToDtype,
    ToImage,
    ToTensor,
)
from .geometry import (
    CenterCrop,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
)
from .mixing import CutMix, MixUp
from .transform import Compose, Identity, Lambda, RandomApply, RandomChoice, RandomOrder, Transform

__all__ = ["CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "CutMix", "GaussianBlur", "Grayscale"]
__all__ += ["Identity", "Lambda", "MixUp", "Normalize", "PILToTensor", "Pad", "RandAugment", "RandomApply"]
__all__ += ["RandomChoice", "RandomCrop", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomOrder"]
__all__ += ["RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToDtype", "ToImage", "ToTensor"]
__all__ += ["Transform", "functional"]
