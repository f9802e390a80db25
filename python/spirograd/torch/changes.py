"""What install() changes about tensors, devices and modules: methods that PyTorch has and spirograd does not, and those
that take other arguments there."""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .. import _core, complex64, complex128, nn
from .._core import Device, Tensor
from ..distributions import Distribution
from ..nn import loss
from ..nn._attributes import see_only_modules
from ..nn.functional.dropout import _drop
from ..nn.module import LoadResult, StateError
from ..nn.utils.rnn import PackedSequence
from . import functions
from .absent import Meta
from .answering import attribute, method
from .arguments import FACTOR_FIRST, NEWER_LOSSES, factor_first, legacy_reduction, without_layout
from .entries import open_entries
from .errors import open_errors
from .kinds import TensorKind, kind_of, named
from .layouts import Size, arranged, channels_last, channels_last_3d, strided
from .losses import broadcast_targets
from .nodes import node_of
from .stand_ins import change_stand_ins
from .states import open_states
from .storage import Storage
from .subclasses import open_to_subclasses
from .ufuncs import array_ufunc

__all__ = ["apply"]


def apply() -> None:
    """Makes the changes."""
    _core._set_gpu_alias("cuda")
    _core._set_legacy_keys(True)
    _core._allow_mixed_types(False)
    open_errors()
    _change_devices()
    _change_tensors()
    open_to_subclasses()
    change_stand_ins()
    _change_modules()
    open_states()
    broadcast_targets()
    _change_packed_sequences()
    _change_distributions()


def _device_name(device: Device) -> str:
    return f"cuda:{device.index}" if device.kind == "gpu" else "cpu"


def _dtype_name(dtype: _core.dtype) -> str:
    return f"torch.{dtype.name}"


def _change_devices() -> None:
    same, number = Device.__eq__, Device.index
    as_kind = {"gpu": "cuda", "cpu": "cpu"}

    def equal(a: Device, b: object) -> Any:
        if isinstance(b, str):
            return b in (_device_name(a), f"{a.kind}:{number.__get__(a)}")
        return same(a, b)

    changes: dict[str, Any] = {
        "type": property(lambda self: as_kind[self.kind]),
        "index": property(lambda self: number.__get__(self) if self.kind == "gpu" else None),
        "__str__": _device_name,
        "__repr__": lambda self: (
            f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")
        ),
        "__eq__": equal,
        "__hash__": lambda self: hash((self.kind, number.__get__(self))),
    }
    for name, value in changes.items():
        setattr(Device, name, value)
    for kind in (type(_core.float32), type(complex64)):
        kind.__repr__ = _dtype_name  # type: ignore[method-assign, assignment]
    type(_core.float32).is_complex = False  # type: ignore[attr-defined]
    type(_core.float32).is_signed = property(lambda self: self.name not in ("bool", "uint8"))  # type: ignore[attr-defined]


# ---- tensors ---------------------------------------------------------------------------------------------------------
def _on_gpu(place: Any) -> Any:
    if Meta.is_meant(place):
        return _core.get_default_device()
    return f"cuda:{place}" if isinstance(place, int) and not isinstance(place, bool) else place


def _cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on the current GPU, or on another one."""
    return self.to("cuda" if device is None else _on_gpu(device))


def _is_meta(place: Any) -> bool:
    """Whether a device is "meta", where values need not be: they stay where they are."""
    return isinstance(place, str) and place == "meta"


def _to(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(original)
    def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if _is_meta(kwargs.get("device")):
            del kwargs["device"]
        if args and _is_meta(args[0]):
            args = args[1:]
        if not args and not kwargs:
            return self
        memory_format = kwargs.get("memory_format")
        kwargs = without_layout("to", kwargs)
        if "device" in kwargs:
            kwargs["device"] = _on_gpu(kwargs["device"])
        moved = original(self, *(_on_gpu(args[0]), *args[1:]), **kwargs) if args else original(self, **kwargs)
        return arranged(moved, memory_format)

    return to


def _copy(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(original)
    def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
        return original(self, src.to(self.device) if isinstance(src, Tensor) else src)

    return copy_


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or its values in another type."""
    kind = named(dtype)
    if kind is None:
        return kind_of(self)
    if kind is Tensor:
        kind = _core.get_default_dtype()
    return self.to(kind.place, kind.dtype) if isinstance(kind, TensorKind) else self.to(kind)


def _shown_pair(self: Any) -> str:
    """Values and indices on lines of their own."""
    return f"torch.return_types.values_and_indices(\nvalues={self.values!r},\nindices={self.indices!r})"


def _is_contiguous(original: Callable[[Tensor], bool]) -> Callable[..., bool]:
    def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
        if memory_format in (channels_last, channels_last_3d):
            return original(self.movedim(1, -1)) if self.ndim > 2 else False
        return original(self)

    return is_contiguous


