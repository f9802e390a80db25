"""What is said of keywords and names that are not there: which one was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import spirograd as sg


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sg.nn.Linear(2, 3, biass=False), "Linear: unknown keyword 'biass'; did you mean bias?"),
        (lambda: sg.nn.Conv2d(1, 2, 3, pading=1), "Conv2d: unknown keyword 'pading'; did you mean padding?"),
        (lambda: sg.nn.ReLU(x=1), "ReLU: unknown keyword 'x'; its keywords are inplace"),
        (
            lambda: sg.optim.lr_scheduler.StepLR(sg.optim.SGD([sg.ones(1)]), stepsize=2),
            "StepLR: unknown keyword 'stepsize'; did you mean step_size?",
        ),
        (lambda: sg.distributions.Normal(0, scales=1), "Normal: unknown keyword 'scales'; did you mean scale?"),
        (lambda: sg.utils.data.DataLoader([1], batchsize=2), "DataLoader: .* 'batchsize'; did you mean batch_size?"),
        (lambda: sg.fit(None, None, epoch=3), "fit: unknown keyword 'epoch'; did you mean epochs?"),
    ],
)
def test_unknown_keywords_name_the_nearest(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message.replace('?', '[?]')}$"):
        call()
    assert str(inspect.signature(sg.nn.ReLU)) == "(inplace: 'bool' = False) -> 'None'"


def test_errors_inside_of_a_constructor_stay_as_they_are() -> None:
    class Broken(sg.nn.Sequential):
        def __init__(self) -> None:
            super().__init__(sg.nn.Linear(2, 2))
            dict.fromkeys([], oops=1)  # type: ignore[call-overload]

    with pytest.raises(TypeError, match="fromkeys"):
        Broken()


def test_a_misspelt_name_is_corrected() -> None:
    with pytest.raises(AttributeError) as raised:
        sg.sofmax  # noqa: B018
    assert raised.value.name == "sofmax" and raised.value.obj is sg
