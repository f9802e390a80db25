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

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .exporting import export
    from .importing import OnnxModule, load
else:
    try:
        import onnx as _onnx  # noqa: F401
    except ImportError as error:
        _missing = "is not installed; pip install spirograd[onnx]"
        if not isinstance(error, ModuleNotFoundError) or error.name != "onnx":
            _missing = f"cannot be imported ({error}); install it again"

        class OnnxModule:
            """What load() gives, where the package onnx can be imported."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                raise ImportError(f"onnx: the package onnx {_missing}", name="onnx")

        def export(*args: Any, **kwargs: Any) -> Any:
            """Raises ImportError: the package onnx cannot be imported."""
            return OnnxModule()

        def load(*args: Any, **kwargs: Any) -> Any:
            """Raises ImportError: the package onnx cannot be imported."""
            return OnnxModule()
    else:
        from .exporting import export
        from .importing import OnnxModule, load


__all__ = ["OnnxModule", "export", "load"]
