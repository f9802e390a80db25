"""Collectives that return new tensors and that gradients flow through.

A collective that sums or moves values is a linear map from the tensors of all processes to those of all processes. Its
gradient is the transposed map, which is another collective: that of a sum for all is a sum for all, that of a broadcast
is a reduce. What is differentiated is the sum of the losses of all processes. All of them must run backward, in the
same order, because each of these gradients is a collective, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ...autograd import Function
from .. import collectives
from ..collectives import ReduceOp
from ..group import ProcessGroup, get_world_size, world

Tensor = _core.Tensor

__all__ = ["all_gather", "all_reduce", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]

_TRANSPOSED = {
    "all_gather": "reduce_scatter",
    "all_reduce": "all_reduce",
    "broadcast": "reduce",
    "gather": "scatter",
    "reduce": "broadcast",
    "reduce_scatter": "all_gather",
    "scatter": "gather",
}


class _Collective(Function):
    """[*shape] -> [*shape], or with one row for each process before (gather) or after (scatter)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kind: str, root: int, group: ProcessGroup) -> Tensor:
        ctx.how = kind, root, group
        return _run(x, kind, root, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        kind, root, group = ctx.how
        return _Collective.apply(gradient, _TRANSPOSED[kind], root, group), None, None, None


def _run(x: Tensor, kind: str, root: int, group: ProcessGroup) -> Tensor:
    is_root = group.ranks[group.rank] == root
    rows = group.size()
    if kind == "all_gather":
        gathered = x.new_empty((rows, *x.shape))
        collectives.all_gather_into_tensor(gathered, x, group)
        return gathered
    if kind == "gather":
        gathered = x.new_zeros((rows, *x.shape))
        collectives.gather(x, [gathered[i] for i in range(rows)] if is_root else None, root, group)
        return gathered
    if kind == "reduce_scatter":
        out = x.new_empty(x.shape[1:])
        collectives.reduce_scatter_tensor(out, x, ReduceOp.SUM, group)
        return out
    if kind == "scatter":
        out = x.new_empty(x.shape[1:])
        collectives.scatter(out, [x[i] for i in range(rows)] if is_root else None, root, group)
        return out
    out = x.clone()
    if kind == "all_reduce":
        collectives.all_reduce(out, ReduceOp.SUM, group)
    elif kind == "broadcast":
        collectives.broadcast(out, root, group)
    else:
        collectives.reduce(out, root, ReduceOp.SUM, group)
        return out if is_root else out.zero_()
    return out


def _apply(kind: str, x: Tensor, root: int, group: ProcessGroup | None) -> Tensor:
    where = group or world()
    if where.rank < 0 or (root not in where.ranks and kind not in ("all_gather", "all_reduce", "reduce_scatter")):
        raise ValueError(f"{kind}: process {root} is not in the group of {list(where.ranks)}, or this one is not")
    made: Tensor = _Collective.apply(x, kind, root, where)
    return made


def _scale(op: ReduceOp | str, group: ProcessGroup | None, kind: str) -> float:
    """What the sum is multiplied by."""
    how = collectives._op(op)
    if how not in (ReduceOp.SUM, ReduceOp.AVG):
        raise ValueError(f"{kind}: {how.value} has no gradient here; use sum or mean")
    return 1 / get_world_size(group) if how is ReduceOp.AVG else 1.0


def all_reduce(tensor: Tensor, op: ReduceOp | str = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The sum or mean over the processes, everywhere. Its gradient is the sum or mean of the gradients.

    Raises:
        ValueError: another operation.

    Example:
        >>> import spirograd as sg
        >>> sg.distributed.nn.functional.all_reduce(sg.ones(2))
        tensor([1., 1.])
    """
    total = _apply("all_reduce", tensor, 0, group)
    scale = _scale(op, group, "all_reduce")
    return total if scale == 1 else total * scale


def reduce(
    tensor: Tensor, dst: int = 0, op: ReduceOp | str = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """The sum or mean over the processes in process `dst`; zeros in the others."""
    scale = _scale(op, group, "reduce")
    total = _apply("reduce", tensor, dst, group)
    return total if scale == 1 else total * scale


def broadcast(tensor: Tensor, src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """The tensor of process `src`, everywhere. That process gets the sum of the gradients, the others zeros."""
    return _apply("broadcast", tensor, src, group)


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, in their order, everywhere.

    Example:
        >>> import spirograd as sg
        >>> sg.distributed.nn.functional.all_gather(sg.ones(2))
        (tensor([1., 1.]),)
    """
    return tuple(_apply("all_gather", tensor, 0, group).unbind(0))


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, in their order, in process `dst`; zeros in the others."""
    return tuple(_apply("gather", tensor, dst, group).unbind(0))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """Of the tensors of process `src`, the one with this process's number. The others give any of that shape."""
    return _apply("scatter", _core.stack(list(tensors)), src, group)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp | str = ReduceOp.SUM,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Of the sum of the lists of all processes, the entry with this process's number. `output` says its shape."""
    scale = _scale(op, group, "reduce_scatter")
    total = _apply("reduce_scatter", _core.stack(list(input_list)), 0, group).reshape(output.shape)
    return total if scale == 1 else total * scale
