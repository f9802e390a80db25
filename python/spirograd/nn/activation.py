"""Activation layers."""

from __future__ import annotations

from .._core import Tensor, _warn_at_line, full, get_default_dtype
from ..base.types import DeviceLike, DTypeLike
from . import functional as F
from ._arguments import described
from ._of_function import TensorFunction, layer_of
from .init import constant_
from .module import TensorModule
from .parameter import Parameter

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU"]
__all__ += ["LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax"]
__all__ += ["Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold"]


class _Inplace(TensorFunction):
    _shown = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


@layer_of(F.relu)
class ReLU(_Inplace):
    """
    Example:
        >>> sg.nn.ReLU()(sg.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """


@layer_of(F.relu6)
class ReLU6(_Inplace):
    """
    Example:
        >>> sg.nn.ReLU6()(sg.tensor([-1.0, 8.0])).tolist()
        [0.0, 6.0]
    """


@layer_of(F.selu)
class SELU(_Inplace):
    """
    Example:
        >>> sg.nn.SELU()(sg.zeros(1)).tolist()
        [0.0]
    """


@layer_of(F.silu)
class SiLU(_Inplace):
    """
    Example:
        >>> sg.nn.SiLU()(sg.zeros(1)).tolist()
        [0.0]
    """


@layer_of(F.mish)
class Mish(_Inplace):
    """
    Example:
        >>> sg.nn.Mish()(sg.zeros(1)).tolist()
        [0.0]
    """


@layer_of(F.hardsigmoid)
class Hardsigmoid(_Inplace):
    """
    Example:
        >>> sg.nn.Hardsigmoid()(sg.tensor([-4.0, 0.0])).tolist()
        [0.0, 0.5]
    """

    _shown = ""


@layer_of(F.hardswish)
class Hardswish(_Inplace):
    """
    Example:
        >>> sg.nn.Hardswish()(sg.tensor([0.0, 4.0])).tolist()
        [0.0, 4.0]
    """

    _shown = ""


@layer_of(F.leaky_relu)
class LeakyReLU(TensorFunction):
    """
    Example:
        >>> sg.nn.LeakyReLU(0.5)(sg.tensor([-2.0, 2.0])).tolist()
        [-1.0, 2.0]
    """

    _shown = "negative_slope inplace?"

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace


class _ELU(TensorFunction):
    _shown = "alpha inplace?"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace


@layer_of(F.elu)
class ELU(_ELU):
    """
    Example:
        >>> sg.nn.ELU()(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """


@layer_of(F.celu)
class CELU(_ELU):
    """
    Example:
        >>> sg.nn.CELU(2.0)(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """


@layer_of(F.gelu)
class GELU(TensorFunction):
    """
    Example:
        >>> sg.nn.GELU("tanh")(sg.zeros(1)).tolist()
        [0.0]
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate


@layer_of(F.sigmoid)
class Sigmoid(TensorFunction):
    """Computes 1 / (1 + exp(-x)) for each element x.

    Example:
        >>> sg.nn.Sigmoid()(sg.zeros(1)).tolist()
        [0.5]
    """


@layer_of(F.logsigmoid)
class LogSigmoid(TensorFunction):
    """Computes log(sigmoid(x)) for each element x.

    Example:
        >>> sg.nn.LogSigmoid()(sg.tensor([-200.0])).tolist()
        [-200.0]
    """


@layer_of(F.tanh)
class Tanh(TensorFunction):
    """Computes the hyperbolic tangent of each element.

    Example:
        >>> sg.nn.Tanh()(sg.zeros(1)).tolist()
        [0.0]
    """


@layer_of(F.tanhshrink)
class Tanhshrink(TensorFunction):
    """Computes x - tanh(x) for each element x.

    Example:
        >>> sg.nn.Tanhshrink()(sg.zeros(1)).tolist()
        [0.0]
    """


@layer_of(F.softsign)
class Softsign(TensorFunction):
    """Computes x / (1 + abs(x)) for each element x.

    Example:
        >>> sg.nn.Softsign()(sg.ones(1)).tolist()
        [0.5]
    """


@layer_of(F.softplus)
class Softplus(TensorFunction):
    """Computes log(1 + exp(beta * x)) / beta for each element x, and x itself where beta * x is above the threshold.

    Args:
        beta: the sharpness of the bend.
        threshold: the value of beta * x above which the result is x.

    Example:
        >>> sg.nn.Softplus()(sg.tensor([30.0])).tolist()
        [30.0]
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold


