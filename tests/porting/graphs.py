"""Traced programs of PyTorch: their nodes, and what they compute before and after passes."""

import copy
import operator
import pickle

import torch
import torch.nn.functional as F
from torch import fx, nn
from torch import relu as rectified


def show(graph):
    for n in graph.nodes:
        target = n.target if isinstance(n.target, str) else n.target.__name__
        print(n.op, n.name, target, n.args, dict(n.kwargs), list(n.users))


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


torch.manual_seed(0)
x = torch.linspace(-2, 2, 8).reshape(2, 4)
net = fill(Net())
traced = fx.symbolic_trace(net)
show(traced.graph)
traced.graph.lint()
for name, value in traced(x).items():
    print(name, [[round(v, 3) for v in row] if isinstance(row, list) else round(row, 3) for row in value.tolist()])
print(sorted(traced.state_dict()) == sorted(net.state_dict()), type(traced).__name__, traced.training)

# Passes: another function, a module in place of a module, nodes between others, dead code.
changed = copy.deepcopy(traced)
for node in changed.graph.nodes:
    if node.op == "call_function" and node.target is F.gelu:
        node.target = F.silu
changed.recompile()
print(round(changed(x)["logits"].sum().item(), 3), round(traced(x)["logits"].sum().item(), 3))
graph = changed.graph
head = next(n for n in graph.nodes if n.op == "call_module" and n.target == "head")
with graph.inserting_after(head):
    doubled = graph.call_function(operator.mul, (head, 2))
head.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
with graph.inserting_before(head):
    graph.call_method("neg", (head.args[0],))
print(len(graph.nodes), graph.eliminate_dead_code(), len(graph.nodes))
changed.recompile()
print(round(changed(x)["logits"].sum().item(), 3))
show(graph)
print([n.name for n in reversed(graph.nodes)][:3], head.next is doubled, head.all_input_nodes)

# Leaves, arguments that are no inputs, functions that stay as they are.


class Shallow(fx.Tracer):
    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)


tracer = Shallow()
graph = tracer.trace(net)
show(graph)
print(fx.GraphModule(tracer.root, graph)(x)["logits"].shape == (2, 3))
show(fx.symbolic_trace(Block(4), concrete_args={"flag": False, "factor": 3.0}).graph)


@fx.wrap
def some(x, n):
    return x if x.sum() > n else -x


traced = fx.symbolic_trace(lambda x: some(x, 3) + torch.ones(1))
show(traced.graph)
print(traced(x).tolist() == (-x + 1).tolist())
for program in (lambda x: x if x.sum() > 0 else -x, lambda x: [v for v in x], lambda x: x[: len(x)]):
    try:
        fx.symbolic_trace(program)
    except (fx.proxy.TraceError, RuntimeError) as error:
        print("refused", type(error).__name__ in ("TraceError", "RuntimeError"))

# Values node by node, and another graph of a graph.


class Watch(fx.Interpreter):
    def run_node(self, n):
        value = super().run_node(n)
        if n.op == "call_module":
            print(n.name, tuple(value.shape))
        return value


class Negated(fx.Transformer):
    def call_module(self, target, args, kwargs):
        return -super().call_module(target, args, kwargs)


small = fx.symbolic_trace(fill(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))))
print(torch.equal(Watch(small).run(x), small(x)))
show(Negated(small).transform().graph)

# Patterns.


class Rows(nn.Module):
    def forward(self, x, w1, w2):
        m1 = torch.cat([w1, w2]).sum()
        m2 = torch.cat([w1, w2]).sum()
        return x + torch.max(m1) + torch.max(m2)


traced = fx.symbolic_trace(Rows())
matches = fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]))
print(len(matches), sorted(str(getattr(n.target, "__name__", n.target)) for n in traced.graph.nodes))
print(traced(x, x[0], x[1]).tolist())
proxy = fx.Proxy(graph.find_nodes(op="placeholder")[0], fx.proxy.GraphAppendingTracer(graph))
print((proxy + 1).node.op, fx.node.map_arg([proxy.node, 3], lambda n: n.name))

# ---- proxies outside of a trace ----
graph = fx.Graph()
tracer = fx.proxy.GraphAppendingTracer(graph)
x, y = (fx.Proxy(graph.placeholder(name, torch.Tensor), tracer=tracer) for name in "xy")
shape = torch.broadcast_tensors(x[..., :1], y[..., :1])[0].shape[:-1] + (-1,)  # noqa: RUF005  (a sum of proxies)
torch._assert(x.shape[-1] == 3, "three columns")
z = torch.einsum("zu,zv->zuv", x.expand(shape), y.expand(shape))
w = torch.einsum("zuv,zu->zv", (z, x)) + torch.cat([y, torch.ones_like(y)], dim=0)[:1]
graph.output(torch.nn.functional.softmax(torch.add(w, 1.5), dim=-1).node)
built = fx.GraphModule({}, graph, "built")
print([(n.op, str(getattr(n.target, "__name__", n.target)), len(n.args)) for n in graph.nodes])
print([round(v, 4) for v in built(torch.ones(2, 3), torch.arange(4.0).reshape(2, 2)).flatten().tolist()])

# ---- pickles ----
net = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU())).eval()
back = pickle.loads(pickle.dumps(net))
print(back.training, [(n.op, n.name, str(n.target)) for n in back.graph.nodes], [n for n, _ in back.named_parameters()])
print(torch.equal(back(torch.ones(2, 3)), net(torch.ones(2, 3))), back.graph.owning_module is back)
again = pickle.loads(pickle.dumps(built))
print(torch.equal(again(torch.ones(2, 3), torch.ones(2, 2)), built(torch.ones(2, 3), torch.ones(2, 2))))
for f in (torch.relu, torch.add, torch.nn.functional.relu, torch.nn.functional.cross_entropy, torch.linalg.norm):
    print(pickle.loads(pickle.dumps(f)) is f)
