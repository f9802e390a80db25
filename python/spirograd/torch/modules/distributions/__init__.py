"""torch.distributions: the names that spirograd.distributions lacks."""

from .transforms import (
    CatTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    StackTransform,
)

__all__ = ["CatTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "IndependentTransform"]
__all__ += ["PositiveDefiniteTransform", "ReshapeTransform", "StackTransform"]
