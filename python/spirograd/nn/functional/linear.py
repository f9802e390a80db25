"""Products and norms of vectors."""

from __future__ import annotations

from ..._core import Tensor, broadcast_tensors, maximum, one_hot, pad

__all__ = ["bilinear", "cosine_similarity", "linear", "normalize", "one_hot", "pad"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Computes input @ weight.T + bias.

    Args:
        input: [..., in].
        weight: [out, in].
        bias: [out], or None.

    Returns:
        [..., out].

    Example:
        >>> sg.nn.functional.linear(sg.ones(2, 3), sg.ones(4, 3)).shape
        (2, 4)
    """
    out = input @ weight.T
    return out if bias is None else out + bias.to(out.dtype)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Computes input1 @ weight[k] @ input2 + bias[k] for each k.

    Args:
        input1: [..., in1].
        input2: [..., in2].
        weight: [out, in1, in2].
        bias: [out], or None.

    Returns:
        [..., out].

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> sg.nn.functional.bilinear(sg.ones(5, 2), sg.ones(5, 3), sg.ones(4, 2, 3)).shape
        (5, 4)
    """
    made, n, m = weight.shape
    if input1.shape[:-1] != input2.shape[:-1] or (input1.shape[-1], input2.shape[-1]) != (n, m):
        raise ValueError(
            f"bilinear: inputs of shapes {list(input1.shape)} and {list(input2.shape)}, weight {list(weight.shape)}; "
            "give [..., n], [..., m] and [out, n, m]"
        )
    rows = input1 @ weight.permute(1, 0, 2).reshape(n, made * m)
    product = rows.unflatten(-1, (made, m)) * input2.unsqueeze(-2)
    out = product.sum(-1).to(product.dtype)
    return out if bias is None else out + bias


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divides vectors along a dimension by their norm.

    Args:
        input: a tensor of any shape.
        p: the order of the norm.
        dim: the dimension of the vectors.
        eps: a lower bound of the norm.

    Example:
        >>> sg.nn.functional.normalize(sg.tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    return input / maximum(input.norm(p, dim, keepdim=True), eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Computes the cosine of the angle between vectors along a dimension.

    Args:
        x1: a tensor of any shape.
        x2: a tensor of a shape that broadcasts with that of x1.
        dim: the dimension of the vectors, which the result does not have.
        eps: a lower bound of the norms.

    Example:
        >>> sg.nn.functional.cosine_similarity(sg.ones(1, 2), sg.ones(1, 2)).shape
        (1,)
    """
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    first, second = normalize(x1, 2.0, dim, eps), normalize(x2, 2.0, dim, eps)
    return (first * second).sum(dim)
