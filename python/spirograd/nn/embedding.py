"""Rows of a trained table by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import Tensor, empty
from ..base.grad_mode import no_grad
from . import functional as F
from . import init
from ._sizes import check_counts
from .module import TensorModule
from .parameter import Parameter

if TYPE_CHECKING:
    from ..base.types import DeviceLike, DTypeLike

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(TensorModule):
    """A table of vectors; the input chooses rows: [...] integers -> [..., embedding_dim]. Its first values are normal.

    Args:
        num_embeddings: how many rows.
        embedding_dim: their size.
        padding_idx: a row that begins as zeros and gets no gradient.
        max_norm: rows that are used and longer than this are shortened to it, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it is used.
        sparse: accepted; the gradient is dense.
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

    _shown = "{num_embeddings} {embedding_dim} padding_idx? max_norm? norm_type? scale_grad_by_freq?"

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
        check_counts(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
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
            sparse: accepted; the gradient is dense.

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


class EmbeddingBag(TensorModule):
    """Sums, means or maxima of rows of a table: [bags, n] numbers, or [n] with offsets -> [bags, embedding_dim].

    Args:
        num_embeddings: how many rows.
        embedding_dim: their size.
        max_norm: rows that are used and longer than this are shortened to it, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it is used; not for "max".
        mode: "mean", "sum" or "max".
        sparse: accepted; the gradient is dense.
        _weight: the table; None draws one.
        include_last_offset: offsets end with the number of indices.
        padding_idx: a row that is left out of each bag.
        device: where it is.
        dtype: its type.

    Raises:
        ValueError: another mode, or one that an option does not go with; raised by the call.

    Example:
        >>> sg.nn.EmbeddingBag(10, 4)(sg.tensor([1, 2, 3]), sg.tensor([0, 2])).shape
        (2, 4)
    """

    _shown = "{num_embeddings} {embedding_dim} mode"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.sparse, self.include_last_offset, self.padding_idx = sparse, include_last_offset, padding_idx
        table = empty((num_embeddings, embedding_dim), device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(table)
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
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An EmbeddingBag of an existing table.

        Args:
            embeddings: [rows, size].
            freeze: the table is not trained.
            max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx: see the class.

        Raises:
            ValueError: it is no matrix.
        """
        if embeddings.ndim != 2:
            raise ValueError(f"EmbeddingBag: the table has shape {list(embeddings.shape)}; it must be a matrix")
        bag = cls(
            embeddings.shape[0],
            embeddings.shape[1],
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
