"""Images with classes: MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100, and small digits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import FileFormatError
from ..base.docstrings import described_by
from ..base.keywords import naming_keywords
from ..utils.data import Dataset
from .download import ARGUMENTS, Download, File, read

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "Split", "cifar10", "cifar100", "digits", "fashion_mnist"]
__all__ += ["mnist", "parse_idx"]

Bytes = npt.NDArray[np.uint8]

MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://yann.lecun.com/exdb/mnist/",
)
FASHION_MIRRORS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
# Of the IDX files, which are the same whoever compressed them.
MNIST_DIGESTS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
# Of the .gz files, as TensorFlow Datasets lists them (url_checksums/fashion_mnist.txt).
FASHION_DIGESTS = {
    "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
# As TensorFlow Datasets lists it (url_checksums/cifar10.txt).
CIFAR10_ARCHIVE = Download(
    "cifar-10-binary.tar.gz",
    (
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/cifar-10-binary.tar.gz",
    ),
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
# As TensorFlow Datasets lists it (url_checksums/cifar100.txt).
CIFAR100_ARCHIVE = Download(
    "cifar-100-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
    "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
)
MNIST_ROWS = {"train": 60_000, "test": 10_000}  # also of Fashion-MNIST
CIFAR10_ROWS = 10_000  # in each of its files
CIFAR100_ROWS = {"train": 50_000, "test": 10_000}


class Split(NamedTuple):
    """Images and their classes: row i of `images` belongs to `labels[i]`."""

    images: npt.NDArray[np.float32]  # [n, ...], from 0 to 1
    labels: npt.NDArray[np.int64]  # [n]


@naming_keywords
@described_by(ARGUMENTS)
def mnist(split: str = "train", *, root: str | os.PathLike[str] | None = None, download: bool = True) -> Split:
    """The MNIST handwritten digits: 28 x 28 grey images, classes 0 to 9.

    Args:
        split: "train" (60,000 images) or "test" (10,000).

    Returns:
        images [n, 784] float32 from 0 to 1, labels [n] int64.
    """
    return _flat(*_mnist(split, root, download))


@naming_keywords
@described_by(mnist)
def fashion_mnist(split: str = "train", *, root: str | os.PathLike[str] | None = None, download: bool = True) -> Split:
    """Zalando's clothes in MNIST's form: 28 x 28 grey images, classes 0 to 9."""
    return _flat(*_fashion(split, root, download))


@naming_keywords
@described_by(ARGUMENTS)
def cifar10(split: str = "train", *, root: str | os.PathLike[str] | None = None, download: bool = True) -> Split:
    """CIFAR-10: 32 x 32 colour images, classes 0 to 9 (airplane, automobile, bird, cat, ... truck).

    Args:
        split: "train" (50,000 images) or "test" (10,000).
        download: whether the archive may be fetched (170 MB).

    Returns:
        images [n, 3, 32, 32] float32 from 0 to 1, labels [n] int64.
    """
    images, labels = _cifar10(split, root, download)
    return Split(_scaled(images), labels.astype(np.int64))


@naming_keywords
@described_by(cifar10)
def cifar100(split: str = "train", *, root: str | os.PathLike[str] | None = None, download: bool = True) -> Split:
    """CIFAR-100: 32 x 32 colour images of 100 classes, 0 to 99 in the order of their names."""
    images, labels = _cifar100(split, root, download)
    return Split(_scaled(images), labels.astype(np.int64))


def digits() -> Split:
    """1,797 handwritten digits of 8 x 8 pixels, which are a part of this package: Alpaydin and Kaynak's test set of the
    UCI repository (licenses/digits.txt). Not MNIST, only the same task in small.

    Returns:
        images [1797, 64] float32 from 0 to 1, labels [1797] int64.

    Example:
        >>> images, labels = sg.datasets.digits()
        >>> images.shape, labels[:5].tolist()
        ((1797, 64), [0, 1, 2, 3, 4])
    """
    with np.load(Path(__file__).with_name("digits.npz")) as file:
        images, labels = file["images"], file["labels"]
    return Split(images / np.float32(16), labels.astype(np.int64))


def parse_idx(data: bytes, name: str = "the data") -> Bytes:
    """The array in an IDX file of unsigned bytes (two zero bytes, type 8, rank, big-endian sizes, values).

    Raises:
        FileFormatError: the header is not that of such a file, or there are more or fewer bytes than it says.

    >>> sg.datasets.images.parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])).tolist()
    [7, 8, 9]
    """
    if len(data) < 4 or data[:2] != b"\0\0":
        raise FileFormatError(
            f"idx: {name} starts with {data[:4].hex(' ') or 'nothing'}, not with 00 00; not an IDX file"
        )
    if data[2] != 8:
        raise FileFormatError(f"idx: {name} has element type 0x{data[2]:02x}; only unsigned bytes (0x08) are read")
    rank = data[3]
    start = 4 + 4 * rank
    if rank == 0 or len(data) < start:
        raise FileFormatError(f"idx: {name} has {len(data)} bytes and rank {rank}; the sizes are missing")
    shape = tuple(int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4))
    count = 1
    for size in shape:
        count *= size
    if len(data) - start != count:
        raise FileFormatError(f"idx: {name} holds {len(data) - start:,} values, its sizes {list(shape)} need {count:,}")
    try:
        return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
    except ValueError as error:  # of no values, and dimensions that NumPy does not have
        raise FileFormatError(f"idx: {name} has sizes {list(shape)[:8]} ({error})"[:300]) from None


class _Images(Dataset[tuple[Any, Any]]):
    """Images in the manner of torchvision: samples are (image, class)."""

    _load: ClassVar[Callable[..., tuple[Bytes, Bytes]]]
    data: Bytes
    targets: npt.NDArray[np.int64]

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = True,
    ) -> None:
        images, labels = type(self)._load("train" if train else "test", root, download)
        self.data, self.targets = images, labels.astype(np.int64)
        self.train, self.transform, self.target_transform = train, transform, target_transform

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        image: Any = self.data[index]
        label: Any = int(self.targets[index])
        image = _scaled(image.reshape(-1, *image.shape[-2:])) if self.transform is None else self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)


def _flat(images: Bytes, labels: Bytes) -> Split:
    return Split(_scaled(images.reshape(len(images), -1)), labels.astype(np.int64))


def _scaled(images: Bytes) -> npt.NDArray[np.float32]:
    out = images.astype(np.float32)
    out /= np.float32(255)
    return out


def _known(dataset: str, split: str) -> str:
    if split not in MNIST_ROWS:
        raise ValueError(f'{dataset}: split is {split!r}; give "train" or "test"')
    return split


def _mnist(split: str, root: str | os.PathLike[str] | None, download: bool) -> tuple[Bytes, Bytes]:
    return _idx_pair("mnist", split, MNIST_MIRRORS, MNIST_DIGESTS, {}, root, download)


def _fashion(split: str, root: str | os.PathLike[str] | None, download: bool) -> tuple[Bytes, Bytes]:
    return _idx_pair("fashion-mnist", split, FASHION_MIRRORS, {}, FASHION_DIGESTS, root, download)


def _idx_pair(
    dataset: str,
    split: str,
    mirrors: tuple[str, ...],
    digests: dict[str, str],
    packed: dict[str, str],
    root: str | os.PathLike[str] | None,
    download: bool,
) -> tuple[Bytes, Bytes]:
    """Images [n, 28, 28] and labels [n]."""
    count = MNIST_ROWS[_known(dataset, split)]
    first = "train" if split == "train" else "t10k"
    arrays = []
    for name, shape in ((f"{first}-images-idx3-ubyte", (count, 28, 28)), (f"{first}-labels-idx1-ubyte", (count,))):
        file = File(name, 4 + 4 * len(shape) + int(np.prod(shape)), digests.get(name))
        source = Download(f"{name}.gz", tuple(f"{mirror}{name}.gz" for mirror in mirrors), packed.get(name))
        array = parse_idx(read(dataset, [file], source, root, download)[0], name)
        if array.shape != shape:
            raise FileFormatError(f"{dataset}: {name} has sizes {list(array.shape)}, not {list(shape)}; replace it")
        arrays.append(array)
    return arrays[0], _classes(dataset, arrays[1])


def _cifar10(split: str, root: str | os.PathLike[str] | None, download: bool) -> tuple[Bytes, Bytes]:
    """Images [n, 3, 32, 32] and labels [n]. A row of a file is the class and then the planes red, green, blue."""
    train = _known("cifar-10", split) == "train"
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
    size = CIFAR10_ROWS * 3073
    files = [File(f"cifar-10-batches-bin/{name}", size) for name in names]
    data = read("cifar-10", files, CIFAR10_ARCHIVE, root, download)
    table = np.frombuffer(b"".join(data), np.uint8).reshape(-1, 3073)
    return table[:, 1:].reshape(-1, 3, 32, 32), _classes("cifar-10", table[:, 0])


def _cifar100(split: str, root: str | os.PathLike[str] | None, download: bool) -> tuple[Bytes, Bytes]:
    """Images [n, 3, 32, 32] and labels [n]. A row of a file is one of 20 groups, the class, and then as in CIFAR-10."""
    rows = CIFAR100_ROWS[_known("cifar-100", split)]
    files = [File(f"cifar-100-binary/{split}.bin", rows * 3074)]
    data = read("cifar-100", files, CIFAR100_ARCHIVE, root, download)
    table = np.frombuffer(data[0], np.uint8).reshape(-1, 3074)
    return table[:, 2:].reshape(-1, 3, 32, 32), _classes("cifar-100", table[:, 1], 100)


def _classes(dataset: str, labels: Bytes, count: int = 10) -> Bytes:
    if len(labels) and labels.max() >= count:
        raise FileFormatError(
            f"{dataset}: there is a class {labels.max()}, they are 0 to {count - 1}; replace the file"
        )
    return labels


@described_by(ARGUMENTS)
class MNIST(_Images):
    """MNIST in the manner of torchvision, for when each image is changed on its way: samples are (image, class).

    Without changes, ``TensorDataset(*mnist("train"))`` is faster: batches are read at once.

    Args:
        train: the 60,000 images for training, or the 10,000 for tests.
        transform: is given the image as uint8 [28, 28]; without one, images are float32 [1, 28, 28] from 0 to 1.
        target_transform: is given the class, an int.

    Attributes:
        data: uint8 [n, 28, 28].
        targets: int64 [n].
    """

    _load = staticmethod(_mnist)


class FashionMNIST(_Images):
    """Fashion-MNIST in the manner of torchvision; as `MNIST`."""

    _load = staticmethod(_fashion)


class CIFAR10(_Images):
    """CIFAR-10 in the manner of torchvision; as `MNIST`, with images of [3, 32, 32]."""

    _load = staticmethod(_cifar10)


class CIFAR100(_Images):
    """CIFAR-100 in the manner of torchvision; as `CIFAR10`, with 100 classes."""

    _load = staticmethod(_cifar100)
