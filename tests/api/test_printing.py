"""How tensors are printed: PyTorch's text, which was taken from it once and is compared live where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spirograd as sg


@pytest.fixture(autouse=True)
def options() -> Iterator[None]:
    """Leaves no options behind."""
    yield
    sg.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (1e-5, "tensor(1.0000e-05)"),
        ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        ([1e8, 1.0], "tensor([1.0000e+08, 1.0000e+00])"),
        ([1e9], "tensor([1.0000e+09])"),
        ([1e8], "tensor([100000000.])"),
        ([1000.5, 2.0], "tensor([1000.5000,    2.0000])"),
        ([float("nan"), float("inf"), 1.5], "tensor([   nan,    inf, 1.5000])"),
        ([float("nan")], "tensor([nan])"),
        ([0.0, -0.0], "tensor([0., -0.])"),
        ([[1, -200], [3, 4]], "tensor([[   1, -200],\n        [   3,    4]])"),
        ([True], "tensor([True])"),
        (True, "tensor(True)"),
        ([[[0.0, 1.0]], [[2.0, 3.0]]], "tensor([[[0., 1.]],\n\n        [[2., 3.]]])"),
    ],
)
def test_values(values: Any, text: str, device: sg.Device) -> None:
    if device.kind == "gpu":
        text = text[:-1] + ", device='gpu:0')"
    assert repr(sg.tensor(values, device=device)) == text


def test_long_tensors_are_shortened() -> None:
    assert repr(sg.arange(2000.0)) == (
        "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])"
    )
    text = repr(sg.zeros(40, 50))
    assert (
        text.count("\n") == 6
        and "        ...,\n" in text
        and text.startswith("tensor([[0., 0., 0.,  ..., 0., 0., 0.],")
    )


def test_printing_reads_only_what_it_shows(device: sg.Device) -> None:
    x = sg.zeros(1000, 1000, device=device)
    x.realize()
    sg.reset_stats()
    repr(x)
    x._repr_html_()
    assert sg.stats()["bytes_read"] < 20_000


def test_notes() -> None:
    w = sg.ones(1, requires_grad=True)
    assert repr(w) == "tensor([1.], requires_grad=True)"
    assert repr((w * 2).double()).startswith("tensor([2.], dtype=spirograd.float64, grad_fn=<")
    assert repr(sg.zeros(0, 3, dtype=sg.int64)) == "tensor([], size=(0, 3), dtype=spirograd.int64)"
    assert repr(sg.tensor([1.5, 2], dtype=sg.bfloat16)) == "tensor([1.5000, 2.0000], dtype=spirograd.bfloat16)"
    text = repr(sg.arange(5, dtype=sg.float64) / 3 + 1000)
    assert text.endswith("1001.3333],\n       dtype=spirograd.float64)")


def test_options() -> None:
    sg.set_printoptions(precision=2, sci_mode=True)
    assert repr(sg.tensor([1.0, 2.345])) == "tensor([1.00e+00, 2.35e+00])"
    sg.set_printoptions(profile="default", sci_mode=False)
    assert repr(sg.tensor([1e-9, 1e9])) == "tensor([         0.0000, 1000000000.0000])"
    sg.set_printoptions(profile="short")
    assert repr(sg.tensor([1.23456])) == "tensor([1.23])"
    assert repr(sg.arange(2000.0)) == "tensor([0.00e+00, 1.00e+00,  ..., 2.00e+03, 2.00e+03])"
    sg.set_printoptions(profile="full")
    assert repr(sg.arange(2000)).count(",") == 1999
    sg.set_printoptions(profile="default", linewidth=30, threshold=2, edgeitems=1)
    assert repr(sg.arange(5)) == "tensor([0,  ..., 4])"
    assert sg.get_printoptions() == {"precision": 4, "threshold": 2, "edgeitems": 1, "linewidth": 30, "sci_mode": None}
    with pytest.raises(ValueError, match="set_printoptions: profile 'x' is unknown; use one of default, short, full"):
        sg.set_printoptions(profile="x")


def test_format() -> None:
    assert f"{sg.tensor(1.2345):.2f}" == "1.23" and f"{sg.tensor(7):>5}" == "    7" and f"{sg.tensor(5):d}" == "5"
    assert f"{sg.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError, match=r"format: a tensor of shape \[1\] takes no format '.2f'"):
        format(sg.tensor([1.0]), ".2f")


def test_html_is_a_corner() -> None:
    text = sg.arange(4000.0).reshape(40, 100)._repr_html_()
    assert text.count("<tr>") == 9 and text.count("<td>") == 9 * 9 and "tensor [40, 100] float32 cpu" in text
    assert sg.tensor([[1.0, 2.0]])._repr_html_().count("<td>") == 2
    assert sg.zeros(3, 2, 2)._repr_html_().count("<td>") == 4 and sg.zeros(5)._repr_html_().count("<td>") == 5
    assert sg.tensor(2.5)._repr_html_() == "<pre>tensor(2.5000)</pre>"


def test_text_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    for shape in [(), (1,), (7,), (40,), (3, 4), (2, 3, 4), (1, 30, 2), (11, 12, 13), (0,), (2, 0)]:
        for scale in (1e-6, 1e-3, 1.0, 1e4, 1e9):
            for dtype in ("float32", "float64", "float16", "int64", "int32", "bool", "uint8"):
                with np.errstate(all="ignore"):
                    array = (random.normal(size=shape) * scale).astype(dtype)
                ours = repr(sg.tensor(array)).replace("spirograd.", "torch.")
                assert ours == repr(torch.from_numpy(np.asarray(array))), (shape, scale, dtype)
