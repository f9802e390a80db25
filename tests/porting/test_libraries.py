"""Packages that other people wrote around PyTorch, with spirograd in its place."""

from __future__ import annotations

import pytest

START = "import spirograd.torch\nspirograd.torch.install()\nimport torch\n"

SAFETENSORS = """
import os, tempfile
import numpy as np
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
path = os.path.join(tempfile.mkdtemp(), "m.safetensors")
tensors = {"a": torch.arange(6.).reshape(2, 3), "b": torch.ones(3, dtype=torch.int64), "n": torch.zeros(0, 2)}
tensors |= {"h": torch.full((2,), 1.5, dtype=torch.bfloat16), "s": torch.tensor(3.0), "t": tensors["a"].T}
save_file(tensors, path, metadata={"format": "pt"})
for back in (load_file(path), load(save(tensors))):
    assert back.keys() == tensors.keys()
    for k, x in tensors.items():
        assert torch.equal(x, back[k]) and x.dtype == back[k].dtype and x.shape == back[k].shape, k
with safe_open(path, framework="pt", device="cpu") as f:
    assert sorted(f.keys()) == sorted(tensors) and f.metadata() == {"format": "pt"}
    for k in f.keys():
        assert torch.equal(f.get_tensor(k), tensors[k])
    part = f.get_slice("a")
    assert part[:, 1:].tolist() == [[1, 2], [4, 5]] and part.get_shape() == [2, 3] and part.get_dtype() == "F32"
with safe_open(path, framework="numpy") as f:
    assert isinstance(f.get_tensor("a"), np.ndarray)
def make():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    return net.append(net[0])
net, other = make(), make()
save_model(net, path)
with safe_open(path, "pt") as f:
    assert "2.weight" not in f.keys() and f.metadata()["2.weight"] == "0.weight"
assert load_model(other, path) == (set(), []) and torch.equal(other[2].weight, net[0].weight)
try:
    load_model(torch.nn.Linear(2, 2), path)
except RuntimeError as error:
    assert "missing ['bias', 'weight']" in str(error)
else:
    raise AssertionError
import os, struct, spirograd
save_file({"x": torch.zeros(100_000)}, path)
data = open(path, "rb").read()
def refused(change):
    with safe_open(path, "pt") as f:
        change(f)
        try:
            f.get_tensor("x")
        except spirograd.FileFormatError as error:
            return str(error)
cut = refused(lambda f: os.truncate(path, 1000))
assert cut == "safe_open: the file was truncated while it was open; open it again"
open(path, "wb").write(data.replace(b"F32", b"U32"))
assert refused(lambda f: None) == "safe_open: a tensor is of type U32, which spirograd does not have"
"""

EINOPS = """
import numpy as np
from einops import asnumpy, einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
n = np.random.RandomState(0).randn(2, 3, 4, 6).astype(np.float32)
x = torch.tensor(n, requires_grad=True)
for pattern, sizes in [("b c h w -> b (h w) c", {}), ("b c (h p) (w q) -> (b h w) (p q c)", {"p": 2, "q": 3})]:
    assert np.array_equal(asnumpy(rearrange(x, pattern, **sizes).detach()), rearrange(n, pattern, **sizes))
for kind in ("mean", "max", "min", "sum", "prod"):
    assert np.allclose(asnumpy(reduce(x, "b c h w -> c w", kind).detach()), reduce(n, "b c h w -> c w", kind), 1e-4)
assert np.array_equal(asnumpy(repeat(x[0, 0], "h w -> h r w", r=2).detach()), repeat(n[0, 0], "h w -> h r w", r=2))
assert torch.allclose(einsum(x, x, "b c h w, b d h w -> b c d"), torch.einsum("bchw,bdhw->bcd", x, x))
rearrange(x, "b c h w -> (b c) (h w)").square().sum().backward()
assert np.allclose(x.grad.numpy(), 2 * n)
packed, shapes = pack([x, x[:, 0]], "b * w")
assert all(torch.equal(a, b) for a, b in zip(unpack(packed, shapes, "b * w"), [x, x[:, 0]]))
net = torch.nn.Sequential(Rearrange("b c h w -> b h w c"), EinMix("b h w c -> b h w d", weight_shape="c d", c=3, d=5))
net.append(Reduce("b h w d -> b d", "mean"))
assert net(x).shape == (2, 5) and [p.shape for p in net.parameters()] == [(3, 5)]
"""

TIKTOKEN = """
import tiktoken
ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abc": 257, b"th": 258, b"the": 259, b" the": 260}
encoding = tiktoken.Encoding("small", pat_str=r" ?\\w+|\\s+|.", mergeable_ranks=ranks, special_tokens={"<end>": 261})
tokens = encoding.encode("abc the<end>", allowed_special="all")
assert tokens == [257, 260, 261]
x = torch.tensor([tokens])
embedding = torch.nn.Embedding(encoding.n_vocab, 4)
assert embedding(x).shape == (1, 3, 4) and encoding.decode(x[0].tolist()) == "abc the<end>"
"""


