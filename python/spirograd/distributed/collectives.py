"""Collectives on tensors: each process of a group calls the same ones in the same order."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .group import ProcessGroup, world

Tensor = _core.Tensor


class ReduceOp(enum.Enum):
    """How values of several processes become one. MEAN and AVG are the same."""

    SUM = "sum"
    AVG = "avg"
    MEAN = "avg"
    MIN = "min"
    MAX = "max"
    PRODUCT = "product"


class Work:
    """What a collective with async_op=True returns."""

    def wait(self, timeout: Any = None) -> bool:
        """Returns True; values are there when they are read."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True


_FOLDS: dict[ReduceOp, Callable[[Any, Any], Any]] = {
    ReduceOp.SUM: np.add,
    ReduceOp.AVG: np.add,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.PRODUCT: np.multiply,
}


def _op(op: ReduceOp | str) -> ReduceOp:
    if isinstance(op, ReduceOp):
        return op
    try:
        return ReduceOp("avg" if op.lower() == "mean" else op.lower())
    except ValueError:
        raise ValueError(f"ReduceOp: no operation {op!r}; sum, mean, avg, min, max or product") from None


def _array(tensor: Tensor) -> Any:
    x = tensor.detach()
    if x.dtype in (_core.float16, _core.bfloat16):
        x = x.float()
    return np.array(x.cpu().numpy())


def _write(tensor: Tensor, values: Any) -> None:
    source = _core.from_numpy(np.array(values).reshape(tuple(tensor.shape)))
    tensor.detach().copy_(source.to(tensor.device))


def _fold(arrays: Sequence[Any], op: ReduceOp, dtype: Any) -> Any:
    """In a balanced tree over the ranks: neighbours first."""
    rows = list(arrays)
    while len(rows) > 1:
        pairs = [_FOLDS[op](rows[i], rows[i + 1]) for i in range(0, len(rows) - 1, 2)]
        rows = pairs + rows[len(rows) - len(rows) % 2 :]
    if op is ReduceOp.AVG:
        if not np.issubdtype(rows[0].dtype, np.floating):
            raise TypeError(f"all_reduce: the mean of {dtype}; use a floating type, or the sum")
        return (rows[0] / len(arrays)).astype(rows[0].dtype)
    return rows[0]


def _is_member(group: ProcessGroup) -> bool:
    return group.rank >= 0


