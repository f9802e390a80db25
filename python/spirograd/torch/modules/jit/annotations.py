"""torch.jit.annotations: types of arguments that may be one number for several, and names of typing."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]
__all__ += [f"BroadcastingList{n}" for n in range(1, 7)]

globals().update({name: list for name in __all__ if name.startswith("Broadcasting")})
