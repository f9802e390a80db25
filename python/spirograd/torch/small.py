"""Small parts of PyTorch's modules, which packages call: `BODIES` has them by module and name."""

from __future__ import annotations

import contextlib
import datetime
import functools
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar

from .. import _core, distributed, fx
from .._core import Tensor
from ..base.tree import transform
from ..distributions import kl
from ..distributions.utils import _clipped_sigmoid, _precision_to_scale_tril
from ..nn import Module, UninitializedParameter
from ..nn.lazy_mixin import LazyModuleMixin
from ..utils import _pytree
from ..utils.data import IterableDataset
from .modules import multiprocessing

__all__ = ["BODIES"]


def _no(*args: Any, **kwargs: Any) -> bool:
    return False


def _nothing(*args: Any, **kwargs: Any) -> None: ...


def _same(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x


def _decorator(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return _same


def _set(*args: Any) -> set[Any]:
    return set()


class IterDataPipe(IterableDataset[Any]):
    """A stream, by its older name."""


class _DecoratorContextManager:
    """A context that is a decorator, too; each call of the function is in a new one."""

    def __call__(self, orig_func: Any) -> Any:
        @functools.wraps(orig_func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return orig_func(*args, **kwargs)

        return call

    def clone(self) -> Any:
        """Another one like it."""
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *args: Any) -> Any:
        raise NotImplementedError


def _group_tensors(lists: list[list[Any]], with_indices: bool = False) -> dict[Any, tuple[list[list[Any]], list[int]]]:
    """Lists that belong together, by device and type of the first list's tensors: parts of each, and indices."""
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for i, first in enumerate(lists[0]):
        parts, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in lists], []))
        for part, values in zip(parts, lists, strict=True):
            part.extend(values[i : i + 1])
        if with_indices:
            indices.append(i)
    return groups


def _swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Puts a tensor in the place of a parameter, a buffer or an attribute, whatever it is, and gives what was there."""
    own: Any = next((d for d in (module._parameters, module._buffers) if name in d), vars(module))  # type: ignore[attr-defined]
    if name not in own and not allow_missing:
        raise AttributeError(f"swap_tensor: {type(module).__name__} has no {name!r}")
    before = own.get(name)
    vars(module)[name] = tensor
    return before


class Backend(str):
    """The name of what carries tensors between processes."""

    UNDEFINED, GLOO, NCCL, UCC, MPI = "undefined", "gloo", "nccl", "ucc", "mpi"

    def __new__(cls, name: str) -> Backend:
        return super().__new__(cls, name.lower())


class _World:
    @property
    def default_pg(self) -> Any:
        """The group of all processes, or None."""
        return distributed.group._world

    pg_map: ClassVar[Mapping[Any, Any]] = {}


def _get_default_group() -> Any:
    """The group of all processes.

    Raises:
        ValueError: they have not begun.
    """
    if distributed.group._world is None:
        raise ValueError("_get_default_group: the processes have not begun; call init_process_group()")
    return distributed.group._world


def _pinned(data: Any, device: Any = None) -> Any:
    return transform(_same, data)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Any, context: Any) -> Any:
    return context(*values)


def _tree_map_with_path(func: Any, tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """tree_map() of a function that is also given the keys that lead to each leaf."""
    paths: list[tuple[Any, ...]] = []

    def walk(x: Any, path: tuple[Any, ...]) -> None:
        kind = _pytree._get_node_type(x)
        if kind not in _pytree.SUPPORTED_NODES or (is_leaf is not None and is_leaf(x)):
            paths.append(path)
            return
        parts, _ = _pytree.SUPPORTED_NODES[kind].flatten_fn(x)
        keys = map(_pytree.MappingKey, x) if isinstance(x, Mapping) else map(_pytree.SequenceKey, range(len(x)))
        for key, part in zip(keys, parts, strict=False):
            walk(part, (*path, key))

    walk(tree, ())
    found = iter(paths)
    return _pytree.tree_map(lambda *leaves: func(next(found), *leaves), tree, *rests, is_leaf=is_leaf)


def _default_tolerances(*inputs: Any, dtype_precisions: Any = None) -> tuple[float, float]:
    """The relative and the absolute tolerance of assert_close(), the widest of the inputs'."""
    of = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
    of |= {"complex64": of["float32"], "complex128": of["float64"]}
    both = [of.get(getattr(x, "dtype", x).name, (0.0, 0.0)) for x in inputs]
    return max(r for r, _ in both), max(a for _, a in both)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers to seed NumPy with, of a worker."""
    import numpy as np

    return np.random.SeedSequence([worker_id, base_seed]).generate_state(4).tolist()


_switches: dict[str, Any] = {}


def _switch(name: str, value: Any = None) -> Any:
    """Sets one of _jit_set_...(), which chooses nothing, and gives what was set before: False at first."""
    before, _switches[name] = _switches.get(name, False), value
    return before


def _result(name: str) -> type:
    """The class of what torch.max() and its like give along a dimension."""
    return type(getattr(_core.zeros(1), name)(0))


class BuildExtension:
    """A command of setuptools that builds what is not PyTorch's."""

    @classmethod
    def with_options(cls, **options: Any) -> Any:
        """Accepted."""
        return cls

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return import_module("setuptools.command.build_ext").build_ext(*args, **kwargs)


