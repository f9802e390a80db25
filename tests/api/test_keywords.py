"""What is said of keywords and names that are not there: which one was probably meant."""

from __future__ import annotations

import importlib
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
        (lambda: sg.models.GPT2(contxt=3), "GPT2: unknown keyword 'contxt'; did you mean context?"),
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


COLD = ["callbacks", "datasets", "fft", "generation", "metrics", "nn.init", "onnx", "optim.lr_scheduler"]
COLD += ["serialization", "text", "training", "transforms", "utils.data", "viz"]
# Few keywords, or their own rules for them.
PLAIN = {"ArrayDataset", "ChainDataset", "LRScheduler", "LRFinder", "Lambda", "Metric", "Mean", "MAE", "MSE"}
PLAIN |= {"SequentialSampler", "TensorDataset", "Training", "WorkerInfo", "constant_", "default_convert", "load_image"}
PLAIN |= {"ones_", "parse_idx", "safe_open", "zeros_"}


@pytest.mark.parametrize("module", COLD)
def test_functions_and_classes_that_are_not_hot_name_the_nearest(module: str) -> None:
    place = importlib.import_module(f"spirograd.{module}")
    bare = []
    for name in getattr(place, "__all__", None) or [n for n in vars(place) if not n.startswith("_")]:
        found = getattr(place, name)
        own = callable(found) and getattr(found, "__module__", "").startswith("spirograd.") and name not in PLAIN
        if not own or (isinstance(found, type) and ("__init__" not in vars(found) or issubclass(found, tuple))):
            continue
        parameters = inspect.signature(found).parameters.values()
        if not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters):
            continue
        with pytest.raises(TypeError) as raised:
            found(no_such_keyword=1)
        bare += [name] if "unexpected keyword" in str(raised.value) else []
    assert not bare


@pytest.mark.parametrize("function", [sg.nn.functional.mse_loss, sg.fft.rfft, sg.datasets.moons, sg.save])
def test_the_error_of_a_keyword_stands_alone(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="unknown keyword 'zzz'; its keywords are ") as raised:
        function(zzz=1)
    assert raised.value.__suppress_context__
