"""The names of torch.nn.utils that are elsewhere in spirograd."""

from __future__ import annotations

from typing import Any

from .....nn.utils import clip_grad_norm_
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .old_norms import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
__all__ += ["clip_grad_norm", "remove_spectral_norm", "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm"]

clip_grad_norm = clip_grad_norm_


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module; its initial values are drawn all the same."""
    return module_cls(*args, **kwargs)
