"""torch.nn.modules.module: names of the file that Module is in."""

from .....nn.module import LoadResult as _IncompatibleKeys

__all__ = ["_EXTRA_STATE_KEY_SUFFIX", "_IncompatibleKeys", "_addindent"]

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


def _addindent(s_: str, numSpaces: int) -> str:
    return s_.replace("\n", "\n" + " " * numSpaces)
