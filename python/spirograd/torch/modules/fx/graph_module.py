"""torch.fx.graph_module: what torchvision imports of it and does not need to build a model."""

from ....fx import GraphModule
from ....fx import GraphModule as _CodeOnlyModule
from ....fx.graph_module import copy_attr as _copy_attr

__all__ = ["_USER_PRESERVED_ATTRIBUTES_KEY", "GraphModule", "_CodeOnlyModule", "_copy_attr"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
