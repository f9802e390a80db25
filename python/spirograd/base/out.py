"""The argument `out=` of functions that PyTorch gives one."""

from __future__ import annotations

from typing import Any


def placed(op: str, result: Any, out: Any) -> Any:
    """Writes a result into `out`, which takes its shape when it has no elements, as in PyTorch."""
    if isinstance(out, (list, tuple)):
        return tuple(placed(op, part, place) for part, place in zip(result, out, strict=True))
    if out.requires_grad or result.requires_grad:
        raise RuntimeError(f"{op}: out= carries no gradient, and an argument requires one; use the result instead")
    if out.shape == result.shape:
        return out.copy_(result)
    if out.numel():
        raise RuntimeError(f"{op}: out has shape {list(out.shape)}, the result {list(result.shape)}; make them equal")
    out.data = result.to(out.dtype)
    return out
