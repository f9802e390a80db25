"""Functions and methods that PyTorch has in another form, or under names that spirograd does not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import spirograd as sg

from ..._functions import foreach, native, statistics
from ...nn import functional
from . import copies, forms, in_place

__all__ = ["FUNCTIONS", "METHODS"]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(file, name) for file in (copies, foreach, forms, native) for name in file.__all__},
    "_segment_reduce": sg.segment_reduce,
    "pdist": functional.pdist,
    "sum_to_size": statistics.sum_to_size,
}
# Functions whose first argument is the tensor of the method.
_METHODS = """
    addr adjoint aminmax angle as_strided_scatter atleast_1d atleast_2d atleast_3d cdist cholesky cholesky_inverse
    cholesky_solve conj conj_physical copysign cross cumulative_trapezoid det diagflat diagonal_scatter digamma
    dist dsplit erfinv fill float_power fmax fmin frexp frobenius_norm gcd geqrf hardshrink hash_tensor heaviside
    histc histogram i0 igamma igammac index_reduce inverse isneginf isposinf isreal istft lcm ldexp lgamma
    logaddexp2 logdet logit lu lu_solve matrix_exp matrix_power mode mvlgamma narrow_copy nextafter nonzero_static
    norm nuclear_norm orgqr ormqr pca_lowrank pinverse polygamma prelu put qr real renorm resolve_conj resolve_neg
    rsub scatter select_scatter signbit sinc slice_scatter slogdet stft sum_to_size svd svd_lowrank tensor_split
    trace trapezoid trapz triangular_solve unsafe_chunk unsafe_split
"""


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a method: one of the core does not bind itself."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def _found(name: str) -> Callable[..., Any]:
    return FUNCTIONS.get(name) or getattr(sg, name, None) or getattr(functional, name)


METHODS: dict[str, Callable[..., Any]] = {
    **{name: _method(name, _found(name)) for name in _METHODS.split()},
    **in_place.METHODS,
}
