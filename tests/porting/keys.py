"""Keys of x[...] that PyTorch reads in another way than NumPy: bytes, and lists of sequences."""

import warnings

import numpy as np
import torch

x = torch.arange(24.0).reshape(2, 3, 4)
byte = torch.tensor([1, 0, 1], dtype=torch.uint8)


def show(label, value):
    print(label, list(value.shape), value.flatten().tolist())


def written(key, value):
    y = x.clone()
    y[key] = value
    return y


def warnings_of(read):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        read()
    return [" ".join(str(w.message).split()[:4]) for w in seen]


print(warnings_of(lambda: x[:, byte]), warnings_of(lambda: x[[[0, 1], [1, 2]]]), warnings_of(lambda: x[[0, 1]]))
warnings.simplefilter("ignore")

show("bytes", x[:, byte])
show("bytes of two dimensions", x[torch.tensor([[1, 0, 1], [0, 1, 0]], dtype=torch.uint8)])
show("bytes of all dimensions", x[(x > 3).byte() * 2])
show("one byte", x[byte[0]])
show("an array of bytes", x[:, np.array([0, 1, 0], np.uint8)])
show("bytes and numbers", x[byte[[0, 2]], torch.tensor([0, 2])])
show("a number of NumPy's bytes", x[np.uint8(1)])
show("write at bytes", written((slice(None), byte), torch.zeros(2, 2, 4)))
show("index_put_ at bytes", x.clone().index_put_((byte[:2],), torch.zeros(3, 4)))

show("lists", x[[[0, 1], [1, 2]]])
show("tuples in a list", x[[(0, 1), (1, 2)]])
show("one list in a list", x[[[0, 1, 1]]])
show("slices", x[[slice(0, 2), 1]])
show("None", x[[None, 1]])
show("dots", x[[..., 1]])
show("tensors", x[[torch.tensor([0, 1]), torch.tensor([1, 2])]])
show("arrays", x[[np.array([0, 1]), np.array([1, 2])]])
show("numbers of NumPy", x[[np.int64(1), np.int64(0)]])
show("lists in a tuple", x[[[0, 1], [1, 0]], [[0, 1], [1, 2]]])
show("a long list of lists", x[[[0, 1]] * 32][:, 0, 0])
show("write at lists", written([[0, 1], [1, 2]], -1.0))