class _Shrink(TensorFunction):
    """
    Args:
        lambd: half the width of the interval around 0.
    """

    _shown = "{lambd}"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd


@layer_of(F.softshrink, _Shrink)
class Softshrink(_Shrink):
    """Moves each element towards 0 by lambd; elements within lambd of 0 become 0.

    Example:
        >>> sg.nn.Softshrink()(sg.tensor([0.25, 2.0])).tolist()
        [0.0, 1.5]
    """


@layer_of(F.hardshrink, _Shrink)
class Hardshrink(_Shrink):
    """Sets elements within lambd of 0 to 0.

    Example:
        >>> sg.nn.Hardshrink()(sg.tensor([0.25, 2.0])).tolist()
        [0.0, 2.0]
    """


@layer_of(F.hardtanh)
class Hardtanh(TensorFunction):
    """
    Example:
        >>> sg.nn.Hardtanh()(sg.tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]
    """

    _shown = "min_val max_val inplace?"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace


@layer_of(F.threshold)
class Threshold(TensorFunction):
    """
    Example:
        >>> sg.nn.Threshold(2.0, 0.0)(sg.tensor([1.0, 3.0])).tolist()
        [0.0, 3.0]
    """

    _shown = "threshold value inplace?"

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace


@layer_of(F.glu)
class GLU(TensorFunction):
    """
    Example:
        >>> sg.nn.GLU()(sg.tensor([2.0, 0.0])).tolist()
        [1.0]
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


@described()
class PReLU(TensorModule):
    """Computes leaky_relu with slopes that are trained.

    Args:
        num_parameters: number of slopes: 1, or the number of channels.
        init: initial value of the slopes.

    Example:
        >>> sg.nn.PReLU()(sg.tensor([-4.0, 2.0])).tolist()
        [-1.0, 2.0]
    """

    _shown = "num_parameters"

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype or get_default_dtype()))

    def reset_parameters(self) -> None:
        """Resets the initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


@layer_of(F.rrelu, also=("training",))
class RReLU(TensorFunction):
    """
    Example:
        >>> sg.nn.RReLU(0.5, 0.5).eval()(sg.tensor([-4.0, 2.0])).tolist()
        [-2.0, 2.0]
    """

    _shown = "lower upper inplace?"

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace


def _dim(op: str, dim: int | None, x: Tensor) -> int:
    """The dimension; by default that of PyTorch: 0 for tensors of 0, 1 or 3 dimensions, else 1."""
    if dim is not None:
        return dim
    _warn_at_line(f"{op}: no dimension was given; pass dim=")
    return 0 if x.ndim in (0, 1, 3) else 1


class _AlongDim(TensorModule):
    """
    Args:
        dim: the dimension of the sum; by default it is guessed from the shape, with a warning.
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


@described(_AlongDim, F.softmax)
class Softmax(_AlongDim):
    """
    Example:
        >>> sg.nn.Softmax(dim=0)(sg.zeros(2)).tolist()
        [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, _dim("Softmax", self.dim, input))


@described(_AlongDim, F.log_softmax)
class LogSoftmax(_AlongDim):
    """
    Example:
        >>> sg.nn.LogSoftmax(dim=0)(sg.zeros(1)).tolist()
        [0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, _dim("LogSoftmax", self.dim, input))


@described(_AlongDim, F.softmin)
class Softmin(_AlongDim):
    """
    Example:
        >>> sg.nn.Softmin(dim=0)(sg.zeros(2)).tolist()
        [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, _dim("Softmin", self.dim, input))


class Softmax2d(TensorModule):
    """Computes softmax over the channels of each pixel: [n, channels, height, width], or without n.

    Raises:
        ValueError: the input has another shape.

    Example:
        >>> sg.nn.Softmax2d()(sg.zeros(2, 1, 1)).flatten().tolist()
        [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: the input has shape {list(input.shape)}; give [n, channels, height, width], or without n"
            )
        return F.softmax(input, -3)
