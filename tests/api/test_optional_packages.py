"""Names that need a package are there without it, and say so when they are used."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

HIDE = """
import importlib.abc, sys

HIDDEN = {
    "IPython", "PIL", "einops", "google", "graphviz", "matplotlib", "ml_dtypes", "mpi4py", "onnx", "packaging",
    "pandas", "psutil", "pyarrow", "safetensors", "scipy", "sentencepiece", "tensorboard", "tokenizers", "tqdm",
}

class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())

def said(f):
    try:
        f()
    except ImportError as error:
        return str(error)
    raise AssertionError("no error")
"""


def run(program: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", HIDE + textwrap.dedent(program)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_public_name_is_there() -> None:
    run("""
    import importlib
    import spirograd
    exec("from spirograd import *", {})
    for name in spirograd._lazy:
        module = importlib.import_module(f"spirograd.{name}")
        exec(f"from spirograd.{name} import *", {})
        assert all(hasattr(module, each) for each in getattr(module, "__all__", [])), name
    assert all(hasattr(spirograd, name) for name in dir(spirograd))
    assert not HIDDEN & {name.partition(".")[0] for name in sys.modules}
    """)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            "sg.onnx.export(sg.nn.ReLU(), sg.ones(1))",
            "onnx: the package onnx is not installed; pip install spirograd[onnx]",
        ),
        ("sg.onnx.load('x.onnx')", "onnx: the package onnx is not installed; pip install spirograd[onnx]"),
        ("sg.viz.plot_history(history)", "viz: the package matplotlib is not installed; pip install spirograd[viz]"),
        (
            "sg.viz.plot_decision_boundary(sg.nn.Linear(2, 2), [[0.0, 1.0], [1.0, 0.0]], [0, 1])",
            "viz: the package matplotlib is not installed; pip install spirograd[viz]",
        ),
    ],
)
def test_the_use_says_what_to_install(use: str, message: str) -> None:
    run(f"""
    import spirograd as sg
    net = sg.nn.Linear(1, 1)
    if "history" in {use!r}:
        history = sg.fit(net, sg.ones(4, 1), sg.ones(4, 1), loss="mse", epochs=1, verbose=False)
    assert said(lambda: {use}) == {message!r}
    """)


def test_a_package_that_is_broken_is_named_when_it_is_used() -> None:
    run("""
    class Broken(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            if name == "onnx":
                raise ImportError("no libprotobuf")

    sys.meta_path.insert(0, Broken())
    import inspect
    import spirograd as sg
    assert hasattr(sg, "onnx") and dict(inspect.getmembers(sg))["onnx"] is sg.onnx
    assert "the package onnx cannot be imported (no libprotobuf); install it again" in said(lambda: sg.onnx.load("x"))
    """)


def test_modules_of_pytorch_import_without_them() -> None:
    run("""
    import spirograd.torch
    spirograd.torch.install()
    import torch, torch.onnx, torch.utils.tensorboard, torch.utils.model_zoo, torch.quasirandom
    assert not torch.onnx.is_in_onnx_export()
    assert "spirograd[onnx]" in said(lambda: torch.onnx.export(torch.nn.ReLU(), torch.ones(1), "x.onnx"))
    """)
