"""SPIROGRAD_ADDRESSES=pairs: kernels whose addresses are pairs of words compute the bits of those with pointers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., str]
pytestmark = pytest.mark.gpu
HEAD = """
import hashlib, os
import numpy as np, spirograd as sg
from spirograd.nn import functional as F
rng = np.random.default_rng(0)
def some(*shape, dtype=np.float32):
    return sg.tensor((10 * rng.standard_normal(shape)).astype(dtype), device="gpu")
def show(*tensors):
    for t in tensors:
        print(hashlib.sha1(np.ascontiguousarray(t.numpy())).hexdigest())
"""
# Of each kind of kernel; the lane `pairs` of tools/test.sh runs the tests of operations as well.
PROGRAMS = {
    "generated": """
x = some(33, 70)
show(x * x[0] + 1, x.flip(0) - x, x.softmax(1), x.cumsum(1), x.long() // 3, x[sg.tensor([3, 1, 32], device="gpu")])
""",
    "products": """
x, y = some(64, 200), some(200, 72)
show(x @ y, F.relu(x @ y + 1), x.half() @ y.half(), F.conv2d(some(2, 3, 20, 20), some(5, 3, 3, 3)))
""",
    "orders": """
x = some(5, 300)
show(*x.sort(1), x.long().topk(7, 1)[1], sg.searchsorted(x.sort(1)[0], some(5, 8)), some(20000).argsort(0))
""",
    "images": """
x = some(2, 3, 24, 24).requires_grad_()
(F.max_pool2d(x, 3, 2).sum() + (F.pad(x, (2, 3, 1, 1), mode="reflect") ** 2).sum()).backward()
show(x.grad)
""",
    "attention": """
q, k, v = (some(1, 2, 40, 32) for _ in range(3))
show(F.scaled_dot_product_attention(q, k, v, attn_mask=sg.zeros(40, 40, device="gpu")))
""",
    "recurrent layers": """
for layer, meet in ((sg.nn.LSTM, "0"), (sg.nn.GRU, "1"), (sg.nn.RNN, "1")):
    os.environ["SPIROGRAD_RECURRENT"] = meet
    layer = layer(6, 10).to("gpu")
    for p in layer.parameters():
        p.data = some(*p.shape) / 9
    y = layer(some(5, 3, 6))[0]
    y.sum().backward()
    show(y.detach(), layer.weight_hh_l0.grad)
""",
    "kernels of users": """
twice = "uint i = global_index; if (i < y_size) store(y, i, 2.0 * load(x, i));"
twice = sg.ops.glsl_kernel("twice", twice, ["x"], ["y"])
beyond = sg.ops.glsl_kernel("beyond", "store(y, int64_t(global_index) + 1, 1.0);", ["x"], ["y"])
show(twice(some(100)))
try:
    beyond(some(64)).numpy()
except IndexError as e:
    print("index 64" in str(e) or e)
""",
    "failures": """
x = some(10)
try:
    x[sg.tensor([3, 12], device="gpu")].numpy()
except IndexError as e:
    print(e)
""",
    "spirv": """
words = np.frombuffer((sg.ones(8, device="gpu") + 1).plan()[0].spirv, np.uint32)
print(((words[:-1] == (2 << 16 | 17)) & (words[1:] == 11)).any())  # OpCapability Int64
""",
}


def test_pairs_compute_the_bits_of_pointers(run_python: Run) -> None:
    code = HEAD + "".join(f"print({name!r})\n{text}" for name, text in PROGRAMS.items())
    pointers, pairs = (run_python(code, SPIROGRAD_ADDRESSES=form).split() for form in ("pointers", "pairs"))
    assert (pointers[-1], pairs[-1]) == ("True", "False")
    assert len(pairs) > 25 and pairs[:-1] == pointers[:-1]
