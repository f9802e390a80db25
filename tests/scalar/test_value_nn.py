"""micrograd's Module, Neuron, Layer and MLP: weights, names, graphs, and the demo on the moons."""

from __future__ import annotations

import gc
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference import scalar
from reference.scalar import GRADIENT, Engine, bits

GOLDEN = Path(__file__).parents[1] / "golden" / "moons.json"
SIZES = [(2, [1]), (3, [4, 4, 1]), (2, [16, 16, 1]), (1, [1]), (4, [3]), (10, [20, 20, 1])]


@pytest.fixture
def theirs() -> Iterator[Engine]:
    """micrograd, which walks its graphs by recursion and makes a cycle of each node."""
    limit, threshold = sys.getrecursionlimit(), gc.get_threshold()
    sys.setrecursionlimit(10_000)
    gc.set_threshold(1_000_000)
    yield scalar.engine("micrograd")
    sys.setrecursionlimit(limit)
    gc.set_threshold(*threshold)


def mlp(engine: Engine, nin: int, nouts: list[int], seed: int = 7) -> Any:
    random.seed(seed)
    return engine.MLP(nin, nouts)


def row(n: int, seed: int = 1) -> list[float]:
    draw = random.Random(seed)
    return [draw.uniform(-2, 2) for _ in range(n)]


def outputs(y: Any) -> list[Any]:
    return y if isinstance(y, list) else [y]


# ---- what is made ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("nin", "nouts"), SIZES)
def test_weights_are_drawn_in_order(engine: Engine, nin: int, nouts: list[int]) -> None:
    model = mlp(engine, nin, nouts)
    state = random.getstate()
    random.seed(7)
    want = []
    for a, b in zip([nin, *nouts], nouts, strict=False):
        for _ in range(b):
            want += [random.uniform(-1, 1) for _ in range(a)] + [0]
    assert random.getstate() == state, "nothing else was drawn"
    parameters = model.parameters()
    assert isinstance(parameters, list) and all(p.grad == 0 for p in parameters)
    got = [p.data for p in parameters]
    assert got == want or engine.coarse > 1


def test_attributes(engine: Engine) -> None:
    model = mlp(engine, 3, [4, 2])
    first, last = model.layers
    assert len(first.neurons) == 4 and len(last.neurons) == 2
    assert [n.nonlin for n in first.neurons] == [True] * 4 and [n.nonlin for n in last.neurons] == [False] * 2
    n = first.neurons[0]
    assert isinstance(n.w, list) and len(n.w) == 3 and repr(n.b).startswith("Value(data=0, grad=0")
    assert all(p is q for p, q in zip(n.parameters(), [*n.w, n.b], strict=True))
    assert all(p is q for p, q in zip(model.parameters(), first.parameters() + last.parameters(), strict=True))
    assert isinstance(n, engine.Module) and isinstance(first, engine.Module) and isinstance(model, engine.Module)


def test_repr(engine: Engine) -> None:
    assert repr(engine.Neuron(3)) == "ReLUNeuron(3)" and repr(engine.Neuron(2, nonlin=False)) == "LinearNeuron(2)"
    assert repr(engine.Neuron(2, False)) == "LinearNeuron(2)"
    assert repr(engine.Layer(2, 2)) == "Layer of [ReLUNeuron(2), ReLUNeuron(2)]"
    assert repr(engine.Layer(1, 1, nonlin=False)) == "Layer of [LinearNeuron(1)]"
    assert (
        repr(engine.MLP(2, [2, 1]))
        == "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(2)]]"
        == str(engine.MLP(2, [2, 1]))
    )


def test_calls(engine: Engine) -> None:
    x = [engine.Value(1.0), engine.Value(-2.0)]
    assert type(engine.Neuron(2)(x)) is type(x[0]) is type(engine.Layer(2, 1)(x)) is type(engine.MLP(2, [3, 1])(x))
    assert len(engine.Layer(2, 3)(x)) == 3 and isinstance(engine.MLP(2, [3, 2])(x), list)
    with_numbers = mlp(engine, 2, [3, 1])
    same = [with_numbers(v).data for v in (x, [1.0, -2.0], [1, -2], (1.0, x[1]), np.array([1.0, -2.0]))]
    assert len(set(same)) == 1
    n = engine.Neuron(2)
    n(x).backward()
    assert [p.grad for p in n.parameters()] in ([1.0, -2.0, 1], [0, 0, 0])


