"""Data for training: data sets, samplers, and the loader that makes batches of them.

Example:
    >>> from spirograd.utils.data import DataLoader, TensorDataset
    >>> pairs = TensorDataset(sg.arange(5.0), sg.arange(5) % 2)
    >>> for x, y in DataLoader(pairs, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0.0, 1.0] [0, 1]
    [2.0, 3.0] [0, 1]
    [4.0] [0]
"""

from ._collate import default_collate, default_convert
from ._worker import WorkerInfo, get_worker_info
from .dataloader import DataLoader
from .dataset import (
    ArrayDataset,
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = ["ArrayDataset", "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset"]
__all__ += ["DistributedSampler", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset"]
__all__ += ["Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo", "default_collate"]
__all__ += ["default_convert", "get_worker_info", "random_split"]
