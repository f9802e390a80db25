"""Recurrent layers as one operation of a GPU, by both of its forms: a launch for each step, and workgroups that wait
for each other, of which a software driver runs one. SPIROGRAD_RECURRENT chooses."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg
from spirograd import nn
from spirograd.nn._recurrence import Gru, Kind, Lstm, Rnn, run

Array = npt.NDArray[Any]
pytestmark = pytest.mark.gpu
FORMS = ("0", "1")  # one launch a step; one workgroup for all steps
KINDS: dict[str, Kind] = {"LSTM": Lstm(), "GRU": Gru(), "tanh": Rnn("tanh"), "relu": Rnn("relu")}
# Steps, batch, hidden: rows and units that fill no tile, sums that fill no chunk, several tiles of rows.
SIZES = [(1, 1, 1), (3, 2, 33), (2, 40, 68), (2, 9, 260)]
CASES = [("LSTM", *sizes) for sizes in SIZES] + [(name, *SIZES[1]) for name in KINDS if name != "LSTM"]


def values(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape) / shape[-1] ** 0.5


def results(place: str, dtype: Any, case: tuple[str, int, int, int]) -> list[Array]:
    """h of all steps, the last c, and the gradients of the inputs when they arrive at all of these, and at the first or
    the last of them alone."""
    name, steps, batch, hidden = case
    kind, reverse = KINDS[name], batch % 2 == 0

    def given(*shape: int) -> sg.Tensor:
        return sg.tensor(values(*shape), dtype=dtype, device=place)

    width = kind.gates * hidden
    x = given(batch, steps, width).transpose(0, 1).requires_grad_()  # its rows lie apart
    states = [given(hidden, batch).T.requires_grad_() for _ in range(2 if name == "LSTM" else 1)]
    weight, bias = given(width, hidden).requires_grad_(), given(width).requires_grad_() if name == "GRU" else None
    inputs = [x, weight, *states] + ([] if bias is None else [bias])

    def outputs() -> list[sg.Tensor]:
        y, (_, *others) = run(kind, x, weight, bias, tuple(states), reverse)
        return [y, *others]

    made = outputs()
    with sg.no_grad():
        for alone, y in zip(outputs(), made, strict=True):
            np.testing.assert_array_equal(alone.cpu().double().numpy(), y.detach().cpu().double().numpy())
    upstream = [given(batch, steps, hidden).transpose(0, 1), given(batch, hidden)][: len(made)]
    found = list(made)
    found += sg.autograd.grad(made, inputs, upstream, retain_graph=True)
    if bias is None:
        found += sg.autograd.grad(made[0], inputs, upstream[0], retain_graph=True)
    found += sg.autograd.grad(made[-1].sum(), inputs)
    return [t.detach().cpu().double().numpy() for t in found]


def check(got: list[Array], want: list[Array], bound: float) -> None:
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=bound * max(1, np.abs(b).max()))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_forms_compute_what_the_formulas_do(
    case: tuple[str, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for form in FORMS:
        monkeypatch.setenv("SPIROGRAD_RECURRENT", form)
        found.append(results("gpu", sg.float32, case))
    check(found[0], results("cpu", sg.float64, case), 2e-5)
    for steps, meeting in zip(*found, strict=True):
        np.testing.assert_array_equal(steps, meeting)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype, bound, name", [(sg.float16, 2e-2, "LSTM"), (sg.bfloat16, 1e-1, "GRU")], ids=str)
def test_half_types_add_up_float32(
    dtype: Any, bound: float, name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sg.Device.gpu().features["storageBuffer16BitAccess"] == "no":
        pytest.skip("the GPU has no storageBuffer16BitAccess")
    monkeypatch.setenv("SPIROGRAD_RECURRENT", form)
    case = (name, 3, 5, 36)
    check(results("gpu", dtype, case), results("cpu", sg.float64, case), bound)


def print_launches() -> None:
    """Of plans that are not run: hidden, launches of a layer of 16 steps, forward alone, and with gradients."""
    for hidden in (128, 512, 1024):
        layer, x = nn.LSTM(8, hidden).to("gpu"), sg.ones(16, 1, 8, device="gpu")
        with sg.no_grad():
            alone = [step.name for step in layer(x)[0].plan()]
        layer(x)[0].sum().backward()
        assert layer.weight_hh_l0.grad is not None
        both = [step.name for step in layer.weight_hh_l0.grad.plan()]
        counts = [len(alone), alone.count("lstm"), len(both), both.count("lstm"), both.count("lstm_gradient")]
        print(hidden, *counts, flush=True)
    layer = nn.LSTM(8, 1024).to("gpu")
    with sg.no_grad():  # a step of 2^28 multiplications
        print([step.name for step in layer(sg.ones(2, 64, 8, device="gpu"))[0].plan()].count("lstm"), flush=True)
    os._exit(0)


@pytest.mark.parametrize("form, launches", [("128", 1), ("0", 16)])
def test_workgroups_that_wait_for_each_other_take_one_launch_for_all_steps(
    form: str, launches: int, run_python: Callable[..., str]
) -> None:
    said = run_python("import test_recurrent_gpu as t; t.print_launches()", SPIROGRAD_RECURRENT=form)
    *rows, (of_large,) = [[int(word) for word in line.split()] for line in said.splitlines()]
    assert of_large == 0, "kernels of products do such steps faster"
    assert [row[0] for row in rows] == [128, 512, 1024]
    for _, alone, forward, both, again, backward in rows:
        assert forward == again == backward == launches
        assert alone - launches <= 6 and both - 2 * launches <= 16


def test_the_core_refuses_several_types_and_those_without_a_kernel() -> None:
    x, weight, h = (sg.ones(*shape, device="gpu") for shape in ((3, 2, 12), (12, 4), (2, 4)))
    with pytest.raises(TypeError, match="gru: float32 and float16; use one type"):
        sg._core._gru(x, weight, weight.half()[:, 0], h, False, False)
    with pytest.raises(TypeError, match="rnn: float32 and bfloat16; use one type"):
        sg._core._rnn(x, weight, h.bfloat16(), False, False)
    with pytest.raises(TypeError, match="rnn: there is no kernel for float32 on cpu"):
        sg._core._rnn(x.cpu(), weight.cpu(), h.cpu(), False, False)


def test_workgroups_that_are_not_all_there_are_an_error(run_python: Callable[..., str]) -> None:
    code = """
        import spirograd as sg
        layer = sg.nn.LSTM(8, 64).to("gpu")
        x = sg.ones(4, 8, 8, device="gpu")
        try:
            layer(x)[0].sum().item()
            print("no error")
        except sg.Error as e:
            print(e)
        print((x + 1).sum().item())
    """
    if sg.Device.gpu().type != "software":
        pytest.skip("a GPU runs two workgroups at the same time")
    said = run_python(textwrap.dedent(code), SPIROGRAD_RECURRENT="64", LP_NUM_THREADS="1")
    assert "lstm_resident: its workgroups did not run at the same time" in said
    assert "set SPIROGRAD_RECURRENT=0" in said and "512.0" in said
