"""Data sets: points made by formulas, images and texts that are downloaded once and checked, folders and tables.

Example:
    >>> from spirograd.utils.data import DataLoader, TensorDataset
    >>> x, y = sg.datasets.moons(100, noise=0.1, seed=0)
    >>> len(DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
    4
"""

from .download import DatasetUnavailableError, cache_folder
from .folders import ImageFolder, load_image
from .images import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    Split,
    cifar10,
    cifar100,
    digits,
    fashion_mnist,
    mnist,
    parse_idx,
)
from .points import Points, blobs, circles, moons, spirals
from .tables import Table, read_table, table
from .texts import tiny_shakespeare, wikitext2

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "DatasetUnavailableError", "FashionMNIST", "ImageFolder", "Points", "Split"]
__all__ += ["Table", "blobs", "cache_folder", "cifar10", "cifar100", "circles", "digits", "fashion_mnist", "load_image"]
__all__ += ["mnist", "moons", "parse_idx", "read_table", "spirals", "table", "tiny_shakespeare", "wikitext2"]
