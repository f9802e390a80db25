"""Work for LAPACK: checks matrices, copies them to the CPU and back, and reports the matrices on which it fails."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from .. import _core
from .._complex import ComplexTensor
from .._core import Error, FallbackWarning, Tensor

Array = np.ndarray[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])
COMPLEX: dict[str, Callable[..., Any]] = {}  # the functions of complex matrices, which _complex.py writes here


def or_complex(function: F) -> F:
    """The function, which leaves complex matrices to that of the same name in COMPLEX."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, ComplexTensor) for x in args[:2]):
            return COMPLEX[function.__name__](*args, **kwargs)
        return function(*args, **kwargs)

    return cast(F, call)


class LinAlgError(Error):
    """A matrix has no inverse or no Cholesky factor, or an iteration did not converge."""


warned: set[str] = set()


def _fall_back(op: str, device: _core.Device) -> None:
    _core._count_fallback(op)
    if op in warned:
        return
    warned.add(op)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "spirograd":
        level, frame = level + 1, frame.f_back
    message = f"{op}: it runs in NumPy on the CPU; a tensor of {device} is copied there and back (said once)"
    warnings.warn(message, FallbackWarning, stacklevel=level)


def _first_wrong(f: Callable[..., Any], arrays: Sequence[Array]) -> tuple[Any, ...]:
    """The first matrix of a batch on which LAPACK fails."""
    for at in np.ndindex(arrays[0].shape[:-2]):
        try:
            f(*(a[at] for a in arrays))
        except np.linalg.LinAlgError:
            return tuple(at)
    return ()


def lapack(op: str, wrong: str, f: Callable[..., Any], *inputs: Tensor) -> tuple[Tensor, ...]:
    """Calls f with the inputs as arrays; returns tensors on their device."""
    device = inputs[0].device
    if device.kind == "gpu":
        _fall_back(op, device)
    arrays = [x.detach().numpy() for x in inputs]
    try:
        made = f(*arrays)
    except np.linalg.LinAlgError as e:
        at = _first_wrong(f, arrays)
        which = f"matrix {list(at)} of the batch" if at else "the matrix"
        raise LinAlgError(f"{op}: {which} {wrong}") from e
    results = made if isinstance(made, tuple) else (made,)
    return tuple(_core.tensor(np.asarray(r), device=device) for r in results)


def real_of(x: Any) -> Any:
    """The real part of a complex tensor, which has its shape, or what was given."""
    return x.real if isinstance(x, ComplexTensor) else x


def check_matrices(op: str, x: Any, square: bool = False, name: str = "A") -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: {name} is a {type(x).__name__}; a tensor is needed")
    if x.ndim < 2:
        raise ValueError(f"{op}: {name} of shape {list(x.shape)} is not a matrix; use two dimensions or more")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{op}: {name} has matrices of {x.shape[-2]} x {x.shape[-1]}; they must be square")
    if x.dtype not in (_core.float32, _core.float64):
        raise TypeError(f"{op}: {name} is {name_of(x)}; LAPACK takes float32 and float64, convert it with .float()")


def name_of(x: Tensor) -> str:
    return str(x.dtype).rsplit(".", 1)[-1]


def eye_like(like: Tensor) -> Tensor:
    return _core.eye(like.shape[-1], dtype=like.dtype, device=like.device)
