"""Layers that take the size of their input from the first call."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from .._core import Tensor
from ._arguments import described
from ._attributes import OF_PYTORCH
from .convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import UninitializedParameter

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d"]
__all__ += ["LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d"]
__all__ += ["LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear"]


class _Lazy(Module):
    """A layer that the first call turns into one of `cls_to_become`; its parameters stay the same objects."""

    cls_to_become: ClassVar[type[Module]]
    _size: ClassVar[str]  # the argument that the first call determines
    _dim: ClassVar[int] = 1  # the dimension of the input that has this size
    __signature__: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        self._options = dict(bound.arguments)
        place = self._options["device"], self._options["dtype"]
        for name in ("weight", "bias"):
            wanted = self._options.get("affine", name == "weight" or self._options["bias"])
            setattr(self, name, UninitializedParameter(True, *place) if wanted else None)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter has no shape yet. Loading a state or the first call gives it one."""
        return any(isinstance(vars(self)[name], UninitializedParameter) for name in ("weight", "bias"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._become(args[0])
        return self(*args, **kwargs)

    def _become(self, input: Tensor) -> None:
        own = {name: vars(self)[name] for name in ("weight", "bias")}
        like = next((p for p in own.values() if p is not None), input)
        options = {**self._options, self._size: input.shape[self._dim], "device": like.device, "dtype": like.dtype}
        made = vars(self.cls_to_become(**options))
        for name, value in own.items():
            if value is not None and not isinstance(value, UninitializedParameter) and value.shape != made[name].shape:
                raise ValueError(
                    f"{type(self).__name__}: the loaded {name} has shape {list(value.shape)}, this input needs "
                    f"{list(made[name].shape)}; load the state of a layer for such inputs"
                )
        kept = {"training": self.training, "_hooks": self._hooks}
        del self._options
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        for name, value in made.items():
            if name in OF_PYTORCH:
                continue
            if name not in own or value is None:
                vars(self)[name] = value
            elif isinstance(own[name], UninitializedParameter):
                own[name].become(value)
        vars(self).update(kept)

    def extra_repr(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self._options.items() if k not in ("device", "dtype"))


def _lazy(of: type[Module], size: str, dim: int = 1, **defaults: Any) -> type[_Lazy]:
    doc = f"""{of.__name__} that takes {size} from its first input, and the other arguments of {of.__name__}.

    The first call turns it into a {of.__name__}. Its parameters stay the same objects: an optimiser may be made before
    that call, if the layer is on its device by then.
    """
    signature = inspect.signature(of)
    rest = list(signature.parameters.values())[1:]
    rest = [p.replace(default=defaults.get(p.name, p.default)) for p in rest]
    body = {
        "__signature__": signature.replace(parameters=rest),
        "cls_to_become": of,
        "_size": size,
        "_dim": dim,
        "__doc__": doc,
        "__module__": __name__,
    }
    return described(of)(type(f"Lazy{of.__name__}", (_Lazy,), body))


LazyLinear = _lazy(Linear, "in_features", -1)
LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(of, "in_channels") for of in (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(of, "in_channels") for of in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(of, "num_features") for of in (BatchNorm1d, BatchNorm2d, BatchNorm3d)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(of, "num_features", affine=True, track_running_stats=True)
    for of in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
)
