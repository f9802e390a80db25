"""torch.utils.data.dataloader: classes of iterators, which are generators here."""

__all__ = ["_BaseDataLoaderIter", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"]


class _BaseDataLoaderIter:
    """An iterator of a loader: none is one."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """An iterator without workers: none is one."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """An iterator with workers: none is one."""