ONNX = """
import io, os, tempfile
import numpy as np, onnx
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
x = torch.randn(5, 3)
path = os.path.join(tempfile.mkdtemp(), "net.onnx")
torch.onnx.export(net, x, path, export_params=True, opset_version=17, do_constant_folding=True, input_names=["in"],
                  output_names=["out"], dynamic_axes={"in": {0: "batch"}, "out": {0: "batch"}})
made = onnx.load(path)
assert [i.name for i in made.graph.input] == ["in"] and [o.name for o in made.graph.output] == ["out"]
assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
f = io.BytesIO()
torch.onnx.export(net, (x,), f, input_names=["in"], dynamic_axes={"in": [0]})
assert onnx.load_from_string(f.getvalue()).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "in_0"
"""


@pytest.mark.parametrize(
    ("package", "program"), [("safetensors", SAFETENSORS), ("einops", EINOPS), ("tiktoken", TIKTOKEN), ("onnx", ONNX)]
)
def test_its_interface_works_with_these_tensors(package: str, program: str, run_python) -> None:
    pytest.importorskip(package)
    if package == "safetensors":
        pytest.importorskip("ml_dtypes")
    run_python(START + program)


EINOPS_ALONE = """
import sys
import numpy as np
import spirograd as sg
assert "einops" not in sys.modules
import spirograd.einops
import einops
from spirograd.einops import EinMix, Rearrange, Reduce
x = sg.arange(24.0).reshape(2, 3, 4)
x.requires_grad_()
n = x.detach().numpy()
def same(function, *args, **sizes):
    ours, theirs = function(x, *args, **sizes), function(n, *args, **sizes)
    assert np.array_equal(ours.detach().numpy(), theirs), (function, args)
    return ours
same(einops.rearrange, "a b (c d) -> (a d) b c", d=2).square().sum().backward()
assert np.array_equal(x.grad.numpy(), 2 * n)
for how in ("min", "max", "sum", "mean", "prod"):
    same(einops.reduce, "a (b two) c -> b c", how, two=1)
    same(einops.reduce, "a b c -> ", how)
same(einops.repeat, "a b c -> a (b two) c new", two=2, new=3)
product = einops.einsum(x, x, "a b c, a d c -> b d")
assert np.allclose(product.detach().numpy(), np.einsum("abc,adc->bd", n, n))
packed, shapes = einops.pack([x, x[:, 0]], "a * c")
assert packed.shape == (2, 4, 4) and sg.equal(einops.unpack(packed, shapes, "a * c")[1], x[:, 0])
assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4} and isinstance(einops.asnumpy(x), np.ndarray)
assert einops.rearrange([x, x], "n a b c -> a n b c").shape == (2, 2, 3, 4)
mix = EinMix("a c b -> a c d", weight_shape="b d", bias_shape="d", b=3, d=5)
net = sg.nn.Sequential(Rearrange("a b c -> a c b"), mix, Reduce("a c d -> a d", "mean"))
want = (n.swapaxes(1, 2) @ mix.weight.detach().numpy() + mix.bias.detach().numpy()).mean(1)
assert np.allclose(net(x).detach().numpy(), want, atol=1e-5)
blocks = EinMix("b (g c) -> b (g d)", weight_shape="g c d", g=2, c=3, d=4)
assert blocks(sg.ones(7, 6)).shape == (7, 8)
"""


def test_einops_takes_tensors_after_one_import(run_python) -> None:
    pytest.importorskip("einops")
    run_python(EINOPS_ALONE)


def test_other_packages_are_imported_as_they_are(run_python) -> None:
    pytest.importorskip("safetensors")
    assert run_python("import spirograd, safetensors; print(safetensors.safe_open.__module__)") != "spirograd\n"
    code = "try:\n    import safetensors.nothing\nexcept ImportError as e:\n    print(e)"
    assert "safetensors.nothing" in run_python(START + code)


COUNTS = """
for device in DEVICES:
    x = torch.tensor([0] * 9 + [1] * 10 + [2] * 19 + [3] * 10, device=device)
    for kind in (torch.int32, torch.int64, torch.uint8):
        counts = torch.histc(x.to(kind), bins=4, min=0, max=3)  # bins that are three quarters wide
        assert counts.dtype == kind and counts.tolist() == [9, 10, 19, 10], (device, kind, counts)
"""


def test_histograms_of_whole_numbers_have_fractional_edges(run_python) -> None:
    run_python(START + "DEVICES = ['cpu']\n" + COUNTS)


@pytest.mark.gpu
def test_histograms_of_whole_numbers_have_fractional_edges_on_a_gpu(run_python, gpu) -> None:
    run_python(START + "DEVICES = ['cuda']\n" + COUNTS)


