"""ONNX: modules as files that other programs run, and back. Needs the package onnx (`pip install spirograd[onnx]`).

Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "net.onnx"
    >>> net = sg.nn.Sequential(sg.nn.Conv2d(1, 4, 3), sg.nn.ReLU(), sg.nn.Flatten(), sg.nn.Linear(144, 10))
    >>> x = sg.rand(2, 1, 8, 8)
    >>> _ = sg.onnx.export(net, x, path)
    >>> sg.allclose(sg.onnx.load(path)(x), net(x), atol=1e-5)
    True
"""

try:
    import onnx as _onnx  # noqa: F401
except ImportError:
    raise ImportError("onnx: the package onnx is not installed; pip install spirograd[onnx]", name="onnx") from None

from .exporting import export
from .importing import OnnxModule, load

__all__ = ["OnnxModule", "export", "load"]
