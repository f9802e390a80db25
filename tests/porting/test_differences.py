"""Each row of "Differences" in docs/porting.md, as a program that sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "porting.md"
START = """
import io, tempfile
import spirograd.torch
spirograd.torch.install()
import torch
from torch import nn

def raises(kind, f):
    try:
        f()
    except kind as error:
        assert type(error) is not AssertionError
        return str(error)
    raise AssertionError("no error")
"""
SEEN = {
    "random numbers": """
torch.manual_seed(0)
assert round(torch.rand(1).item(), 4) != 0.4963
""",
    "errors of shapes and arguments": """
assert "inner sizes differ" in raises(RuntimeError, lambda: torch.ones(2, 3) @ torch.ones(2, 3))
assert "inner sizes differ" in raises(ValueError, lambda: torch.ones(2, 3) @ torch.ones(2, 3))
raises(ValueError, lambda: nn.Conv2d(3, 4, 2, groups=2))
""",
    "an index out of range on a GPU": """
y = nn.functional.embedding(torch.tensor([9]), torch.ones(3, 2)).sum()
assert "out of range" in raises(IndexError, y.item)
""",
    "fractions in a list as an index, `x[[0.5, 1.0]]`": """
assert "an index of float32" in raises(IndexError, lambda: torch.ones(3)[[0.5, 1.0]])
""",
    "`torch.load`": """
import collections, pickle
f = io.BytesIO()
torch.save({"w": torch.ones(2)}, f)
f.seek(0)
assert torch.load(f, map_location=lambda storage, place: storage, weights_only=False)["w"].tolist() == [1, 1]
f = io.BytesIO(pickle.dumps(collections.Counter()))
raises(spirograd.FileFormatError, lambda: torch.load(f, weights_only=False))
""",
    "`torch.save` and `torch.load` of a module": """
made = []
class Net(nn.Sequential):
    def __init__(self, *layers):
        super().__init__(*layers)
        made.append(layers)
class Call:
    def __init__(self, *what):
        self.what = what
    def __reduce__(self):
        return self.what
import os
for call in (Call(Net, (3,)), Call(nn.Linear, (3, 4)), Call(os.mkdir, ("made",)), Call(nn.functional.relu, (1,))):
    f = io.BytesIO()
    torch.save({"a": call}, f)
    f.seek(0)
    assert "which could run code" in raises(spirograd.FileFormatError, lambda: torch.load(f, weights_only=False))
assert not made and not os.path.exists("made")
f = io.BytesIO()
torch.save(Net(nn.Linear(2, 1)), f)
f.seek(0)
assert "add_safe_globals" in raises(spirograd.FileFormatError, lambda: torch.load(f))
f.seek(0)
net = torch.load(f, weights_only=False)
assert type(net) is Net and net(torch.ones(2)).shape == (1,) and len(made) == 1
f.seek(0)
torch.serialization.add_safe_globals([Net])
assert type(torch.load(f)) is Net
del Net, net
import gc
torch.serialization.clear_safe_globals()
gc.collect()
f.seek(0)
raises(spirograd.FileFormatError, lambda: torch.load(f, weights_only=False))
""",
    "arrays of NumPy in `torch.save`": """
import numpy as np, zipfile
f = io.BytesIO()
torch.save({"w": np.ones(2)}, f)
assert "archive/data.pkl" in zipfile.ZipFile(f).namelist()
f.seek(0)
assert isinstance(torch.load(f)["w"], torch.Tensor)
""",
    "integers divided by a tensor with zeros": """
