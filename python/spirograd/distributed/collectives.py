"""Collectives on tensors: each process of a group calls the same ones in the same order.

A call runs what is pending on the tensors' device, and hands all its tensors over at once (cpp/engine/exchange.hpp).
"""

from __future__ import annotations

import enum
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .group import ProcessGroup, world

Tensor = _core.Tensor


class ReduceOp(enum.Enum):
    """How the values of several processes are reduced to one. MEAN and AVG are the same."""

    SUM = "sum"
    AVG = "avg"
    MEAN = "avg"
    MIN = "min"
    MAX = "max"
    PRODUCT = "product"


class Work:
    """What a collective with async_op=True returns. all_reduce() of a GPU's tensors is then finished when a value is
    read, before the next collective, or before the GPU computes anything else; all others when they return.

    Raises:
        DistributedError: by whatever finishes it, as the collective would.
    """

    def wait(self, timeout: Any = None) -> bool:
        """Finishes it, and returns True. Need not be called: values are right when they are read."""
        _core._exchange_finish()
        return True

    def is_completed(self) -> bool:
        """Finishes it, and returns True."""
        return self.wait()


def _op(op: ReduceOp | str) -> ReduceOp:
    if isinstance(op, ReduceOp):
        return op
    try:
        return ReduceOp("avg" if op.lower() == "mean" else op.lower())
    except ValueError:
        raise ValueError(f"ReduceOp: {op!r} is not an operation; use sum, mean, avg, min, max or product") from None


def _takes_part(group: ProcessGroup) -> bool:
    """Whether there is anything to exchange."""
    return group.rank >= 0 and group.size() > 1


def _exchange(
    kind: str, tensors: Sequence[Tensor], group: ProcessGroup, fold: str = "sum", root: int = 0, later: bool = False
) -> Any:
    return _core._exchange(list(tensors), kind, fold, root, group.number, later)


def _folded(
    kind: str, tensors: Sequence[Tensor], op: ReduceOp, group: ProcessGroup, root: int = 0, later: bool = False
) -> list[Tensor]:
    """Results of a collective that reduces. For a mean, values are divided before they are added."""
    for x in tensors if op is ReduceOp.AVG else ():
        if not x.is_floating_point():
            raise TypeError(f"{kind}: {x.dtype} has no mean; use a floating type, or the sum")
    return list(_exchange(kind, tensors, group, op.value, root, later))


