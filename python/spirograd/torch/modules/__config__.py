"""torch.__config__: how this was built."""

from ...base.config import show_config as show

__all__ = ["parallel_info", "show"]


def parallel_info() -> str:
    """The part of show() about threads."""
    return "\n".join(line for line in show().splitlines() if "thread" in line.lower())
