"""Packages with a part that is compiled for PyTorch, installed beside a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from test_run import run, script  # noqa: F401


def package(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# As torchaudio and torchvision do it.
AUDIO = {
    "torchaudio/__init__.py": "from . import _extension\n",
    "torchaudio/lib/libtorchaudio.so": "no library",
    "torchaudio/lib/_torchaudio.so": "no library",
    "torchaudio/_extension/__init__.py": """
import importlib.util
from .utils import _load_lib
old = importlib.util.find_spec("torchaudio.lib._torchaudio") is not None
available = _load_lib("_torchaudio")
_load_lib("libtorchaudio")
""",
    "torchaudio/_extension/utils.py": """
from pathlib import Path
import torch

def _load_lib(lib):
    for path in (Path(__file__).parents[1] / "lib").glob(f"{lib}*.so"):
        torch.ops.load_library(path)
        return True
    return False
""",
}
VISION = {
    "torchvision/__init__.py": "from . import extension, ops\n",
    "torchvision/extension.py": """
import torch

def _load(name):
    try:
        torch.ops.load_library(name)
    except OSError:
        return False

def _has_ops():
    return False

if _load("_C.so"):
    def _has_ops():
        return True

def _assert_has_ops():
    if not _has_ops():
        raise RuntimeError("no operations")
""",
    "torchvision/ops.py": """
import torch
from .extension import _assert_has_ops

def nms(boxes, scores, threshold):
    _assert_has_ops()
    return torch.ops.torchvision.nms(boxes, scores, threshold)
""",
}


def test_the_extension_of_torchaudio_is_skipped_with_a_line(script, tmp_path: Path) -> None:  # noqa: F811
    package(tmp_path, AUDIO)
    result = run(script("import torchaudio._extension as e\nprint(e.old, e.available)\n"))
    assert result.stdout == "False False\n"
    lines = result.stderr.splitlines()
    assert len(lines) == 2 and lines[1].startswith("spirograd: the extension of torchaudio, compiled for PyTorch")


def test_detectors_find_the_operations_of_torchvision(script, tmp_path: Path) -> None:  # noqa: F811
    package(tmp_path, VISION)
    path = script("""
import torch
from torchvision.ops import nms
boxes = torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]])
print(nms(boxes, torch.tensor([.8, .9, .5]), .5).tolist())
ops = torch.ops.torchvision
x, boxes = torch.rand(1, 2, 8, 8, requires_grad=True), torch.cat([torch.zeros(3, 1), boxes], 1)
out, best = ops.roi_pool(x, boxes, 1.0, 2, 3)
print(ops.roi_align(x, boxes, 1.0, 2, 3, 2, True).shape, out.shape, best.dtype, out.requires_grad)
offset, mask = torch.zeros(1, 2, 8, 8), torch.zeros(0)
print(ops.deform_conv2d(x, torch.ones(2, 2, 1, 1), offset, mask, torch.zeros(2), 1, 1, 0, 0, 1, 1, 1, 1, False).shape)
aligned, pooled = ops.ps_roi_align(x, boxes, 1.0, 1, 2, 2), ops.ps_roi_pool(x, boxes, 1.0, 1, 2)
print(aligned[0].shape, pooled[0].shape, aligned[1][0, 0].tolist(), pooled[1].dtype)
try:
    ops.qnms
except AttributeError as error:
    print(str(error).split(";")[0])
""")
    result = run(path)
    assert result.stdout.splitlines() == [
        "[1, 2]",
        "torch.Size([3, 2, 2, 3]) torch.Size([3, 2, 2, 3]) torch.int64 True",
        "torch.Size([1, 2, 8, 8])",
        "torch.Size([3, 1, 1, 2]) torch.Size([3, 1, 1, 2]) [[0, 1]] torch.int32",
        "torch.ops.torchvision.qnms is not in spirograd",
    ]
    assert [line.split(",")[0] for line in result.stderr.splitlines()[1:]] == [
        "spirograd: the extension of torchvision"
    ]


# As torch_scatter and torch_cluster load their operations.
GRAPHS = """
import os, importlib.machinery, torch
spec = importlib.machinery.PathFinder().find_spec("_version_cpu", [os.path.dirname(__file__)])
torch.ops.load_library(spec.origin)
assert torch.ops.NAME.cuda_version() == -1
"""


def test_graphs_find_the_operations_of_their_packages(script, tmp_path: Path) -> None:  # noqa: F811
    for name in ("torch_scatter", "torch_cluster"):
        files = {"__init__.py": GRAPHS.replace("NAME", name), "_version_cpu.so": "no library"}
        package(tmp_path / name, files)
    path = script("""
