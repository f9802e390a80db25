"""Signals in time and frequency: short-time Fourier transforms, and windows, under the names of torch and
torch.signal.
"""

from ..base.overridable import open_functions
from . import windows as windows
from .short_time import istft as istft
from .short_time import stft as stft

open_functions(__name__)
