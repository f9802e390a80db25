"""DistributedDataParallel: a model that several processes train together, each on its own share of the data."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ... import distributed
from ..._core import Tensor, is_grad_enabled, zeros
from ...autograd import Function
from ...base.tree import flatten
from ..module import Module
from .averages import Averages

__all__ = ["DistributedDataParallel"]


class _Begin(Function):
    """The first node of a forward pass."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor) -> Tensor:
        return anchor

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class _End(Function):
    """The outputs of a forward pass, connected to its first node."""

    @staticmethod
    def forward(ctx: Any, begin: Tensor, *outputs: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        return (zeros(()), *gradients)


class DistributedDataParallel(Module):
    """A model of which each process has a copy, and feeds it with data of its own; after backward(), the gradients in
    all processes are the means over all processes. So the copies stay equal.

    Gradients travel in one collective when backward() is done. On a GPU it ends when something needs it, so that the
    next step can be recorded meanwhile; an error in it is raised there. Parameters that backward() did not reach take
    part as zeros, so processes need not use the same ones. Frozen ones take no part. Each process counts the same,
    whatever the size of its batch.

    Args:
        module: the model, on the device of this process.
        device_ids: accepted for PyTorch's sake: the model is where it is.
        output_device: likewise.
        broadcast_buffers: in training, each forward pass begins with the buffers of the first process, such as the
            statistics of BatchNorm.
        init_sync: compare parameters and buffers at the beginning, and take those of the first process.
        process_group: the processes; None: all.
        reproducible: micro-batches (backward() under no_sync(), and the one after it) and processes are summed in one
            balanced tree. Where 1, 2 and 4 processes share out the same micro-batches in order, a power of two for
            each, they get the same bits. Needs memory for the logarithm of the micro-batches in gradients, and a
            collective for each doubling of the processes. Until the last micro-batch, .grad is None.
        find_unused_parameters: accepted; unused ones are no problem.
        bucket_cap_mb: accepted; there are no buckets.
        gradient_as_bucket_view: accepted; gradients are never copied to buckets.
        static_graph: accepted.

    Attributes:
        module: the model.

    Raises:
        ValueError: nothing is to be trained, the processes have different models, or reproducible with a number of
            processes that is no power of two, or in a group.

    Example:
        >>> sg.distributed.init_process_group()
        >>> net = sg.nn.parallel.DistributedDataParallel(sg.nn.Linear(2, 1))
        >>> net(sg.ones(4, 2)).sum().backward()
        >>> net.module.weight.grad
        tensor([[4., 4.]])
        >>> sg.distributed.destroy_process_group()
    """

    _shown = ""

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        reproducible: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"DistributedDataParallel: module is a {type(module).__name__}; pass an sg.nn.Module")
        parameters = list(module.parameters())
        if not any(p.requires_grad for p in parameters):
            raise ValueError("DistributedDataParallel: no parameter wants a gradient; use the module itself")
        if reproducible and process_group is not None:
            raise ValueError("DistributedDataParallel: reproducible=True in a group; leave out process_group")
        self.module = module
        self.broadcast_buffers, self.reproducible = broadcast_buffers, reproducible
        self.process_group = process_group
        self._first = distributed.get_process_group_ranks(process_group)[0]
        self._several = distributed.get_world_size(process_group) > 1
        if init_sync and self._several:
            self._compare()
            state = [t.detach() for t in (*parameters, *module.buffers())]
            distributed.broadcast_coalesced(state, self._first, process_group)
        self._averages = Averages(parameters, process_group, reproducible)
        # backward() takes nodes in the reverse of the order in which they were made, and writes the gradients of leaves
        # in the order in which they arrived. So that of this leaf, which only the first node of a forward pass reads,
        # is written when those of all parameters are, whichever it reached.
        self._anchor = zeros((), requires_grad=True)
        self._anchor.register_post_accumulate_grad_hook(self._averages.arrived)
        self._syncs = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.training and self._syncs and self.broadcast_buffers and self._several:
            buffers = [b.detach() for b in self.module.buffers()]
            if buffers:
                distributed.broadcast_coalesced(buffers, self._first, self.process_group)
        if not is_grad_enabled() or not (self.reproducible or (self._several and self._syncs)):
            return self.module(*args, **kwargs)
        begin = self._beginning()
        self._averages.last = self._syncs
        leaves, rebuild = flatten(self.module(*args, **kwargs))
        places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]
        if places:
            for i, output in zip(places, _End.apply(begin, *(leaves[i] for i in places)), strict=True):
                leaves[i] = output
        return rebuild(leaves)

    def _beginning(self) -> Tensor:
        """The first node. Passes before one backward() share it, because it must be older than all that they make."""
        if self._averages.begin is None:
            self._averages.begin = _Begin.apply(self._anchor)
        return self._averages.begin

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forward passes inside belong to micro-batches before the last of a step: their gradients are only added up.

        Example:
            >>> net = sg.nn.parallel.DistributedDataParallel(sg.nn.Linear(1, 1, bias=False))
            >>> with net.no_sync():
            ...     net(sg.ones(1, 1)).sum().backward()
            >>> net(sg.ones(1, 1)).sum().backward()
            >>> net.module.weight.grad
            tensor([[2.]])
        """
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    def _compare(self) -> None:
        """ValueError, in all processes, unless all have the same parameters and buffers."""
        tensors = [*self.module.named_parameters(), *self.module.named_buffers()]
        own = {name: (list(t.shape), t.dtype.name) for name, t in tensors}
        trained = [name for name, p in self.module.named_parameters() if p.requires_grad]
        everyone: list[Any] = [None] * distributed.get_world_size(self.process_group)
        distributed.all_gather_object(everyone, (own, trained), self.process_group)
        first, first_trained = everyone[0]
        ranks = distributed.get_process_group_ranks(self.process_group)
        for rank, (other, other_trained) in zip(ranks, everyone, strict=True):
            for name in dict.fromkeys((*first, *other)):
                if first.get(name) != other.get(name):
                    here, there = (
                        " of ".join(map(str, x[name][::-1])) if name in x else "none" for x in (other, first)
                    )
                    raise ValueError(
                        f"DistributedDataParallel: {name} is {here} in process {rank} and {there} in process "
                        f"{ranks[0]}; make the same model in all"
                    )
            if other_trained != first_trained:
                name = next(iter(set(first_trained) ^ set(other_trained)), "another order")
                raise ValueError(
                    f"DistributedDataParallel: {name} is trained in only one of the processes {rank} and {ranks[0]}; "
                    "freeze the same parameters in all"
                )
