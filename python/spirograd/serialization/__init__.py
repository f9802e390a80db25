"""Tensors in files. Loading never runs code: what a file holds is numbers, text, and how they are nested.

`save` writes an archive that NumPy reads too: a .npz with a member `tree.json`, which says how things are nested, and a
member `NUMBER.npy` for each array. `load` also reads plain .npz and .npy, safetensors, and, where PyTorch is installed,
its .pt files.
"""

from .files import load, save, savez
from .safe_open import safe_open
from .safetensors import load_safetensors, save_safetensors
from .weights import load_weights, save_weights

__all__ = ["load", "load_safetensors", "load_weights", "safe_open", "save", "save_safetensors", "save_weights"]
__all__ += ["savez"]
