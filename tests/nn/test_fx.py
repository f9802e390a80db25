"""Graphs of Python code. What PyTorch gives for the same programs: tests/porting/programs/fx_graphs.py."""

from __future__ import annotations

import copy
import operator
import pickle
import threading
from typing import Any

import pytest

import spirograd as sg
from spirograd import fx


class Net(sg.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.BatchNorm1d(8), sg.nn.ReLU())
        self.scale = sg.nn.Parameter(sg.full((8,), 0.5))

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        low, high = (self.layers(x) * self.scale).chunk(2, -1)
        return sg.nn.functional.softmax(low - high, dim=-1)


@pytest.fixture
def traced() -> fx.GraphModule:
    sg.manual_seed(0)
    return fx.symbolic_trace(Net())


def test_a_traced_module_trains_as_the_module_does(device: sg.Device) -> None:
    sg.manual_seed(0)
    net = Net().to(device)
    twin = fx.symbolic_trace(copy.deepcopy(net))
    x = sg.randn(16, 4, device=device)
    for module in (net, twin):
        optimizer = sg.optim.SGD(module.parameters(), lr=0.5)
        for _ in range(3):
            optimizer.zero_grad()
            (module(x) ** 2).mean().backward()
            optimizer.step()
    state = net.state_dict()
    assert list(twin.state_dict()) and all(sg.equal(state[k], v) for k, v in twin.state_dict().items())
    assert sg.equal(net.eval()(x), twin.eval()(x))


def test_the_code_can_be_read(traced: fx.GraphModule) -> None:
    lines = traced.code.splitlines()
    assert lines[0] == "def forward(self, x):"
    assert "    softmax = sg.softmax(sub, dim = -1)" in lines
    assert "    sub = getitem - getitem_1" in lines
    assert str(traced.graph).startswith("graph(%x):")


def test_tracing_leaves_the_library_as_it_was(traced: fx.GraphModule) -> None:
    assert type(sg).__name__ == "module" and sg.nn.Module.__call__.__name__ == "__call__"
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: sg.relu(x) if x else x)
    assert type(sg).__name__ == "module" and sg.relu(sg.ones(1)).item() == 1


def test_functions_are_seen_wherever_the_program_has_them() -> None:
    table = {"norm": sg.nn.functional.layer_norm, "relu": sg.relu}
    traced = fx.symbolic_trace(lambda x: table["relu"](table["norm"](x, (2,))))
    calls = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert calls == [sg.nn.functional.layer_norm, sg.relu]
    assert "sg.nn.functional.layer_norm(x, (2,))" in traced.code and traced(sg.tensor([1.0, 1.0])).tolist() == [0, 0]


