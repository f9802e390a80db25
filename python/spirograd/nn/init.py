"""Initial values of parameters, written in place. The defaults are those of PyTorch."""

from __future__ import annotations

import math

from .. import _core, linalg
from .._core import Generator, Tensor
from ..base.docstrings import described_by
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..base.overridable import open_functions

__all__ = ["calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_"]
__all__ += ["orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]

_GAINS = {
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
} | {f"{kind}{n}d": 1.0 for kind in ("conv", "conv_transpose") for n in (1, 2, 3)}


@naming_keywords
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the factor that keeps the variance through a nonlinearity.

    Args:
        nonlinearity: "linear", "conv1d" (and so on), "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: the negative slope of "leaky_relu", by default 0.01.

    Raises:
        ValueError: nonlinearity is unknown.

    Example:
        >>> sg.nn.init.calculate_gain("relu")
        1.4142135623730951
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "linear":
        return 1.0
    if nonlinearity not in _GAINS:
        raise ValueError(
            f"calculate_gain: nonlinearity '{nonlinearity}' is unknown; use linear, leaky_relu, {', '.join(_GAINS)}"
        )
    return _GAINS[nonlinearity]


def _fans(op: str, tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs of one output, and of outputs of one input."""
    if tensor.ndim < 2:
        raise ValueError(f"{op}: a tensor of shape {list(tensor.shape)} has no fan; use two dimensions or more")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(op: str, tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"{op}: mode '{mode}' is unknown; use fan_in or fan_out")
    return _fans(op, tensor)[mode.lower() == "fan_out"]


_ARGUMENTS = """
Args:
    tensor: the tensor, which is overwritten.
    generator: the generator to draw from, by default the global one.
    gain: the factor; see calculate_gain().
    a: the negative slope of "leaky_relu".
    mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
    nonlinearity: see calculate_gain().
"""
_FANS = """
Raises:
    ValueError: the tensor has fewer than two dimensions, or mode or nonlinearity is unknown.
"""


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draws uniform numbers from [a, b).

    Args:
        a: the lower bound.
        b: the upper bound.

    Example:
        >>> w = sg.nn.init.uniform_(sg.empty(3, 5), 1, 2)
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draws normal numbers.

    Args:
        mean: the mean.
        std: the standard deviation.

    Example:
        >>> w = sg.nn.init.normal_(sg.empty(3, 5), std=0.02)
    """
    return tensor.normal_(mean, std, generator=generator)


def _erfinv(x: Tensor) -> Tensor:
    """The inverse of erf: the formula of Winitzki (2008), then two steps of Newton's method."""
    a = 0.147
    x = x.clamp(-1 + 6e-8, 1 - 6e-8)
    logarithm = (-x * x).log1p()
    middle = logarithm / 2 + 2 / (math.pi * a)
    y = ((middle.square() - logarithm / a).sqrt() - middle).sqrt() * x.sign()
    for _ in range(2):
        y = y - (y.erf() - x) * (y * y).exp() * (math.sqrt(math.pi) / 2)
    return y


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Draws normal numbers from [a, b], by the inverse of the distribution function.

    Args:
        mean: the mean before truncation.
        std: the standard deviation before truncation.
        a: the lower bound.
        b: the upper bound.

    Example:
        >>> w = sg.nn.init.trunc_normal_(sg.empty(100), std=0.02, a=-0.04, b=0.04)
        >>> bool((w.abs() <= 0.04).all())
        True
    """
    low, high = (math.erf((bound - mean) / std / math.sqrt(2.0)) for bound in (a, b))
    drawn = _core.rand(tensor.shape, generator=generator, device=tensor.device)
    values = _erfinv(drawn * (high - low) + low) * (std * math.sqrt(2.0)) + mean
    return tensor.copy_(values.clamp(a, b))


@no_grad()
@described_by(_ARGUMENTS)
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills a tensor with one number.

    Args:
        val: the number.

    Example:
        >>> sg.nn.init.constant_(sg.empty(2), 0.5).tolist()
        [0.5, 0.5]
    """
    return tensor.fill_(val)


@described_by(_ARGUMENTS)
def ones_(tensor: Tensor) -> Tensor:
    """Fills a tensor with ones.

    Example:
        >>> sg.nn.init.ones_(sg.empty(2)).tolist()
        [1.0, 1.0]
    """
    return constant_(tensor, 1.0)


@described_by(_ARGUMENTS)
def zeros_(tensor: Tensor) -> Tensor:
    """Fills a tensor with zeros.

    Example:
        >>> sg.nn.init.zeros_(sg.empty(2)).tolist()
        [0.0, 0.0]
    """
    return constant_(tensor, 0.0)


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def eye_(tensor: Tensor) -> Tensor:
    """Writes the identity matrix.

    Args:
        tensor: a matrix, which is overwritten.

    Raises:
        ValueError: the tensor is not a matrix.

    Example:
        >>> sg.nn.init.eye_(sg.empty(2, 3)).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.ndim != 2:
        raise ValueError(f"eye_: the tensor has shape {list(tensor.shape)}; use a matrix")
    return tensor.copy_(_core.eye(*tensor.shape, device=tensor.device))


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Writes the identity of a convolution, which keeps as many channels as there are.

    Args:
        tensor: [out, in / groups, ...] with one to three dimensions of the kernel, which is overwritten.
        groups: the number of groups of the convolution.

    Raises:
        ValueError: the tensor has another shape, or out is not a multiple of groups.

    Example:
        >>> sg.nn.init.dirac_(sg.empty(1, 1, 3)).tolist()
        [[[0.0, 1.0, 0.0]]]
    """
    if not 3 <= tensor.ndim <= 5 or tensor.shape[0] % groups:
        raise ValueError(
            f"dirac_: a tensor of shape {list(tensor.shape)} with {groups} groups; use 3 to 5 dimensions and a "
            "multiple of the groups"
        )
    out, inside, *kernel = tensor.shape
    group = out // groups
    # Output g * group + d takes input d of its group, at the centre of the kernel.
    number = _core.arange(out, device=tensor.device).remainder(group)
    spot = number[:, None] == _core.arange(inside, device=tensor.device)
    for size in kernel:
        middle = _core.arange(size, device=tensor.device) == size // 2
        spot = spot[..., None].logical_and(middle)
    return tensor.copy_(spot.to(tensor.dtype))


@no_grad()
@described_by(_FANS, _ARGUMENTS)
@naming_keywords
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draws uniform numbers within gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).

    Example:
        >>> w = sg.nn.init.xavier_uniform_(sg.empty(3, 5))
    """
    bound = gain * math.sqrt(6.0 / sum(_fans("xavier_uniform_", tensor)))
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
@described_by(_FANS, _ARGUMENTS)
@naming_keywords
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draws normal numbers with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010).

    Example:
        >>> w = sg.nn.init.xavier_normal_(sg.empty(3, 5))
    """
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / sum(_fans("xavier_normal_", tensor))), generator=generator)


