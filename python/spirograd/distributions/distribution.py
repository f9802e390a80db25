"""Distribution: what all of them share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from .. import _core
from .._core import Tensor, log, log1p, where
from ..base.docstrings import described_by
from ..base.dtypes import finfo
from ..base.grad_mode import enable_grad, no_grad
from ..base.keywords import naming_keywords
from .constraints import Constraint, Dependent

__all__ = ["Distribution", "ExponentialFamily"]

T = TypeVar("T")


class once(functools.cached_property[T]):
    """A property that is computed once, with its gradient, even where a draw without one is the first to need it."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None:
            instance._computed = (*instance._computed, self.attrname)
        with enable_grad():
            return super().__get__(instance, owner)


class Distribution:
    """Base of probability distributions.

    A sample has the shape sample_shape + batch_shape + event_shape: draws, independent distributions side by side, and
    the dimensions of one value.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one value.
        validate_args: whether to check parameters and values, which reads them; by default they are not checked.

    Attributes:
        has_rsample: whether rsample() has gradients.
        arg_constraints: the constraint of each parameter.
    """

    has_rsample: ClassVar[bool] = False
    has_enumerate_support: ClassVar[bool] = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _validate_args: bool = False
    # 0 and 1, or 0 of a half line, where densities may be infinite: draws stay between.
    _ends: tuple[int, ...] = ()
    _computed: tuple[str | None, ...] = ()  # what follows from other parameters

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check()

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls) and cls.__module__.startswith(f"{__package__}."):
            cls.__init__ = naming_keywords(cls.__init__)  # type: ignore[method-assign]
        for name in ("log_prob", "cdf", "icdf"):
            if name in vars(cls):
                setattr(cls, name, _of_a_value(vars(cls)[name]))
        if "_draw" in vars(cls):
            cls._draw = _drawn(vars(cls)["_draw"])  # type: ignore[method-assign]
        if "entropy" in vars(cls):
            cls.entropy = _of_parameters(vars(cls)["entropy"])  # type: ignore[method-assign]
        wrapped: dict[property, property] = {}  # one may have two names
        for name in ("mean", "mode", "variance"):
            if isinstance(given := vars(cls).get(name), property) and given.fget is not None:
                given.fget.__name__ = name  # help() looks for the text of a formula by its name
                setattr(cls, name, wrapped.setdefault(given, property(_of_parameters(given.fget))))
        if cls.__module__.startswith(f"{__package__}.") and not cls.__name__.startswith("_"):
            described_by(*(base for base in cls.__mro__[1:] if issubclass(base, Distribution)))(cls)

    def _with(self, change: Callable[[Tensor], Tensor]) -> Any:
        """Returns the distribution with changed parameters; what was computed from the old ones is computed again."""
        moved: dict[str, Any] = {}
        for name, x in vars(self).items():
            changed = change(x) if isinstance(x, Tensor) else x._with(change) if isinstance(x, Distribution) else x
            if changed is not x:
                moved[name] = changed
        if not moved:
            return self
        made = object.__new__(type(self))
        made.__dict__.update({**vars(self), **moved})
        for computed in self._computed:
            made.__dict__.pop(str(computed), None)
        made._computed = ()
        return made

    def _beside(self, device: _core.Device) -> Any:
        """Returns the distribution with its 0-d parameters on this device, where they meet the tensors of a call."""
        return self._with(lambda x: x.to(device) if x.ndim == 0 and x.device != device else x)

    def _in_full(self) -> Any:
        """Returns the distribution with half parameters as float32, so that results are rounded only once."""
        return self._with(in_full)

    def _half(self) -> _core.dtype | None:
        """Returns the half type of the parameters, or None."""
        for x in vars(self).values():
            found = x.dtype if isinstance(x, Tensor) else x._half() if isinstance(x, Distribution) else None
            if found in HALVES:
                return found
        return None

    def _device(self) -> _core.Device | None:
        """Returns the device of the parameters, or None."""
        for x in vars(self).values():
            found = x.device if isinstance(x, Tensor) else x._device() if isinstance(x, Distribution) else None
            if found is not None:
                return found
        return None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether distributions check parameters and values if validate_args is None."""
        Distribution._validate_args = value

    def _check(self) -> None:
        """Raises ValueError if a parameter does not meet its constraint."""
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if isinstance(value, Tensor) and not isinstance(constraint, Dependent):
                self._check_inside(name, value, constraint)

    def _check_inside(self, name: str, value: Tensor, constraint: Constraint) -> None:
        if value.isnan().any():
            raise ValueError(f"{type(self).__name__}: {name} is NaN; look for the first NaN with detect_anomaly()")
        inside = constraint.check(value)
        if inside.all():
            return
        single = inside.shape == value.shape
        where = f"is {value[~inside][0].item():g} somewhere" if single else "lies outside somewhere"
        raise ValueError(f"{type(self).__name__}: {name} {where}; make it {constraint}")

    @property
    def support(self) -> Constraint:
        """The constraint that all values meet."""
        raise NotImplementedError(f"{type(self).__name__}: it does not say where its values lie")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return self._event_shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Returns the distribution with parameters broadcast to a batch shape, as a new object or in the given one."""
        made = object.__new__(type(self)) if _instance is None else _instance
        made.__dict__.update(self.__dict__)
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor) and name != "temperature":
                own = value.shape[len(self._batch_shape) :] if value.ndim > len(self._batch_shape) else ()
                made.__dict__[name] = value.expand((*batch_shape, *own))
            elif isinstance(value, Distribution):
                made.__dict__[name] = value.expand(tuple(batch_shape) + value.batch_shape[len(self._batch_shape) :])
        made._batch_shape = tuple(batch_shape)
        return made

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws samples without a gradient: sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self._draw(tuple(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws samples with a gradient to the parameters.

        Raises:
            NotImplementedError: the samples of this distribution have no gradient; see has_rsample.
        """
        if not self.has_rsample:
            raise NotImplementedError(f"{type(self).__name__}: draws have no gradient; use sample() and log_prob()")
        return self._draw(tuple(sample_shape))

    def sample_n(self, n: int) -> Tensor:
        """Draws n samples."""
        return self.sample((n,))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        for name in ("rsample", "sample"):  # of a class that has one of its own
            method = getattr(type(self), name)
            if method is not getattr(Distribution, name):
                return method(self, shape)
        raise NotImplementedError(f"{type(self).__name__}: it cannot be drawn from")

    def _extended(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape, *self._batch_shape, *self._event_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density, or of the probability, of values."""
        raise NotImplementedError(f"{type(self).__name__}: it has no log_prob()")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Lists all values along the first dimension, which those of batch_shape and event_shape follow.

        Args:
            expand: whether to repeat the values over the batch; otherwise its sizes are 1.

        Raises:
            NotImplementedError: the values cannot be listed; see has_enumerate_support.
        """
        raise NotImplementedError(f"{type(self).__name__}: its values cannot be listed")

    def _listed(self, values: Tensor, expand: bool) -> Tensor:
        own = values.shape[1:]
        values = values.reshape(-1, *(1,) * len(self._batch_shape), *own)
        return values.expand(-1, *self._batch_shape, *own) if expand else values

    def entropy(self) -> Tensor:
        """Returns the mean of -log_prob in nats, in the shape batch_shape."""
        raise NotImplementedError(f"{type(self).__name__}: it has no entropy() in closed form")

    def perplexity(self) -> Tensor:
        """Returns exp(entropy)."""
        return self.entropy().exp()

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of a value or less."""
        raise NotImplementedError(f"{type(self).__name__}: it has no cdf()")

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the inverse of cdf()."""
        raise NotImplementedError(f"{type(self).__name__}: it has no icdf()")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__}: it has no mean in closed form")

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self).__name__}: it has no mode in closed form")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__}: it has no variance in closed form")

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                shown.append(f"{name}: {value.item() if value.numel() == 1 else value.shape}")
        return f"{type(self).__name__}({', '.join(shown)})"


def formula(of: Callable[[Any], Tensor]) -> Tensor:
    """A property of a distribution that one expression gives: mean = formula(lambda self: self.loc)."""
    return property(of)  # type: ignore[return-value]


HALVES = (_core.float16, _core.bfloat16)


def in_full(x: Tensor) -> Tensor:
    """Half types as float32."""
    return x.float() if x.dtype in HALVES else x


def rounded(x: Tensor, half: _core.dtype) -> Tensor:
    """float32 as a half type."""
    return x.to(half) if x.dtype == _core.float32 else x


def _of_a_value(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(method)
    def call(self: Distribution, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            return method(self, value)
        beside = self._beside(value.device)
        if self._validate_args and method.__name__ == "log_prob":
            beside._check_inside("the value", value, beside.support)
        if (half := self._half()) is None:
            return method(beside, value)
        wide = value.is_floating_point() and value.dtype not in HALVES
        found = method(beside._in_full(), in_full(value))
        return found if wide else rounded(found, half)

    return call


def _of_parameters(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(method)
    def call(self: Distribution) -> Tensor:
        half = self._half()
        return method(self) if half is None else rounded(method(self._in_full()), half)

    return call


def _drawn(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(method)
    def call(self: Distribution, shape: tuple[int, ...]) -> Tensor:
        half = self._half()
        drawn = method(self, shape) if half is None else rounded(method(self._in_full(), shape), half)
        if not self._ends:
            return drawn
        least, most = inner_ends(drawn.dtype)
        return drawn.clamp(least, most if 1 in self._ends else finfo(drawn.dtype).max)

    return call


def inner_ends(dtype: _core.dtype) -> tuple[float, float]:
    """The first number after 0 with all its bits, and the last one before 1."""
    limits = finfo(dtype)
    return limits.tiny, 1 - limits.eps / 2


class ExponentialFamily(Distribution):
    """Base of the distributions that are exponential families."""


HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def together(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape."""
    like = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = like.dtype if like is not None and like.is_floating_point() else _core.get_default_dtype()
    place = like.device if like is not None else None
    made = [v if isinstance(v, Tensor) else _core.tensor(float(v), dtype=dtype, device=place) for v in values]
    return list(_core.broadcast_tensors(*made))


def uniform(shape: Sequence[int], like: Tensor) -> Tensor:
    """Draws in (0, 1), both ends excluded: half a step stands for 0."""
    return _core.rand(tuple(shape), dtype=like.dtype, device=like.device).clamp(min=2.0**-25)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), of any x."""
    return -_core.logsigmoid(-x)


def log1p_square(x: Tensor, scale: Tensor) -> Tensor:
    """log(1 + (x / scale)**2), where the square, and the quotient, may leave the range."""
    far = x.abs() > 1e8 * scale
    return where(far, 2 * (log(where(far, x, 1.0).abs()) - log(scale)), log1p((where(far, 0.0, x) / scale) ** 2))


def normal(shape: Sequence[int], like: Tensor) -> Tensor:
    """Draws of the standard normal distribution."""
    return _core.randn(tuple(shape), dtype=like.dtype, device=like.device)


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last dimensions."""
    return value.sum(list(range(-dims, 0))) if dims else value
