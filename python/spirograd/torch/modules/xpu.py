"""torch.xpu: Intel's GPUs by PyTorch's own way, which is not here: `cuda` is whatever GPU there is."""

from .mps import device_count, empty_cache, is_available, manual_seed, synchronize

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]
