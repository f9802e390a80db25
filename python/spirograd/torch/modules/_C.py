"""torch._C: PyTorch's inside, as far as programs for it reach there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..._core import Device, Tensor, _Mode, device, dtype
from ..answering import DisableTorchFunction, DisableTorchFunctionSubclass, disabled

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_TensorMeta", "_are_functorch_transforms_active"]
__all__ += ["_cuda_getCurrentRawStream", "_has_xpu"]
__all__ += ["_disabled_torch_function_impl", "_get_tracing_state", "_is_torch_function_enabled"]
__all__ += ["_log_api_usage_once", "_nn"]

_disabled_torch_function_impl, _is_torch_function_enabled = disabled, _Mode.asks_classes
_TensorMeta = type


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Arguments of to(): device, type, non_blocking, memory_format."""
    given = {"device": None, "dtype": None, "non_blocking": False, "memory_format": None, **kwargs}
    given.pop("copy", None)
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        given["device"], given["dtype"] = rest[0].device, rest[0].dtype
        rest.pop(0)
    elif rest and isinstance(rest[0], dtype):
        given["dtype"] = rest.pop(0)
    elif rest:
        place = rest.pop(0)
        given["device"] = place if place is None or isinstance(place, Device) else device(place)
        if rest and isinstance(rest[0], dtype):
            given["dtype"] = rest.pop(0)
    if rest:
        given["non_blocking"] = bool(rest[0])
    return given["device"], given["dtype"], given["non_blocking"], given["memory_format"]


_has_xpu = False
_nn = SimpleNamespace(_parse_to=_parse_to)


def _cuda_getCurrentRawStream(device_index: int) -> int:
    """An error: there is no stream of CUDA that kernels of an extension could run in.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("_cuda_getCurrentRawStream: cuda is Vulkan here, where kernels for CUDA do not run")


def _get_tracing_state() -> None:
    """None: Python runs."""


def _are_functorch_transforms_active() -> bool:
    """False: functions of vmap() see tensors like others."""
    return False


def _log_api_usage_once(name: str) -> None:
    """Accepted: nothing is logged."""
