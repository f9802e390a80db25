"""Several processes that train together, under PyTorch's names (torch.distributed).

Without a launcher there is one process, and the collectives do nothing.

Example:
    >>> import spirograd as sg
    >>> x = sg.ones(2)
    >>> sg.distributed.all_reduce(x)
    >>> x, sg.distributed.get_world_size()
    (tensor([1., 1.]), 1)
"""

from . import nn
from .collectives import (
    ReduceOp,
    Work,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_reduce_coalesced,
    barrier,
    broadcast,
    broadcast_coalesced,
    broadcast_object_list,
    gather,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    send,
)
from .group import (
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    new_group,
)

__all__ = ["ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object"]
__all__ += ["all_reduce", "all_reduce_coalesced", "barrier", "broadcast", "broadcast_coalesced"]
__all__ += ["broadcast_object_list", "destroy_process_group", "gather", "get_backend", "get_local_rank"]
__all__ += ["get_process_group_ranks", "get_rank", "get_world_size", "init_process_group", "is_available"]
__all__ += ["is_initialized", "is_mpi_available", "is_nccl_available", "new_group", "nn", "recv", "reduce"]
__all__ += ["reduce_scatter", "reduce_scatter_tensor", "scatter", "send"]
