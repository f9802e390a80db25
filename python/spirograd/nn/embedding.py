"""Rows of a trained table by index."""

from __future__ import annotations

from .._core import Tensor, empty
from ..base.grad_mode import no_grad
from ..base.types import DeviceLike, DTypeLike
from . import functional as F
from . import init
from ._arguments import described
from ._sizes import check_counts
from .module import TensorModule
from .parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


@described(F.embedding)
class Embedding(TensorModule):
    """Selects rows of a trained table: integers [...] -> [..., embedding_dim]. The table is drawn from a normal
    distribution.

    Args:
        num_embeddings: number of rows.
        embedding_dim: size of a row.
        padding_idx: a row that starts as zeros and gets no gradient.
        _weight: the table; by default it is drawn.
        _freeze: whether the table is not trained.

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
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.sparse = sparse
        shape = (num_embeddings, embedding_dim)
        if _weight is not None and _weight.shape != shape:
            raise ValueError(f"Embedding: _weight has shape {list(_weight.shape)}; give {list(shape)}")
        table = empty(shape, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(table, requires_grad=not _freeze)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    @described(F.embedding)
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
        """Makes an Embedding of an existing table.

        Args:
            embeddings: the table, [rows, size].
            freeze: whether the table is not trained.

        Returns:
            The layer.

        Raises:
            ValueError: the table is not a matrix.

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


@described(F.embedding_bag, Embedding)
class EmbeddingBag(TensorModule):
    """Computes sums, means or maxima of rows of a trained table: integers [bags, n], or [n] with offsets, -> [bags,
    embedding_dim].

    Raises:
        ValueError: from the call: mode is unknown or does not allow an option.

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
        """Draws new initial values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    @described(F.embedding_bag)
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
        """Makes an EmbeddingBag of an existing table.

        Args:
            embeddings: the table, [rows, size].
            freeze: whether the table is not trained.

        Returns:
            The layer.

        Raises:
            ValueError: the table is not a matrix.
        """
        if embeddings.ndim != 2:
            raise ValueError(f"EmbeddingBag: the table has shape {list(embeddings.shape)}; give a matrix")
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
