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
    """A model that each process has a copy of, and trains on its own data. After backward(), the gradients in all
    processes are the means over all processes, so that the copies stay equal.

    Gradients are sent in one collective at the end of backward(). On a GPU, it ends when something needs its result, so
    that the next step can be recorded meanwhile; an error in it is raised there. Parameters that backward() did not
    reach count as zeros, so processes need not use the same ones. Frozen parameters are left out. All processes
    have the same weight, regardless of the sizes of their batches.

    Args:
        module: the model, on the device of this process.
        device_ids: accepted for compatibility with PyTorch; the model stays on its device.
        output_device: accepted for compatibility with PyTorch.
        dim: accepted for compatibility with PyTorch.
        broadcast_buffers: whether each forward pass in training starts with the buffers of the first process, such as
            the statistics of BatchNorm.
        init_sync: whether to compare the parameters and buffers first, and to copy those of the first process.
        process_group: the processes, by default all.
        bucket_cap_mb: accepted for compatibility with PyTorch; there are no buckets.
        find_unused_parameters: accepted for compatibility with PyTorch; unused parameters are allowed.
        check_reduction: accepted for compatibility with PyTorch.
        gradient_as_bucket_view: accepted for compatibility with PyTorch; gradients are never copied to buckets.
        static_graph: accepted for compatibility with PyTorch.
        reproducible: whether to sum micro-batches (backward() under no_sync(), and the one after it) and processes in
            one balanced tree. 1, 2 and 4 processes then get the same bits from the same micro-batches, if these are
            divided in order, a power of two for each process. This needs memory for as many gradients as the logarithm
            of the number of micro-batches, and a collective for each doubling of the processes. Until the last
            micro-batch, .grad is None.

    Attributes:
        module: the model.

    Raises:
        ValueError: there is no parameter to train, the processes have different models, or reproducible is set and the
            number of processes is not a power of two, or process_group is given.

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
            raise ValueError("DistributedDataParallel: no parameter requires a gradient; use the module itself")
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
        # backward() visits nodes in the reverse order of their creation, and writes the gradients of leaves in the
        # order of their arrival. Only the first node of a forward pass reads this leaf, so its gradient is written
        # after those of all parameters that backward() reached.
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
        """The first node. Passes before one backward() share it, because it must be older than all nodes of theirs."""
        if self._averages.begin is None:
            self._averages.begin = _Begin.apply(self._anchor)
        return self._averages.begin

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Marks forward passes as micro-batches before the last one of a step: their gradients are only added up.

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
        """Raises ValueError in all processes, unless all have the same parameters and buffers."""
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
                        f"{ranks[0]}; create the same model in all"
                    )
            if other_trained != first_trained:
                name = next(iter(set(first_trained) ^ set(other_trained)), "another order")
                raise ValueError(
                    f"DistributedDataParallel: {name} is trained in only one of the processes {rank} and {ranks[0]}; "
                    "freeze the same parameters in all"
                )
