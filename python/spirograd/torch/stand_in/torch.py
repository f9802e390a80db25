"""`import torch` in a process that was started by one in which spirograd stands in for PyTorch: see start.py."""

import sys

from spirograd.torch import install
from spirograd.torch.clocks import finish_before_clocks

del sys.modules["torch"]
install()
finish_before_clocks()
import torch  # noqa: E402, F401
