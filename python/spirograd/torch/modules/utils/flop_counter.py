"""torch.utils.flop_counter: additions and multiplications of kernels that run in a context."""

from __future__ import annotations

from typing import Any

from ....profiler import profile

__all__ = ["FlopCounterMode"]


class FlopCounterMode:
    """Counts those of products and convolutions that run until the context ends; what is not read does not run.

    Args:
        mods, depth, display, custom_mapping: accepted: there is one sum, and nothing is printed.
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self._profile = profile()

    def __enter__(self) -> FlopCounterMode:
        self._profile.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
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
