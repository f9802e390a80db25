"""Modules of other packages that reach into PyTorch's inside: these stand in their place.

`REPLACED` gives the file for each, `CHANGED` what is set in a package after its own import.
"""

from __future__ import annotations

__all__ = ["CHANGED", "REPLACED"]

REPLACED = {
    "functorch": "functorch",
    "safetensors.torch": "safetensors",
    # They only describe compiled operations to PyTorch, which are not loaded here.
    "torchvision._autograd_registrations": "torchvision",
    "torchvision._meta_registrations": "torchvision",
    "torchvision.ops._register_onnx_ops": "torchvision",
}
CHANGED = {"safetensors": ("safe_open", "safetensors")}
