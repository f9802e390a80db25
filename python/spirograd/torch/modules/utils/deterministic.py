"""torch.utils.deterministic: results are always the same, and memory that was not written is undefined."""

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True