import torch, torch_scatter, torch_cluster
s, c = torch.ops.torch_scatter, torch.ops.torch_cluster
x, index = torch.tensor([[1., 5], [4, 2], [3, 3]], requires_grad=True), torch.tensor([[0, 0], [0, 0], [2, 2]])
out = torch.full((3, 2), 2.)
values, places = s.scatter_max(x, index, 0, out)
print(values.tolist(), places.tolist(), values is out)
print(s.scatter_mul(x, index, 0, None, 4).tolist(), s.scatter_min(x, index, -2, None, None)[1].tolist())
bounds, numbers = torch.tensor([0, 2, 2, 3]), torch.tensor([0, 0, 2])
print(s.segment_mean_csr(x, bounds, None).tolist() == s.segment_mean_coo(x, numbers, None, 3).tolist())
print(s.segment_min_csr(x, bounds, None)[1].tolist(), s.segment_max_coo(x, numbers, None, None)[1].tolist())
print(s.gather_csr(x, bounds, None).shape, s.gather_coo(x, numbers, torch.zeros(3, 2)).tolist())
x = x.detach()
print(c.fps(x, torch.tensor([0, 3]), torch.tensor(.6), False).tolist(), c.knn(x, x, None, None, 1, False, 1).tolist())
print(c.radius(x, x, torch.tensor([0, 1, 3]), torch.tensor([0, 1, 3]), 9., 8, 1).tolist())
print(c.grid(x, torch.tensor([2., 2.]), None, None).tolist(), c.nearest(x, x, bounds[::3], bounds[::3]).tolist())
print(c.graclus(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2)).tolist())
print(*(t.tolist() for t in c.random_walk(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([0]), 3, 1., 1.)))
print(hasattr(c, "neighbor_sampler"))
""")
    result = run(path)
    assert result.stdout.splitlines() == [
        "[[4.0, 5.0], [2.0, 2.0], [3.0, 3.0]] [[1, 0], [3, 3], [2, 2]] True",
        "[[4.0, 10.0], [1.0, 1.0], [3.0, 3.0], [1.0, 1.0]] [[0, 1], [3, 3], [2, 2]]",
        "True",
        "[[0, 1], [3, 3], [2, 2]] [[1, 0], [3, 3], [2, 2]]",
        "torch.Size([3, 2]) [[1.0, 5.0], [1.0, 5.0], [3.0, 3.0]]",
        "[0, 1] [[0, 1, 2], [0, 1, 2]]",
        "[[0, 1, 1, 2, 2], [0, 1, 2, 1, 2]]",
        "[2, 1, 1] [0, 1, 2]",
        "[0, 0]",
        "[[0, 1, 0, 1]] [[0, 1, 0]]",
        "False",
    ]
    lines = result.stderr.splitlines()[1:]
    assert len(lines) == 2 and all("is skipped; sg.graphs has its operations" in line for line in lines)


KERNELS = ["apex", "flash_attn", "torch_sparse", "triton", "xformers"]


def test_packages_of_kernels_are_not_there(script, tmp_path: Path) -> None:  # noqa: F811
    for name in KERNELS:
        package(tmp_path / "site", {f"{name}/__init__.py": "raise OSError('compiled')\n", f"{name}/ops.py": ""})
    package(tmp_path, {"apex/__init__.py": "mine = 3\n"})  # a program's own
    site = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *(p for p in sys.path if p)])}
    path = script(f"""
import importlib.util, torch, apex
print(apex.mine)
for name in {KERNELS[1:]}:
    assert importlib.util.find_spec(name) is None
    for module in (name, f"{{name}}.ops"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            print("without")
""")
    assert run(path, **site).stdout == "3\n" + "without\n" * 8
    check = run("--check", script(f"import torch, {', '.join(KERNELS)}\n", "other.py"), status=1, **site).stdout
    assert [name for name in KERNELS if f": {name} (compiled for PyTorch" in check] == KERNELS[1:]
