"""repr() of modules, for many arguments; tests/golden/layer_reprs.json has the text of each call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spirograd as sg
from spirograd import nn

TEXTS: dict[str, str] = json.loads((Path(__file__).parents[1] / "golden" / "layer_reprs.json").read_text())
NAMES: dict[str, Any] = {"sg": sg, **vars(nn)}


@pytest.mark.filterwarnings("ignore")
def test_a_layer_shows_its_arguments() -> None:
    wrong = [(call, text, now) for call, text in TEXTS.items() if (now := repr(eval(call, NAMES))) != text]
    assert not wrong


def test_each_layer_is_among_them() -> None:
    made = " ".join(TEXTS)
    layers = [k for k, v in vars(nn).items() if isinstance(v, type) and issubclass(v, nn.Module)]
    bases = {"Module", "TensorModule", "RNNCellBase", "ParameterList", "ParameterDict"}
    assert not [name for name in layers if f"{name}(" not in made and name not in bases]


def test_a_derived_class_shows_the_arguments_of_its_layer() -> None:
    class Narrow(nn.Linear):
        def __init__(self, width: int, other: str = "", bias: bool = True) -> None:
            super().__init__(width, 1, bias)

    assert repr(Narrow(3, "x", bias=False)) == "Narrow(in_features=3, out_features=1, bias=False)"


def test_a_constructor_that_a_program_replaces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    constructor = nn.Linear.__init__
    monkeypatch.setattr(nn.Linear, "__init__", lambda self, *args, **options: constructor(self, *args, **options))
    assert repr(nn.Linear(3, 1)) == "Linear(in_features=3, out_features=1, bias=True)"


def test_a_module_of_a_program_shows_no_arguments() -> None:
    class Net(nn.Module):
        def __init__(self, size: int = 3) -> None:
            super().__init__()
            self.size = size

    assert repr(Net()) == "Net()"
