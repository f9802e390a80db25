"""Activations as modules."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .._core import Tensor, full, get_default_dtype
from . import functional as F
from .init import constant_
from .module import TensorModule
from .parameter import Parameter

if TYPE_CHECKING:
    from ..base.types import DeviceLike, DTypeLike

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def _inplace(inplace: bool) -> str:
    return ", inplace=True" if inplace else ""


class ReLU(TensorModule):
    """max(x, 0).

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.ReLU()(sg.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class ReLU6(TensorModule):
    """x, at least 0 and at most 6.

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.ReLU6()(sg.tensor([-1.0, 8.0])).tolist()
        [0.0, 6.0]
    """

    _shown = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


class LeakyReLU(TensorModule):
    """x where it is positive, else negative_slope * x.

    Args:
        negative_slope: the factor below 0.
        inplace: write into the input.

    Example:
        >>> sg.nn.LeakyReLU(0.5)(sg.tensor([-2.0, 2.0])).tolist()
        [-1.0, 2.0]
    """

    _shown = "negative_slope inplace?"

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(TensorModule):
    """x where it is positive, else alpha * (exp(x) - 1).

    Args:
        alpha: minus the value far below 0.
        inplace: write into the input.

    Example:
        >>> sg.nn.ELU()(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = "alpha inplace?"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(TensorModule):
    """x where it is positive, else alpha * (exp(x / alpha) - 1).

    Args:
        alpha: minus the value far below 0.
        inplace: write into the input.

    Example:
        >>> sg.nn.CELU(2.0)(sg.tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = "alpha inplace?"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(TensorModule):
    """The scaled ELU that keeps mean 0 and variance 1 (Klambauer et al., 2017).

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.SELU()(sg.zeros(1)).tolist()
        [0.0]
    """

    _shown = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GELU(TensorModule):
    """x times the share of normal numbers below it.

    Args:
        approximate: "tanh" is the formula with tanh.

    Example:
        >>> sg.nn.GELU("tanh")(sg.zeros(1)).tolist()
        [0.0]
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)


class SiLU(TensorModule):
    """x * sigmoid(x).

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.SiLU()(sg.zeros(1)).tolist()
        [0.0]
    """

    _shown = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(TensorModule):
    """x * tanh(softplus(x)).

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.Mish()(sg.zeros(1)).tolist()
        [0.0]
    """

    _shown = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Sigmoid(TensorModule):
    """1 / (1 + exp(-x)).

    Example:
        >>> sg.nn.Sigmoid()(sg.zeros(1)).tolist()
        [0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(TensorModule):
    """log(sigmoid(x)).

    Example:
        >>> sg.nn.LogSigmoid()(sg.tensor([-200.0])).tolist()
        [-200.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(TensorModule):
    """The hyperbolic tangent.

    Example:
        >>> sg.nn.Tanh()(sg.zeros(1)).tolist()
        [0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Tanhshrink(TensorModule):
    """x - tanh(x).

    Example:
        >>> sg.nn.Tanhshrink()(sg.zeros(1)).tolist()
        [0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softplus(TensorModule):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold.

    Args:
        beta: how sharp the bend is.
        threshold: where the straight line begins.

    Example:
        >>> sg.nn.Softplus()(sg.tensor([30.0])).tolist()
        [30.0]
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(TensorModule):
    """x / (1 + abs(x)).

    Example:
        >>> sg.nn.Softsign()(sg.ones(1)).tolist()
        [0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softshrink(TensorModule):
    """x moved by lambd towards 0, and 0 within lambd.

    Args:
        lambd: half the width of the gap.

    Example:
        >>> sg.nn.Softshrink()(sg.tensor([0.25, 2.0])).tolist()
        [0.0, 1.5]
    """

    _shown = "{lambd}"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Hardshrink(TensorModule):
    """x, and 0 within lambd.

    Args:
        lambd: half the width of the gap.

    Example:
        >>> sg.nn.Hardshrink()(sg.tensor([0.25, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = "{lambd}"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Hardsigmoid(TensorModule):
    """x / 6 + 1 / 2, at least 0 and at most 1.

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.Hardsigmoid()(sg.tensor([-4.0, 0.0])).tolist()
        [0.0, 0.5]
    """

    _shown = ""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(TensorModule):
    """x * hardsigmoid(x).

    Args:
        inplace: write into the input.

    Example:
        >>> sg.nn.Hardswish()(sg.tensor([0.0, 4.0])).tolist()
        [0.0, 4.0]
    """

    _shown = ""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardtanh(TensorModule):
    """x, at least min_val and at most max_val.

    Args:
        min_val: the lowest value.
        max_val: the highest value.
        inplace: write into the input.

    Example:
        >>> sg.nn.Hardtanh()(sg.tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]
    """

    _shown = "min_val max_val inplace?"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(TensorModule):
    """x where it is above the threshold, else value.

    Args:
        threshold: the bound.
        value: what stands below it.
        inplace: write into the input.

    Example:
        >>> sg.nn.Threshold(2.0, 0.0)(sg.tensor([1.0, 3.0])).tolist()
        [0.0, 3.0]
    """

    _shown = "threshold value inplace?"

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class GLU(TensorModule):
    """The first half along a dimension times the sigmoid of the second.

    Args:
        dim: the dimension; its size must be even.

    Example:
        >>> sg.nn.GLU()(sg.tensor([2.0, 0.0])).tolist()
        [1.0]
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class PReLU(TensorModule):
    """Leaky ReLU whose slopes are trained.

    Args:
        num_parameters: 1, or the size of dimension 1.
        init: their first value.
        device: where they are.
        dtype: their type.

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
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype or get_default_dtype()))

    def reset_parameters(self) -> None:
        """Sets the first value again."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class RReLU(TensorModule):
    """Leaky ReLU with a slope that is drawn for each element in training, and their mean in evaluation.

    Args:
        lower: the lowest slope.
        upper: the highest slope.
        inplace: write into the input.

    Example:
        >>> sg.nn.RReLU(0.5, 0.5).eval()(sg.tensor([-4.0, 2.0])).tolist()
        [-2.0, 2.0]
    """

    _shown = "lower upper inplace?"

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


def _dim(op: str, dim: int | None, x: Tensor) -> int:
    """The dimension; without one that of PyTorch: 1 for two or four dimensions, else 0, but 1 beyond four."""
    if dim is not None:
        return dim
    warnings.warn(f"{op}: no dimension was given; pass dim=", stacklevel=4)
    return 0 if x.ndim in (0, 1, 3) else 1


class Softmax(TensorModule):
    """exp(x), divided by its sum along a dimension.

    Args:
        dim: the dimension that adds up to 1; without one it is guessed from the shape, with a warning.

    Example:
        >>> sg.nn.Softmax(dim=0)(sg.zeros(2)).tolist()
        [0.5, 0.5]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, _dim("Softmax", self.dim, input))


class LogSoftmax(TensorModule):
    """The logarithm of softmax.

    Args:
        dim: the dimension; without one it is guessed from the shape, with a warning.

    Example:
        >>> sg.nn.LogSoftmax(dim=0)(sg.zeros(1)).tolist()
        [0.0]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, _dim("LogSoftmax", self.dim, input))


class Softmin(TensorModule):
    """softmax(-x): the smallest element weighs most.

    Args:
        dim: the dimension that adds up to 1; without one it is guessed from the shape, with a warning.

    Example:
        >>> sg.nn.Softmin(dim=0)(sg.zeros(2)).tolist()
        [0.5, 0.5]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, _dim("Softmin", self.dim, input))


class Softmax2d(TensorModule):
    """Softmax over the channels of each pixel: [n, channels, h, w] or [channels, h, w].

    Raises:
        ValueError: other shapes.

    Example:
        >>> sg.nn.Softmax2d()(sg.zeros(2, 1, 1)).flatten().tolist()
        [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: the input has shape {list(input.shape)}; give [n, c, h, w] or [c, h, w]")
        return F.softmax(input, -3)
