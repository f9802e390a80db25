"""Modules that write and read a part of their state themselves."""

import io
import pickle

import torch
from torch import nn


class Renamed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, errors):
        old = prefix + "linear.weight"
        if old in state_dict:
            state_dict[prefix + "fc.weight"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, errors)


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.w = nn.Parameter(torch.ones(1))

    def get_extra_state(self):
        return {"n": self.n}

    def set_extra_state(self, state):
        self.n = state["n"]


class More(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "more"] = torch.zeros(1)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        state_dict.pop(prefix + "more", None)
        super()._load_from_state_dict(state_dict, prefix, *args)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = Renamed(), nn.Sequential(Counted()), More()


net, new = Net(), Net()
net.b[0].n = 7
state = net.state_dict()
print(sorted(state), state["b.0._extra_state"])
file = io.BytesIO()
torch.save(state, file)
file.seek(0)
print(new.load_state_dict(torch.load(file)), new.b[0].n)
state["a.linear.weight"] = state.pop("a.fc.weight") * 0 + 3
print(new.load_state_dict(state), new.a.fc.weight.tolist(), "a.linear.weight" in state)
del state["b.0._extra_state"]
print(new.load_state_dict(state, strict=False).missing_keys)
try:
    new.load_state_dict(state)
except RuntimeError:
    print("missing")
new.set_submodule("a.fc", nn.Linear(3, 1))
print(new.a.fc, new.compile())

print(torch.float32.is_complex, torch.int8.is_signed, torch.uint8.is_signed, torch.cfloat.is_complex)
print(torch.empty_strided((2, 2), (1, 2)).stride(), torch.dsplit(torch.ones(1, 1, 2), 2)[0].shape)
csr = torch.eye(2).to_sparse_csr()
print(csr.values(), csr.crow_indices(), torch.eye(2).to_sparse_coo().indices())

# ---- states that do not fit: all that is wrong, in PyTorch's words ----
small, large = (nn.Sequential(nn.Linear(3, n), nn.Linear(n, 2)) for n in (2, 4))
renamed = large.state_dict()
renamed["x"] = renamed.pop("0.weight")
for state, strict in ((large.state_dict(), True), (renamed, True), (renamed, False)):
    try:
        small.load_state_dict(state, strict=strict)
    except RuntimeError as error:
        print(error)

# ---- lazy layers, before they have shapes ----
for lazy in (nn.LazyLinear(4, dtype=torch.float64), nn.Sequential(nn.LazyConv1d(2, 1), nn.LazyBatchNorm1d())):
    f = io.BytesIO()
    torch.save(lazy, f)
    f.seek(0)
    for again in (pickle.loads(pickle.dumps(lazy)), torch.load(f, weights_only=False)):
        print(type(again).__name__, [type(p).__name__ for p in again.parameters()])
        x = torch.ones(5, 3, 1)
        print(again.float()(x[..., 0] if type(again) is nn.LazyLinear else x).shape)
f = io.BytesIO()
torch.save(nn.LazyLinear(4).state_dict(), f)
f.seek(0)
print(nn.LazyLinear(4).load_state_dict(torch.load(f, weights_only=False)))
taken = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5])(input_=torch.ones(3, 8), target_=torch.tensor([0, 3, 9]))
print(taken.output.shape, taken._fields, nn.LinearCrossEntropyOptions(acc_dtype=torch.float32).acc_dtype)
