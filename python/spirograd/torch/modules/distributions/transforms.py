"""torch.distributions.transforms: the names that spirograd.distributions.transforms lacks."""

from ....distributions.transforms import *  # noqa: F403  (pickles name the classes here)
from ....distributions.transforms import ComposeTransform, _InverseTransform

__all__ = ["_InverseTransform", "identity_transform"]

identity_transform = ComposeTransform([])
