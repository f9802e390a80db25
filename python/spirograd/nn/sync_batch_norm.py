"""BatchNorm over the batches of all processes."""

from __future__ import annotations

from typing import Any

from .. import _core, distributed
from .._core import Tensor
from ..base.grad_mode import no_grad
from ..base.types import DeviceLike, DTypeLike
from ._arguments import described
from .module import Module
from .normalization import _BatchNorm, _RunningNorm

__all__ = ["SyncBatchNorm"]


@described(_BatchNorm, _RunningNorm)
class SyncBatchNorm(_BatchNorm):
    """Normalises each channel over the batches of all processes together: [n, channels, ...].

    In training, the count, the mean and the sum of squared differences of each process are sent in one collective. They
    are combined by the formula of Chan, Golub and LeVeque (1979), which does not subtract large numbers from each
    other. In evaluation, and with a single process, it is BatchNorm.

    Args:
        process_group: the processes, by default all.

    Example:
        >>> sg.nn.SyncBatchNorm(3)(sg.rand(4, 3, 5)).shape
        (4, 3, 5)
    """

    _ranks = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        processes = distributed.get_world_size(self.process_group)
        if processes < 2 or not (self.training or self.running_mean is None):
            return super().forward(input)
        self._check(input)
        self._check_channels(input, 1)
        x = input.float() if input.dtype in (_core.float16, _core.bfloat16) else input
        over = [0, *range(2, x.ndim)]
        per_channel = [1, -1, *[1] * (x.ndim - 2)]
        count = x.numel() // self.num_features
        own_mean = x.mean(over)
        squares = (x - own_mean.reshape(per_channel)).square().sum(over)
        own = _core.cat([x.new_full((1,), float(count)), own_mean, squares])
        here = _core.arange(processes, device=x.device) == distributed.get_rank(self.process_group)
        rows = distributed.nn.functional.all_reduce(here.reshape(-1, 1).to(x.dtype) * own, group=self.process_group)
        counts, means, sums = rows[:, :1], rows[:, 1 : self.num_features + 1], rows[:, self.num_features + 1 :]
        total = counts.sum()
        mean = (counts * means).sum(0) / total
        square_sum = sums.sum(0) + (counts * (means - mean).square()).sum(0)
        self._follow(mean, square_sum / (total - 1))
        scale = (square_sum / total + self.eps).rsqrt()
        y: Tensor = (x - mean.reshape(per_channel)) * scale.reshape(per_channel)
        if self.weight is not None:
            y = y * self.weight.reshape(per_channel)
        if self.bias is not None:
            y = y + self.bias.reshape(per_channel)
        return y.to(input.dtype)

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        share = self._counted()
        if self.training and self.running_mean is not None and self.running_var is not None:
            with no_grad():
                for running, new in ((self.running_mean, mean), (self.running_var, variance)):
                    running.copy_(running * (1 - share) + new.detach() * share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replaces each BatchNorm in a module by a SyncBatchNorm with the same parameters and buffers.

        Args:
            module: the module, which is changed.
            process_group: the processes, by default all.

        Returns:
            The module, or the new one if the module is a BatchNorm itself.

        Example:
            >>> model = sg.nn.Sequential(sg.nn.Linear(2, 3), sg.nn.BatchNorm1d(3))
            >>> type(sg.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]).__name__
            'SyncBatchNorm'
        """
        if isinstance(module, _BatchNorm):
            if isinstance(module, cls):
                return module
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(made, name, getattr(module, name))
            return made
        for parent in list(module.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, _BatchNorm):
                    _replace(parent, name, cls.convert_sync_batchnorm(child, process_group))
        return module


def _replace(parent: Module, name: str, child: Module) -> None:
    """Replaces the child of this name: an attribute, or an entry of an attribute that is a list or dict."""
    first, *rest = name.split(".")
    if not rest:
        setattr(parent, first, child)
        return
    inside: Any = getattr(parent, first)
    for key in rest[:-1]:
        inside = inside[key if isinstance(inside, dict) else int(key)]
    inside[rest[-1] if isinstance(inside, dict) else int(rest[-1])] = child