def test_zero_grad(engine: Engine) -> None:
    model = mlp(engine, 2, [3, 1])
    x = [engine.Value(0.5), engine.Value(-1.5)]
    y = model(x)
    y.backward()
    assert any(p.grad != 0 for p in model.parameters())
    model.zero_grad()
    assert all(", grad=0" in repr(p) for p in model.parameters())
    assert x[0].grad != 0 or x[1].grad != 0, "the gradients of others are kept"
    assert y.grad == 1


def test_own_modules(engine: Engine) -> None:
    class Pair(engine.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.both = [engine.Neuron(1, nonlin=False), engine.Neuron(1, nonlin=False)]

        def __call__(self, x: Any) -> Any:
            return self.both[0](x) * self.both[1](x)

        def parameters(self) -> list[Any]:
            return [p for n in self.both for p in n.parameters()]

    assert engine.Module().parameters() == []
    pair = Pair()
    y = pair([2.0])
    y.backward()
    (w, b), (u, c) = (n.parameters() for n in pair.both)
    assert y.data == pytest.approx(w.data * 2 * u.data * 2, rel=1e-12 * engine.coarse)
    assert b.grad == pytest.approx(2 * u.data, rel=1e-12 * engine.coarse)
    assert c.grad == pytest.approx(2 * w.data, rel=1e-12 * engine.coarse)
    pair.zero_grad()
    assert [p.grad for p in pair.parameters()] == [0] * 4


def test_parts_may_be_replaced(engine: Engine) -> None:
    n = engine.Neuron(2, nonlin=False)
    n.w = [engine.Value(2.0), engine.Value(3.0)]
    assert n([1.0, 10.0]).data == 32
    n.w[1] = engine.Value(5.0)
    n.b = engine.Value(100.0)
    n.w[0].data = 4.0
    assert n([1.0, 10.0]).data == 154
    n.nonlin = True
    assert n([1.0, -100.0]).data == 0
    n.w.append(engine.Value(1.0))
    y = n([1.0, 1.0, 7.0])
    assert y.data == 116 and len(n.parameters()) == 4
    layer = engine.Layer(2, 1)
    layer.neurons = [n, n]
    assert [v.data for v in layer([1.0, 2.0])] == [114, 114], "the shorter of weights and inputs counts"
    model = engine.MLP(2, [2, 1])
    model.layers = model.layers[:1]
    assert len(model([1.0, 2.0])) == 2 and len(model.parameters()) == 6


def test_writing_a_weight_after_the_call(engine: Engine) -> None:
    n = engine.Neuron(1, nonlin=False)
    n.w[0].data, n.b.data = 3.0, 1.0
    x = engine.Value(2.0)
    y = n([x])
    n.w[0].data = 50.0
    assert y.data == 7
    y.backward()
    assert (n.w[0].grad, n.b.grad, x.grad) == (2, 1, 50), "backward reads the data of the moment"


def test_one_input_several_times(engine: Engine) -> None:
    n = engine.Neuron(3, nonlin=False)
    n.w = [n.w[0], n.w[0], n.w[1]]
    for p, data in zip(n.parameters(), (2.0, 2.0, 3.0, 1.0), strict=True):
        p.data = data
    x = engine.Value(10.0)
    y = n([x, x, x])
    y.backward()
    assert (y.data, x.grad, n.w[0].grad, n.w[2].grad) == (71, 7, 20, 10)


# ---- the graph -------------------------------------------------------------------------------------------------------
def nodes(roots: list[Any]) -> list[Any]:
    seen, todo = set(), list(roots)
    while todo:
        v = todo.pop()
        if v not in seen:
            seen.add(v)
            todo += v._prev
    return list(seen)


def kinds(roots: list[Any]) -> tuple[Counter[Any], Counter[Any]]:
    """Each node by op, data and data of its operands; each edge by op and data of its ends."""
    found = nodes(roots)
    key = {v: (v._op, bits(v.data)) for v in found}
    shapes = Counter((*key[v], tuple(sorted(key[c] for c in v._prev))) for v in found)
    return shapes, Counter((key[c], key[v]) for v in found for c in v._prev)


def test_graph_of_a_neuron(engine: Engine) -> None:
    n = engine.Neuron(2)
    x = [engine.Value(1.0), engine.Value(-2.0)]
    names = {"w0": n.w[0], "w1": n.w[1], "b": n.b, "x0": x[0], "x1": x[1]}
    y = n(x)
    assert scalar.shown(y, **names) == "ReLU(+(*(w1, x1), +(*(w0, x0), b)))"
    (before,) = y._prev
    n.nonlin = False
    assert scalar.shown(n(x), **names) == scalar.shown(before, **names)
    assert scalar.shown(n([1.0, 5]), **names) == "+(*(5, w1), +(*(1.0, w0), b))"
    assert (y._prev, len(nodes([y]))) == ({before}, 10)
    n.w[0].data = 1000.0
    n(x).backward()
    y.backward()
    assert y.grad == 1 and before.grad in (0, 1)
    assert scalar.shown(y, **names) == "ReLU(+(*(w1, x1), +(*(w0, x0), b)))"


@pytest.mark.parametrize(("nin", "nouts"), SIZES)
@pytest.mark.parametrize("looked", ["before", "after"])
def test_graph_is_micrograds(theirs: Engine, nin: int, nouts: list[int], looked: str) -> None:
    """Looked at before anything else, and after data and gradients were read."""
    graphs = []
    for engine in (theirs, scalar.engine("cpu")):
        model = mlp(engine, nin, nouts)
        roots = outputs(model([engine.Value(x) for x in row(nin)]))
        if looked == "after":
            for y in roots:
                y.backward()
                assert y.data is not None
        graphs.append(kinds(roots))
    (their_nodes, their_edges), (our_nodes, our_edges) = graphs
    assert our_nodes == their_nodes
    assert our_edges == their_edges


@pytest.mark.gpu
def test_graph_on_the_gpu() -> None:
    graphs = []
    for name in ("cpu", "gpu"):
        engine = scalar.engine(name)
        model = mlp(engine, 3, [4, 4, 1])
        found = nodes(outputs(model([engine.Value(x) for x in row(3)])))
        graphs.append(Counter((v._op, tuple(sorted(c._op for c in v._prev))) for v in found))
    assert graphs[0] == graphs[1]


def test_gradients_inside_a_neuron(engine: Engine) -> None:
    """The nodes between weights and result have the gradients that they have in micrograd."""
    n = engine.Neuron(2, nonlin=False)
    for p, data in zip(n.parameters(), (2.0, 3.0, 1.0), strict=True):
        p.data = data
    x = [engine.Value(10.0), engine.Value(20.0)]
    z = n(x) * 5
    z.backward()
    (y,) = (v for v in z._prev if v._op)
    assert {(v._op, v.data, v.grad) for v in nodes([y])} == {
        ("+", 81.0, 5),
        ("+", 21.0, 5),
        ("*", 20.0, 5),
        ("*", 60.0, 5),
        ("", 2.0, 50),
        ("", 10.0, 10),
        ("", 3.0, 100),
        ("", 20.0, 15),
        ("", 1.0, 5),
    }
    z.backward()
    assert y.grad == 10 and n.b.grad > 10, "they accumulate"


# ---- forward and backward --------------------------------------------------------------------------------------------
def check(got: float, want: float, scale: float, coarse: float = 1.0) -> None:
    assert abs(got - want) <= GRADIENT * coarse * scale, f"{got!r}, {want!r} is right, scale {scale}"


@pytest.mark.parametrize(("nin", "nouts"), SIZES)
def test_against_micrograd(theirs: Engine, ours: Engine, nin: int, nouts: list[int]) -> None:
    """Bits forward on the CPU; gradients relative to the greatest of their layer."""
    for seed in range(5):
        model, other = mlp(ours, nin, nouts, seed), mlp(theirs, nin, nouts, seed)
        x, z = [ours.Value(v) for v in row(nin, seed)], [theirs.Value(v) for v in row(nin, seed)]
        got, want = outputs(model(x)), outputs(other(z))
        sum(got).backward()
        sum(want).backward()
        for a, b in zip(got, want, strict=True):
            if ours.name == "cpu":
                assert bits(a.data) == bits(b.data)
            check(a.data, b.data, 10, ours.coarse)
        layers = [(m.parameters(), o.parameters()) for m, o in zip(model.layers, other.layers, strict=True)]
        for mine, yours in [*layers, (x, z)]:
            scale = max(abs(p.grad) for p in yours)
            for p, q in zip(mine, yours, strict=True):
                check(p.grad, q.grad, scale, ours.coarse)


def test_against_the_reference(engine: Engine) -> None:
    """A whole network made of Ref: gradients relative to the parts they are sums of."""
    for seed in range(5):
        model = mlp(engine, 3, [8, 8, 2], seed)
        x = [engine.Value(v) for v in row(3, seed)]
        refs = [[[scalar.Ref(float(p.data)) for p in n.parameters()] for n in layer.neurons] for layer in model.layers]
        inputs = values = [scalar.Ref(float(v.data)) for v in x]
        for layer in refs:
            sums = [sum((w * v for w, v in zip(ws, values, strict=False)), ws[-1]) for ws in layer]
            values = [s.relu() for s in sums] if layer is not refs[-1] else sums
        first, second = model(x)
        (first * second).backward()
        (values[0] * values[1]).backward()
        assert first.data == pytest.approx(values[0].data, rel=1e-12 * engine.coarse)
        wanted = [r for layer in refs for ws in layer for r in ws] + inputs
        for v, ref in zip([*model.parameters(), *x], wanted, strict=True):
            check(v.grad, ref.grad, ref.scale, engine.coarse)


# ---- the demo --------------------------------------------------------------------------------------------------------
def test_moons_are_scikit_learns() -> None:
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    points, labels = datasets.make_moons(n_samples=100, noise=0.1, random_state=1337)
    ours, signs = scalar.moons()
    np.testing.assert_allclose(ours, points, rtol=1e-15)
    assert signs == (2 * labels - 1).tolist()


def test_moons_demo(ours: Engine) -> None:
    """The losses that micrograd's demo notebook shows, from micrograd's run."""
    published = json.loads(GOLDEN.read_text())
    if ours.name == "gpu" and sg.Device.gpu().type == "software":
        published = published[:10]  # half a second a step
    curve = scalar.moons_demo(ours, steps=len(published))
    if ours.name == "cpu":
        assert bits(curve[0][0]) == bits(0.8958441028683222)
    for k, ((loss, accuracy), (want, right)) in enumerate(zip(curve, published, strict=True)):
        assert abs(loss - want) <= 1e-6 * max(1, ours.coarse / 1e5), f"step {k}: {loss}, {want} was published"
        assert accuracy == right or ours.coarse > 1, f"step {k}"
    assert curve[-1][1] == 1.0 or len(published) < 100


def test_first_steps_of_the_demo_on_micrograd(theirs: Engine) -> None:
    curve = scalar.moons_demo(theirs, steps=3)
    for (loss, accuracy), (want, right) in zip(curve, json.loads(GOLDEN.read_text()), strict=False):
        assert abs(loss - want) <= 1e-12 and accuracy == right


@pytest.mark.slow
def test_the_whole_demo_on_micrograd(theirs: Engine) -> None:
    curve, published = np.array(scalar.moons_demo(theirs)), np.array(json.loads(GOLDEN.read_text()))
    np.testing.assert_allclose(curve, published, rtol=0, atol=1e-12)


# ---- beyond micrograd ------------------------------------------------------------------------------------------------
def test_device(ours: Engine) -> None:
    device = sg.device(ours.name)
    model = sg.MLP(2, [3, 1], device=ours.name)
    assert {p.device for p in model.parameters()} == {device}
    assert model([1.0, 2.0]).device == device
    assert sg.Neuron(2, device=device).b.device == device
    assert sg.Layer(2, 2, device=ours.name).parameters()[0].device == device


def test_same_weights_on_each_device(ours: Engine) -> None:
    here, there = mlp(scalar.engine("cpu"), 3, [4, 1]), mlp(ours, 3, [4, 1])
    for p, q in zip(here.parameters(), there.parameters(), strict=True):
        assert p.data == pytest.approx(q.data, rel=1e-15 * ours.coarse)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_called_with_a_tensor(ours: Engine, dtype: str) -> None:
    """A tensor [n, nin] gives a tensor [n, nout]; its gradients go to the same parameters."""
    model = mlp(ours, 3, [8, 2])
    rows = np.random.default_rng(0).uniform(-2, 2, (5, 3)).astype(dtype)
    for p in model.parameters():
        p.data = float(np.float32(p.data))  # so that both types can hold it
    y = model(sg.tensor(rows, device=ours.name))
    assert isinstance(y, sg.Tensor) and y.shape == (5, 2)
    (y * y).sum().backward()
    found = [p.grad for p in model.parameters()]
    model.zero_grad()
    assert all(p.grad == 0 for p in model.parameters())
    values = [model([float(x) for x in r]) for r in rows]
    sum((v * v for pair in values for v in pair), ours.Value(0.0)).backward()
    rel = 1e-11 if dtype == "float64" and ours.coarse == 1 else 1e-4
    want = np.array([[v.data for v in pair] for pair in values])
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=rel, atol=rel)
    wanted = np.array([p.grad for p in model.parameters()])
    np.testing.assert_allclose(found, wanted, rtol=rel, atol=rel * np.abs(wanted).max())


