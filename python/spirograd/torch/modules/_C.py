"""torch._C: PyTorch's inside, as far as programs for it reach there."""

from __future__ import annotations

import contextlib

__all__ = ["DisableTorchFunctionSubclass", "_are_functorch_transforms_active", "_get_tracing_state"]
__all__ += ["_log_api_usage_once"]

DisableTorchFunctionSubclass = contextlib.nullcontext


def _get_tracing_state() -> None:
    """None: Python runs."""


def _are_functorch_transforms_active() -> bool:
    """False: functions of vmap() see tensors like others."""
    return False


def _log_api_usage_once(name: str) -> None:
    """Accepted: nothing is logged."""
