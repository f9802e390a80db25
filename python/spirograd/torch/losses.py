"""Losses of inputs and targets whose shapes differ and broadcast: PyTorch computes them, mostly with a warning."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from ..nn.functional import loss

__all__ = ["broadcast_targets"]

_WARNED = {"huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"}
_SILENT = {"cosine_embedding_loss", "hinge_embedding_loss", "poisson_nll_loss"}
_strict = loss._same_shape


def _broadcast(op: str, input: Tensor, target: Tensor) -> None:
    tensors = isinstance(input, Tensor) and isinstance(target, Tensor)
    if not tensors or input.shape == target.shape or op not in _WARNED | _SILENT:
        return _strict(op, input, target)
    _core.broadcast_shapes(input.shape, target.shape)
    if op in _WARNED:
        _core._warn_at_line(
            f"Using a target size (torch.Size({list(target.shape)})) that is different to the input size "
            f"(torch.Size({list(input.shape)})). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size."
        )


def broadcast_targets() -> None:
    """Lets them pass."""
    loss._same_shape = _broadcast