def _by_device(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """The tensors that have elements, in an order that is the same in all processes."""
    batches: tuple[list[Tensor], list[Tensor]] = ([], [])
    for x in tensors:
        if x.numel():
            batches[not x.is_cpu].append(x)
    return [batch for batch in batches if batch]


def _write(tensor: Tensor, values: Tensor) -> None:
    _core._exchange_write([tensor], [values])


def _root(group: ProcessGroup, rank: int, name: str) -> int:
    if rank not in group.ranks:
        raise ValueError(f"{name}: process {rank} is not in the group of {list(group.ranks)}")
    return group.ranks.index(rank)


def all_reduce(
    tensor: Tensor, op: ReduceOp | str = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Replaces a tensor by its sum (mean, minimum ...) over the processes, in each of them.

    Args:
        tensor: of the same shape and type in each process; CPU or GPU, any view.
        op: a ReduceOp or its name.
        group: the processes; None: all.
        async_op: return a Work instead of None; of a GPU's tensor, it may end later, as described there.

    Example:
        >>> import spirograd as sg
        >>> x = sg.ones(3)
        >>> sg.distributed.all_reduce(x)
        >>> x
        tensor([1., 1., 1.])
    """
    where = group or world()
    return all_reduce_coalesced([tensor], op, where, async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor],
    op: ReduceOp | str = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """all_reduce() of several tensors, of any shapes and types, in one exchange."""
    where, how = group or world(), _op(op)
    if _takes_part(where):
        for batch in _by_device(tensors):
            _core._exchange_write(batch, _folded("all_reduce", batch, how, where, later=async_op))
    return Work() if async_op else None


def broadcast(tensor: Tensor, src: int = 0, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Writes the tensor of process `src` (its number in the world) to that of all others."""
    broadcast_coalesced([tensor], src, group)
    return Work() if async_op else None


def broadcast_coalesced(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> None:
    """broadcast() of several tensors in one exchange."""
    where = group or world()
    root = _root(where, src, "broadcast")
    if _takes_part(where):
        for batch in _by_device(tensors):
            values = _exchange("broadcast", batch, where, root=root)
            if where.rank != root:
                _core._exchange_write(batch, values)


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
    if _takes_part(where) and tensor.numel():
        values = _folded("reduce", [tensor.detach()], _op(op), where, root)[0]
        if where.rank == root:
            _write(tensor, values)
    return Work() if async_op else None


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Writes the tensor of each process to `tensor_list`, in the order of the processes."""
    where = group or world()
    if where.rank >= 0:
        _expect(tensor_list, where, "all_gather: tensor_list")
        for out, part in zip(tensor_list, _gathered(tensor, where), strict=True):
            _write(out, part)
    return Work() if async_op else None


def _gathered(tensor: Tensor, group: ProcessGroup) -> Tensor:
    """[processes, elements]"""
    if group.size() == 1 or not tensor.numel():
        return tensor.detach().reshape(1, tensor.numel()).expand(group.size(), tensor.numel())
    gathered: Tensor = _exchange("all_gather", [tensor.detach()], group)[0]
    return gathered.reshape(group.size(), tensor.numel())


def _expect(tensors: Sequence[Tensor], group: ProcessGroup, what: str) -> None:
    if len(tensors) != group.size():
        raise ValueError(f"{what} has {len(tensors)} tensors, and the group {group.size()} processes")


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """all_gather() into one tensor, which holds the inputs one after the other (or stacked) along dimension 0."""
    where = group or world()
    if where.rank >= 0:
        if output_tensor.numel() != input_tensor.numel() * where.size():
            raise ValueError(
                f"all_gather_into_tensor: an output of {output_tensor.numel()} elements for {where.size()} inputs of "
                f"{input_tensor.numel()}"
            )
        _write(output_tensor, _gathered(input_tensor, where))
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
    if where.rank >= 0:
        _expect(input_list, where, "reduce_scatter: input_list")
        reduce_scatter_tensor(output, _core.cat([x.detach().reshape(-1) for x in input_list]), op, where)
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
    if where.rank >= 0:
        if input.numel() != output.numel() * where.size():
            raise ValueError(
                f"reduce_scatter_tensor: an input of {input.numel()} elements for {where.size()} outputs of "
                f"{output.numel()}"
            )
        if where.size() == 1:
            _write(output, input.detach())
        elif output.numel():
            _write(output, _folded("reduce_scatter", [input.detach()], _op(op), where)[0])
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
    if where.rank == root:
        _expect(gather_list or (), where, "gather: gather_list")
    if not tensor.numel() or where.rank < 0:
        return Work() if async_op else None
    parts = _exchange("gather", [tensor.detach()], where, root=root)[0] if where.size() > 1 else tensor.detach()
    if where.rank == root:
        for out, part in zip(gather_list or (), parts.reshape(where.size(), tensor.numel()), strict=True):
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
    source = tensor.detach()
    if where.rank == root:
        _expect(scatter_list or (), where, "scatter: scatter_list")
        source = _core.cat([x.detach().reshape(-1) for x in scatter_list or ()])
    if tensor.numel() and where.rank >= 0:
        _write(tensor, _exchange("scatter", [source], where, root=root)[0] if where.size() > 1 else source)
    return Work() if async_op else None


def send(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> None:
    """Sends a tensor to process `dst`, which calls recv(). Messages arrive in order; `tag` says nothing more."""
    where = group or world()
    other = _other(where, dst, "send")
    if tensor.numel():
        _exchange("send", [tensor.detach()], where, root=other)


def recv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> int:
    """Receives what process `src` sends with send(). Returns `src`."""
    where = group or world()
    other = _other(where, src, "recv")
    if tensor.numel():
        _write(tensor, _exchange("recv", [tensor.detach()], where, root=other)[0])
    return src


def _other(group: ProcessGroup, rank: int, name: str) -> int:
    member = _root(group, rank, name)
    if member == group.rank:
        raise ValueError(f"{name}: process {rank} is this process; name another one")
    return member


def barrier(group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Returns when all processes have called it, and have computed what they were asked for before."""
    where = group or world()
    _core.synchronize()
    if _takes_part(where):
        _exchange("all_reduce", [_core.zeros(1, device="cpu")], where)
    return Work() if async_op else None


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Puts a picklable object of each process into `object_list`."""
    where = group or world()
    if not _takes_part(where):
        object_list[:] = [obj]
        return
    mine = np.frombuffer(pickle.dumps(obj), np.uint8)
    sizes = _gathered(_core.tensor([len(mine)], device="cpu"), where).reshape(-1).tolist()
    padded = np.zeros(max(sizes), np.uint8)
    padded[: len(mine)] = mine
    rows = _gathered(_core.tensor(padded, device="cpu"), where).numpy()
    object_list[:] = [pickle.loads(row[:size].tobytes()) for row, size in zip(rows, sizes, strict=True)]


def broadcast_object_list(object_list: list[Any], src: int = 0, group: ProcessGroup | None = None) -> None:
    """Replaces the picklable objects of a list by those of process `src`."""
    where = group or world()
    root = _root(where, src, "broadcast_object_list")
    if _takes_part(where):
        everyone: list[Any] = []
        all_gather_object(everyone, list(object_list) if where.rank == root else None, where)
        object_list[:] = everyone[root]