def test_gradients_of_tensors_and_values_accumulate(ours: Engine) -> None:
    n = sg.MLP(1, [1], device=ours.name)
    w, b = n.parameters()
    n([2.0]).backward()
    n(sg.tensor([[3.0], [4.0]], device=ours.name)).sum().backward()
    assert (w.grad, b.grad) == (2 + 7, 1 + 2)
    w.data, b.data = 10.0, 1.0
    assert n(sg.tensor([[3.0]], device=ours.name)).tolist() == [[31.0]], "written weights count"


def test_shapes_of_tensors(ours: Engine) -> None:
    x = sg.zeros(4, 5, 2, device=ours.name)
    layer = sg.Layer(2, 3, device=ours.name)
    assert sg.Neuron(2, device=ours.name)(x[0]).shape == (5, 1) and sg.MLP(2, [3, 1])(x[0]).shape == (5, 1)
    assert layer(x).shape == (4, 5, 3) and layer(x[0, 0]).shape == (3,) and layer(x[:0, 0]).shape == (0, 3)
    assert layer(x.long()).dtype == sg.float32


def test_layers_before_and_behind_get_gradients(ours: Engine) -> None:
    n = sg.Neuron(1, nonlin=False, device=ours.name)
    n.w[0].data = 5.0
    x = sg.tensor([[1.0]], device=ours.name, requires_grad=True)
    (3 * n(2 * x)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[30.0]] and (n.w[0].grad, n.b.grad) == (6, 3)
    with sg.no_grad():
        y = n(x)
    assert not y.requires_grad and y.tolist() == [[5.0]]


