"""Recurrent layers against their formulas, their gradients, what a step costs, and PyTorch where it is there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg
from spirograd import nn
from spirograd.nn._recurrence import Lstm, run

Array = npt.NDArray[Any]
LAYERS: dict[str, Any] = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}
CELLS: dict[str, Any] = {"RNN": nn.RNNCell, "LSTM": nn.LSTMCell, "GRU": nn.GRUCell}
EACH = pytest.mark.parametrize("name", LAYERS)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def step(name: str, weights: list[Array], x: Array, states: list[Array], nonlinearity: str = "tanh") -> list[Array]:
    """The formulas of the papers."""
    of_input, of_state, bias_input, bias_state = weights
    a, b = x @ of_input.T + bias_input, states[0] @ of_state.T + bias_state
    if name == "RNN":
        return [np.tanh(a + b) if nonlinearity == "tanh" else np.maximum(a + b, 0)]
    if name == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(c), c]
    (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
    r, z = sigmoid(ar + br), sigmoid(az + bz)
    return [(1 - z) * np.tanh(an + r * bn) + z * states[0]]


def expected(name: str, layer: Any, x: Array, states: list[Array], nonlinearity: str = "tanh") -> tuple[Array, Any]:
    """Outputs [time, batch, features] and last states of all layers and directions."""
    values = {key: value.numpy().astype(np.float64) for key, value in layer.state_dict().items()}
    ends: list[list[Array]] = []
    for number in range(layer.num_layers):
        parts = []
        for suffix in ("", "_reverse")[: 1 + layer.bidirectional]:
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = [values.get(f"{key}_l{number}{suffix}", np.zeros(1)) for key in names]
            now, out = [s[len(ends)] for s in states], []
            for row in x[::-1] if suffix else x:
                now = step(name, weights, row, now, nonlinearity)
                out.append(now[0])
            parts.append(np.stack(out[::-1] if suffix else out))
            ends.append(now)
        x = np.concatenate(parts, -1)
    return x, [np.stack(s) for s in zip(*ends, strict=True)]


def states_of(name: str, *shape: int) -> list[Array]:
    random = np.random.default_rng(1)
    return [random.normal(size=shape).astype(np.float32) for _ in range(2 if name == "LSTM" else 1)]


def handed(states: list[Any]) -> Any:
    return tuple(states) if len(states) > 1 else states[0]


def listed(states: Any) -> list[Any]:
    return list(states) if isinstance(states, tuple) else [states]


def numbers(*shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


@EACH
def test_outputs_and_states_are_those_of_the_formulas(name: str, device: sg.Device) -> None:
    layer = LAYERS[name](3, 4, num_layers=2, bidirectional=True).to(device)
    x, states = numbers(5, 2, 3), states_of(name, 4, 2, 4)
    want, ends = expected(name, layer, x, states)
    out, last = layer(sg.tensor(x, device=device), handed([sg.tensor(s, device=device) for s in states]))
    np.testing.assert_allclose(out.detach().numpy(), want, atol=2e-6)
    for got, end in zip(listed(last), ends, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), end, atol=2e-6)


@EACH
@pytest.mark.parametrize("bias", [True, False])
def test_shapes_that_users_give(name: str, bias: bool) -> None:
    layer = LAYERS[name](3, 4, bias=bias, batch_first=True, dtype=sg.float64)
    x = numbers(2, 5, 3, dtype="float64")
    zeros = [np.zeros((1, 2, 4))] * (2 if name == "LSTM" else 1)
    want, ends = expected(name, layer, x.transpose(1, 0, 2), zeros)
    out, last = layer(sg.tensor(x))
    np.testing.assert_allclose(out.detach().numpy(), want.transpose(1, 0, 2), atol=1e-12)
    np.testing.assert_allclose(listed(last)[0].detach().numpy(), ends[0], atol=1e-12)
    alone, end = layer(sg.tensor(x[1]))  # without a batch
    assert alone.shape == (5, 4) and listed(end)[0].shape == (1, 4)
    np.testing.assert_allclose(alone.detach().numpy(), want[:, 1], atol=1e-12)
    with sg.no_grad():
        np.testing.assert_array_equal(layer(sg.tensor(x))[0].numpy(), out.detach().numpy())


@pytest.mark.parametrize("reverse", [False, True])
def test_a_projected_state_is_the_product_after_each_step(reverse: bool, device: sg.Device) -> None:
    layer = nn.LSTM(3, 5, bidirectional=True, proj_size=2).to(device)
    x, h0, c0 = numbers(4, 2, 3), numbers(2, 2, 2), numbers(2, 2, 5)
    suffix = "_l0_reverse" if reverse else "_l0"
    values = {key: value.cpu().numpy() for key, value in layer.state_dict().items()}
    weights = [values[key + suffix] for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    h, c, out = h0[int(reverse)], c0[int(reverse)], []
    for row in x[::-1] if reverse else x:
        h, c = step("LSTM", weights, row, [h, c])
        h = h @ values["weight_hr" + suffix].T
        out.append(h)
    got, (last_h, last_c) = layer(
        sg.tensor(x, device=device), (sg.tensor(h0, device=device), sg.tensor(c0, device=device))
    )
    want = np.stack(out[::-1] if reverse else out)
    np.testing.assert_allclose(got.detach().cpu().numpy()[..., 2 * reverse :][..., :2], want, atol=1e-6)
    np.testing.assert_allclose(last_h.detach().cpu().numpy()[int(reverse)], h, atol=1e-6)
    np.testing.assert_allclose(last_c.detach().cpu().numpy()[int(reverse)], c, atol=1e-6)


def test_a_projected_layer_takes_packed_sequences() -> None:
    layer, (long, short) = nn.LSTM(3, 5, proj_size=2), (sg.randn(4, 3), sg.randn(2, 3))
    packed, (h, _) = layer(nn.utils.rnn.pack_sequence([long, short]))
    out, _ = nn.utils.rnn.pad_packed_sequence(packed)
    np.testing.assert_allclose(out[:2, 1].detach().numpy(), layer(short)[0].detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(h[0, 1].detach().numpy(), out[1, 1].detach().numpy(), atol=1e-6)


@EACH
def test_an_empty_batch_has_gradients_of_zeros(name: str) -> None:
    layer = LAYERS[name](3, 4, num_layers=2, bidirectional=True)
    x = sg.zeros(5, 0, 3, requires_grad=True)
    out, last = layer(x)
    (out.sum() + sum(s.sum() for s in listed(last))).backward()
    assert out.shape == (5, 0, 8) and x.grad.shape == (5, 0, 3)
    assert all(not p.grad.any().item() for p in layer.parameters())


def test_relu_is_a_choice() -> None:
    layer = nn.RNN(3, 4, nonlinearity="relu", dtype=sg.float64)
    x = numbers(5, 2, 3, dtype="float64")
    want, _ = expected("RNN", layer, x, [np.zeros((1, 2, 4))], "relu")
    np.testing.assert_allclose(layer(sg.tensor(x))[0].detach().numpy(), want, atol=1e-12)


@EACH
def test_a_cell_is_one_step_of_its_layer(name: str) -> None:
    layer, cell = LAYERS[name](3, 4, dtype=sg.float64), CELLS[name](3, 4, dtype=sg.float64)
    assert list(cell.state_dict()) == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    x, states = sg.tensor(numbers(3, 2, 3, dtype="float64")), None
    out, last = layer(x)
    for t in range(3):
        states = cell(x[t], states)
        np.testing.assert_allclose(listed(states)[0].detach().numpy(), out[t].detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(listed(states)[-1].detach().numpy(), listed(last)[-1][0].detach().numpy(), atol=1e-12)
    assert listed(cell(x[0, 0]))[0].shape == (4,)


@EACH
@pytest.mark.filterwarnings("ignore:matmul")
@pytest.mark.parametrize("types", ["float16 float32", "float32 float64", "float32 float32 float16"])
def test_tensors_of_several_types_count_in_their_common_one(name: str, types: str, device: sg.Device) -> None:
    """Of the input, the parameters, and states if they are given."""
    of_input, of_layer, *of_state = (getattr(sg, t) for t in types.split())
    common = sg.promote_types(of_input, of_layer)
    layer = LAYERS[name](4, 3).to(device, of_layer)
    x = (sg.arange(16.0, device=device) / 8).reshape(2, 2, 4).to(of_input).requires_grad_()
    state = sg.full((1, 2, 3), 0.25, dtype=of_state[0], device=device) if of_state else None
    leaves = [x, *layer.parameters()]

    def made(layer: Any, x: sg.Tensor, state: sg.Tensor | None, leaves: list[sg.Tensor]) -> list[sg.Tensor]:
        y = layer(x, (state, state) if name == "LSTM" and state is not None else state)[0]
        return [y, *sg.autograd.grad(y.sum(), leaves)]

    found = made(layer, x, state, leaves)
    assert found[0].dtype == common
    whole, z = LAYERS[name](4, 3).to(device, common), x.detach().to(common).requires_grad_()
    whole.load_state_dict(layer.state_dict())
    wanted = made(whole, z, None if state is None else state.to(common), [z, *whole.parameters()])
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.detach().double().numpy(), b.detach().double().numpy(), rtol=2e-3, atol=1e-6)


@EACH
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_any_order(name: str, reverse: bool) -> None:
    kind = LAYERS[name](2, 2)._kind
    random = np.random.default_rng(0)

    def made(*shape: int) -> sg.Tensor:
        return sg.tensor(random.normal(size=shape), requires_grad=True)

    count = 2 if name == "LSTM" else 1
    bias = [made(kind.gates * 2)] if name == "GRU" else []
    inputs = (made(3, 1, kind.gates * 2), made(kind.gates * 2, 2), *(made(1, 2) for _ in range(count)), *bias)

    def f(x: sg.Tensor, weight: sg.Tensor, *rest: sg.Tensor) -> tuple[sg.Tensor, ...]:
        h, ends = run(kind, x, weight, rest[count] if bias else None, rest[:count], reverse)
        return (h, *ends)

    assert sg.autograd.gradcheck(f, inputs)
    assert sg.autograd.gradgradcheck(f, inputs)


@EACH
def test_the_gradient_of_a_last_state_alone(name: str) -> None:
    layer = LAYERS[name](3, 4, dtype=sg.float64)
    cell = CELLS[name](3, 4, dtype=sg.float64)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    x, states = sg.tensor(numbers(3, 2, 3, dtype="float64")), None
    listed(layer(x)[1])[-1].sum().backward()
    for t in range(3):
        states = cell(x[t], states)
    listed(states)[-1].sum().backward()
    for got, want in zip(layer.parameters(), cell.parameters(), strict=True):
        np.testing.assert_allclose(got.grad.numpy(), want.grad.numpy(), atol=1e-12)


@EACH
def test_gradients_on_the_device(name: str, device: sg.Device) -> None:
    """float32 on each device against float64 on the CPU."""
    made = LAYERS[name](3, 4)
    found = []
    for dtype, place in ((sg.float64, sg.Device.cpu()), (sg.float32, device)):
        layer = LAYERS[name](3, 4, dtype=dtype)
        layer.load_state_dict(made.state_dict())
        layer = layer.to(place)
        x = sg.tensor(numbers(4, 2, 3), dtype=dtype, device=place, requires_grad=True)
        out, last = layer(x)
        (out.square().sum() + listed(last)[-1].sum()).backward()
        found.append([x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters())])
    for exact, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4)


UNTIL_PLANNED = 10  # a loop is run in pieces until it was asked for often enough to get a plan of its own


class Trained:
    """A layer that is trained on one batch."""

    def __init__(self, name: str, steps: int, device: sg.Device) -> None:
        self.layer = LAYERS[name](8, 16).to(device)
        self.optimizer = sg.optim.SGD(self.layer.parameters(), lr=0.01)
        self.x = sg.tensor(numbers(steps, 4, 8), device=device)

    def step(self) -> None:
        loss = self.layer(self.x)[0].square().sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def counts(self) -> dict[str, int]:
        for _ in range(UNTIL_PLANNED):
            self.step()
        sg.synchronize(self.x.device)
        sg.reset_stats()
        self.step()
        return sg.stats()


@EACH
def test_a_step_in_time_is_two_kernels_each_way(name: str, device: sg.Device) -> None:
    if device.kind == "gpu" and name != "GRU":
        pytest.skip("one kind of layer shows it")
    few, more = Trained(name, 4, device).counts(), Trained(name, 10, device).counts()
    apart = 8 if device.kind == "cpu" else 0  # steps that are pieces of a loop share nothing with the next one
    assert more["dispatches"] - few["dispatches"] <= 6 * 4 + 1 + apart  # the last ones share more with what is around
    assert more["dispatches"] <= 10 * 4 + 12 + apart
    for s in (few, more):
        assert (s["submissions"], s["allocations"], s["fallbacks"]) == (1, 0, 0)
        assert (s["plan_hits"], s["plan_misses"], s["bytes_read"]) == (1, 0, 0)


def test_all_steps_of_an_lstm_are_one_kernel_each_way_on_a_cpu() -> None:
    few, more = (Trained("LSTM", steps, sg.Device("cpu")).counts() for steps in (4, 10))
    assert few["dispatches"] == more["dispatches"] <= 12
    x = sg.ones(5, 2, 3)
    with sg.no_grad():
        names = [step.name for step in nn.LSTM(3, 4)(x)[0].plan()]
    assert names.count("lstm") == 1


SIZES = [(1, 1, 1), (3, 2, 5), (2, 1, 32), (3, 65, 33), (2, 130, 100), (1, 7, 300)]  # steps, batch, hidden


def by_steps(x: Any, weight: Any, h: Any, c: Any, reverse: bool) -> tuple[Any, Any]:
    """An LSTM written out: h of all steps, and the last c."""
    out = []
    for row in list(x)[::-1] if reverse else x:
        i, f, u, o = (row + h @ weight.T).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * u.tanh()
        h = o.sigmoid() * c.tanh()
        out.append(h)
    return sg.stack(out[::-1] if reverse else out), c


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps, batch, hidden", SIZES)
@pytest.mark.parametrize("dtype, bound", [("float32", 2e-5), ("float64", 1e-12)])
def test_the_kernel_of_an_lstm_computes_what_its_steps_do(
    dtype: str, bound: float, steps: int, batch: int, hidden: int, reverse: bool
) -> None:
    def given(*shape: int) -> sg.Tensor:
        return sg.tensor(numbers(*shape, dtype=dtype) / max(1, hidden) ** 0.5)

    # Rows of x and of its gradient lie apart, as those of [batch, time, features] do; states are read across.
    x = given(batch, steps, 4 * hidden).transpose(0, 1).requires_grad_()
    h, c = (given(hidden, batch).T.requires_grad_() for _ in range(2))
    weight = given(4 * hidden, hidden).requires_grad_()
    upstream, of_c = given(batch, steps, hidden).transpose(0, 1), given(batch, hidden)
    inputs, found = [x, weight, h, c], []
    y, (_, last) = run(Lstm(), x, weight, None, (h, c), reverse)
    with sg.no_grad():
        alone, (_, last_alone) = run(Lstm(), x, weight, None, (h, c), reverse)
    np.testing.assert_array_equal(alone.numpy(), y.detach().numpy())
    np.testing.assert_array_equal(last_alone.numpy(), last.detach().numpy())
    for made in ((y, last), by_steps(x, weight, h, c, reverse)):
        of_y = sg.autograd.grad(made, inputs, [upstream, of_c], retain_graph=True)
        of_last = sg.autograd.grad(made[1].sum(), inputs)  # no gradient arrives at h
        found.append([t.detach().numpy() for t in (*made, *of_y, *of_last)])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=bound * max(1, np.abs(want).max()))


def print_digests() -> None:
    """Of results and gradients of an LSTM, of all sizes."""
    for steps, batch, hidden in SIZES:
        x = sg.tensor(numbers(steps, batch, 4 * hidden), requires_grad=True)
        weight = sg.tensor(numbers(4 * hidden, hidden) / hidden, requires_grad=True)
        start = sg.zeros(batch, hidden)
        y, (_, c) = run(Lstm(), x, weight, None, (start, start), False)
        (y.square().sum() + c.sum()).backward()
        for t in (y, c, x.grad, weight.grad):
            print(hashlib.md5(t.detach().numpy().tobytes()).hexdigest())  # type: ignore[union-attr]


def test_bits_of_an_lstm_do_not_depend_on_the_number_of_threads(run_python: Callable[..., str]) -> None:
    code = "import test_recurrent; test_recurrent.print_digests()"
    assert len({run_python(code, SPIROGRAD_THREADS=str(n)) for n in (1, 2, 5)}) == 1


@pytest.mark.needs("float64")
@pytest.mark.parametrize("bidirectional", [False, True])
def test_long_sequences_are_started_while_they_are_recorded(bidirectional: bool, device: sg.Device) -> None:
    """Parts of 32 steps: 70 steps are two parts and a rest each way; the values are those of one part."""
    short, long = (sg.tensor(numbers(steps, 2, 3), dtype=sg.float64, device=device) for steps in (32, 70))
    sg.manual_seed(1)
    layer = nn.GRU(3, 4, bidirectional=bidirectional, dtype=sg.float64).to(device)

    def grads(x: sg.Tensor) -> list[sg.Tensor]:
        return sg.autograd.grad(layer(x)[0].square().sum(), list(layer.parameters()))

    def submissions(x: sg.Tensor) -> int:
        for _ in range(UNTIL_PLANNED + 1):
            sg.reset_stats()
            found = grads(x)
            sg.synchronize(device)
            s = sg.stats()
            del found
        assert (s["plan_misses"], s["allocations"], s["fallbacks"]) == (0, 0, 0)
        return int(s["submissions"])

    assert submissions(short) <= 2, "two if that is the work of a piece"
    assert submissions(long) >= 1 + 4 * (1 + bidirectional)
    y = layer(long)[0].detach().numpy()
    forward = layer(long[:32])[0].detach().numpy()
    np.testing.assert_array_equal(y[:32, :, :4], forward[:, :, :4])
    if bidirectional:
        backward = layer(long[38:])[0].detach().numpy()
        np.testing.assert_array_equal(y[38:, :, 4:], backward[:, :, 4:])


def test_a_loop_over_a_cell_does_not_compute_its_past_again() -> None:
    """The formula of c holds that of the c before; were it not stored, kernels would grow with the steps."""

    def longest(steps: int) -> int:
        cell, states = nn.LSTMCell(2, 3), None
        for t in range(steps):
            states = cell(sg.ones(4, 2) * t, states)
        assert states is not None
        states[0].sum().backward()
        return max(len(kernel.source) for kernel in cell.weight_hh.grad.plan())  # type: ignore[union-attr]

    assert longest(12) <= longest(6) * 1.3


def test_stored_is_the_same_value_with_the_same_gradient(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = sg._core._stored(x * 3)
    (y * y).sum().backward()
    assert y.tolist() == [3, 6] and x.grad.tolist() == [18, 36]


def test_parameters_have_the_names_and_shapes_of_pytorch() -> None:
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    names = [f"{p}_l{i}{d}" for i in range(2) for d in ("", "_reverse") for p in PARTS]
    assert list(shapes) == names
    assert shapes["weight_ih_l0"] == (16, 3) and shapes["weight_ih_l1_reverse"] == (16, 8)
    assert shapes["weight_hh_l1"] == (16, 4) and shapes["bias_hh_l0"] == (16,)
    assert tuple(nn.GRU(3, 4).weight_hh_l0.shape) == (12, 4) and tuple(nn.RNN(3, 4).weight_ih_l0.shape) == (4, 3)
    assert [len(weights) for weights in layer.all_weights] == [4] * 4
    assert list(nn.GRU(3, 4, bias=False).state_dict()) == ["weight_ih_l0", "weight_hh_l0"]


PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def test_initial_values_are_uniform() -> None:
    layer = nn.LSTM(30, 100)
    for parameter in layer.parameters():
        values = parameter.detach().numpy()
        assert np.abs(values).max() <= 0.1
        assert abs(values.std() - 0.1 / np.sqrt(3)) < 0.006


def test_dropout_is_between_layers_and_in_training() -> None:
    x = sg.tensor(numbers(3, 2, 3))
    layer = nn.LSTM(3, 8, num_layers=2, dropout=0.5)
    plain = nn.LSTM(3, 8, num_layers=2)
    plain.load_state_dict(layer.state_dict())
    assert not np.allclose(layer(x)[0].detach().numpy(), plain(x)[0].detach().numpy())
    np.testing.assert_array_equal(layer.eval()(x)[0].detach().numpy(), plain(x)[0].detach().numpy())
    below = nn.GRU(3, 8, dropout=0.5)  # one layer has nothing behind it
    np.testing.assert_array_equal(below(x)[0].detach().numpy(), below(x)[0].detach().numpy())


def test_wrong_uses_are_explained() -> None:
    layer = nn.LSTM(3, 4)
    for call, text in [
        (lambda: layer(sg.ones(5, 2, 4)), "last size must be 3"),
        (lambda: layer(sg.ones(3)), r"\[time, features\]"),
        (lambda: layer(sg.ones(0, 2, 3)), "no time steps"),
        (lambda: layer(sg.ones(5, 2, 3), (sg.ones(1, 3, 4), sg.ones(1, 2, 4))), r"h_0 .* must be \[1, 2, 4\]"),
        (lambda: layer(sg.ones(5, 2, 3), (sg.ones(1, 2, 4), sg.ones(2, 2, 4))), "c_0"),
        (lambda: nn.LSTM(3, 4, proj_size=4), "proj_size is 4, hidden_size 4; use a smaller proj_size"),
        (lambda: nn.LSTM(3, 4, proj_size=2)(sg.ones(5, 2, 3), (sg.ones(1, 2, 4),) * 2), r"h_0 .* must be \[1, 2, 2\]"),
        (lambda: nn.LSTM(3, 0), "must be positive"),
        (lambda: nn.GRU(3, 4, num_layers=0), "num_layers is 0"),
        (lambda: nn.GRU(3, 4, dropout=2), "probability"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), "tanh or relu"),
        (lambda: nn.GRUCell(3, 4)(sg.ones(2, 2)), "last size must be 3"),
        (lambda: nn.GRUCell(3, 4)(sg.ones(2, 3), sg.ones(2, 3)), r"must be \[2, 4\]"),
        (lambda: nn.GRUCell(3, 4)(sg.ones(1, 2, 3)), r"\[batch, features\]"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


def test_repr_names_what_is_not_the_default() -> None:
    assert repr(nn.LSTM(3, 4, num_layers=2, bidirectional=True)) == "LSTM(3, 4, num_layers=2, bidirectional=True)"
    assert repr(nn.GRUCell(3, 4, bias=False)) == "GRUCell(3, 4, bias=False)"


def copied(ours: Any, theirs: Any) -> None:
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({key: sg.tensor(value.numpy()) for key, value in theirs.state_dict().items()})


@EACH
def test_as_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, name)(3, 4, num_layers=2, bidirectional=True, batch_first=True).double()
    ours = LAYERS[name](3, 4, num_layers=2, bidirectional=True, batch_first=True, dtype=sg.float64)
    copied(ours, theirs)
    x, states = numbers(2, 5, 3, dtype="float64"), [s.astype(np.float64) for s in states_of(name, 4, 2, 4)]
    results = []
    for library, layer in ((torch, theirs), (sg, ours)):
        inputs = [library.tensor(a, requires_grad=True) for a in (x, *states)]
        out, last = layer(inputs[0], handed(inputs[1:]))
        (out.sin().sum() + sum((s * s).sum() for s in listed(last))).backward()
        results.append([out, *listed(last), *(t.grad for t in inputs), *(p.grad for p in layer.parameters())])
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-4), ("float64", 1e-9)])
def test_the_loss_curve_of_pytorch(dtype: str, bound: float) -> None:
    torch = pytest.importorskip("torch")
    x, y = numbers(12, 8, 6, dtype=dtype), np.random.default_rng(0).integers(0, 5, 12 * 8)
    curves = []
    start: Any = None
    for library in (torch, sg):
        kind = getattr(library, dtype)
        net = library.nn.LSTM(6, 16, num_layers=2, dtype=kind), library.nn.Linear(16, 5, dtype=kind)
        if start is None:
            start = net
        else:
            for ours, theirs in zip(net, start, strict=True):
                copied(ours, theirs)
        inputs, target = library.tensor(x), library.tensor(y)
        optimizer = library.optim.Adam([p for part in net for p in part.parameters()], lr=1e-2)
        curve = []
        if library is torch:  # the values to start from
            kept = [{k: v.clone() for k, v in part.state_dict().items()} for part in net]
        for _ in range(20):
            scores = net[1](net[0](inputs)[0]).reshape(-1, 5)
            loss = library.nn.functional.cross_entropy(scores, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append(loss.item())
        if library is torch:
            for part, values in zip(net, kept, strict=True):
                part.load_state_dict(values)
        curves.append(curve)
    np.testing.assert_allclose(curves[1], curves[0], rtol=bound)
    assert curves[1][-1] < curves[1][0]


@EACH
def test_autocast_runs_all_steps_in_the_half_type(name: str) -> None:
    layer = LAYERS[name](3, 4)
    with sg.amp.autocast("cpu", dtype=sg.bfloat16):
        out, last = layer(sg.tensor(numbers(5, 2, 3)))
    assert {t.dtype for t in (out, *listed(last))} == {sg.bfloat16}
    out.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == sg.float32 for p in layer.parameters())


@pytest.mark.parametrize("side", ["left", "right"])
def test_sequences_are_filled_up_and_taken_apart(side: str) -> None:
    rows = [sg.tensor(numbers(length, 2)) for length in (3, 1, 4)]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=7.0, padding_side=side)
    assert padded.shape == (3, 4, 2)
    place = np.s_[:3] if side == "left" else np.s_[1:]
    np.testing.assert_array_equal(padded[1].numpy()[place], np.full((3, 2), 7.0))
    if side == "right":
        for row, again in zip(rows, nn.utils.rnn.unpad_sequence(padded, sg.tensor([3, 1, 4]), True), strict=True):
            np.testing.assert_array_equal(again.numpy(), row.numpy())
    assert nn.utils.rnn.pad_sequence(rows, padding_side=side).shape == (4, 3, 2)
    for wrong in ({"sequences": []}, {"sequences": rows, "padding_side": "up"}):
        with pytest.raises(ValueError, match="pad_sequence: "):
            nn.utils.rnn.pad_sequence(**wrong)
