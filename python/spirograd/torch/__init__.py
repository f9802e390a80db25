"""PyTorch's names over spirograd, so that programs written for PyTorch run without an edit.

`python -m spirograd run script.py` runs such a program. In a notebook, install() does the same:

Example:
    >>> import spirograd.torch
    >>> spirograd.torch.install()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    >>> torch.nn.Linear(2, 1)  # doctest: +SKIP
    Linear(in_features=2, out_features=1, bias=True)

`modules` has a file for each module of PyTorch that spirograd lacks or has in another form; all other names are
spirograd's own. docs/porting.md lists what differs.
"""

from __future__ import annotations

import sys

from .. import _core
from . import changes, finder, moved

__all__ = ["install"]

sys.meta_path.append(moved.OldPlaces())


def install() -> None:
    """Makes `import torch` import spirograd under PyTorch's names, for the rest of the process.

    Tensors, devices and modules get the methods that they have in PyTorch; "cuda" is another word for "gpu". Prints one
    line to stderr. A second call does nothing.

    Raises:
        RuntimeError: PyTorch itself is already imported.
    """
    if finder.installed():
        return
    if "torch" in sys.modules:
        raise RuntimeError(
            f"install: PyTorch {getattr(sys.modules['torch'], '__version__', '')} is already imported; "
            "call install() before the first import of torch, in a new process"
        )
    finder.install()
    changes.apply()
    print(f"spirograd {_core.__version__} stands in for PyTorch: {_place()}; see docs/porting.md", file=sys.stderr)


def _place() -> str:
    gpus = _core.Device.list()[1:]
    return f"cuda is {gpus[0].name} through Vulkan" if gpus else f"no cuda ({_core._gpu_reason()[0]})"