def test_graphs_of_several_calls(ours: Engine) -> None:
    """Each graph has the weights of its time; gradients read and written between the calls are no obstacle."""
    n = sg.Neuron(1, nonlin=False, device=ours.name)
    w, b = n.parameters()
    w.data = 2.0
    x = sg.tensor([[3.0]], device=ours.name, requires_grad=True)
    first = n(x)
    w.data = 5.0
    second = n(x)
    assert (first.item(), second.item(), w.grad) == (6, 15, 0)
    second.sum().backward()
    assert x.grad is not None and x.grad.item() == 5
    assert (w.grad, b.grad) == (3, 1)
    w.grad = 100
    first.sum().backward(retain_graph=True)
    assert x.grad.item() == 7 and (w.grad, b.grad) == (103, 2)
    n([10.0]).backward()
    first.sum().backward()
    n(x.detach().double() if ours.coarse == 1 else x).sum().backward()
    w.grad = 0
    assert (w.grad, b.grad) == (0, 5), "what is written is what counts, for the one that was written"


def test_one_weight_several_times(ours: Engine) -> None:
    n = sg.Neuron(3, nonlin=False, device=ours.name)
    n.w = [n.w[0], n.w[0], n.w[1]]
    n(sg.tensor([[1.0, 2.0, 4.0]], device=ours.name)).sum().backward()
    assert (n.w[0].grad, n.w[2].grad) == (3, 4)