def test_what_is_not_there_can_be_named_and_not_used(run_python) -> None:
    run_python(
        START
        + """
import importlib.metadata, torch.distributed.tensor, torch.overrides
assert importlib.metadata.version("torch") == torch.__version__ and not torch.distributed.is_available()
def error(function):
    try:
        function()
    except (NotImplementedError, TypeError, ValueError, RuntimeError) as e:
        return f"{type(e).__name__}: {e}"
    raise AssertionError
assert "torch.uint16 is not supported" in error(lambda: torch.zeros(2, dtype=torch.uint16))
assert "'meta' names no device" in error(lambda: torch.zeros(2, device=torch.device("meta")))
assert "'mps' names no device" in error(lambda: torch.zeros(2).to(torch.device("mps")))
assert "tensors of several devices" in error(torch.distributed.tensor.DTensor)
assert "sg.compile()" in error(torch.cuda.CUDAGraph)
assert "models.quantize(model)" in error(lambda: torch.ao.quantization.quantize_dynamic(torch.nn.Linear(2, 1)))
assert "dual_level()" in error(lambda: torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1)))
assert "'foo' names no device" in error(lambda: torch.device("foo"))
"""
    )


@pytest.mark.gpu
def test_flexible_attention_on_a_gpu_is_that_of_the_cpu(run_python, gpu) -> None:
    run_python(
        START
        + """
import numpy as np
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
def computed(place, **where):
    draw = np.random.RandomState(0)
    q, k, v = (torch.tensor(draw.randn(2, 4, 70, 16).astype("float32")).to(place).requires_grad_() for _ in range(3))
    documents, slopes = torch.arange(70, device=place) // 20, torch.tensor([.5, .25, .1, .2], device=place)
    near = lambda b, h, i, j: (i >= j) & (documents[i] == documents[j])
    mask = create_block_mask(near, None, None, 70, 70, **where)
    outs = [flex_attention(q, k, v, f, mask) for f in (None, lambda s, b, h, i, j: s + slopes[h] * (j - i))]
    sum(out.square().sum() for out in outs).backward()
    return [t.detach().cpu().numpy() for t in (*outs, q.grad, k.grad, v.grad)]
for a, b in zip(computed("cpu", device="cpu"), computed("cuda")):  # without a device: the GPU, as in PyTorch
    np.testing.assert_allclose(a, b, atol=2e-5)
"""
    )


COUNTED = """
from torch.utils.flop_counter import FlopCounterMode
a, b = torch.ones(8, 4, device=DEVICE), torch.ones(4, 2, device=DEVICE)
with FlopCounterMode(display=False) as counter:
    (a @ b).sum().item()
assert counter.get_total_flops() >= 2 * 8 * 4 * 2, counter.get_flop_counts()
assert any("matmul" in name for name in counter.get_flop_counts()["Global"]), counter.get_flop_counts()
"""


def test_additions_and_multiplications_are_counted(run_python) -> None:
    run_python(START + "DEVICE = 'cpu'\n" + COUNTED)
    run_python(  # of a result that nobody keeps, too
        START
        + """
from torch.utils.flop_counter import FlopCounterMode
conv = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
with FlopCounterMode(display=False) as counter:
    conv(torch.ones(2, 3, 8, 8))
assert counter.get_total_flops() == 55296, counter.get_total_flops()
"""
    )


def test_statements_are_timed(run_python) -> None:
    run_python(
        START
        + """
from torch.utils.benchmark import Compare, Timer
names = {"x": torch.ones(64, 64)}
one = Timer("x @ x", globals=names, label="product", sub_label="64", description="of ones").timeit(3)
assert one.mean == one.median > 0 and one.iqr == 0 and "product: 64" in repr(one) and "1 block of 3 runs" in repr(one)
several = Timer("y = x + 1; y.sum().item()", "x = x * 2", globals=names).blocked_autorange(min_run_time=0.01)
assert several.number_per_run >= 1 and len(several.times) >= 1
compared = str(Compare([one, several])).splitlines()
assert compared[0].startswith("product: 64 of ones: ") and len(compared) == 2
with torch.autograd.profiler.profile(use_cuda=False) as found:
    (names["x"] @ names["x"]).sum().item()
assert found.self_cpu_time_total > 0
with torch.autograd.profiler.profile(enabled=False) as found:
    names["x"].sum().item()
assert not found.events()
"""
    )


@pytest.mark.gpu
def test_kernels_of_an_operation_are_those_of_the_device(run_python, gpu) -> None:
    run_python(
        START
        + """
op = torch.library.custom_op("mine::both", lambda x: x + 1, mutates_args=())
op.register_kernel("cuda", lambda x: x + 3)
assert op(torch.zeros(1)).item() == 1 and op(torch.zeros(1, device="cuda")).item() == 3
"""
    )