def test_modules_without_an_input_of_the_trace_are_nodes_too() -> None:
    class Net(sg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = sg.nn.Sequential(sg.nn.Linear(2, 2))

        def forward(self, x: sg.Tensor) -> sg.Tensor:
            return x + self.inside(sg.ones(1, 2))

    assert [n.target for n in fx.symbolic_trace(Net()).graph.nodes if n.op == "call_module"] == ["inside.0"]


def test_other_threads_run_their_modules_meanwhile() -> None:
    stranger, found = sg.nn.Linear(2, 2), []

    class Asking(sg.nn.Module):
        def forward(self, x: sg.Tensor) -> sg.Tensor:
            thread = threading.Thread(target=lambda: found.append(sg.relu(stranger(sg.ones(1, 2))).shape))
            thread.start()
            thread.join()
            return x + 1

    assert fx.symbolic_trace(Asking())(sg.ones(1)).item() == 2
    assert found == [(1, 2)]


def test_a_program_that_asks_for_values_is_told_what_to_do() -> None:
    for program, what in [
        (lambda x: x if x > 0 else -x, "whether it is true"),
        (lambda x: [v for v in x], "how many elements it has"),
        (lambda x: x.reshape(len(x)), "its length"),
        (lambda x: int(x), "its number"),
    ]:
        with pytest.raises(fx.proxy.TraceError, match=f"{what}.* is known only when the graph runs; pass what decides"):
            fx.symbolic_trace(program)


def test_arguments_that_are_given_are_checked() -> None:
    def program(x: sg.Tensor, n: int = 2, flag: Any = None) -> sg.Tensor:
        return x * n if flag is None else x

    fixed = fx.symbolic_trace(program, concrete_args={"n": 3, "flag": None})
    assert fixed(sg.ones(1), 3, None).item() == 3
    with pytest.raises(AssertionError, match="n has been specialized to have value 3 but got another value"):
        fixed(sg.ones(1), 2, None)
    with pytest.raises(AssertionError, match="flag has been specialized to have value None but got another value"):
        fixed(sg.ones(1), 3, 5)


def test_a_node_with_users_stays(traced: fx.GraphModule) -> None:
    node = next(n for n in traced.graph.nodes if n.target is operator.mul)
    with pytest.raises(RuntimeError, match=r"erase_node: mul has users \[chunk\]; let them take another node first"):
        traced.graph.erase_node(node)
    node.replace_all_uses_with(node.args[0])
    traced.graph.erase_node(node)
    traced.recompile()
    assert "scale" in traced.code and traced.graph.eliminate_dead_code()
    traced.recompile()
    assert "scale" not in traced.code


def test_a_graph_out_of_order_is_found(traced: fx.GraphModule) -> None:
    traced.graph.lint()
    nodes = list(traced.graph.nodes)
    nodes[1].prepend(nodes[-2])
    with pytest.raises(RuntimeError, match="lint: softmax takes sub, which is not before it"):
        traced.graph.lint()
    graph = fx.Graph(sg.nn.Module())
    graph.call_module("missing")
    with pytest.raises(RuntimeError, match="lint: missing names missing, and Module has no missing"):
        graph.lint()
    with pytest.raises(ValueError, match="create_node: op 'call' is unknown"):
        graph.create_node("call", "x")


def test_modules_come_and_go(traced: fx.GraphModule) -> None:
    assert traced.add_submodule("more.deep", sg.nn.ReLU())
    assert isinstance(traced.get_submodule("more.deep"), sg.nn.ReLU)
    traced.delete_all_unused_submodules()
    assert not hasattr(traced, "more") and hasattr(traced, "layers")
    assert not traced.delete_submodule("more.deep")
    assert traced(sg.ones(2, 4)).shape == (2, 4)


def test_a_traced_module_is_copied_and_pickled(traced: fx.GraphModule) -> None:
    other = copy.deepcopy(traced)
    assert other.code == traced.code and other.scale is not traced.scale and type(other) is not type(traced)
    traced.eval().note = 3
    back = pickle.loads(pickle.dumps(traced))
    assert back.code == traced.code and type(back).__name__ == type(traced).__name__ and not back.training
    assert back.graph.owning_module is back and back.note == 3
    assert [(n.op, n.name, str(n.target)) for n in back.graph.nodes] == [
        (n.op, n.name, str(n.target)) for n in traced.graph.nodes
    ]
    x = sg.randn(2, 4)
    assert sg.equal(back(x), traced(x)) and back.scale is not traced.scale
    back.graph.output_node().prev.replace_all_uses_with(next(iter(back.graph.nodes)))
    back.recompile()
    assert "return x" in back.code and "return x" not in traced.code
    assert pickle.loads(pickle.dumps(copy.deepcopy(back))).code == back.code


def test_a_graph_with_a_function_that_cannot_be_found_again_is_not_pickled() -> None:
    graph = fx.Graph()
    graph.output(graph.call_function(lambda x: x, (graph.placeholder("x"),)))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(fx.GraphModule(sg.nn.Module(), graph))


def test_functions_and_methods_that_get_a_proxy_outside_of_a_trace_make_nodes() -> None:
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"), fx.proxy.GraphAppendingTracer(graph))
    y = sg.cat([sg.relu(x), sg.ones(1)]) + sg.ones(1).add(x, alpha=2)
    graph.output(sg.broadcast_tensors(y, x)[0].node)
    assert [n.op for n in graph.nodes if n.op.startswith("call_method")] == ["call_method"]
    module = fx.GraphModule({}, graph)
    assert module(sg.tensor([-1.0])).tolist() == [-1.0, 0.0]


def test_constants_of_the_program_are_attributes() -> None:
    shift = sg.tensor([1.0, 2.0])
    traced = fx.symbolic_trace(lambda x: (x + shift) * shift.to(sg.float32))
    assert "_tensor_constant0" in traced.code and traced(sg.ones(2)).tolist() == [2.0, 6.0]


def test_types_and_slices_are_written_out() -> None:
    traced = fx.symbolic_trace(lambda x: x.to(sg.float16)[..., None, ::2].float().expand(*[2, 1, 1]) ** -1)
    assert "[..., None, ::2]" in traced.code and "float16" in traced.code
    assert traced(sg.full((2,), 4.0)).tolist() == [[[0.25]], [[0.25]]]


def test_patterns_with_other_users_stay() -> None:
    def program(x: sg.Tensor) -> sg.Tensor:
        y = sg.exp(x)
        return sg.log(y) + y

    traced = fx.symbolic_trace(program)
    assert fx.replace_pattern(traced, lambda x: sg.log(sg.exp(x)), lambda x: x) == []
    with pytest.raises(ValueError, match="2 inputs of the pattern, 1 of the replacement"):
        fx.replace_pattern(traced, lambda x, y: x + y, lambda x: x)
    with pytest.raises(ValueError, match="the pattern's result is no call"):
        fx.replace_pattern(traced, lambda x: x, lambda x: x)
    assert len(fx.replace_pattern(traced, lambda x, y: x + y, lambda x, y: x * y)) == 1
    assert round(traced(sg.ones(1)).item(), 4) == 2.7183


def test_a_module_outside_of_the_root_is_an_error() -> None:
    layer = sg.nn.Linear(2, 2)
    with pytest.raises(NameError, match="Linear: it is no submodule of the module that is traced"):
        fx.symbolic_trace(lambda x: layer(x))
    with pytest.raises(TypeError, match="Interpreter: Linear has no graph"):
        fx.Interpreter(layer)
    with pytest.raises(RuntimeError, match="there is no argument for x"):
        fx.Interpreter(fx.symbolic_trace(lambda x: x + 1)).run()