def test_parameters_outlive_their_model(ours: Engine) -> None:
    model = sg.MLP(2, [2, 1], device=ours.name)
    w, b = model.parameters()[-2:]
    loss = model(sg.ones(3, 2, device=ours.name)).sum()
    del model
    gc.collect()
    loss.backward()
    del loss
    assert b.grad == 3 and w.grad >= 0


def test_weight_replaced_before_backward(ours: Engine) -> None:
    """Its gradient goes nowhere, least of all to the new one, which may lie where the old one was."""
    n = sg.Neuron(2, nonlin=False, device=ours.name)
    y = n(sg.tensor([[3.0, 4.0]], device=ours.name)).sum()
    n.w.pop(0)
    n.w.insert(0, sg.Value(7.0, device=ours.name))
    y.backward()
    assert [p.grad for p in reversed(n.parameters())] == [1, 4, 0]


def test_steps_leave_nothing_behind(ours: Engine) -> None:
    """Whether gradients are read or not, whether models, weights and graphs stay or go."""
    x = sg.ones(3, 2, device=ours.name)
    model = sg.MLP(2, [2, 1], device=ours.name)

    def step(k: int) -> None:
        other = sg.Layer(2, 2, device=ours.name)
        other.neurons[0].w[0] = sg.Value(1.0, device=ours.name)
        (model(x).sum() + model(x[:2]).sum() + other(x).sum()).backward()
        if k % 4 == 0:
            for p in model.parameters():
                p.data -= 0.01 * p.grad
        if k % 8 == 0:
            model.zero_grad()
        model.layers[0].neurons[k % 2].w[0] = sg.Value(0.5, device=ours.name)

    def used() -> int:
        model.zero_grad()
        gc.collect()
        sg.synchronize(ours.name)
        return sg.stats()["bytes_live"]

    for k in range(16):
        step(k)
    before = used()
    for k in range(64):
        step(k)
    assert used() <= before