@no_grad()
@described_by(_FANS, _ARGUMENTS)
@naming_keywords
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draws uniform numbers within gain * sqrt(3 / fan) (He et al., 2015).

    Example:
        >>> w = sg.nn.init.kaiming_uniform_(sg.empty(3, 5), nonlinearity="relu")
    """
    if 0 in tensor.shape:
        return tensor
    fan = _fan("kaiming_uniform_", tensor, mode)
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / fan)
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
@described_by(_FANS, _ARGUMENTS)
@naming_keywords
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draws normal numbers with standard deviation gain / sqrt(fan) (He et al., 2015).

    Example:
        >>> w = sg.nn.init.kaiming_normal_(sg.empty(3, 5), mode="fan_out")
    """
    if 0 in tensor.shape:
        return tensor
    fan = _fan("kaiming_normal_", tensor, mode)
    return tensor.normal_(0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator=generator)


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Writes orthonormal rows or columns, whichever are fewer (Saxe et al., 2013).

    They are drawn and orthogonalised on the CPU, then copied to the device of the tensor.

    Args:
        tensor: [rows, ...], whose other dimensions count as columns; it is overwritten.

    Raises:
        ValueError: the tensor has fewer than two dimensions.

    Example:
        >>> w = sg.nn.init.orthogonal_(sg.empty(2, 3))
        >>> sg.allclose(w @ w.T, sg.eye(2), atol=1e-5)
        True
    """
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: the tensor has shape {list(tensor.shape)}; use two dimensions or more")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    drawn = _core.randn(max(rows, columns), min(rows, columns), generator=generator, device="cpu")
    q, r = linalg.qr(drawn)
    q = q * r.diagonal().sign()  # for a uniform distribution
    q = q.T if rows < columns else q
    return tensor.copy_((q * gain).reshape(tensor.shape).to(tensor.device))


@no_grad()
@described_by(_ARGUMENTS)
@naming_keywords
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Draws normal numbers, and sets the same number of elements in each column to zero (Martens, 2010).

    Args:
        tensor: a matrix, which is overwritten.
        sparsity: the share of zeros.
        std: the standard deviation of the other elements.

    Raises:
        ValueError: the tensor is not a matrix.

    Example:
        >>> w = sg.nn.init.sparse_(sg.empty(10, 3), sparsity=0.3)
        >>> (w == 0).sum(0).tolist()
        [3, 3, 3]
    """
    if tensor.ndim != 2:
        raise ValueError(f"sparse_: the tensor has shape {list(tensor.shape)}; use a matrix")
    zeros = math.ceil(sparsity * tensor.shape[0])
    tensor.normal_(0.0, std, generator=generator)
    place = _core.rand(tensor.shape, generator=generator, device=tensor.device).argsort(0).argsort(0)
    return tensor.masked_fill_(place < zeros, 0.0)


open_functions(__name__, {"constant_", "kaiming_uniform_", "normal_", "uniform_"})  # as in PyTorch
