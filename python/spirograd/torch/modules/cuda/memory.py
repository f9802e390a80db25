"""torch.cuda.memory: memory of GPUs."""

from . import (
    empty_cache,
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
)

__all__ = ["empty_cache", "max_memory_allocated", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats"]
__all__ += ["memory_summary", "reset_peak_memory_stats"]
