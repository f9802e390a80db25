"""torch.autograd.graph: the class of nodes is PyTorch's."""

from ....autograd.graph import GradientEdge
from ...nodes import Node

__all__ = ["GradientEdge", "Node"]
