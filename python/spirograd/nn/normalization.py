"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._core import Tensor, ones, zeros
from ..base.grad_mode import no_grad
from ..base.types import DeviceLike, DTypeLike
from . import functional as F
from . import init
from ._arguments import OfDims, described
from ._of_function import TensorFunction, layer_of
from ._sizes import check_counts
from .module import TensorModule
from .parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d"]
__all__ += ["InstanceNorm3d", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Norm(TensorModule):
    """A weight that starts as ones and a bias that starts as zeros; both are optional."""

    def _parameters_of(
        self, shape: tuple[int, ...], weight: bool, bias: bool, device: DeviceLike | None, dtype: DTypeLike | None
    ) -> None:
        self.weight = Parameter(ones(shape, device=device, dtype=dtype)) if weight else None
        self.bias = Parameter(zeros(shape, device=device, dtype=dtype)) if bias else None

    def reset_parameters(self) -> None:
        """Resets the initial values."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _RunningNorm(OfDims, _Norm):
    """A norm over [n, channels, ...] that keeps running means and variances.

    Args:
        num_features: number of channels.
        eps: added to the variance.
        affine: whether there are a weight and a bias.
        track_running_stats: whether there are a running mean and variance, which evaluation uses.
        bias: whether there is a bias, if affine.

    Raises:
        ValueError: from the call: the input has another shape.
    """

    _shown = "{num_features} eps momentum affine bias track_running_stats"

    _ranks: tuple[int, ...] = ()  # numbers of dimensions that the input may have

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: DeviceLike | None,
        dtype: DTypeLike | None,
        bias: bool,
    ) -> None:
        super().__init__()
        check_counts(self, num_features=num_features)
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.track_running_stats = track_running_stats
        self._parameters_of((num_features,), affine, affine and bias, device, dtype)
        on = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if on else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if on else None)
        self.register_buffer("num_batches_tracked", zeros((), device=device, dtype=_core.int64) if on else None)

    def reset_running_stats(self) -> None:
        """Resets the running means and variances."""
        with no_grad():
            for buffer, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
                if buffer is not None:
                    buffer.fill_(value)

    def reset_parameters(self) -> None:
        """Resets the initial values, and the running means and variances."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, x: Tensor) -> None:
        if x.ndim not in self._ranks:
            ranks = " or ".join(map(str, self._ranks))
            raise ValueError(f"{type(self).__name__}: the input has shape {list(x.shape)}; give {ranks} dimensions")

    def _check_channels(self, x: Tensor, dim: int) -> None:
        if x.shape[dim] != self.num_features:
            raise ValueError(
                f"{type(self).__name__}: the input has shape {list(x.shape)}; give {self.num_features} channels in "
                f"dimension {dim % x.ndim}"
            )


class _BatchNorm(_RunningNorm):
    """Normalises each channel over the batch: [n, channels, {sizes}].

    Training uses the mean and the variance of the batch and updates the running ones; evaluation uses these.

    Args:
        momentum: the share of a new batch in the running values; None makes these the mean over all batches.

    Example:
        >>> sg.nn.BatchNorm{dims}d(3)(sg.rand(4, 3, {4})).shape
        (4, 3, {4})
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        self._check_channels(input, 1)
        return F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            self._counted(),
            self.eps,
        )

    def _counted(self) -> float | Tensor:
        """Counts a batch in training, and returns its share in the running values."""
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                return 1.0 / self.num_batches_tracked.float()
        return 0.0 if self.momentum is None else self.momentum


class BatchNorm1d(_BatchNorm, dims=1):
    """Normalises each channel over the batch: [n, channels] or [n, channels, length].

    Training uses the mean and the variance of the batch and updates the running ones; evaluation uses these.

    Example:
        >>> sg.nn.BatchNorm1d(3)(sg.rand(4, 3)).shape
        (4, 3)
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm, dims=2):
    """
    Example:
        >>> list(sg.nn.BatchNorm2d(3).state_dict())
        ['weight', 'bias', 'running_mean', 'running_var', 'num_batches_tracked']
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm, dims=3):
    _ranks = (5,)


class _InstanceNorm(_RunningNorm):
    """Normalises each channel of each sample: [n, channels, {sizes}], or without n.

    Args:
        momentum: the share of a new batch in the running values.

    Example:
        >>> sg.nn.InstanceNorm{dims}d(3)(sg.rand(2, 3, {5})).shape
        (2, 3, {5})
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        single = input.ndim == self._ranks[0]
        self._check_channels(input, 0 if single else 1)
        y = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum or 0.0,
            self.eps,
        )
        return y.squeeze(0) if single else y


class InstanceNorm1d(_InstanceNorm, dims=1):
    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm, dims=2):
    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm, dims=3):
    _ranks = (4, 5)


@described(F.layer_norm)
class LayerNorm(_Norm):
    """
    Args:
        normalized_shape: the sizes of the last dimensions, which are normalised, or one size.
        elementwise_affine: whether there are a weight and a bias.
        bias: whether there is a bias.

    Example:
        >>> sg.nn.LayerNorm(2, eps=0.0)(sg.tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
    """

    _shown = "{normalized_shape} eps elementwise_affine bias"

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._parameters_of(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


def _shape(sizes: int | Sequence[int]) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


@described(F.rms_norm)
class RMSNorm(_Norm):
    """
    Args:
        normalized_shape: the sizes of the last dimensions, which are normalised, or one size.
        elementwise_affine: whether there is a weight.

    Example:
        >>> sg.nn.RMSNorm(2, eps=0.0)(sg.tensor([[2.0, -2.0]])).tolist()
        [[1.0, -1.0]]
    """

    _shown = "{normalized_shape} eps elementwise_affine"

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._parameters_of(self.normalized_shape, elementwise_affine, False, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


@described(F.group_norm)
class GroupNorm(_Norm):
    """
    Args:
        num_channels: number of channels.
        affine: whether there are a weight and a bias.
        bias: whether there is a bias, if affine.

    Example:
        >>> sg.nn.GroupNorm(2, 4)(sg.rand(1, 4, 3)).shape
        (1, 4, 3)
    """

    _shown = "{num_groups} {num_channels} eps affine bias"

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels in {num_groups} groups; use a multiple")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._parameters_of((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


@layer_of(F.local_response_norm)
class LocalResponseNorm(TensorFunction):
    """
    Example:
        >>> sg.nn.LocalResponseNorm(2)(sg.rand(1, 4, 3)).shape
        (1, 4, 3)
    """

    _shown = "{size} alpha beta k"

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k
