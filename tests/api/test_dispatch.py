"""Who answers for a call: classes of arguments first, then what is open in the thread, then the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd._complex import ComplexTensor


class Named:
    """Stands for a tensor, and gives the name of what it is asked about, with the number of arguments."""

    @classmethod
    def __spirograd_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__, len(args)


N: Any = Named()
X = sg.ones(2, 2)
READERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "tensors": (lambda: sg.cat([X, N]), ("cat", 1)),
    "sizes": (lambda: X.reshape([N, 2]), ("reshape", 2)),
    "axes": (lambda: X.sum(dim=(0, N)), ("sum", 1)),
    "ints": (lambda: X.split([1, N]), ("split", 2)),
    "shapes": (lambda: sg.broadcast_shapes((2, N), (2, 2)), ("broadcast_shapes", 2)),
    "pairs": (lambda: sg.tensordot(X, X, dims=([0], [N])), ("tensordot", 2)),
    "indices": (lambda: X.index_put((sg.tensor([0]), N), X), ("index_put", 3)),
    "data": (lambda: sg.tensor([[1.0, 2.0], [3.0, N]]), ("tensor", 1)),
    "data with a type": (lambda: sg.as_tensor([1, N]), ("as_tensor", 1)),
}


@pytest.mark.parametrize("name", READERS)
def test_an_element_of_a_list_answers(name: str) -> None:
    call, answer = READERS[name]
    assert call() == answer


def test_complex_elements_make_complex_tensors() -> None:
    lists: list[Any] = [[1, 2j], [[1.5, 2.0], [3j, 4.0]], (1.0, np.complex64(2)), [np.ones(2), np.ones(2) * 1j]]
    for data in lists:
        made: Any = sg.tensor(data)
        assert isinstance(made, ComplexTensor) and np.array_equal(made.numpy(), np.array(data))


def test_a_list_without_a_call_that_is_asked_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Tensor: a list with an object of type complex .*; make a tensor with tensor"):
        sg.Tensor([1.0, 2j])
