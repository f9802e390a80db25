"""Draws, and what is written into a tensor."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._core import Tensor
from ..base.overridable import open_functions
from ..distributions.counts import Binomial, draw_poisson
from .places import put

__all__ = ["binomial", "fork_rng", "poisson"]


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **options: Any) -> Iterator[None]:
    """A context: random numbers drawn inside do not change those drawn after it.

    Args:
        devices: accepted: one generator is for all devices.
        enabled: False changes nothing.
        options: accepted.

    Example:
        >>> with sg.fork_rng():
        ...     x = sg.rand(2)
        >>> sg.equal(x, sg.rand(2))
        True
    """
    before = _core.get_rng_state()
    try:
        yield
    finally:
        if enabled:
            _core.set_rng_state(before)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Draws of Poisson distributions with the rates of the input, in its shape and type.

    Args:
        input: rates.
        generator: without a meaning: draws come from the default generator.

    Raises:
        ValueError: at the next read, a rate is negative or not finite.

    Example:
        >>> sg.poisson(sg.zeros(2)).tolist()
        [0.0, 0.0]
    """
    return draw_poisson(_core._check_parameter("poisson", input, (input >= 0) & (input < math.inf)))


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Draws of binomial distributions, in the shape and the type of both, which broadcast.

    Args:
        count: how often.
        prob: with which probability.
        generator: without a meaning: draws come from the default generator.

    Raises:
        ValueError: at the next read, a count is negative, or prob is no probability.

    Example:
        >>> sg.binomial(sg.tensor([3.0, 5.0]), sg.tensor([0.0, 1.0])).tolist()
        [0.0, 5.0]
    """
    good = (prob >= 0) & (prob <= 1) & (count >= 0)
    return Binomial(count, _core._check_parameter("binomial", prob, good)).sample()


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Writes a number on the main diagonal; with wrap, on again below each square of a tall matrix."""
    rows, columns = self.shape[0], self.shape[-1]
    if self.ndim == 2 and wrap and rows > columns + 1:
        places = _core.arange(0, rows * columns, columns + 1, device=self.device)
        value = _core.full(places.shape, fill_value, dtype=self.dtype, device=self.device)
        return self.copy_(put(self, places, value))
    index = _core.arange(min(self.shape), device=self.device)
    self[(index,) * self.ndim] = fill_value
    return self


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape: as many elements as there are in order, then 0."""
    shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    flat, count = self.data.reshape(-1), math.prod(shape)
    if count > flat.shape[0]:
        flat = _core.cat([flat, flat.new_zeros(count - flat.shape[0])])
    self.data = flat[:count].reshape(shape)
    return self


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Writes draws of a Cauchy distribution; ValueError where sigma is not above 0."""
    if not sigma > 0:
        raise ValueError(f"cauchy_: sigma is {sigma}; use a number above 0")
    u = _core.rand(self.shape, device=self.device, generator=generator)
    return self.copy_(median + sigma * (math.pi * (u - 0.5)).tan())


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Writes the exponentials of draws of a normal distribution; ValueError where std is not above 0."""
    if not std > 0:
        raise ValueError(f"log_normal_: std is {std}; use a number above 0")
    z = _core.randn(self.shape, device=self.device, generator=generator)
    return self.copy_((mean + std * z).exp())


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Writes the number of trials up to the first success; ValueError where p is not between 0 and 1."""
    if not 0 < p < 1:
        raise ValueError(f"geometric_: p is {p}; use a number between 0 and 1")
    u = _core.rand(self.shape, device=self.device, generator=generator)
    return self.copy_(((1 - u).log() / math.log1p(-p)).ceil().clamp(min=1))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Writes f(x) for each element, one call of Python each."""
    values = [callable(x) for x in self.detach().reshape(-1).tolist()]
    return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(self.shape))


open_functions(__name__)
