"""copy, deepcopy and pickle of tensors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn


def test_deepcopy(device: sg.Device) -> None:
    x = nn.Parameter(sg.ones(2, 3, device=device))
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert isinstance(y, nn.Parameter) and y.requires_grad and y.is_leaf and y.device == device
    with sg.no_grad():
        x.zero_()
    assert y.tolist() == [[1] * 3] * 2 and y.grad.tolist() == [[2] * 3] * 2 and y.grad is not x.grad
    with pytest.raises(sg.Error, match="deepcopy: only leaves can be copied with their place in the graph"):
        copy.deepcopy(x * 2)


def test_deepcopy_keeps_shared_memory_shared(device: sg.Device) -> None:
    x = sg.arange(6.0, device=device).reshape(2, 3)
    a, b, same_a = copy.deepcopy([x, x.T[1:], x])
    assert a is same_a and b.stride() == (1, 3) and b.storage_offset() == 1
    a += 10
    assert b.tolist() == [[11, 14], [12, 15]] and x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_copy_is_another_handle() -> None:
    x = nn.Parameter(sg.ones(2))
    y = copy.copy(x)
    assert y is not x and isinstance(y, nn.Parameter) and y.requires_grad
    with sg.no_grad():
        y += 1
    assert x.tolist() == [2, 2]


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("dtype", sg._core._dtypes)
def test_pickle(dtype: str, protocol: int, device: sg.Device) -> None:
    x = sg.tensor([[0, 1, 2], [3, 4, 5]], device=device).to(dtype).T
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.dtype == x.dtype and y.device == device and y.tolist() == x.tolist()
    p = pickle.loads(pickle.dumps(nn.Parameter(sg.ones(2, device=device)), protocol))
    assert isinstance(p, nn.Parameter) and p.requires_grad and p.device == device and p.tolist() == [1, 1]


def test_pickle_out_of_band() -> None:
    x = sg.ones(1000)
    parts: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, 5, buffer_callback=parts.append)
    assert len(data) < 1000 and len(parts) == 1 and pickle.loads(data, buffers=parts).sum().item() == 1000


def test_pickle_of_a_device_that_is_not_there() -> None:
    from spirograd import _pickle

    with pytest.warns(UserWarning, match="pickle: the tensor was on gpu:200, it comes back on the CPU"):
        x = _pickle._rebuild(sg.Tensor, np.ones(2, np.float32), "float32", "gpu:200", False)
    assert x.device == "cpu" and x.tolist() == [1, 1]
