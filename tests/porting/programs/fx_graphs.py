"""Traced programs: their nodes, and what they compute before and after passes."""

import copy
import operator
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import fx, nn
from torch import relu as rectified

from checking import check


def check_nodes(graph):
    for n in graph.nodes:
        target = n.target if isinstance(n.target, str) else n.target.__name__
        check(f"{n.op} {n.name} {target} {n.args} {dict(n.kwargs)} {list(n.users)}")


def fill(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape) * (i + 1) / 4)
    return module


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n, n), nn.ReLU(), nn.Linear(n, n))
        self.scale = nn.Parameter(torch.ones(n))
        self.register_buffer("shift", torch.full((n,), 0.5))

    def forward(self, x, factor=2.0, *, flag=True):
        y = self.layers(x) * self.scale + self.shift
        if flag:
            y = y + x
        a, b = y.chunk(2, dim=-1)
        return torch.cat([F.gelu(a), rectified(b)], dim=-1) * factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Block(4)])
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = x.view(x.size(0), -1)
        return {"logits": self.head(x), "mean": x.mean(1, keepdim=True)[:, 0], "most": torch.max(x, 1)[0]}


x = torch.linspace(-2, 2, 8).reshape(2, 4)


def test_symbolic_trace():
    net = fill(Net())
    traced = fx.symbolic_trace(net)
    check_nodes(traced.graph)
    traced.graph.lint()
    check(traced(x))
    check(sorted(traced.state_dict()) == sorted(net.state_dict()), type(traced).__name__, traced.training)


# ---- passes ----------------------------------------------------------------------------------------------------------
def with_silu():
    """A program in which one function takes the place of another."""
    changed = copy.deepcopy(fx.symbolic_trace(fill(Net())))
    for node in changed.graph.nodes:
        if node.op == "call_function" and node.target is F.gelu:
            node.target = F.silu
    changed.recompile()
    return changed


def test_another_function():
    check(with_silu()(x)["logits"])


def test_nodes_between_others_and_dead_code():
    changed = with_silu()
    graph = changed.graph
    head = next(n for n in graph.nodes if n.op == "call_module" and n.target == "head")
    with graph.inserting_after(head):
        doubled = graph.call_function(operator.mul, (head, 2))
    head.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
    with graph.inserting_before(head):
        graph.call_method("neg", (head.args[0],))
    check(len(graph.nodes), graph.eliminate_dead_code(), len(graph.nodes))
    changed.recompile()
    check(changed(x)["logits"])
    check_nodes(graph)
    check([n.name for n in reversed(graph.nodes)][:3], head.next is doubled, head.all_input_nodes)


# ---- leaves, arguments that are no inputs, functions that stay as they are -------------------------------------------
class Shallow(fx.Tracer):
    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)


def test_leaf_modules():
    tracer = Shallow()
    graph = tracer.trace(fill(Net()))
    check_nodes(graph)
    check(fx.GraphModule(tracer.root, graph)(x)["logits"].shape == (2, 3))
    proxy = fx.Proxy(graph.find_nodes(op="placeholder")[0], fx.proxy.GraphAppendingTracer(graph))
    check((proxy + 1).node.op, list(fx.node.map_arg([proxy.node, 3], lambda n: n.name)))


def test_concrete_args():
    check_nodes(fx.symbolic_trace(Block(4), concrete_args={"flag": False, "factor": 3.0}).graph)


@fx.wrap
def some(x, n):
    return x if x.sum() > n else -x


def test_wrapped_functions():
    traced = fx.symbolic_trace(lambda x: some(x, 3) + torch.ones(1))
    check_nodes(traced.graph)
    check(traced(x).tolist() == (-x + 1).tolist())


@pytest.mark.parametrize(
    "program",
    [lambda x: x if x.sum() > 0 else -x, lambda x: [v for v in x], lambda x: x[: len(x)]],
    ids=["a condition", "a loop", "a length"],
)
def test_what_cannot_be_traced(program):
    with pytest.raises((fx.proxy.TraceError, RuntimeError)):
        fx.symbolic_trace(program)


# ---- values node by node, and another graph of a graph ---------------------------------------------------------------
class Watch(fx.Interpreter):
    def run_node(self, n):
        value = super().run_node(n)
        if n.op == "call_module":
            check(n.name, tuple(value.shape))
        return value


class Negated(fx.Transformer):
    def call_module(self, target, args, kwargs):
        return -super().call_module(target, args, kwargs)


def small():
    return fx.symbolic_trace(fill(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))))


def test_interpreter():
    traced = small()
    check(torch.equal(Watch(traced).run(x), traced(x)))


def test_transformer():
    check_nodes(Negated(small()).transform().graph)


class Rows(nn.Module):
    def forward(self, x, w1, w2):
        m1 = torch.cat([w1, w2]).sum()
        m2 = torch.cat([w1, w2]).sum()
        return x + torch.max(m1) + torch.max(m2)


def test_replace_pattern():
    traced = fx.symbolic_trace(Rows())
    matches = fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]))
    check(len(matches), sorted(str(getattr(n.target, "__name__", n.target)) for n in traced.graph.nodes))
    check(traced(x, x[0], x[1]))


# ---- proxies outside of a trace, and pickles -------------------------------------------------------------------------
def built():
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    x, y = (fx.Proxy(graph.placeholder(name, torch.Tensor), tracer=tracer) for name in "xy")
    shape = torch.broadcast_tensors(x[..., :1], y[..., :1])[0].shape[:-1] + (-1,)  # noqa: RUF005  (a sum of proxies)
    torch._assert(x.shape[-1] == 3, "three columns")
    z = torch.einsum("zu,zv->zuv", x.expand(shape), y.expand(shape))
    w = torch.einsum("zuv,zu->zv", (z, x)) + torch.cat([y, torch.ones_like(y)], dim=0)[:1]
    graph.output(torch.nn.functional.softmax(torch.add(w, 1.5), dim=-1).node)
    return fx.GraphModule({}, graph, "built")


def test_proxies_outside_of_a_trace():
    made = built()
    check([(n.op, str(getattr(n.target, "__name__", n.target)), len(n.args)) for n in made.graph.nodes])
    check(made(torch.ones(2, 3), torch.arange(4.0).reshape(2, 2)))


def test_pickles():
    net = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU())).eval()
    back = pickle.loads(pickle.dumps(net))
    check(back.training, [(n.op, n.name, str(n.target)) for n in back.graph.nodes])
    check([n for n, _ in back.named_parameters()])
    check(torch.equal(back(torch.ones(2, 3)), net(torch.ones(2, 3))), back.graph.owning_module is back)
    made = built()
    again = pickle.loads(pickle.dumps(made))
    check(torch.equal(again(torch.ones(2, 3), torch.ones(2, 2)), made(torch.ones(2, 3), torch.ones(2, 2))))


PICKLED = {"relu": torch.relu, "add": torch.add, "F.relu": F.relu, "F.cross_entropy": F.cross_entropy}


@pytest.mark.parametrize("name", [*PICKLED, "linalg.norm"])
def test_pickles_of_functions(name):
    f = PICKLED.get(name, torch.linalg.norm)
    assert pickle.loads(pickle.dumps(f)) is f
