"""The layer AdaptiveLogSoftmaxWithLoss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import _core
from .._core import Tensor, cat, log_softmax
from ._arguments import described
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class ASMoutput(NamedTuple):
    """The result of AdaptiveLogSoftmaxWithLoss.

    Attributes:
        output: [n], the logarithm of the probability of each target.
        loss: the negative mean of output.
    """

    output: Tensor
    loss: Tensor


@described()
class AdaptiveLogSoftmaxWithLoss(Module):
    """Computes the cross entropy of very many classes, most of which are rare (Grave et al., 2017).

    The first cutoffs[0] classes, sorted by descending frequency, have their own scores, beside one score for each
    cluster of the other classes. Clusters have fewer features, later clusters fewer than earlier ones.

    Args:
        in_features: number of features of the input.
        n_classes: number of classes.
        cutoffs: the first class of each cluster, in ascending order.
        div_value: cluster i has in_features // div_value**(i + 1) features.
        head_bias: whether the scores of the first classes have a bias.

    Raises:
        ValueError: the cutoffs do not ascend, or are not below n_classes.

    Example:
        >>> m = sg.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
        >>> m(sg.randn(4, 8), sg.tensor([0, 4, 7, 19])).output.shape, m.log_prob(sg.randn(4, 8)).shape
        ((4,), (4, 20))
    """

    _shown = ""

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends or ends != sorted(set(ends)) or ends[0] < 1 or ends[-1] >= n_classes:
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs are {ends}; give increasing numbers from 1 to {n_classes - 1}"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*ends, n_classes]
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)  # type: ignore[arg-type]
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            narrow = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, narrow, bias=False, **options),  # type: ignore[arg-type]
                    Linear(narrow, size, bias=False, **options),  # type: ignore[arg-type]
                )
            )

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """Returns the logarithms of the probabilities of the targets, and the loss.

        Args:
            input_: [n, in_features], or [in_features].
            target_: the true classes, [n], or a scalar.

        Raises:
            ValueError: the shapes do not fit.
            IndexError: a class is out of range; raised by the next read.
        """
        input, target = input_, target_
        if input.shape[:-1] != target.shape or input.ndim not in (1, 2):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: input {list(input.shape)} and target {list(target.shape)}; "
                "give [n, features] and [n]"
            )
        x, y = (input, target) if input.ndim == 2 else (input.unsqueeze(0), target.unsqueeze(0))
        first = self.shortlist_size
        entry = y
        for i in range(self.n_clusters):
            inside = (y >= self.cutoffs[i]) & (y < self.cutoffs[i + 1])
            entry = _core.where(inside, first + i, entry)
        output = log_softmax(self.head(x), 1).gather(1, entry.unsqueeze(1)).squeeze(1)
        for i, cluster in enumerate(self.tail):
            inside = (y >= self.cutoffs[i]) & (y < self.cutoffs[i + 1])
            rows = inside.nonzero().squeeze(1)
            if rows.numel():
                own = log_softmax(cluster(x.index_select(0, rows)), 1)
                own = own.gather(1, (y.index_select(0, rows) - self.cutoffs[i]).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, own)
        loss = -output.mean()
        return ASMoutput(output if input.ndim == 2 else output[0], loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Returns the logarithms of the probabilities of all classes: [n, n_classes]."""
        head, first = log_softmax(self.head(input), -1), self.shortlist_size
        clusters = [log_softmax(c(input), -1) + head[..., first + i, None] for i, c in enumerate(self.tail)]
        return cat([head[..., :first], *clusters], -1)

    def predict(self, input: Tensor) -> Tensor:
        """Returns the most probable class of each input: [n]."""
        return self.log_prob(input).argmax(-1)
