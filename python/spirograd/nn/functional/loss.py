"""Losses: the difference between the outputs of a model and the targets. By default, they are averaged."""

from __future__ import annotations

import math

from ... import _core
from ..._core import (
    Tensor,
    cross_entropy,
    exp,
    expm1,
    log,
    logsigmoid,
    maximum,
    nll_loss,
    relu,
    where,
    xlogy,
    zeros_like,
)
from ...base.casts import wide
from .._arguments import described, same_type

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "contrastive_loss", "cosine_embedding_loss"]
__all__ += ["cross_entropy", "focal_loss", "gaussian_nll_loss", "hinge_embedding_loss", "hinge_loss", "huber_loss"]
__all__ += ["kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss"]
__all__ += ["multilabel_soft_margin_loss", "nll_loss", "pairwise_distance", "poisson_nll_loss", "smooth_l1_loss"]
__all__ += ["soft_margin_loss", "triplet_margin_loss"]


_PAIR = """
Args:
    target: the true values, of the same shape.

Raises:
    ValueError: the shapes differ.
"""


def _reduced(op: str, losses: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise ValueError(f"{op}: reduction '{reduction}' is unknown; use mean, sum or none")


def _of_type(x: Tensor, other: Tensor) -> Tensor:
    """The other in the floating type of x: neither targets nor weights make a loss wider."""
    return other.to(x.dtype) if x.dtype.is_floating_point else other


def _same_shape(op: str, input: Tensor, target: Tensor) -> None:
    for name, value in (("input", input), ("target", target)):
        if not hasattr(value, "shape"):
            raise TypeError(f"{op}: {name} is a {type(value).__name__}; a tensor is needed")
    if input.shape != target.shape:
        raise ValueError(f"{op}: input has shape {list(input.shape)}, target {list(target.shape)}; reshape one of them")


# ---- regression ----------------------------------------------------------------------------------------------------


@described(_PAIR)
@wide
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Computes the squared difference.

    Args:
        weight: the weight of each element; the mean is divided by the sum of the weights.

    Example:
        >>> sg.nn.functional.mse_loss(sg.zeros(2), sg.ones(2)).item()
        1.0
    """
    _same_shape("mse_loss", input, target)
    return _weighted("mse_loss", (input - target).square(), weight, reduction)


@described(mse_loss)
@wide
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Computes the absolute difference.

    Example:
        >>> sg.nn.functional.l1_loss(sg.zeros(2), sg.tensor([1.0, -3.0])).item()
        2.0
    """
    _same_shape("l1_loss", input, target)
    return _weighted("l1_loss", (input - target).abs(), weight, reduction)


@described(_PAIR)
@wide
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Computes half the squared difference over beta where the absolute difference is below beta, else the absolute
    difference minus beta / 2.

    Args:
        beta: where the parabola ends; 0 makes this l1_loss.

    Raises:
        ValueError: the shapes differ, or beta is negative.

    Example:
        >>> sg.nn.functional.smooth_l1_loss(sg.zeros(2), sg.tensor([1.0, -3.0]), reduction="none").tolist()
        [0.5, 2.5]
    """
    _same_shape("smooth_l1_loss", input, target)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta is {beta}; use 0 or more")
    if beta == 0:
        return l1_loss(input, target, reduction)
    return _reduced("smooth_l1_loss", _huber(input - target, beta) / beta, reduction)


@described(_PAIR)
@wide
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Computes half the squared difference where the absolute difference is below delta, else delta times (the absolute
    difference minus delta / 2).

    Args:
        delta: where the parabola ends.
        weight: the weight of each element; the mean is divided by the number of elements.

    Raises:
        ValueError: the shapes differ, or delta is not positive.

    Example:
        >>> sg.nn.functional.huber_loss(sg.zeros(1), sg.tensor([3.0]), delta=2.0).item()
        4.0
    """
    _same_shape("huber_loss", input, target)
    if delta <= 0:
        raise ValueError(f"huber_loss: delta is {delta}; use a positive number")
    losses = _huber(input - target, delta)
    losses = losses if weight is None else _times("huber_loss", losses, weight)
    return _of_type(input, _reduced("huber_loss", losses, reduction))


def _huber(difference: Tensor, delta: float) -> Tensor:
    far = difference.abs()
    out: Tensor = where(far < delta, 0.5 * difference.square(), delta * (far - 0.5 * delta))
    return out


def _weighted(op: str, losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    if weight is None:
        return _reduced(op, losses, reduction)
    total = _reduced(op, _times(op, losses, weight), "sum" if reduction == "mean" else reduction)
    return total / weight.sum() if reduction == "mean" else total


def _times(op: str, losses: Tensor, weight: Tensor) -> Tensor:
    if weight.shape != losses.shape:
        raise ValueError(
            f"{op}: weight has shape {list(weight.shape)}, input {list(losses.shape)}; give one weight per element"
        )
    return losses * weight


@described(_PAIR)
@wide
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Computes the negative logarithm of a normal density: (log var + (input - target)^2 / var) / 2.

    Args:
        input: the predicted mean, a tensor of any shape.
        var: the predicted variance: a number, a tensor of the shape of input, where sizes may be 1, or of that shape
            without its last dimension.
        full: whether to add the constant log(2 pi) / 2.
        eps: a lower bound of the variance, which its gradient ignores.

    Raises:
        ValueError: the shape of var does not fit, or var is a negative number. Negative elements of a tensor give NaN.

    Example:
        >>> sg.nn.functional.gaussian_nll_loss(sg.zeros(2), sg.ones(2), sg.ones(2)).item()
        0.5
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var is {var}; use 0 or more")
        var = input.new_full(input.shape, var)
    elif var.shape == input.shape[:-1] and var.shape != input.shape:
        var = var.unsqueeze(-1)
    elif var.ndim != input.ndim or any(n not in (1, m) for n, m in zip(var.shape, input.shape, strict=True)):
        raise ValueError(
            f"gaussian_nll_loss: var has shape {list(var.shape)}, input {list(input.shape)}; "
            "give one per element or row"
        )
    fixed = var.detach()
    bounded: Tensor = var + (where(fixed < 0, math.nan, maximum(fixed, eps)) - fixed)
    losses = 0.5 * (log(bounded) + (input - target).square() / bounded)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return _reduced("gaussian_nll_loss", losses, reduction)


@described(_PAIR)
@wide
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Computes the negative logarithm of the Poisson probability of the counts in target, without their factorial.

    Args:
        input: the predicted rate, or its logarithm, a tensor of any shape.
        target: the counts, of the same shape.
        log_input: whether input is the logarithm of the rate.
        full: whether to add Stirling's approximation of the logarithm of the factorial, for counts above 1.
        eps: added to the rate before the logarithm is taken.

    Example:
        >>> sg.nn.functional.poisson_nll_loss(sg.zeros(1), sg.tensor([3.0])).item()
        1.0
    """
    _same_shape("poisson_nll_loss", input, target)
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        above = where(target > 1, target, 1)
        stirling = above * log(above) - above + 0.5 * log(2 * math.pi * above)
        losses = losses + where(target > 1, stirling, 0)
    return _reduced("poisson_nll_loss", losses, reduction)


# ---- classes and probabilities ---------------------------------------------------------------------------------------


@described(_PAIR)
@wide
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Computes -(target log(input) + (1 - target) log(1 - input)), with logarithms of at least -100.

    Args:
        input: predicted probabilities, a tensor of any shape.
        target: the true probabilities, of the same shape.
        weight: the weight of each element, of a shape that broadcasts.

    Raises:
        ValueError: an input or a target is not in [0, 1]; raised by the next read.

    Example:
        >>> sg.nn.functional.binary_cross_entropy(sg.tensor([0.0, 1.0]), sg.tensor([0.0, 0.0])).item()
        50.0
    """
    _same_shape("binary_cross_entropy", input, target)
    same_type("binary_cross_entropy", input, target)
    good = (input >= 0) & (input <= 1) & (target >= 0) & (target <= 1)
    input = _core._check_parameter("binary_cross_entropy", input, good)
    losses = -(target * _bounded_log(input) + (1 - target) * _bounded_log(1 - input))
    losses = losses if weight is None else losses * _of_type(losses, weight)
    return _reduced("binary_cross_entropy", losses, reduction)


def _hinge(x: Tensor) -> Tensor:
    """x where it is positive, else 0. The slope at 0 is 1, so that equal inputs get a gradient."""
    return x.clamp(min=0.0)


def _bounded_log(x: Tensor) -> Tensor:
    """log(x), at least -100. Its slope is at most 1e12: finite at 0, so that a product with 0 is not NaN."""
    low, at = x < 1e-12, x.detach()
    bounded: Tensor = where(low, log(at).clamp(min=-100.0) + 1e12 * (x - at), log(where(low, 1.0, x)))
    return bounded


@described(binary_cross_entropy)
@wide
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Computes binary_cross_entropy of sigmoid(input), accurate for large inputs.

    Args:
        input: logits, a tensor of any shape.
        pos_weight: the weight of the positive class, of a shape that broadcasts: more than 1 favours recall, less than
            1 precision.

    Example:
        >>> sg.nn.functional.binary_cross_entropy_with_logits(sg.tensor([200.0]), sg.tensor([1.0])).item()
        0.0
    """
    _same_shape("binary_cross_entropy_with_logits", input, target)
    # A term for each class: their gradients do not cancel where a prediction is confident and correct.
    positive = target if pos_weight is None else _of_type(input, pos_weight) * target
    losses = (1 - target) * -logsigmoid(-input) - positive * logsigmoid(input)
    losses = losses if weight is None else losses * _of_type(losses, weight)
    return _reduced("binary_cross_entropy_with_logits", losses, reduction)


@described()
@wide
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Computes the Kullback-Leibler divergence target * (log(target) - input).

    Args:
        input: logarithms of the predicted probabilities, a tensor of any shape.
        target: the true probabilities, or their logarithms, of a shape that broadcasts.
        reduction: "batchmean" divides the sum by the size of the first dimension, as in the definition; "mean" divides
            it by the number of elements; "sum" or "none".
        log_target: whether target holds logarithms.

    Example:
        >>> p = sg.tensor([[0.5, 0.5]])
        >>> sg.nn.functional.kl_div(p.log(), p, reduction="batchmean").item()
        0.0
    """
    losses = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / (input.shape[0] if input.ndim else 1)
    return _reduced("kl_div", losses, reduction)


@described()
@wide
def focal_loss(
    input: Tensor,
    target: Tensor,
    gamma: float = 2.0,
    alpha: Tensor | float | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Computes cross entropy times (1 - p)^gamma, where p is the probability of the target, so that easy examples count
    less (Lin et al., 2017).

    Args:
        input: logits [n, classes, ...], or, for binary targets, of any shape.
        target: integer classes [n, ...], or binary targets: floats 0 and 1 of the shape of input.
        gamma: how much less easy examples count; 0 makes this cross entropy.
        alpha: the weight of each class; for binary targets the weight of 1, where that of 0 is 1 - alpha.

    Raises:
        TypeError: alpha is a number, and target holds classes.
        IndexError: a class is out of range; raised by the next read.

    Example:
        >>> round(sg.nn.functional.focal_loss(sg.zeros(1), sg.ones(1)).item(), 4)
        0.1733
    """
    if target.dtype.is_floating_point:
        _same_shape("focal_loss", input, target)
        losses = binary_cross_entropy_with_logits(input, target, reduction="none")
        missed = where(target > 0.5, (-input).sigmoid(), input.sigmoid())
        share = None if alpha is None else alpha * target + (1 - alpha) * (1 - target)
    else:
        if isinstance(alpha, (int, float)):
            raise TypeError("focal_loss: alpha is a number; give a tensor with one weight per class")
        losses = cross_entropy(input, target, reduction="none")
        missed = -expm1(-losses)
        share = None if alpha is None else nll_loss(-_ones_of(input), target, alpha, reduction="none")
    losses = missed**gamma * losses
    return _reduced("focal_loss", losses if share is None else share * losses, reduction)


def _ones_of(x: Tensor) -> Tensor:
    return x.new_ones(()).expand(x.shape)


# ---- margins ---------------------------------------------------------------------------------------------------------


@described(_PAIR)
@wide
def hinge_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """Computes max(0, margin - target * input), the loss of support vector machines and of micrograd's demo.

    Args:
        input: scores, a tensor of any shape.
        target: the true classes, -1 or 1, of the same shape.
        margin: the margin; correct scores beyond it have no loss.

    Example:
        >>> sg.nn.functional.hinge_loss(sg.tensor([2.0, -0.5]), sg.tensor([1.0, 1.0])).item()
        0.75
    """
    _same_shape("hinge_loss", input, target)
    return _reduced("hinge_loss", relu(margin - target * input), reduction)


@described(hinge_loss)
@wide
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Computes log(1 + exp(-target * input)).

    Example:
        >>> round(sg.nn.functional.soft_margin_loss(sg.zeros(1), sg.ones(1)).item(), 4)
        0.6931
    """
    _same_shape("soft_margin_loss", input, target)
    return _of_type(input, _reduced("soft_margin_loss", -logsigmoid(target * input), reduction))


@described(_PAIR)
@wide
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Computes binary_cross_entropy_with_logits, averaged over the classes of each row.

    Args:
        input: logits, [..., classes].
        target: 0 or 1, of the same shape.
        weight: the weight of each class.
        reduction: "mean", "sum" or "none" (one loss for each row).

    Example:
        >>> sg.nn.functional.multilabel_soft_margin_loss(sg.zeros(4, 3), sg.ones(4, 3), reduction="none").shape
        (4,)
    """
    _same_shape("multilabel_soft_margin_loss", input, target)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    return _reduced("multilabel_soft_margin_loss", losses.mean(-1), reduction)


@described()
@wide
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Computes the sum of max(0, margin - input[target] + input[i])^p over all other classes i, divided by the number
    of classes.

    Args:
        input: scores, [n, classes] or [classes].
        target: the true classes, [n] or a scalar.
        p: 1 or 2.
        margin: the margin by which the score of the true class should exceed the others.
        weight: the weight of each class, [classes].

    Raises:
        ValueError: p is neither 1 nor 2.
        IndexError: a class is out of range; raised by the next read.

    Example:
        >>> sg.nn.functional.multi_margin_loss(sg.tensor([[0.0, 1.0]]), sg.tensor([0])).item()
        1.0
    """
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is {p}; use 1 or 2")
    if input.ndim < 2:
        input, target = input.reshape(1, -1), target.reshape(1)
        losses = multi_margin_loss(input, target, p, margin, weight, "none")
        return _reduced("multi_margin_loss", losses.squeeze(0), reduction)
    own = -nll_loss(input, target, reduction="none").unsqueeze(-1)
    short = relu(margin - own + input)
    short = short if p == 1 else short.square()
    # The true class itself contributes the whole margin.
    losses = (short.sum(-1) - max(margin, 0.0) ** p) / input.shape[-1]
    if weight is not None:
        losses = losses * nll_loss(-_ones_of(input), target, weight, reduction="none")
    return _reduced("multi_margin_loss", losses, reduction)


@described()
@wide
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Computes the sum of max(0, 1 - input[i] + input[j]) over all true classes i and other classes j, divided by the
    number of classes.

    Args:
        input: scores, [n, classes] or [classes].
        target: the true classes of each row, followed by -1, in the shape of input.

    Raises:
        ValueError: the shapes differ.
        IndexError: a class is out of range; raised by the next read.

    Example:
        >>> x, y = sg.tensor([[0.1, 0.2, 0.4, 0.8]]), sg.tensor([[3, 0, -1, 1]])
        >>> round(sg.nn.functional.multilabel_margin_loss(x, y).item(), 4)
        0.85
    """
    if input.ndim == 0 and target.ndim < 2:
        input, target = input.reshape(1), target.reshape(1)
    if input.shape != target.shape or input.ndim not in (1, 2):
        raise ValueError(
            f"multilabel_margin_loss: input {list(input.shape)} and target {list(target.shape)}; give both [n, classes]"
        )
    named = (target < 0).long().cumsum(-1) == 0
    index = where(named, target, 0)
    wrong = zeros_like(index).scatter_add(-1, index, named.long()) == 0
    own = input.gather(-1, index).unsqueeze(-1)
    pairs = named.unsqueeze(-1) & wrong.unsqueeze(-2)
    short = where(pairs, relu(1 - own + input.unsqueeze(-2)), 0.0)
    return _reduced("multilabel_margin_loss", short.sum((-2, -1)) / input.shape[-1], reduction)


@described(_PAIR)
@wide
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """Computes a distance where target is 1, and max(0, margin - distance) where it is -1.

    Args:
        input: distances, a tensor of any shape.
        target: 1 for similar pairs, -1 for dissimilar ones, of the same shape.
        margin: the distance that dissimilar pairs should have.

    Example:
        >>> x = sg.tensor([0.25, 0.25])
        >>> sg.nn.functional.hinge_embedding_loss(x, sg.tensor([1, -1]), reduction="none").tolist()
        [0.25, 0.75]
    """
    _same_shape("hinge_embedding_loss", input, target)
    losses = where(target != 1, _hinge(margin - input), 0) + where(target != -1, input, 0)
    return _reduced("hinge_embedding_loss", losses, reduction)


@described(_PAIR)
@wide
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Computes max(0, margin - target * (input1 - input2)).

    Args:
        input1: scores, a tensor of any shape.
        input2: other scores, of the same shape.
        target: 1 where input1 should be higher, -1 where input2 should be.
        margin: the margin between both scores.

    Example:
        >>> sg.nn.functional.margin_ranking_loss(sg.zeros(1), sg.ones(1), sg.ones(1)).item()
        1.0
    """
    _same_shape("margin_ranking_loss", input1, input2)
    if target.ndim != input1.ndim:
        raise ValueError(
            f"margin_ranking_loss: input1 has shape {list(input1.shape)}, target {list(target.shape)}; "
            "use the same number of dimensions"
        )
    return _reduced("margin_ranking_loss", _hinge(margin - target * (input1 - input2)), reduction)


# ---- distances of pairs ----------------------------------------------------------------------------------------------


@described()
@wide
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Computes the p-norm of x1 - x2 + eps along the last dimension.

    Args:
        x1: [..., n].
        x2: a tensor of a shape that broadcasts with that of x1.
        p: the order of the norm.
        eps: keeps the gradient finite where both are equal.
        keepdim: whether to keep the last dimension, with size 1.

    Example:
        >>> sg.nn.functional.pairwise_distance(sg.tensor([3.0, 4.0]), sg.zeros(2), eps=0.0).item()
        5.0
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


@described(pairwise_distance)
@wide
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Computes max(0, margin + distance(anchor, positive) - distance(anchor, negative)).

    Args:
        anchor: [..., n].
        positive: a similar tensor, of the same shape.
        negative: a dissimilar tensor, of the same shape.
        margin: the margin by which the dissimilar tensor should be farther away.
        swap: whether to use distance(positive, negative) where it is smaller (Balntas et al., 2016).

    Raises:
        ValueError: the numbers of dimensions differ, or margin is not positive.

    Example:
        >>> a = sg.zeros(1, 2)
        >>> sg.nn.functional.triplet_margin_loss(a, a, a + 0.25, p=1.0, eps=0.0).item()
        0.5
    """
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ValueError(
            f"triplet_margin_loss: shapes {list(anchor.shape)}, {list(positive.shape)}, {list(negative.shape)}; "
            "use the same number of dimensions"
        )
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin is {margin}; use a positive number")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduced("triplet_margin_loss", _hinge(margin + near - far), reduction)


@described(_PAIR)
@wide
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Computes 1 - the cosine of the angle where target is 1, and max(0, cosine - margin) where it is -1.

    Args:
        input1: [n, d], or [d].
        input2: a tensor of the same shape.
        target: 1 for similar pairs, -1 for dissimilar ones, [n] or a scalar.
        margin: the cosine that dissimilar pairs may have.

    Raises:
        ValueError: the shapes differ, or target does not have one element for each row.

    Example:
        >>> x = sg.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> sg.nn.functional.cosine_embedding_loss(x, x, sg.tensor([1, -1]), reduction="none").tolist()
        [0.0, 1.0]
    """
    _same_shape("cosine_embedding_loss", input1, input2)
    if target.shape != input1.shape[:-1]:
        raise ValueError(
            f"cosine_embedding_loss: input1 has shape {list(input1.shape)}, target {list(target.shape)}; "
            f"give {list(input1.shape[:-1])}"
        )
    eps = 1e-12
    lengths = (input1.square().sum(-1) + eps) * (input2.square().sum(-1) + eps)
    cosine = (input1 * input2).sum(-1) / lengths.sqrt()
    losses = where(target == 1, 1 - cosine, 0) + where(target == -1, _hinge(cosine - margin), 0)
    return _reduced("cosine_embedding_loss", losses, reduction)


@described(pairwise_distance)
@wide
def contrastive_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 1.0, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Computes half the squared distance where target is 1, and half the square of max(0, margin - distance) where it
    is 0. The formula is that of Hadsell, Chopra and LeCun (2006), whose Y is 1 - target.

    Args:
        input1: [..., n].
        input2: a tensor of the same shape.
        target: 1 for similar pairs, 0 for dissimilar ones, [...].
        margin: the distance that dissimilar pairs should have.

    Raises:
        ValueError: the shapes differ, or target does not have one element for each row.

    Example:
        >>> x, y = sg.zeros(2, 1), sg.tensor([[0.5], [0.5]])
        >>> sg.nn.functional.contrastive_loss(x, y, sg.tensor([1, 0]), eps=0.0, reduction="none").tolist()
        [0.125, 0.125]
    """
    _same_shape("contrastive_loss", input1, input2)
    if target.shape != input1.shape[:-1]:
        raise ValueError(
            f"contrastive_loss: input1 has shape {list(input1.shape)}, target {list(target.shape)}; "
            f"give {list(input1.shape[:-1])}"
        )
    distance = pairwise_distance(input1, input2, 2.0, eps)
    losses = 0.5 * where(target == 1, distance, relu(margin - distance)).square()
    return _reduced("contrastive_loss", losses, reduction)
