"""torch.onnx: export() with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...nn import Module

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False: export() follows what a program computes otherwise, too."""
    return False


def export(
    model: Module,
    args: Any,
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """spirograd.onnx.export(), to a path or a file opened for writing bytes.

    Args:
        model: a module.
        args: an example of its inputs.
        f: where the model goes.
        kwargs: more inputs, by name.
        input_names: in the model.
        output_names: in the model.
        dynamic_axes: sizes that stay open, by name: names by dimension, or a list of dimensions. Those of outputs
            follow from those of inputs.
        options: `opset_version`, `export_params`, `do_constant_folding` and others, which choose nothing.

    Raises:
        ImportError: the package onnx is not installed; `pip install spirograd[onnx]`.
    """
    from ... import onnx

    axes = {}
    for name, dims in (dynamic_axes or {}).items():
        if name not in (output_names or ()):
            axes[name] = dims if isinstance(dims, Mapping) else {d: f"{name}_{d}" for d in dims}
    names: dict[str, Any] = {
        "input_names": input_names,
        "output_names": output_names,
        "dynamic_axes": axes or None,
        "kwargs": kwargs,
    }
    if not hasattr(f, "write"):
        return onnx.export(model, args, f, **names)
    made = onnx.export(model, args, None, **names)
    f.write(made.SerializeToString())
    return made
