"""Keys of x[...] that PyTorch reads in another way than NumPy: bytes, and lists of sequences."""

import warnings

import numpy as np
import pytest
import torch

from checking import check

x = torch.arange(24.0).reshape(2, 3, 4)
byte = torch.tensor([1, 0, 1], dtype=torch.uint8)
READS = {
    "bytes": lambda: x[:, byte],
    "bytes of two dimensions": lambda: x[torch.tensor([[1, 0, 1], [0, 1, 0]], dtype=torch.uint8)],
    "bytes of all dimensions": lambda: x[(x > 3).byte() * 2],
    "one byte": lambda: x[byte[0]],
    "an array of bytes": lambda: x[:, np.array([0, 1, 0], np.uint8)],
    "bytes and numbers": lambda: x[byte[[0, 2]], torch.tensor([0, 2])],
    "a number of NumPy's bytes": lambda: x[np.uint8(1)],
    "lists": lambda: x[[[0, 1], [1, 2]]],
    "tuples in a list": lambda: x[[(0, 1), (1, 2)]],
    "one list in a list": lambda: x[[[0, 1, 1]]],
    "slices": lambda: x[[slice(0, 2), 1]],
    "None": lambda: x[[None, 1]],
    "dots": lambda: x[[..., 1]],
    "tensors": lambda: x[[torch.tensor([0, 1]), torch.tensor([1, 2])]],
    "arrays": lambda: x[[np.array([0, 1]), np.array([1, 2])]],
    "numbers of NumPy": lambda: x[[np.int64(1), np.int64(0)]],
    "lists in a tuple": lambda: x[[[0, 1], [1, 0]], [[0, 1], [1, 2]]],
    "a long list of lists": lambda: x[[[0, 1]] * 32][:, 0, 0],
}


@pytest.mark.parametrize("key", READS)
@pytest.mark.filterwarnings("ignore")
def test_read_by(key):
    check(READS[key]())


@pytest.mark.parametrize("key", ["bytes", "lists", "one list"])
def test_warnings(key):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _ = x[[0, 1]] if key == "one list" else READS[key]()
    check([" ".join(str(w.message).split()[:4]) for w in seen])


def written(key, value):
    y = x.clone()
    y[key] = value
    return y


@pytest.mark.filterwarnings("ignore")
def test_write_at_bytes():
    check(written((slice(None), byte), torch.zeros(2, 2, 4)))
    check(x.clone().index_put_((byte[:2],), torch.zeros(3, 4)))


@pytest.mark.filterwarnings("ignore")
def test_write_at_lists():
    check(written([[0, 1], [1, 2]], -1.0))