def all_reduce(
    tensor: Tensor, op: ReduceOp | str = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Replaces a tensor by its sum (mean, minimum ...) over the processes, everywhere.

    Args:
        tensor: of the same shape and type in each process; CPU or GPU, any view.
        op: a ReduceOp or its name.
        group: the processes; None: all.
        async_op: return a Work instead of None.

    Example:
        >>> import spirograd as sg
        >>> x = sg.ones(3)
        >>> sg.distributed.all_reduce(x)
        >>> x
        tensor([1., 1., 1.])
    """
    where = group or world()
    if _is_member(where) and where.size() > 1:
        _write(tensor, _fold(where.communicator.allgather(_array(tensor)), _op(op), tensor.dtype))
    return Work() if async_op else None


def all_reduce_coalesced(
    tensors: Sequence[Tensor],
    op: ReduceOp | str = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """all_reduce() of several tensors, of any shapes and types, in one hand-over."""
    for tensor in tensors:
        all_reduce(tensor, op, group)
    return Work() if async_op else None


def broadcast(tensor: Tensor, src: int = 0, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Writes the tensor of process `src` (its number in the world) to that of all others."""
    where = group or world()
    if _is_member(where) and where.size() > 1:
        _write(tensor, where.communicator.bcast(_array(tensor), _root(where, src, "broadcast")))
    return Work() if async_op else None


def broadcast_coalesced(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> None:
    """broadcast() of several tensors in one hand-over."""
    for tensor in tensors:
        broadcast(tensor, src, group)


def _root(group: ProcessGroup, rank: int, name: str) -> int:
    if rank not in group.ranks:
        raise ValueError(f"{name}: process {rank} is not in the group of {list(group.ranks)}")
    return group.ranks.index(rank)


def reduce(
    tensor: Tensor,
    dst: int = 0,
    op: ReduceOp | str = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """all_reduce() whose result only process `dst` keeps; the tensors of the others stay as they were."""
    where = group or world()
    root = _root(where, dst, "reduce")
    if _is_member(where) and where.size() > 1:
        parts = where.communicator.gather(_array(tensor), root)
        if where.rank == root:
            _write(tensor, _fold(parts, _op(op), tensor.dtype))
    return Work() if async_op else None


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Writes the tensor of each process to `tensor_list`, in the order of the processes."""
    where = group or world()
    if _is_member(where):
        _expect(tensor_list, where, "all_gather: tensor_list")
        parts = where.communicator.allgather(_array(tensor)) if where.size() > 1 else [_array(tensor)]
        for out, part in zip(tensor_list, parts, strict=True):
            _write(out, part)
    return Work() if async_op else None


def _expect(tensors: Sequence[Tensor], group: ProcessGroup, what: str) -> None:
    if len(tensors) != group.size():
        raise ValueError(f"{what} has {len(tensors)} tensors, and the group {group.size()} processes")


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """all_gather() into one tensor, which holds the inputs one after the other (or stacked) along dimension 0."""
    where = group or world()
    if _is_member(where):
        if output_tensor.numel() != input_tensor.numel() * where.size():
            raise ValueError(
                f"all_gather_into_tensor: an output of {output_tensor.numel()} elements for {where.size()} inputs of "
                f"{input_tensor.numel()}"
            )
        parts = where.communicator.allgather(_array(input_tensor)) if where.size() > 1 else [_array(input_tensor)]
        _write(output_tensor, np.stack(parts))
    return Work() if async_op else None


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp | str = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sums the lists of all processes, and keeps the sum of the entry with this process's number."""
    where = group or world()
    if _is_member(where):
        _expect(input_list, where, "reduce_scatter: input_list")
        mine = [_array(x) for x in input_list]
        parts = where.communicator.alltoall(mine) if where.size() > 1 else mine
        _write(output, _fold(parts, _op(op), output.dtype))
    return Work() if async_op else None


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp | str = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """reduce_scatter() of one tensor, which is cut into equal parts, one for each process."""
    where = group or world()
    if _is_member(where):
        if input.numel() != output.numel() * where.size():
            raise ValueError(
                f"reduce_scatter_tensor: an input of {input.numel()} elements for {where.size()} outputs of "
                f"{output.numel()}"
            )
        mine = list(_array(input).reshape(where.size(), -1))
        parts = where.communicator.alltoall(mine) if where.size() > 1 else mine
        _write(output, _fold(parts, _op(op), output.dtype))
    return Work() if async_op else None


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int = 0,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Writes the tensor of each process to `gather_list` of process `dst`."""
    where = group or world()
    root = _root(where, dst, "gather")
    if _is_member(where):
        parts = where.communicator.gather(_array(tensor), root) if where.size() > 1 else [_array(tensor)]
        if where.rank == root:
            _expect(gather_list or (), where, "gather: gather_list")
            for out, part in zip(gather_list or (), parts, strict=True):
                _write(out, part)
    return Work() if async_op else None


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Writes entry i of `scatter_list` of process `src` to the tensor of process i."""
    where = group or world()
    root = _root(where, src, "scatter")
    if _is_member(where):
        mine = None
        if where.rank == root:
            _expect(scatter_list or (), where, "scatter: scatter_list")
            mine = [_array(x) for x in scatter_list or ()]
        _write(tensor, where.communicator.scatter(mine, root) if where.size() > 1 else (mine or [])[0])
    return Work() if async_op else None


def send(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> None:
    """Sends a tensor to process `dst`, which calls recv()."""
    where = group or world()
    where.communicator.send(_array(tensor), _root(where, dst, "send"), tag)


def recv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> int:
    """Receives what process `src` sends with send(). Returns `src`."""
    where = group or world()
    _write(tensor, where.communicator.recv(source=_root(where, src, "recv"), tag=tag))
    return src


def barrier(group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Returns when all processes have called it, and have computed what they were asked for before."""
    where = group or world()
    _core.synchronize()
    if _is_member(where) and where.size() > 1:
        where.communicator.barrier()
    return Work() if async_op else None


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Puts a picklable object of each process into `object_list`."""
    where = group or world()
    if _is_member(where):
        object_list[:] = where.communicator.allgather(obj) if where.size() > 1 else [obj]


def broadcast_object_list(object_list: list[Any], src: int = 0, group: ProcessGroup | None = None) -> None:
    """Replaces the picklable objects of a list by those of process `src`."""
    where = group or world()
    if _is_member(where) and where.size() > 1:
        object_list[:] = where.communicator.bcast(object_list, _root(where, src, "broadcast_object_list"))
