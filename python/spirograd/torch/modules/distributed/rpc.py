"""torch.distributed.rpc: calls of functions of other processes, which there are not."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False
