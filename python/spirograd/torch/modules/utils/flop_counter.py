"""torch.utils.flop_counter: additions and multiplications of kernels that run in a context."""

from __future__ import annotations

from typing import Any

from ...._core import synchronize
from ....profiler import profile
from ...modes import TorchFunctionMode

__all__ = ["FlopCounterMode"]


class FlopCounterMode(TorchFunctionMode):
    """Counts those of products and convolutions in a context; results are kept until it ends, so all of them run.

    Args:
        mods, depth, display, custom_mapping: accepted: there is one sum, and nothing is printed.
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self._profile = profile()
        self._results: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function's own result."""
        self._results.append(func(*args, **(kwargs or {})))
        return self._results[-1]

    def __enter__(self) -> FlopCounterMode:
        synchronize()
        self._profile.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        synchronize()
        self._results.clear()
        self._profile.__exit__(*args)

    def get_total_flops(self) -> int:
        """How many there were."""
        return int(sum(e.flops for e in self._profile.events()))

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The same by kernel."""
        counts: dict[str, int] = {}
        for e in self._profile.events():
            if e.flops:
                counts[e.name] = counts.get(e.name, 0) + int(e.flops)
        return {"Global": counts}
