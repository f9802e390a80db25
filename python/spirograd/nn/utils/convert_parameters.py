"""Conversion between parameters and one vector."""

from __future__ import annotations

from collections.abc import Iterable

from ... import _core
from ..._core import Tensor
from ...base.grad_mode import no_grad


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenates the elements of all tensors to a vector, which has a gradient.

    Args:
        parameters: tensors of any shapes, on one device.

    Returns:
        [n], where n is the number of all elements.

    Example:
        >>> sg.nn.utils.parameters_to_vector([sg.zeros(2, 2), sg.ones(1)]).tolist()
        [0.0, 0.0, 0.0, 0.0, 1.0]
    """
    return _core.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies the elements of a vector into tensors, in order.

    Args:
        vec: [n], where n is the number of all elements.
        parameters: tensors of any shapes, which are overwritten.

    Raises:
        ValueError: the sizes differ; nothing was copied.

    Example:
        >>> a, b = sg.zeros(2), sg.zeros(1)
        >>> sg.nn.utils.vector_to_parameters(sg.tensor([1.0, 2.0, 3.0]), [a, b])
        >>> a.tolist(), b.tolist()
        ([1.0, 2.0], [3.0])
    """
    tensors = list(parameters)
    sizes = [p.numel() for p in tensors]
    if list(vec.shape) != [sum(sizes)]:
        raise ValueError(
            f"vector_to_parameters: a vector of shape {list(vec.shape)} for {sum(sizes)} elements; use the same number"
        )
    with no_grad():
        for p, part in zip(tensors, _core.split(vec.detach(), sizes), strict=True):
            p.copy_(part.reshape(p.shape))