x = torch.tensor([3, 4])
assert (x // torch.tensor([0, 2])).tolist() == [0, 2]
assert "divided by 0" in raises(RuntimeError, lambda: x // 0)
assert (x[:0] // 0).tolist() == []
""",
    "results of `max`, `sort` and their like along a dimension": """
pair = torch.tensor([3, 1]).sort()
assert repr(pair) == (
    "torch.return_types.values_and_indices(\\nvalues=tensor([1, 3]),\\nindices=tensor([1, 0]))"
)
assert torch.return_types.max is torch.return_types.min is type(pair)
""",
    "`channels_last`": """
x = torch.randn(1, 2, 3, 4)
for y in (x.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)):
    assert y.stride() == (24, 1, 8, 2) and torch.equal(x, y) and not y.is_contiguous()
    assert y.is_contiguous(memory_format=torch.channels_last) and (y + 1).stride() == (24, 12, 4, 1)
net = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
assert net.weight.stride() == (8, 1, 4, 2) and net.bias.stride() == (1,)
assert torch.allclose(net(x), net(y)) and x.unsqueeze(2).to(memory_format=torch.channels_last_3d).stride()[1] == 1
""",
    "`allow_tf32`, `set_float32_matmul_precision`": """
torch.backends.cuda.matmul.allow_tf32 = True
assert torch.get_float32_matmul_precision() == "high" and torch.backends.cuda.matmul.fp32_precision == "tf32"
torch.set_float32_matmul_precision("medium")
assert torch.backends.cuda.matmul.allow_tf32 and not torch.backends.cudnn.allow_tf32
torch.backends.cuda.matmul.allow_tf32 = False
assert torch.get_float32_matmul_precision() == "highest" and torch.ones(2, 2).mm(torch.ones(2, 2)).sum() == 8
""",
    "`torch.compile`": """
def f(x):
    return x + 1
assert torch.compile(f, mode="max-autotune") is f
net = torch.compile(nn.Linear(2, 1))
net(torch.ones(2)).sum().backward()
assert isinstance(net, nn.Module) and list(net.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
""",
    "`time.time()`, `perf_counter()` and other clocks": """
import datetime, spirograd as sg
y = torch.ones(200, 200) @ torch.ones(200, 200)
before = sg.stats()["dispatches"]
datetime.datetime.now()
assert sg.stats()["dispatches"] == before, "not seen"
torch.cpu.synchronize()
assert sg.stats()["dispatches"] > before
""",
    "`cuda.Event.record` with timing": """
a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
a.record()
b.record()
assert a.elapsed_time(b) >= 0
raises(RuntimeError, lambda: torch.cuda.Event().elapsed_time(b))
""",
    "a parameter of random numbers out of range, in a tensor": """
drawn = torch.bernoulli(torch.tensor([0.5, 1.5]))
assert "bernoulli: a probability is not in [0, 1]" in raises(ValueError, lambda: drawn.tolist())
assert "poisson: a rate is negative" in raises(ValueError, lambda: torch.poisson(torch.tensor([-1.0])).tolist())
assert "binomial: " in raises(ValueError, lambda: torch.binomial(torch.tensor([1.0]), torch.tensor([2.0])).tolist())
assert "geometric_: p is 1" in raises(ValueError, lambda: torch.ones(1).geometric_(1))
assert "cauchy_: sigma is 0" in raises(ValueError, lambda: torch.ones(1).cauchy_(0, 0))
assert "log_normal_: std is -1" in raises(ValueError, lambda: torch.ones(1).log_normal_(0, -1))
""",
    "random numbers in `DataLoader` workers": """
import numpy as np
from torch.utils.data import DataLoader
np.random.seed(0)
wanted = np.random.rand()
np.random.seed(0)
seeds = []
def init(i):
    seeds.append(torch.initial_seed())
    np.random.seed(seeds[-1] % 2**32)
list(DataLoader([1, 2], num_workers=2, worker_init_fn=init))
assert np.random.rand() == wanted and abs(seeds[0] - seeds[1]) == 1
""",
    "arguments and values of distributions": """
torch.distributions.Normal(0.0, -1.0)
raises(ValueError, lambda: torch.distributions.Normal(0.0, -1.0, validate_args=True))
""",
    "`jit.save`, `jit.load`": """
assert "write its weights with PyTorch" in raises(NotImplementedError, lambda: torch.jit.load("m.pt"))
net = torch.jit.script(nn.Linear(2, 1))
assert "Linear stays Python" in raises(NotImplementedError, lambda: torch.jit.save(net, "m.pt"))
""",
    "sparse gradients of `Embedding(sparse=True)`": """
table = nn.Embedding(4, 2, sparse=True)
table(torch.tensor([1])).sum().backward()
assert table.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]] and not table.weight.grad.is_sparse
""",
    "`__torch_function__`": """
seen = []
class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append((func.__name__, sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs)
nn.functional.relu(torch.ones(1).as_subclass(Named))
assert seen == [("relu", [])]
class Log(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append((func.__name__, types))
        return func(*args, **(kwargs or {}))
with Log():
    torch.ones(2).shape
    torch.view_as_complex(torch.ones(1, 2)).abs()
assert seen[1:5] == [("ones", ()), ("__get__", ()), ("ones", ()), ("view_as_complex", ())]
assert "abs" not in [name for name, _ in seen]
""",
    "packed sequences": """
out, _ = nn.GRU(1, 1)(nn.utils.rnn.pack_sequence([torch.ones(3, 1), torch.ones(1, 1)]))
assert out.data.shape == (4, 1)
""",
    "`ctc_loss`": """
x = torch.zeros(2, 1, 3).requires_grad_()
nn.functional.ctc_loss(x, torch.tensor([[1]]), (2,), (1,)).backward()
assert (x.grad <= 0).all()
""",
    "`DataParallel` with several `device_ids`": """
nn.DataParallel(nn.Linear(1, 1), device_ids=[0])
assert "2 GPUs are named" in raises(ValueError, lambda: nn.DataParallel(nn.Linear(1, 1), device_ids=[0, 1]))
""",
    "`cuda.max_memory_reserved`": """
assert torch.cuda.max_memory_reserved.__name__ == "memory_reserved"
""",
    "`share_memory_`, `Module.share_memory`": """
assert not torch.ones(2).share_memory_().is_shared()
assert "torch.distributed" in raises(NotImplementedError, lambda: nn.Linear(1, 1).share_memory())
""",
    "a view made under `no_grad()` of a tensor that requires grad": """
leaf = torch.ones(4, requires_grad=True)
with torch.no_grad():
    view = leaf[1:]
assert view.grad_fn is None and not view.requires_grad
""",
    "`autograd.forward_ad`": """
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    x = fwAD.make_dual(torch.ones(2), torch.ones(2))
    with torch.no_grad():
        y = x * 2
    assert x.requires_grad and fwAD.unpack_dual(y).tangent is None
    assert fwAD.unpack_dual(x * 2).tangent.tolist() == [2, 2]
""",
    "`autograd.graph.saved_tensors_hooks`, `save_on_cpu`": """
seen = []
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2 + 0 * ctx.saved_tensors[0]
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
    y = x * x
    assert seen == []
    Twice.apply(y).sum().backward()
assert seen == [(2,)] and x.grad.tolist() == [4, 4]
""",
    "`autograd.graph.register_multi_grad_hook`": """
x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
seen = []
torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: seen.append((x.grad, [g is None for g in grads])))
(x * y).sum().backward()
assert len(seen) == 1 and seen[0][1] == [False, False]
(x * 2).sum().backward()
assert len(seen) == 2 and seen[1][0].tolist() == [3, 3] and seen[1][1] == [False, True]
""",
    "`grad_fn`": """
y = nn.Linear(2, 1)(torch.ones(1, 2))
assert type(y.grad_fn).__name__ == "AddBackward0" and type(y.view(1).grad_fn).__name__ == "ReshapeBackward0"
w = torch.ones(1, requires_grad=True)
leaf = (w * 2).grad_fn.next_functions[0][0]
assert leaf.variable is w and not hasattr(leaf, "saved_tensors")
""",
    "second derivatives of `max`, `maximum`, `clamp` and similar functions": """
x = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad(x.clamp(max=1.5).sum() + x.max(), x, create_graph=True)
assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0, 0]
""",
    "`autograd.graph.get_gradient_edge`": """
x = torch.ones(2, requires_grad=True).exp()
assert torch.autograd.graph.get_gradient_edge(x).ownership_token is x
""",
    "`masked.masked_tensor`": """
x, mask = torch.ones(2), torch.tensor([True, False])
assert "mask=" in raises(NotImplementedError, lambda: torch.masked.masked_tensor(x, mask))
assert torch.masked.mean(x, mask=mask) == 1 and torch.masked.sum(x, mask=mask) == 1
""",
    '`autocast("cpu")`': """
x = torch.ones(2, 2, dtype=torch.bfloat16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert x.softmax(-1).dtype == x.sum().dtype == torch.float32 and (x @ x).dtype == torch.bfloat16
    assert torch.quantile(x, 0.5).dtype == torch.float32
""",
    "`optim.Muon`": """
w = nn.Parameter(torch.zeros(2, 2))
optimizer = torch.optim.Muon([w], lr=1.0, weight_decay=0.0)
w.grad = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
optimizer.step()
assert not torch.equal(w, w.bfloat16().float()) and ((w @ w.T).detach().diagonal() - 1).abs().max() < 0.5
""",
    "`special.bessel_j0`, `bessel_j1`, `bessel_y0`, `bessel_y1`, `airy_ai` of float64": """
x = torch.tensor([-18.25, -4.5], dtype=torch.float64)
assert abs(torch.special.bessel_j0(x)[0].item() - 0.033248139976238) < 1e-15
assert abs(torch.special.airy_ai(x)[1].item() - 0.292152781055959) < 1e-14
""",
    "`FlopCounterMode`, `torch.utils.benchmark`": """
from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False) as counter:
    nn.Linear(4, 8)(torch.ones(3, 4)).relu()
assert counter.get_total_flops() > 2 * 3 * 4 * 8
""",
    "`view(dtype)`": """
x = torch.ones(2, requires_grad=True)
bits = x.view(torch.int32)
bits[0] = 0
assert x.tolist() == [0, 1] and not x.view(torch.float16).requires_grad
""",
    "complex tensors": """
pairs = torch.ones(2, 2)
z = torch.view_as_complex(pairs)
torch.view_as_real(z).zero_()
assert not isinstance(z, torch.Tensor) and z.dtype is torch.cfloat and pairs.sum() == 4
assert "complex tensors are not supported" in raises(TypeError, lambda: torch.softmax(z, 0))
net = nn.Module()
net.weight = nn.Parameter(z)
assert list(net.state_dict()) == ["weight.real", "weight.imag"]
""",
    "sparse tensors": """
a = torch.sparse.FloatTensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), torch.Size([2, 2]))
assert torch.spmm(a, torch.eye(2)).tolist() == a.to_dense().tolist() == [[0, 1], [2, 0]] and a.is_sparse
assert torch.mm(a, a).is_sparse
assert "sparse tensors are not supported" in raises(TypeError, lambda: torch.softmax(a, 1))
""",
    "nested tensors": """
nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
assert nn.Linear(3, 4)(nt).to_padded_tensor(0.0).shape == (2, 2, 4)
assert "nested tensors are not supported" in raises(TypeError, lambda: torch.cumsum(nt, 0))
raises(ValueError, lambda: torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(1, 3)]))
""",
    "types": """
assert torch.uint16.itemsize == 2 and torch.uint16 != torch.int16 and torch.finfo(torch.float8_e5m2).bits == 8
raises(TypeError, lambda: torch.zeros(2, dtype=torch.uint16))
""",
    "devices": """
assert torch.device("meta") != torch.device("cpu") and torch.device("mps").type == "mps"
raises(ValueError, lambda: torch.zeros(2, device="meta"))
with torch.device("meta"):
    x = torch.ones(2)
    assert x.device.type == "meta"
assert x.device.type == "cpu" and x.tolist() == [1, 1]
""",
    "`distributed.is_available`": """
import os, torch.distributed
assert not torch.distributed.is_available()
os.environ["WORLD_SIZE"] = "1"
assert torch.distributed.is_available()
""",
    "`flex_attention` with a function of scores": """
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
q = torch.ones(1, 1, 4, 8, requires_grad=True)
mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 4, 4)
plain, scored = flex_attention(q, q, q, block_mask=mask), flex_attention(q, q, q, lambda s, b, h, i, j: s * 2)
scored.sum().backward()
assert plain.shape == scored.shape == (1, 1, 4, 8) and torch.isfinite(q.grad).all()
""",
}


def test_each_difference_is_seen_somewhere() -> None:
    table = PAGE.read_text(encoding="utf-8").split("## Differences")[1].split("\n## ")[0]
    rows = [re.split(r" \| ", line.strip("| "))[0] for line in table.splitlines() if line.startswith("|")][2:]
    assert rows == list(SEEN)


@pytest.mark.parametrize("what", SEEN)
def test_the_difference_is_as_the_page_says(what: str, run_python: Callable[..., str]) -> None:
    run_python(START + SEEN[what])
