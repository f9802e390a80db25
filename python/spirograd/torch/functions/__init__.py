"""Functions and methods that PyTorch has and spirograd does not, made of spirograd's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import angle
from ...nn import functional
from . import algebra, copies, elementwise, factors, foreach, in_place, native, quantised, rare, spectral, statistics

__all__ = ["FUNCTIONS", "METHODS"]

_FILES = (algebra, copies, elementwise, factors, foreach, native, quantised, rare, spectral, statistics)
FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(file, name) for file in _FILES for name in file.__all__}
_NOT_METHODS = {
    "_log_softmax_backward_data",
    "_softmax_backward_data",
    "binomial",
    "cartesian",
    "empty_permuted",
    "empty_strided",
    "column_stack",
    "combinations",
    "einsum",
    "gradient",
    "lu_unpack",
    "histogramdd",
    "pdist",
    "range",
    "row_stack",
    "scalar_tensor",
    "segment_reduce",
    "unravel_index",
    "vander",
    *(name for name in copies.__all__ if name not in ("as_strided_scatter", "narrow_copy")),
    *foreach.__all__,
    *(name for name in native.__all__ if name != "hash_tensor"),
    *(name for name in spectral.__all__ if name.endswith("window")),
}
_ACTIVATIONS = ("hardshrink", "prelu")


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a method: one of the core does not bind itself."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


METHODS: dict[str, Callable[..., Any]] = {
    **{name: _method(name, f) for name, f in FUNCTIONS.items() if name not in {*_NOT_METHODS, *quantised.__all__}},
    **{name: _method(name, getattr(functional, name)) for name in _ACTIVATIONS},
    "angle": _method("angle", angle),
    **in_place.METHODS,
}
