"""Rows of a trained table by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import Tensor, empty
from ..base.grad_mode import no_grad
from . import functional as F
from . import init
from .module import Parameter, TensorModule

if TYPE_CHECKING:
    from ..base.types import DeviceLike, DTypeLike

__all__ = ["Embedding"]


class Embedding(TensorModule):
    """A table of vectors; the input chooses rows: [...] whole numbers -> [..., embedding_dim]. They begin normal.

    Args:
        num_embeddings: how many rows.
        embedding_dim: their size.
        padding_idx: a row that begins as zeros and gets no gradient.
        max_norm: rows that are used and longer than this are shortened to it, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it is used.
        sparse: there are no sparse gradients.
        _weight: the table; None draws one.
        _freeze: the table is not trained.
        device: where it is.
        dtype: its type.

    Raises:
        ValueError: padding_idx is out of range, or _weight has another shape.

    Example:
        >>> sg.nn.Embedding(10, 4)(sg.tensor([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"Embedding: padding_idx {padding_idx} is out of range for {num_embeddings} rows")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        shape = (num_embeddings, embedding_dim)
        if _weight is not None and _weight.shape != shape:
            raise ValueError(f"Embedding: _weight has shape {list(_weight.shape)}; give {list(shape)}")
        table = empty(shape, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(table, requires_grad=not _freeze)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial values again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An Embedding of an existing table.

        Args:
            embeddings: [rows, size].
            freeze: the table is not trained.
            padding_idx: a row that gets no gradient.
            max_norm: rows that are used and longer than this are shortened to it, in place.
            norm_type: the order of that norm.
            scale_grad_by_freq: divide the gradient of a row by how often it is used.
            sparse: there are no sparse gradients.

        Raises:
            ValueError: it is no matrix.

        Example:
            >>> sg.nn.Embedding.from_pretrained(sg.eye(3))(sg.tensor([1])).tolist()
            [[0.0, 1.0, 0.0]]
        """
        if embeddings.ndim != 2:
            raise ValueError(f"Embedding: the table has shape {list(embeddings.shape)}; give a matrix")
        rows, size = embeddings.shape
        return cls(
            rows, size, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings, _freeze=freeze
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text
