"""Dicts of parameters and modules: in what order they hand them out."""

import collections

import pytest
import torch
from torch import nn

from checking import check


def parameter():
    return nn.Parameter(torch.ones(1))


def check_names(holder):
    check([n for n, _ in holder.named_parameters()], list(holder.keys()), list(holder.state_dict()))


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, list])
def test_order_of(kind):
    check_names(nn.ParameterDict(kind([("b", parameter()), ("a", parameter()), ("c", parameter())])))


def filled():
    d = nn.ParameterDict({"z": parameter()})
    d.update({"y": parameter(), "x": parameter()})
    d["q"] = parameter()
    return d


def test_update():
    check_names(filled())
    check_names(nn.ParameterDict(filled()))


def test_setdefault():
    d = filled()
    check(d.setdefault("m", parameter()) is d["m"], d.setdefault("z", 3) is d["z"])
    check_names(d)


def test_or():
    d = filled()
    d |= {"k": parameter(), "j": parameter()}
    check_names(d | nn.ParameterDict({"bb": parameter(), "aa": parameter()}))


def test_copy_and_popitem():
    d = filled().copy()
    check_names(d)
    check(d.popitem()[0], list(reversed(d)))


def test_modules():
    m = nn.ModuleDict({"b": nn.Linear(1, 1), "a": nn.Linear(1, 1)})
    m.update({"d": nn.ReLU(), "c": nn.ReLU()})
    check_names(m)
