"""torch.nn.modules.module: names of the file that Module is in."""

from .....nn.module import LoadResult as _IncompatibleKeys

__all__ = ["_EXTRA_STATE_KEY_SUFFIX", "_IncompatibleKeys"]

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
