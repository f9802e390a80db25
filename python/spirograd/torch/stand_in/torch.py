"""`import torch` in a process that was started by one in which spirograd stands in for PyTorch: see start.py."""

import sys

from spirograd.torch import install

del sys.modules["torch"]
install()
import torch  # noqa: E402, F401
