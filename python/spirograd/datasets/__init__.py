"""Small data sets: points made by formulas, images and texts that are downloaded once and checked.

Example:
    >>> from spirograd.utils.data import DataLoader, TensorDataset
    >>> x, y = sg.datasets.moons(100, noise=0.1, seed=0)
    >>> len(DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
    4
"""

from .download import DatasetUnavailableError, cache_folder
from .images import CIFAR10, MNIST, FashionMNIST, Split, cifar10, digits, fashion_mnist, mnist, parse_idx
from .points import Points, blobs, circles, moons, spirals
from .texts import tiny_shakespeare, wikitext2

__all__ = [
    "CIFAR10",
    "MNIST",
    "DatasetUnavailableError",
    "FashionMNIST",
    "Points",
    "Split",
    "blobs",
    "cache_folder",
    "cifar10",
    "circles",
    "digits",
    "fashion_mnist",
    "mnist",
    "moons",
    "parse_idx",
    "spirals",
    "tiny_shakespeare",
    "wikitext2",
]
