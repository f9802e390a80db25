"""Checkpoints that hold objects of classes that the program allows to be made."""

import io
from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

from checking import check


class Items:
    def __init__(self, items):
        self.items = items


class Slots:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right


class Called:
    def __init__(self, x, n):
        self.x, self.n = x, n

    def __reduce__(self):
        return Called, (self.x, self.n + 1)


class Careful:
    def __init__(self, x):
        self.x = x

    def __getstate__(self):
        return {"kept": self.x}

    def __setstate__(self, state):
        self.x = state["kept"] + 1


def file_of(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return file


def came_back(obj, allowed=()):
    with safe_globals(list(allowed)):
        return torch.load(file_of(obj), map_location="cpu", weights_only=True)


w = torch.arange(3.0)


def test_objects_beside_tensors():
    state = {"opt": Items([{"lr": 0.1, "avg": w}, (w * 2, None)]), "w": w, "order": OrderedDict(a=1)}
    back = came_back(state, [Items])
    check(type(back["opt"]).__name__, back["opt"].items, back["w"], back["order"]["a"])


def test_an_object_in_an_object():
    nested = came_back(Items(Items([w])), [Items])
    check(type(nested.items).__name__, nested.items.items)


def test_slots():
    slots = came_back([Slots(w, "right")], [Slots])[0]
    check(slots.left, slots.right)


def test_reduce():
    called = came_back({"c": Called(w, 1)}, [Called])["c"]
    check(called.x, called.n)


def test_getstate_and_setstate():
    check(came_back(Careful(w), [Careful]).x)


def test_one_tensor_twice():
    one, two = came_back([w, w])
    check(one is two, one.data_ptr() == two.data_ptr())


def test_a_class_allowed_by_another_name():
    allowed = [(Slots, f"{__name__}.Slots"), (Items, f"{__name__}.Items")]
    renamed = came_back({"i": Items(1)}, allowed)["i"]
    check(type(renamed).__name__, renamed.items)


def test_numbers_of_numpy():
    kinds = [np.dtype, *[getattr(np.dtypes, name) for name in np.dtypes.__all__]]
    scalar = np.float64(0.5).__reduce__()[0]
    check(float(came_back({"lr": np.float64(0.5)}, [scalar, *kinds])["lr"]))


@pytest.mark.parametrize("obj", [Items([w]), {"a": [Called(w, 1)]}], ids=["object", "in a dict"])
def test_what_is_not_allowed_is_refused(obj):
    with pytest.raises(Exception) as error:
        torch.load(file_of(obj), weights_only=True)
    assert error.typename in ("UnpicklingError", "FileFormatError")


def test_safe_globals():
    add_safe_globals([Items])
    check(Items in get_safe_globals(), torch.load(file_of(Items(2)), weights_only=True).items)
    with safe_globals([Slots]):
        check(Items in get_safe_globals(), Slots in get_safe_globals())
    check(Items in get_safe_globals(), Slots in get_safe_globals())
    clear_safe_globals()
    check(get_safe_globals())


def test_complex_tensors():
    z = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    back = came_back({"z": z, "wide": z.to(torch.complex128), "turned": z[None].expand(3, 2).t(), "same": z})
    check(back["z"], back["wide"].dtype, back["turned"].shape, back["z"] is back["same"])
    check(came_back(z.clone().requires_grad_()).requires_grad)


def test_sparse_tensors():
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 3))
    back = came_back([sparse, sparse.coalesce(), sparse.coalesce().to_sparse_csr()])
    check([x.to_dense().tolist() for x in back], back[0].is_coalesced(), back[1].is_coalesced(), back[2].layout)


def test_devices_and_types():
    check(came_back({"device": torch.device("cpu"), "type": torch.float16, "types": [torch.int64, torch.bool]}))


def test_values_of_python():
    check(torch.load(file_of({"set": {1}, "bytes": b"ab\xff", "number": 1 + 2j}), weights_only=False))


def test_the_kind_of_dict_that_a_state_is():
    net = torch.nn.Linear(2, 1)
    state = net.state_dict()
    back = came_back({"model": state, "plain": {"a": 1}})
    check([isinstance(x, OrderedDict) for x in (state, back["model"], back["plain"], back)], list(back["model"]))
    check(str(net.load_state_dict({"bias": torch.ones(1), "other": torch.ones(1)}, strict=False)))
    check(str(net.load_state_dict(state)))
    filled = OrderedDict(first=1)
    check(net.state_dict(destination=filled, prefix="net.") is filled, list(filled))
    check(net.state_dict(prefix="x.", keep_vars=True).keys())
