"""The names of torch.nn.utils that are elsewhere in spirograd."""

from __future__ import annotations

from typing import Any

from .....nn.utils import clip_grad_norm_

__all__ = ["clip_grad_norm", "skip_init"]

clip_grad_norm = clip_grad_norm_


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module; its initial values are drawn all the same."""
    return module_cls(*args, **kwargs)
