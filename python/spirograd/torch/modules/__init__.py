"""The names of `torch` itself that spirograd lacks or has in another form."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from ... import _core, linalg, sparse
from ..._core import Device, Tensor
from ...base.stand_in import StandIn
from ...nn import Module, functional
from ...nn._attributes import set_held
from ...utils.futures import Future
from ..absent import ABSENT, AbsentDevice, Meta, finfo, iinfo
from ..functions import FUNCTIONS
from ..kinds import KINDS, set_default_tensor_type
from ..layouts import *  # noqa: F403
from ..layouts import Size
from ..layouts import __all__ as layouts
from . import flags
from ._tensor_str import set_printoptions
from .amp import GradScaler, autocast
from .checking import *  # noqa: F403
from .checking import __all__ as checking
from .creation import as_tensor, asarray, tensor
from .cuda import Stream, is_available
from .flags import *  # noqa: F403
from .jit import ScriptFunction, ScriptModule
from .nn import functional as written
from .serialization import load, save
from .storage import TypedStorage, UntypedStorage
from .version import __version__

inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None

_FUNCTIONAL = ["alpha_dropout", "batch_norm", "bilinear", "binary_cross_entropy_with_logits", "channel_shuffle"]
_FUNCTIONAL += ["cosine_embedding_loss", "cosine_similarity", "dropout", "feature_alpha_dropout", "group_norm"]
_FUNCTIONAL += ["hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss"]
_FUNCTIONAL += ["pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "rms_norm"]
_FUNCTIONAL += ["rrelu", "triplet_margin_loss", "conv_transpose3d", "max_pool3d", "adaptive_avg_pool1d"]
_FUNCTIONAL += ["adaptive_max_pool1d"]
globals().update({name: getattr(functional, name) for name in _FUNCTIONAL if hasattr(functional, name)})
_WRITTEN = ("celu_", "rrelu_", "selu_", "threshold_")
globals().update({name: getattr(written, name) for name in _WRITTEN})
globals().update(KINDS["cpu"])
globals().update(ABSENT)
globals().update(FUNCTIONS)
_METHODS = ["detach", "get_device", "is_conj", "is_inference", "is_neg", "is_nonzero", "is_same_size", "index_put_"]
_METHODS += ["fill_diagonal_"]
_METHODS += [name for name in dir(_core.Tensor) if name.endswith("_") and not name.startswith("_")]
solve, dsmm = linalg.solve, sparse.mm


def get_default_device() -> Any:
    """Where tensors are made that are not told where."""
    return Meta.device if Meta.open() else _core.get_default_device()


def get_device_module(device: Any = None) -> Any:
    """torch.cuda, or torch.cpu for the CPU; without a device, that of the GPU if there is one."""
    import sys
    from importlib import import_module

    kind = str(device if device is not None else "cuda" if is_available() else "cpu").partition(":")[0]
    name = "torch.cpu" if kind == "cpu" else "torch.cuda"
    return sys.modules.get(name) or import_module(name)


class PyTorchFileReader:
    """What reads PyTorch's files there: load() does so here. For annotations."""


class TensorType:
    """The type of tensors in compiled functions, for annotations."""


class _Names(type):
    """A name for a type that is made by a function here."""

    _of: builtins.type | tuple[builtins.type, ...]
    _make: Callable[..., Any]

    def __instancecheck__(cls, x: object) -> builtins.bool:
        return isinstance(x, cls._of)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._make(*args, **kwargs)


def _device(type: Any = None, index: int | None = None) -> Device | AbsentDevice:
    if isinstance(type, int) and not isinstance(type, bool):
        type, index = "cuda", type
    try:
        return _core.device(type) if index is None or type == "cpu" else _core.device(type, index)
    except (_core.DeviceUnavailableError, ValueError):
        if not isinstance(type, str) or type.partition(":")[0] not in AbsentDevice.KINDS:
            raise
        return AbsentDevice(type if index is None else f"{type}:{index}")


class device(metaclass=_Names):
    """A device by name: "cpu", "cuda", "cuda:1". As a context manager, the default device inside.

    The name of a device that is not there can be compared with; using it is an error.
    """

    _of, _make = (Device, AbsentDevice), staticmethod(_device)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes, or sizes, have together."""
    return Size(_core.broadcast_shapes(*((s,) if isinstance(s, builtins.int) else s for s in shapes)))


def is_storage(obj: object) -> builtins.bool:
    """False: tensors have no storage objects."""
    return False


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with the message where the condition does not hold."""
    assert condition, message


def typename(obj: Any) -> str:
    """The name of a tensor's type, or of an object's class."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


class OptimizedModule(Module):
    """What compile() gives for a module: the module is `_orig_mod`, which names its parameters as in PyTorch.

    Its other attributes and methods are those of the module, which are read and written there.
    """

    _orig_mod: Module

    def __init__(self, module: Module) -> None:
        set_held(self, "_orig_mod", module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name not in vars(self):
            return getattr(self._orig_mod, name)
        return vars(self)[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)


_COMPILE_OPTIONS = ["mode", "backend", "dynamic", "fullgraph", "options", "disable", "name", "recompile_limit"]


def compile(model: Any = None, **options: Any) -> Any:
    """The function itself, or a module around a module: work is planned and fused as it is, with gradients.

    Args:
        model: what is called; without it, a decorator.
        options: PyTorch's, which choose nothing here.

    Raises:
        TypeError: there is no such option.
    """
    unknown = options.keys() - set(_COMPILE_OPTIONS)
    if unknown:
        raise TypeError(f"compile: there is no option {min(unknown)}; use some of {', '.join(_COMPILE_OPTIONS)}")
    if model is None:
        return compile
    return OptimizedModule(model) if isinstance(model, Module) and not options.get("disable") else model


def _in_place(name: str) -> Callable[..., Any]:
    def call(input: _core.Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The method {name} of the first argument."
    return call


globals().update({name: _in_place(name) for name in _METHODS if name not in globals()})


def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor, also a complex or a sparse one."""
    return isinstance(obj, (_core.Tensor, StandIn))


__all__ = ["Future", "GradScaler", "PyTorchFileReader", "ScriptFunction", "ScriptModule", "Stream", "Tensor"]
__all__ += ["TensorType", "TypedStorage", "UntypedStorage", "__version__", "_assert", "as_tensor", "asarray"]
__all__ += ["autocast", "broadcast_shapes", "compile", "device", "dsmm", "e", "finfo", "get_default_device"]
__all__ += ["get_device_module", "iinfo", "inf", "is_storage", "is_tensor", "load", "nan", "newaxis"]
__all__ += [
    "pi",
    "save",
    "set_default_tensor_type",
    "set_printoptions",
    "solve",
    "tensor",
    "typename",
]
__all__ += [name for name in (*_FUNCTIONAL, *_METHODS, *_WRITTEN) if name in globals()]
__all__ += [*KINDS["cpu"], *ABSENT, *FUNCTIONS, *layouts, *checking, *flags.__all__]
