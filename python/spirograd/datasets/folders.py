"""Images in folders, one folder for each class."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import FileFormatError
from ..base.keywords import naming_keywords
from ..serialization._arrays import reason
from ..utils.data import Dataset

__all__ = ["ImageFolder", "load_image"]

IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
# What a file may be, whatever its name: Pillow would start other programs for some others.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
LEAST, TIMES = 1 << 24, 64  # pixels that any file may have, or this many for each of its bytes


def load_image(path: str | os.PathLike[str], max_pixels: int | None = None) -> npt.NDArray[np.uint8]:
    """The image in a file, in three colours.

    Args:
        path: of an image that is BMP, GIF, JPEG, PNG, PPM, TIFF or WebP, whatever its name.
        max_pixels: how many pixels it may have. None: 64 for each byte of the file, and 16,777,216 in any case; a small
            file can ask for far more.

    Returns:
        uint8 [3, height, width].

    Raises:
        ImportError: Pillow is not installed.
        FileFormatError: the file is not such an image, or too large.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("load_image: Pillow is not installed; pip install spirograd[data]", name="PIL") from None
    about = os.stat(path)
    try:
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no file")
        with Image.open(path, formats=FORMATS) as image:
            most = max(LEAST, TIMES * about.st_size) if max_pixels is None else max_pixels
            if image.width * image.height > most:
                raise ValueError(f"{image.width} x {image.height} pixels, {most:,} may be; see max_pixels=")
            colours = image if image.mode == "RGB" else image.convert("RGB")
            return np.ascontiguousarray(np.asarray(colours).transpose(2, 0, 1))
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a made-up file leads Pillow to
        raise FileFormatError(
            f"load_image: {os.fspath(path)} is no image that Pillow reads ({reason(error)})"
        ) from None


@naming_keywords
class ImageFolder(Dataset[tuple[Any, Any]]):
    """Images in folders, as torchvision has it: `root/dog/xxx.png` is of the class dog. Samples are (image, class).

    Args:
        root: its folders are the classes, in the order of their names; images may lie in folders below, and links are
            followed; of two ways to one folder, one is.
        transform: is given the image, uint8 [3, height, width]; see `sg.transforms`.
        target_transform: is given the class, an int.
        loader: reads a file; `load_image` unless given.
        is_valid_file: whether a path is used; by default, what ends like an image.
        allow_empty: whether a class may have no image.

    Attributes:
        classes: their names.
        class_to_idx: the number of each.
        samples: (path, class) of each image; also as `imgs`.
        targets: the classes alone.

    Raises:
        FileNotFoundError: root has no folder, or a class no image.

    Example:
        >>> import pathlib, tempfile
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (root / name).mkdir()
        ...     np.save(root / name / "1.npy", np.zeros((3, 4, 4), np.uint8))
        >>> images = sg.datasets.ImageFolder(root, loader=np.load, is_valid_file=lambda path: path.endswith(".npy"))
        >>> images.classes, images[1][0].shape, images[1][1]
        (['cat', 'dog'], (3, 4, 4), 1)
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = load_image,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        self.root = os.fspath(root)
        self.transform, self.target_transform, self.loader = transform, target_transform, loader
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"ImageFolder: {self.root} has no folders; give one folder for each class")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        used = is_valid_file or (lambda path: path.lower().endswith(IMAGES))
        self.samples = [
            (path, i) for name, i in self.class_to_idx.items() for path in _files(self.root, name) if used(path)
        ]
        self.targets = [i for _, i in self.samples]
        there = set(self.targets)
        if not allow_empty and (empty := [name for name, i in self.class_to_idx.items() if i not in there]):
            names = ", ".join(empty[:5])
            raise FileNotFoundError(f"ImageFolder: {self.root} has no image of {names}; remove it, or allow_empty=True")

    @property
    def imgs(self) -> list[tuple[str, int]]:
        """The samples."""
        return self.samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        path, label = self.samples[index]
        image = self.loader(path)
        if self.transform is not None:
            image = self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)


def _files(root: str, name: str) -> list[str]:
    """All files of a class, in the order of their names. Links can lead in circles: each folder is read once."""
    found, seen = [], set()
    for folder, below, files in os.walk(os.path.join(root, name), followlinks=True):
        here = os.stat(folder)
        if (here.st_dev, here.st_ino) in seen:
            below.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        below.sort()
        found += [os.path.join(folder, file) for file in files]
    return sorted(found)