class UninitializedBuffer(Tensor):
    """A buffer without a shape: no tensor is one."""


_JIT = "override_can_fuse_on_cpu override_can_fuse_on_gpu set_bailout_depth set_fusion_strategy set_nvfuser_enabled "
_JIT += "set_profiling_executor set_profiling_mode set_texpr_fuser_enabled"
_TIMEOUT = datetime.timedelta(seconds=distributed.group.DEFAULT_TIMEOUT)
BODIES: dict[str, dict[str, Any]] = {
    "_C": {f"_jit_{name}": functools.partial(_switch, name) for name in _JIT.split()},
    "_C._distributed_rpc": {"_is_current_rpc_agent_set": _no},
    "_C._functorch": {"get_unwrapped": _same, "is_batchedtensor": _no},
    "_dynamo.eval_frame": {"is_dynamo_supported": _no},
    "_dynamo.exc": {"TensorifyScalarRestartAnalysis": type("TensorifyScalarRestartAnalysis", (RuntimeError,), {})},
    "_functorch.vmap": {"tree_flatten": _pytree.tree_flatten, "tree_unflatten": _pytree.tree_unflatten},
    "_logging._internal": {"trace_structured": _nothing},
    "_ops": {"ops": import_module("torch.ops") if "torch" in sys.modules else None},
    "_prims_common": {"is_contiguous_or_false": lambda a: a.is_contiguous()},
    "_utils": {"_get_device_module": lambda device: import_module("torch").get_device_module(device)},
    "autograd.profiler": {"emit_itt": contextlib.nullcontext},
    "cuda.nccl": {"is_available": _no},
    "distributed.constants": {"default_pg_timeout": _TIMEOUT},
    "distributed.distributed_c10d": {
        "Backend": Backend,
        "_get_default_group": _get_default_group,
        "_world": _World(),
        "default_pg_timeout": _TIMEOUT,
    },
    "distributions.kl": {"_KL_REGISTRY": kl._formulas},
    "distributions.multivariate_normal": {"_precision_to_scale_tril": _precision_to_scale_tril},
    "distributions.transforms": {"_clipped_sigmoid": _clipped_sigmoid},
    "fx._symbolic_trace": {"Tracer": fx.Tracer, "is_fx_tracing": _no, "symbolic_trace": fx.symbolic_trace},
    "fx.experimental.symbolic_shapes": {
        "GuardOnDataDependentSymNode": type("GuardOnDataDependentSymNode", (RuntimeError,), {}),
        "free_symbols": _set,
        "free_unbacked_symbols": _set,
        **dict.fromkeys(("guard_or_false", "guard_or_true", "statically_known_true"), bool),
    },
    "multiprocessing": {"start_processes": multiprocessing.spawn},
    "multiprocessing.spawn": {
        "ProcessExitedException": RuntimeError,  # what spawn() raises
        "ProcessRaisedException": RuntimeError,
        "spawn": multiprocessing.spawn,
    },
    "nn.modules.lazy": {"LazyModuleMixin": LazyModuleMixin},
    "nn.modules.module": {"_global_parameter_registration_hooks": {}},
    "nn.parameter": {
        "UninitializedBuffer": UninitializedBuffer,
        "UninitializedTensorMixin": UninitializedParameter,
        "_ParameterMeta": type,
    },
    "nn.utils._named_member_accessor": {"swap_tensor": _swap_tensor},
    "onnx.symbolic_helper": {"parse_args": _decorator},
    "optim.optimizer": {"StateDict": dict[str, Any]},
    "return_types": {name: _result(name) for name in ("cummax", "cummin", "max", "min")},
    "testing._comparison": {"default_tolerances": _default_tolerances},
    "utils._contextlib": {"_DecoratorContextManager": _DecoratorContextManager},
    "utils._foreach_utils": {"_group_tensors_by_device_and_dtype": _group_tensors},
    "utils._python_dispatch": {"is_traceable_wrapper_subclass": _no},
    "utils._pytree": {
        "_namedtuple_flatten": _namedtuple_flatten,
        "_namedtuple_unflatten": _namedtuple_unflatten,
        "tree_map_with_path": _tree_map_with_path,
    },
    "utils._triton": {"has_triton": _no},
    "utils.cpp_extension": {"BuildExtension": BuildExtension, "CUDA_HOME": None},
    "utils.data": {"IterDataPipe": IterDataPipe, "functional_datapipe": _decorator},
    "utils.data._utils.pin_memory": {"pin_memory": _pinned},
    "utils.data._utils.worker": {"_generate_state": _generate_state},
    "utils.data.dataloader": {"_collate_fn_t": Callable[[list[Any]], Any]},
}
