"""torch.utils.data.dataloader: iterators of other loaders. Those of DataLoader are generators."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

__all__ = ["_BaseDataLoaderIter", "_DatasetKind", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"]


class _DatasetKind:
    """How a dataset is read: by index, or in its own order."""

    Map: ClassVar[int] = 0
    Iterable: ClassVar[int] = 1


class _BaseDataLoaderIter:
    """The batches of an object that has a loader's attributes: dataset, _dataset_kind, _index_sampler, collate_fn."""

    def __init__(self, loader: Any) -> None:
        self._dataset, self._collate_fn, self._drop_last = loader.dataset, loader.collate_fn, loader.drop_last
        self._auto_collation, self._kind = loader._auto_collation, loader._dataset_kind
        self._sampler_iter = iter(loader._index_sampler)
        self._items = iter(loader.dataset) if self._kind == _DatasetKind.Iterable else None

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        index = next(self._sampler_iter)
        if self._items is None:
            return self._collate_fn([self._dataset[i] for i in index] if self._auto_collation else self._dataset[index])
        if not self._auto_collation:
            return self._collate_fn(next(self._items))
        batch = [item for _, item in zip(index, self._items, strict=False)]
        if not batch or (self._drop_last and len(batch) < len(index)):
            raise StopIteration
        return self._collate_fn(batch)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes the batches when they are asked for."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Makes the batches when they are asked for, in this process: only those of DataLoader are made in workers."""

    def __init__(self, loader: Any) -> None:
        warnings.warn(
            f"_MultiProcessingDataLoaderIter: the {loader.num_workers} workers are not started, batches are made in "
            "this process; pass num_workers=0, or use a DataLoader",
            stacklevel=2,
        )
        super().__init__(loader)
