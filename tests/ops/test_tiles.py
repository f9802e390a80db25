"""Each row of cpp/kernel/tiles.cpp computes what the CPU does, whatever the device: SPIROGRAD_TILES names it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.gpu

ROWS = ["nvidia", "nvk", "amd", "gcn", "intel", "apple", "mobile", "software"]
SMALL = ["intel", "mobile", "software"]

# Each prints how far the GPU is from the CPU, relative to the sizes of results.
PRODUCTS = """
import numpy as np, spirograd as sg
rng = np.random.default_rng(1)
worst = 0.0
# One for each tile: large, wide, low, flat, medium, small, tiny.
ROWS = [(1290, 33, 1153), (50, 9, 66000), (11, 9, 132001), (3, 16, 132001)]
for m, k, n in [*ROWS, (300, 40, 900), (40, 70, 500), (10, 300, 12)]:
    a, b = (sg.tensor(rng.normal(size=s).astype(np.float32)) for s in [(m, k), (k, n)])
    got = (a.to("gpu") @ b.to("gpu")).cpu().numpy()
    want = a.numpy() @ b.numpy()
    worst = max(worst, float(np.abs(got - want).max() / k**0.5))
    x = a[:40].to("gpu", sg.float64) @ b[:, :70].to("gpu", sg.float64)
    worst = max(worst, float(np.abs(x.cpu().numpy() - want[:40, :70]).max() / k**0.5))
print(worst, sg.Device.gpu().features["tiles"])
"""
CONVOLUTIONS = """
import numpy as np, spirograd as sg
from spirograd.nn import functional as F
rng = np.random.default_rng(2)
x, w = (rng.normal(size=s).astype(np.float32) for s in [(4, 16, 31, 29), (72, 16, 3, 3)])
results = []
for device in ("cpu", "gpu"):
    a, b = (sg.tensor(v, device=device, requires_grad=True) for v in (x, w))
    y = F.relu(F.conv2d(a, b, stride=2, padding=1))
    (y * y).sum().backward()
    results.append([t.cpu().detach().numpy() for t in (y, a.grad, b.grad)])
print(max(float(np.abs(p - q).max() / np.abs(p).max()) for p, q in zip(*results)), sg.Device.gpu().features["tiles"])
"""
ATTENTION = """
import numpy as np, spirograd as sg
from spirograd.nn import functional as F
rng = np.random.default_rng(3)
worst = 0.0
for size in SIZES:  # of a head; 64 heads of two tiles are enough for the largest
    qkv = [rng.normal(size=(1, 64, n, size)).astype(np.float32) for n in (66, 66, 66)]
    results = []
    for device in ("cpu", "gpu"):
        t = [sg.tensor(v, device=device, requires_grad=True) for v in qkv]
        y = F.scaled_dot_product_attention(*t, is_causal=True)
        (y * y).sum().backward()
        results.append([v.cpu().detach().numpy() for v in (y, *(u.grad for u in t))])
    worst = max(worst, *(float(np.abs(p - q).max() / np.abs(p).max()) for p, q in zip(*results)))
print(worst, sg.Device.gpu().features["tiles"])
"""
# Of halves, by matrix units where there are some; fewer digits count.
HALVES = """
import numpy as np, spirograd as sg
rng = np.random.default_rng(6)
worst = 0.0
for m, k, n in [(1290, 40, 160), (200, 300, 140), (24, 64, 40)]:
    a, b = (sg.tensor(rng.normal(size=s).astype(np.float16)) for s in [(m, k), (k, n)])
    got = (a.to("gpu") @ b.to("gpu")).float().cpu().numpy()
    want = a.double().numpy() @ b.double().numpy()
    worst = max(worst, float(np.abs(got - want).max() / np.abs(want).max()))
print(worst / 100, sg.Device.gpu().features["tiles"])
"""
RECURRENT = """
import numpy as np, spirograd as sg
results = []
for device in ("cpu", "gpu"):
    sg.manual_seed(4)
    out = []
    for layer in (sg.nn.LSTM(12, 20), sg.nn.GRU(12, 20)):
        layer.to(device)
        x = sg.tensor(np.random.default_rng(4).normal(size=(9, 3, 12)).astype(np.float32), device=device)
        y = layer(x)[0]
        (y * y).sum().backward()
        out += [v.cpu().detach().numpy() for v in (y, *(p.grad for p in layer.parameters()))]
    wide = sg.tensor(np.random.default_rng(5).normal(size=(3, 40000)).astype(np.float32), device=device)
    out.append(1e4 * wide.softmax(-1).cpu().numpy())
    results.append(out)
print(max(float(np.abs(p - q).max() / np.abs(p).max()) for p, q in zip(*results)), sg.Device.gpu().features["tiles"])
"""
PROGRAMS = {
    "products": PRODUCTS,
    "convolutions": CONVOLUTIONS,
    "attention": ATTENTION.replace("SIZES", "(128,)"),
    "halves": HALVES,
    "recurrent": RECURRENT,
}


# A software driver takes long to compile the larger tiles of attention.
CASES = [
    pytest.param(tiles, kind, marks=[pytest.mark.slow] if kind == "attention" and tiles not in SMALL else [])
    for tiles in ROWS
    for kind in PROGRAMS
]


@pytest.mark.parametrize(("tiles", "kind"), CASES)
def test_tiles_of_each_kind_of_gpu(tiles: str, kind: str, run_python: Callable[..., str]) -> None:
    error, taken = run_python(PROGRAMS[kind], SPIROGRAD_TILES=tiles).split()
    assert taken == tiles
    assert float(error) < 2e-5


@pytest.mark.slow
@pytest.mark.parametrize("tiles", ROWS)
def test_tiles_of_attention(tiles: str, run_python: Callable[..., str]) -> None:
    error, taken = run_python(ATTENTION.replace("SIZES", "(32, 64, 256)"), SPIROGRAD_TILES=tiles).split()
    assert taken == tiles
    assert float(error) < 2e-5


def test_a_row_that_is_not_there(run_python: Callable[..., str]) -> None:
    code = """
import spirograd as sg
try:
    sg.ones(2, device="gpu").numpy()
except sg.DeviceUnavailableError as error:
    print(error)
"""
    out = run_python(code, SPIROGRAD_TILES="voodoo")
    names = ", ".join(ROWS)
    assert out == f"gpu:0: SPIROGRAD_TILES: 'voodoo' is not a row of tiles; use one of {names}\n"
