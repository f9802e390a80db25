"""Modules of other packages that reach into PyTorch's inside: these stand in their place.

`REPLACED` gives the file for each, `CHANGED` what is set in a package after its own import. `COMPILED` are those that
need PyTorch's own libraries: to a program they are not installed, so that it goes another way if it has one.
"""

from __future__ import annotations

import sys

__all__ = ["CHANGED", "COMPILED", "REPLACED", "skipped"]

REPLACED = {
    "functorch": "functorch",
    "safetensors.torch": "safetensors",
    # They only describe compiled operations to PyTorch, which are not loaded here.
    "torchvision._autograd_registrations": "torchvision",
    "torchvision._meta_registrations": "torchvision",
    "torchvision.ops._register_onnx_ops": "torchvision",
}
CHANGED = {
    "safetensors": ("safe_open", "safetensors"),
    "torchaudio._extension.utils": ("_load_lib", "torchaudio"),
    "torchvision.extension": ("_has_ops", "torchvision"),
}
COMPILED = ["apex", "flash_attn", "flash_attn_interface", "pyg_lib", "torch_sparse", "torch_spline_conv"]
COMPILED += ["torchaudio.lib._torchaudio", "triton", "xformers"]
_said: set[str] = set()


def skipped(package: str, instead: str) -> None:
    """Says once, in a line, that a package's extension is not loaded."""
    if package not in _said:
        _said.add(package)
        print(f"spirograd: the extension of {package}, compiled for PyTorch, is skipped; {instead}", file=sys.stderr)
