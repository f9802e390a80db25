"""torch.profiler: the names that spirograd.profiler lacks."""

__all__ = ["kineto_available"]


def kineto_available() -> bool:
    """False: the profiler is spirograd's own."""
    return False
