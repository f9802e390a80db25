"""Checkpoints that hold objects of classes that the program allows to be made."""

import io
from collections import OrderedDict

import numpy as np
import torch
from torch.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals


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


def came_back(obj, allowed):
    with safe_globals(allowed):
        return torch.load(file_of(obj), map_location="cpu", weights_only=True)


w = torch.arange(3.0)
state = {"opt": Items([{"lr": 0.1, "avg": w}, (w * 2, None)]), "w": w, "order": OrderedDict(a=1)}
back = came_back(state, [Items])
print(type(back["opt"]).__name__, back["opt"].items, back["w"], back["order"]["a"])

nested = came_back(Items(Items([w])), [Items])
print(type(nested.items).__name__, nested.items.items)
slots = came_back([Slots(w, "right")], [Slots])[0]
print(slots.left, slots.right)
called = came_back({"c": Called(w, 1)}, [Called])["c"]
print(called.x, called.n)
print(came_back(Careful(w), [Careful]).x)
one, two = came_back([w, w], [])
print(one is two, one.data_ptr() == two.data_ptr())
renamed = came_back({"i": Items(1)}, [(Slots, "__main__.Slots"), (Items, "__main__.Items")])["i"]
print(type(renamed).__name__, renamed.items)

kinds = [np.dtype, *[getattr(np.dtypes, name) for name in np.dtypes.__all__]]
scalar = np.float64(0.5).__reduce__()[0]
print(float(came_back({"lr": np.float64(0.5)}, [scalar, *kinds])["lr"]))

for obj in (Items([w]), {"a": [Called(w, 1)]}):
    try:
        torch.load(file_of(obj), weights_only=True)
    except Exception as error:
        print("refused", type(error).__name__ in ("UnpicklingError", "FileFormatError"))

add_safe_globals([Items])
print(Items in get_safe_globals(), torch.load(file_of(Items(2)), weights_only=True).items)
with safe_globals([Slots]):
    print(Items in get_safe_globals(), Slots in get_safe_globals())
print(Items in get_safe_globals(), Slots in get_safe_globals())
clear_safe_globals()
print(get_safe_globals())

# ---- complex and sparse tensors, and what is beside tensors ----
z = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
back = came_back({"z": z, "wide": z.to(torch.complex128), "turned": z[None].expand(3, 2).t(), "same": z}, [])
print(torch.view_as_real(back["z"]), back["wide"].dtype, back["turned"].shape, back["z"] is back["same"])
print(came_back(z.clone().requires_grad_(), []).requires_grad)
sparse = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 3))
back = came_back([sparse, sparse.coalesce(), sparse.coalesce().to_sparse_csr()], [])
print([x.to_dense().tolist() for x in back], back[0].is_coalesced(), back[1].is_coalesced(), back[2].layout)
state = {"device": torch.device("cpu"), "type": torch.float16, "types": [torch.int64, torch.bool]}
print(came_back(state, []))
print(torch.load(file_of({"set": {1}, "bytes": b"ab\xff", "number": 1 + 2j}), weights_only=False))

# ---- the kind of dict that a state is ----
net = torch.nn.Linear(2, 1)
state = net.state_dict()
back = came_back({"model": state, "plain": {"a": 1}}, [])
print([isinstance(x, OrderedDict) for x in (state, back["model"], back["plain"], back)], list(back["model"]))
print(net.load_state_dict({"bias": torch.ones(1), "other": torch.ones(1)}, strict=False), net.load_state_dict(state))
filled = OrderedDict(first=1)
print(
    net.state_dict(destination=filled, prefix="net.") is filled,
    list(filled),
    net.state_dict(prefix="x.", keep_vars=True).keys(),
)
