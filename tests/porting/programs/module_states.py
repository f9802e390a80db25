"""Modules that write and read a part of their state themselves."""

import io
import pickle

import pytest
import torch
from torch import nn

from checking import check


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


def state_of(n):
    net = Net()
    net.b[0].n = n
    return net.state_dict()


def test_extra_state():
    state = state_of(7)
    check(sorted(state), state["b.0._extra_state"])


def test_extra_state_through_a_file():
    new, file = Net(), io.BytesIO()
    torch.save(state_of(7), file)
    file.seek(0)
    check(str(new.load_state_dict(torch.load(file))), new.b[0].n)


def test_a_name_of_an_older_version():
    new, state = Net(), state_of(7)
    state["a.linear.weight"] = state.pop("a.fc.weight") * 0 + 3
    check(str(new.load_state_dict(state)), new.a.fc.weight, "a.linear.weight" in state)


def test_missing_extra_state():
    new, state = Net(), state_of(7)
    del state["b.0._extra_state"]
    check(new.load_state_dict(state, strict=False).missing_keys)
    with pytest.raises(RuntimeError):
        new.load_state_dict(state)


def test_set_submodule():
    new = Net()
    new.set_submodule("a.fc", nn.Linear(3, 1))
    check(new.a.fc, new.compile())


def test_attributes_of_types():
    check(torch.float32.is_complex, torch.int8.is_signed, torch.uint8.is_signed, torch.cfloat.is_complex)


def test_strides_and_splits():
    check(torch.empty_strided((2, 2), (1, 2)).stride(), torch.dsplit(torch.ones(1, 1, 2), 2)[0].shape)


@pytest.mark.filterwarnings("ignore")
def test_parts_of_sparse_tensors():
    csr = torch.eye(2).to_sparse_csr()
    check(csr.values(), csr.crow_indices(), torch.eye(2).to_sparse_coo().indices())


# ---- states that do not fit: all that is wrong, in PyTorch's words ---------------------------------------------------
@pytest.mark.parametrize(("renamed", "strict"), [(False, True), (True, True), (True, False)])
def test_a_state_that_does_not_fit(renamed, strict):
    small, large = (nn.Sequential(nn.Linear(3, n), nn.Linear(n, 2)) for n in (2, 4))
    state = large.state_dict()
    if renamed:
        state["x"] = state.pop("0.weight")
    with pytest.raises(RuntimeError) as error:
        small.load_state_dict(state, strict=strict)
    check(str(error.value))


# ---- lazy layers, before they have shapes ----------------------------------------------------------------------------
def saved(module):
    f = io.BytesIO()
    torch.save(module, f)
    f.seek(0)
    return torch.load(f, weights_only=False)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), saved], ids=["pickled", "saved"])
def test_lazy_layers(again):
    x = torch.ones(5, 3, 1)
    for lazy, batch in (
        (nn.LazyLinear(4, dtype=torch.float64), x[..., 0]),
        (nn.Sequential(nn.LazyConv1d(2, 1), nn.LazyBatchNorm1d()), x),
    ):
        other = again(lazy)
        names = [type(p).__name__ for p in other.parameters()]
        check(type(other).__name__, names, other.float()(batch).shape)


def test_the_state_of_a_lazy_layer():
    check(str(nn.LazyLinear(4).load_state_dict(saved(nn.LazyLinear(4).state_dict()))))


def test_names_of_arguments():
    taken = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5])(input_=torch.ones(3, 8), target_=torch.tensor([0, 3, 9]))
    options = nn.LinearCrossEntropyOptions(acc_dtype=torch.float32)
    check(taken.output.shape, taken._fields, str(options.acc_dtype))
