"""Attributes that a program sets on a tensor: where they live, how long, and what frees them."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from typing import Any

import pytest

import spirograd as sg


class Thing:
    """What a weak reference can watch."""


def test_a_tensor_has_attributes() -> None:
    x: Any = sg.ones(2)
    assert vars(x) == {} and not hasattr(x, "note")
    x.note = {"made": "here"}
    assert x.note == {"made": "here"} and vars(x) == {"note": x.note} and not hasattr(x + 1, "note")
    del x.note
    with pytest.raises(AttributeError, match="note"):
        x.note  # noqa: B018
    x.__dict__ = {"other": 1}
    assert x.other == 1
    with pytest.raises(TypeError, match="dict"):
        x.__dict__ = 1


def test_what_a_tensor_has_of_its_own_stays() -> None:
    x: Any = sg.ones(2)
    for name in ("shape", "dtype", "device", "T"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)
    x.grad, x.requires_grad = sg.ones(2), True
    assert not vars(x) and x.grad.tolist() == [1, 1]


def test_the_slot_takes_eight_bytes() -> None:
    x = sg.ones(2)
    size = 2 * 8 + 3 * 8  # the object's head, the tensor, weak references, attributes
    assert x.__sizeof__() == size == object.__sizeof__(sg.nn.Parameter(x)) and sys.getsizeof(x) == size + 16


@pytest.mark.parametrize("kind", [sg.Tensor, sg.nn.Parameter])
def test_a_cycle_through_attributes_is_collected(kind: Any) -> None:
    x, y = kind(sg.ones(2)), kind(sg.ones(2))
    x.other, y.other, x.thing = y, [x], Thing()
    gone = weakref.ref(x.thing), weakref.ref(x), weakref.ref(y)
    del x, y
    assert gone[0]() is not None
    gc.collect()
    assert [r() for r in gone] == [None] * 3


def test_a_cycle_through_the_graph_and_attributes_is_collected() -> None:
    x: Any = sg.ones(2, requires_grad=True)
    y: Any = (x * x).sum()
    x.result, y.thing = y, Thing()
    gone = weakref.ref(y.thing)
    y.register_hook(lambda g, x=x: g)
    del x, y
    gc.collect()
    assert gone() is None


def test_attributes_end_with_the_tensor() -> None:
    x: Any = sg.ones(2)
    x.thing = Thing()
    gone = weakref.ref(x.thing)
    del x
    assert gone() is None


def test_a_long_chain_of_attributes_is_freed_without_recursion() -> None:
    first: Any = sg.ones(1)
    x = first
    for _ in range(100_000):
        x.following = sg.ones(1)
        x = x.following
    gone = weakref.ref(x)
    del x, first
    assert gone() is None


def test_a_subclass_adds_no_second_dict() -> None:
    class Named(sg.Tensor):
        name = "none"

    class Mixed(Thing, sg.Tensor):
        pass

    for kind in (Named, Mixed):
        x: Any = kind([1.0, 2.0])
        x.name = "first"
        assert vars(x) == {"name": "first"} and (x + 1).tolist() == [2, 3] and sys.getsizeof(x) == sys.getsizeof(x + 1)
    plain: Any = sg.ones(2)
    plain.__class__ = Named
    assert type(plain) is Named and plain.name == "none"


def test_copies_and_pickles_have_the_values_alone() -> None:
    x: Any = sg.ones(2)
    x.note = 1
    assert not vars(pickle.loads(pickle.dumps(x))) and not vars(x.clone())