def test_layers_that_take_no_tensor(ours: Engine) -> None:
    class Custom(sg.Neuron):
        def __call__(self, x: Any) -> Any:
            return super().__call__(x) * 2

    x = sg.ones(1, 2, device=ours.name)
    layer = sg.Layer(2, 2, device=ours.name)
    first, second = layer.neurons
    second.nonlin = False
    with pytest.raises(TypeError, match="Layer: neurons of several kinds"):
        layer(x)
    layer.neurons = [Custom(2, device=ours.name)]
    with pytest.raises(TypeError, match="own class"):
        layer(x)
    layer.neurons = [first]
    first.w[0] = first.w[0] * 2
    with pytest.raises(ValueError, match="a parameter was computed"):
        layer(x)
    with sg.no_grad():
        assert layer(x).shape == (1, 1)


def test_wrong_inputs(ours: Engine) -> None:
    model = sg.MLP(3, [2], device=ours.name)
    with pytest.raises(ValueError, match=r"MLP: .*\[5, 2\]"):
        model(sg.zeros(5, 2, device=ours.name))
    with pytest.raises(ValueError, match=r"Layer: .*\[\]"):
        model.layers[0](sg.tensor(1.0, device=ours.name))
    with pytest.raises(TypeError):
        model(["a", "b", "c"])
    with pytest.raises(TypeError):
        model(3.0)
