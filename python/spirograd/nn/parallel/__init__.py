"""Modules that several processes train together."""

from .distributed import DistributedDataParallel as DistributedDataParallel
from .one_device import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate"]
__all__ += ["scatter"]