def _copied(original: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(original)
    def call(self: Tensor, *, memory_format: Any = None) -> Tensor:
        copied = original(self)
        return arranged(copied, memory_format)

    return call


def _plain(original: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    @functools.wraps(original)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return original(self, *args, **without_layout(name, kwargs)) if kwargs else original(self, *args)

    return call


def _in_type(name: str) -> Callable[..., Any]:
    core = {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64"}
    core |= {"half": "float16", "float": "float32", "double": "float64"}
    complex = {"cfloat": complex64, "cdouble": complex128}
    dtype: Any = complex.get(name) or getattr(_core, core.get(name, name))

    def call(self: Tensor, memory_format: Any = None) -> Any:
        return arranged(self.to(dtype), memory_format)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "The values in another type."
    return call


def _device_of(original: Any) -> property:
    """Where a tensor is; to a program in the context of "meta", there."""

    def device(self: Tensor) -> Any:
        if Meta.open() and not sys._getframe(1).f_globals.get("__name__", "").startswith("spirograd"):
            return Meta.device
        return original.__get__(self)

    return property(device)


def _split(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """Pieces of a size, or of several sizes, along a dimension."""
    return _core.split(self, split_size, dim)


def _seen_by_numpy(original: Callable[..., Any]) -> Callable[..., Any]:
    """numpy() and __array__(): without gradients, an array of a tensor that has a gradient graph is no mistake."""

    @functools.wraps(original)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not _core.is_grad_enabled():
            self = self.detach()
        return original(self, *args, **kwargs)

    return call


def _size(original: Callable[..., Any]) -> Callable[..., Any]:
    def size(self: Tensor, dim: int | None = None) -> Any:
        return self.shape if dim is None else original(self, dim)

    return size


def _change_tensors() -> None:
    shape = Tensor.shape
    pair: Any = type(_core.zeros(1).max(0))
    pair.__repr__ = _shown_pair
    changes: dict[str, Any] = {
        "shape": property(lambda self: Size(shape.__get__(self))),
        "size": _size(Tensor.size),
        "copy_": _copy(Tensor.copy_),
        "cuda": _cuda,
        "device": _device_of(Tensor.device),
        "grad_fn": property(node_of),
        "to_dense": lambda self, dtype=None: self if dtype is None else self.to(dtype),
        "numpy": _seen_by_numpy(Tensor.numpy),
        "__array_ufunc__": array_ufunc,
        "__array__": _seen_by_numpy(Tensor.__array__),
        "split": _split,
        "__reversed__": lambda self: self.flip(0) if self.ndim else self,
        "storage": lambda self: Storage(self),
        "untyped_storage": lambda self: Storage(self),
        "to": _to(Tensor.to),
        "type": _type,
        "is_contiguous": _is_contiguous(Tensor.is_contiguous),
        "__module__": "torch",
        "_cdata": property(id),
        "is_cuda": property(lambda self: self.device.kind == "gpu"),
        "layout": property(lambda self: strided),
    }
    changes |= {name: _plain(getattr(Tensor, name), name) for name in ("new_zeros", "new_ones")}
    changes |= {"contiguous": _copied(Tensor.contiguous), "clone": _copied(Tensor.clone)}
    changes |= {name: _plain(getattr(Tensor, name), name) for name in ("new_empty", "new_full", "new_tensor")}
    types = "bfloat16 bool byte cdouble cfloat char double float half int long short"
    changes |= {name: _in_type(name) for name in types.split()}
    changes["__rdiv__"] = Tensor.__rtruediv__
    never = ["is_sparse", "is_sparse_csr", "is_quantized", "is_meta", "is_mps", "is_xpu", "is_nested", "is_mkldnn"]
    never += ["is_vulkan"]
    changes |= {name: property(lambda self: False) for name in never}
    for name in FACTOR_FIRST:
        changes |= {n: factor_first(getattr(Tensor, n), n) for n in (name, f"{name}_")}
    for name, value in {**functions.METHODS, **changes}.items():
        setattr(Tensor, name, _asking(name, value))


def _asking(name: str, value: Any) -> Any:
    """A method or an attribute that classes and modes are asked about; other things as they are."""
    if isinstance(value, FunctionType) and name not in ("__array_ufunc__", "_cdata"):
        return method(name, value)
    if isinstance(value, property) and value.fget is not None and value.fget is not id:
        return attribute(value.fget)
    return value


# ---- modules ---------------------------------------------------------------------------------------------------------
def _module_cuda(self: nn.Module, device: Any = None) -> nn.Module:
    """Moves parameters and buffers to a GPU."""
    return self.to("cuda" if device is None else _on_gpu(device))


def _drop_channels(
    original: Callable[..., Tensor], op: str, input: Tensor, p: float, training: bool, inplace: bool, spatial: int
) -> Tensor:
    """dropout2d() and dropout3d() of other shapes than theirs: whole [n, channels], with a warning."""
    if spatial == 1 or input.ndim in (spatial + 1, spatial + 2):
        return original(op, input, p, training, inplace, spatial)
    _core._warn_at_line(f"{op}: the input has {input.ndim} dimensions; use dropout()")
    return _drop(op, input, p, training, inplace, 2)


def _checked_instance(self: Distribution, cls: type[Distribution], _instance: Any = None) -> Any:
    """What expand() of a class of one's own fills: a new object, or the one that it was given."""
    if _instance is None and type(self).__init__ is not cls.__init__:
        raise NotImplementedError(f"expand: {type(self).__name__} has an __init__() and no expand(); write one")
    return type(self).__new__(type(self)) if _instance is None else _instance


def _extended_shape(self: Distribution, sample_shape: Any = ()) -> Size:
    """The shape of draws."""
    return Size((*sample_shape, *self.batch_shape, *self.event_shape))


def _validate_sample(self: Distribution, value: Any) -> None:
    """Raises ValueError for a value that has another shape or lies outside of the support."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{type(self).__name__}: a value must be a tensor, got {value!r}; use torch.tensor()")
    events = len(self.event_shape)
    if tuple(value.shape[value.ndim - events :]) != tuple(self.event_shape):
        raise ValueError(
            f"{type(self).__name__}: a value of shape {tuple(value.shape)} does not end with {tuple(self.event_shape)}"
        )
    _core.broadcast_shapes(value.shape[: value.ndim - events], self.batch_shape)
    self._check_inside("the value", value, self.support)


def _change_distributions() -> None:
    Distribution._extended_shape = _extended_shape  # type: ignore[attr-defined]
    Distribution._validate_sample = _validate_sample  # type: ignore[attr-defined]
    Distribution._get_checked_instance = _checked_instance  # type: ignore[attr-defined]
    batch, event = Distribution.batch_shape.fget, Distribution.event_shape.fget  # type: ignore[attr-defined]
    Distribution.batch_shape = property(lambda self: Size(batch(self)))  # type: ignore[assignment]
    Distribution.event_shape = property(lambda self: Size(event(self)))  # type: ignore[assignment]


def _change_packed_sequences() -> None:
    for name in ("double", "float", "half", "int", "long"):
        setattr(PackedSequence, name, lambda self, name=name: self._replace(data=getattr(self.data, name)()))
    PackedSequence.cuda = lambda self, *args, **kwargs: self.to("cuda")  # type: ignore[attr-defined]
    PackedSequence.is_cuda = property(lambda self: self.data.is_cuda)  # type: ignore[attr-defined]
    PackedSequence.pin_memory = lambda self: self  # type: ignore[attr-defined]


def _forgotten(self: nn.Module) -> set[str]:
    """The buffers that state_dict() has not."""
    return {name for name, kept in self._persistent.items() if not kept}


def _load_pre_hook(self: nn.Module, hook: Any, with_module: bool = False) -> Any:
    """register_load_state_dict_pre_hook() under its old name, for hooks without the module."""
    return self.register_load_state_dict_pre_hook(hook if with_module else lambda module, *args: hook(*args))


def _missing(self: nn.Module, name: str) -> Any:
    """An attribute that is not where Python looks; programs also call this for one that is."""
    if name in vars(self):
        return vars(self)[name]
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _load_state_dict(original: Callable[..., Any]) -> Callable[..., Any]:
    """load_state_dict() whose mistakes are RuntimeErrors in PyTorch's form: programs catch these, and read them."""

    @functools.wraps(original)
    def load_state_dict(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except StateError as error:
            lines = "".join(f"\n\t{line}" for line in _faults(error))
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:{lines}") from None
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    return load_state_dict


def _faults(error: StateError) -> Iterator[str]:
    for kind, names in (("Missing", error.names.missing_keys), ("Unexpected", error.names.unexpected_keys)):
        if names:
            yield f"{kind} key(s) in state_dict: {', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}. "
    for name, (own, given) in error.shapes.items():
        yield (
            f"size mismatch for {name}: copying a param with shape {Size(given)} from checkpoint, "
            f"the shape in current model is {Size(own)}."
        )


def _ordered(original: Callable[..., Any]) -> Callable[..., Any]:
    """state_dict() that fills an OrderedDict, which programs tell from other dicts; its arguments may have no names."""

    @functools.wraps(original)
    def state_dict(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        kwargs |= dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        if kwargs.get("destination") is None:
            kwargs["destination"] = OrderedDict()
        state = original(self, **kwargs)
        if isinstance(state, OrderedDict):
            metadata = vars(state).setdefault("_metadata", OrderedDict())
            prefix = kwargs.get("prefix") or ""
            for name, module in self.named_modules(remove_duplicate=False):
                metadata[(prefix + name).removesuffix(".")] = {"version": module._version}  # type: ignore[attr-defined]
        return state

    return state_dict


def _said(result: LoadResult) -> str:
    if result.missing_keys or result.unexpected_keys:
        return f"_IncompatibleKeys(missing_keys={result.missing_keys}, unexpected_keys={result.unexpected_keys})"
    return "<All keys matched successfully>"


def _asked(self: nn.Module, name: str) -> Any:
    """An attribute of a module whose class has __getattr__(): in PyTorch that sees parameters, buffers and modules."""
    value = object.__getattribute__(self, name)
    if not isinstance(value, (nn.Module, Tensor)) or name not in vars(self):
        return value
    seen = name in self._held_names or name in self._persistent
    return type(self).__getattr__(self, name) if seen else value  # type: ignore[attr-defined]


def _with_getattr(cls: type[nn.Module], **kwargs: Any) -> None:
    super(nn.Module, cls).__init_subclass__(**kwargs)
    if "__getattr__" in vars(cls) and "__getattribute__" not in vars(cls):
        cls.__getattribute__ = _asked  # type: ignore[method-assign, assignment]


def _named_members(
    self: nn.Module, get_members_fn: Any, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Iterator[tuple[str, Any]]:
    """Names and values of what a function gives of this module and of those below it."""
    modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
    seen: set[int] = set()
    for at, module in modules:
        for name, value in get_members_fn(module):
            if value is not None and id(value) not in seen:
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{at}.{name}" if at else name, value


def _set_submodule(self: nn.Module, target: str, module: nn.Module, strict: bool = False) -> None:
    """Puts a module in the place of a dotted name."""
    at, _, name = target.rpartition(".")
    parent = self.get_submodule(at)
    if strict and not hasattr(parent, name):
        raise AttributeError(f"set_submodule: {type(parent).__name__} has no {name!r}; leave out strict")
    setattr(parent, name, module)


def _not_shared(self: nn.Module) -> nn.Module:
    """An error: each process has tensors of its own.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("share_memory: each process has tensors of its own; train with torch.distributed")


def _compiled(self: nn.Module, *args: Any, **options: Any) -> None:
    """Nothing: a module is planned and fused as it is."""


def _change_modules() -> None:
    nn.Module.__getattr__ = _missing  # type: ignore[attr-defined]
    nn.Module.__init_subclass__ = classmethod(_with_getattr)  # type: ignore[assignment, arg-type]
    nn.Module._version = 1  # type: ignore[attr-defined]
    for kind in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm):
        kind._version = 2  # type: ignore[union-attr]
    nn.Module._named_members = _named_members  # type: ignore[attr-defined]
    nn.Module._get_name = lambda self: type(self).__name__  # type: ignore[attr-defined]
    nn.Module.set_submodule = _set_submodule  # type: ignore[attr-defined]
    nn.Module.share_memory = _not_shared  # type: ignore[attr-defined]
    nn.Module.compile = _compiled  # type: ignore[attr-defined]
    nn.Module.register_backward_hook = nn.Module.register_full_backward_hook  # type: ignore[attr-defined]
    nn.Module.load_state_dict = _load_state_dict(nn.Module.load_state_dict)  # type: ignore[method-assign]
    nn.Module.state_dict = _ordered(nn.Module.state_dict)  # type: ignore[method-assign]
    LoadResult.__repr__ = _said  # type: ignore[method-assign]
    nn.Module.cuda = _module_cuda  # type: ignore[attr-defined]
    nn.MultiheadAttention._reset_parameters = nn.MultiheadAttention.reset_parameters  # type: ignore[attr-defined]
    nn.Module._register_load_state_dict_pre_hook = _load_pre_hook  # type: ignore[attr-defined]
    nn.Module._register_state_dict_hook = nn.Module.register_state_dict_post_hook  # type: ignore[attr-defined]
    see_only_modules()
    open_entries()
    nn.Module._non_persistent_buffers_set = property(_forgotten)  # type: ignore[attr-defined]
    layers = sys.modules[_drop.__module__]
    vars(layers)["_channels"] = functools.partial(_drop_channels, vars(layers)["_channels"])
    for name in loss.__all__:
        kind = getattr(nn, name)
        if name not in NEWER_LOSSES and "reduction" in kind.__init__.__annotations__:
            kind.__init__ = legacy_reduction(kind.__init__)
