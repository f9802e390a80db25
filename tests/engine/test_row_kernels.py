"""Rows have general kernels, which serve any sizes, and special ones for plans that run often."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg

pytestmark = pytest.mark.gpu
F = sg.nn.functional


class Dense(sg.nn.Module):
    """A small DenseNet: each layer reads what all before it made."""

    def __init__(self, layers: int = 3, growth: int = 4) -> None:
        super().__init__()
        self.first = sg.nn.Conv2d(3, growth, 3, padding=1)
        widths = [growth * (i + 1) for i in range(layers)]
        self.norms = sg.nn.ModuleList([sg.nn.BatchNorm2d(w) for w in widths])
        self.convs = sg.nn.ModuleList([sg.nn.Conv2d(w, growth, 3, padding=1, bias=False) for w in widths])
        self.head = sg.nn.Linear(growth * (layers + 1), 5)

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        x = self.first(x)
        for i, (norm, conv) in enumerate(zip(self.norms, self.convs, strict=True)):
            x = sg.cat([x, conv(F.relu(norm(x)))], 1)
            if i == 0:
                x = F.avg_pool2d(x, 2)
        return self.head(x.mean((2, 3)))


def step(model: sg.nn.Module, opt: sg.optim.Optimizer, batch: int, device: sg.Device) -> sg.Tensor:
    x = np.random.default_rng(batch).normal(size=(batch, 3, 20, 20)).astype(np.float32)
    loss = F.cross_entropy(model(sg.tensor(x, device=device)), sg.arange(batch, device=device) % 5)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


def compiled(run: Callable[[], object]) -> int:
    before = sg.stats()["kernels_compiled"]
    run()
    sg.synchronize()
    return sg.stats()["kernels_compiled"] - before


def test_another_batch_compiles_nothing(gpu: sg.Device) -> None:
    model = Dense().to(gpu)
    opt = sg.optim.SGD(model.parameters(), lr=0.1)
    assert compiled(lambda: step(model, opt, 2, gpu)) > 0
    step(model, opt, 2, gpu)
    for batch in (3, 5, 7):
        assert compiled(lambda batch=batch: step(model, opt, batch, gpu)) == 0, batch


PROGRAM = """
import sys, time, numpy as np, spirograd as sg
F = sg.nn.functional
sg.manual_seed(3)
net = sg.nn.Sequential(sg.nn.Linear(37, 130), sg.nn.LayerNorm(130), sg.nn.ReLU(), sg.nn.Linear(130, 7)).to("gpu")
opt = sg.optim.SGD(net.parameters(), lr=0.1)
rng = np.random.default_rng(0)
losses, steps = [], STEPS
while len(losses) < (steps or 10_000):
    x = sg.tensor(rng.normal(size=(11, 37)).astype(np.float32), device="gpu")
    y = sg.tensor(rng.integers(0, 7, 11), device="gpu")
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item().hex())
    if len(losses) == 3:
        compiled = sg.stats()["kernels_compiled"]
    if not steps:
        time.sleep(0.01)
        if sg.stats()["kernels_specialized"]:
            steps = len(losses) + 5
assert sg.stats()["kernels_compiled"] == compiled
print(steps, sg.stats()["kernels_specialized"] > 0, hash(tuple(losses)), hash(net[0].weight.detach().numpy().tobytes()))
"""


def test_special_kernels_change_no_bit(run_python: Callable[..., str]) -> None:
    def run(after: str, steps: str) -> list[str]:
        return run_python(
            PROGRAM.replace("STEPS", steps), SPIROGRAD_SPECIALIZE=after, SPIROGRAD_CACHE="0", PYTHONHASHSEED="0"
        ).split()

    often = run("16", "0")
    never, at_once = run("-1", often[0]), run("0", often[0])
    assert (often[1], never[1], at_once[1]) == ("True", "False", "False")
    assert often[2:] == never[2:] == at_once[2:]


def test_a_process_ends_while_kernels_are_compiled(run_python: Callable[..., str]) -> None:
    code = PROGRAM.replace("STEPS", "19")
    assert run_python(code, SPIROGRAD_SPECIALIZE="16", SPIROGRAD_CACHE="0").startswith("19 ")


GRAPHS = """
import hashlib, sys
sys.path[:0] = [FOLDER, FOLDER + "/engine"]
import spirograd as sg
from test_fuzz import result
for seed in range(500, 530):
    print(hashlib.sha256(result(seed, sg.Device("gpu"))[0].tobytes()).hexdigest())
"""


def test_random_graphs_have_the_same_bits(run_python: Callable[..., str]) -> None:
    code = GRAPHS.replace("FOLDER", repr(str(Path(__file__).parents[1])))
    special, general = (run_python(code, SPIROGRAD_SPECIALIZE=after) for after in ("0", "-1"))
    assert special == general
    assert len(set(special.split())) == 30


@pytest.mark.parametrize("dtype", [sg.float16, sg.bfloat16])
def test_quick_and_slow_products_have_the_same_bits(
    gpu: sg.Device, run_python: Callable[..., str], tmp_path: Path, dtype: sg.DType
) -> None:
    """Both kernels on matrix units: one step along k in a row, or several."""
    code = """
import sys, numpy as np, spirograd as sg
rng = np.random.default_rng(3)
found = []
for m, n, k in ((64, 64, 64), (200, 136, 384), (128, 256, 512), (130, 70, 2112), (96, 96, 1000)):
    a = sg.tensor(rng.normal(size=(m, k)).astype("f4"), device="gpu").to(sg.%s)
    b = sg.tensor(rng.normal(size=(k, n)).astype("f4"), device="gpu").to(sg.%s)
    found += [(a @ b).float().numpy(), sg.relu(a @ b + 0.5).float().numpy()]
    assert np.abs(found[-2] - a.float().numpy() @ b.float().numpy()).max() < 1.0
np.savez(sys.argv[1], *found)
""" % ((str(dtype).split(".")[-1],) * 2)
    files = [tmp_path / "special.npz", tmp_path / "general.npz"]
    for file, runs in zip(files, ("0", "-1"), strict=True):
        run_python(code.replace("sys.argv[1]", repr(str(file))), SPIROGRAD_SPECIALIZE=runs)
    special, general = (np.load(file) for file in files)
    for name in special.files:
        np.testing.assert_array_equal(special[name], general[name])
