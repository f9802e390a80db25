"""Names that packages import and seldom use, of parts of PyTorch that are not here: each is a class that raises when it
is called. `small.py` has those that are called, and do something."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

__all__ = ["made_module"]

# By what to do instead: modules of torch, and their names.
_NAMES = {
    "train with nn.parallel.DistributedDataParallel": """
distributed._composable.fsdp: FSDPModule MixedPrecisionPolicy fully_shard
distributed._functional_collectives: all_to_all_single_autograd wait_tensor
distributed._tensor: DTensor Replicate Shard
distributed._tensor.device_mesh: init_device_mesh
distributed._tensor.experimental: implicit_replication
distributed.algorithms._checkpoint.checkpoint_wrapper: CheckpointImpl CheckpointWrapper apply_activation_checkpointing
distributed.algorithms._checkpoint.checkpoint_wrapper: checkpoint_wrapper offload_wrapper
distributed.algorithms.ddp_comm_hooks: default_hooks post_localSGD_hook powerSGD_hook
distributed.algorithms.ddp_comm_hooks.default_hooks: allreduce_hook bf16_compress_hook fp16_compress_hook
distributed.algorithms.ddp_comm_hooks.post_localSGD_hook: PostLocalSGDState post_localSGD_hook
distributed.algorithms.ddp_comm_hooks.powerSGD_hook: PowerSGDState powerSGD_hook
distributed.algorithms.join: Join
distributed.algorithms.model_averaging.averagers: ModelAverager
distributed: all_to_all_single
distributed.autograd: context
distributed.distributed_c10d: PrefixStore _new_process_group_helper rendezvous
distributed.elastic.multiprocessing.errors: ChildFailedError
distributed.fsdp: BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullStateDictConfig FullyShardedDataParallel
distributed.fsdp: LocalStateDictConfig MixedPrecision MixedPrecisionPolicy OffloadPolicy OptimStateKeyType
distributed.fsdp: ShardingStrategy StateDictType fully_shard
distributed.fsdp.api: FullOptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig StateDictType
distributed.fsdp.fully_sharded_data_parallel: BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig
distributed.fsdp.fully_sharded_data_parallel: FullyShardedDataParallel MixedPrecision ShardedOptimStateDictConfig
distributed.fsdp.fully_sharded_data_parallel: ShardedStateDictConfig ShardingStrategy StateDictType
distributed.fsdp.sharded_grad_scaler: ShardedGradScaler
distributed.fsdp.wrap: ModuleWrapPolicy _or_policy enable_wrap lambda_auto_wrap_policy size_based_auto_wrap_policy
distributed.fsdp.wrap: transformer_auto_wrap_policy wrap
distributed.launcher.api: LaunchConfig elastic_launch
distributed.nn: RemoteModule
distributed.optim: DistributedOptimizer PostLocalSGDOptimizer
distributed.pipelining: ScheduleGPipe SplitPoint pipeline
distributed.rpc: RRef TensorPipeRpcBackendOptions remote rpc_async rpc_sync
distributed.run: main
distributed.tensor: init_device_mesh zeros
distributed.tensor._utils: compute_local_shape_and_global_offset
distributed.tensor.experimental: context_parallel
distributed.tensor.experimental._attention: set_rotate_method
distributed.tensor.parallel: ColwiseParallel PrepareModuleInput RowwiseParallel SequenceParallel parallelize_module
distributed.tensor.placement_types: Replicate Shard _StridedShard
distributed.utils: _sync_module_states
numa.binding: AffinityMode NumaOptions
testing._internal.distributed.checkpoint_utils: with_temp_dir
""",
    "save state_dict() with torch.save": """
distributed.checkpoint: FileSystemReader FileSystemWriter load load_state_dict save save_state_dict
distributed.checkpoint._consolidate_hf_safetensors: consolidate_safetensors_files
distributed.checkpoint.default_planner: DefaultLoadPlanner DefaultSavePlanner
distributed.checkpoint.format_utils: _EmptyStateDictLoadPlanner dcp_to_torch_save torch_save_to_dcp
distributed.checkpoint.hf_storage: HuggingFaceStorageReader HuggingFaceStorageWriter
distributed.checkpoint.optimizer: load_sharded_optimizer_state_dict
distributed.checkpoint.state_dict: StateDictOptions _init_optim_state get_model_state_dict get_optimizer_state_dict
distributed.checkpoint.state_dict: set_model_state_dict set_optimizer_state_dict
distributed.checkpoint.state_dict_loader: _load_state_dict
export: ExportedProgram export
export._trace: _export
export.decomp_utils: CustomDecompTable
multiprocessing.reductions: StorageWeakRef reduce_tensor
utils.mobile_optimizer: optimize_for_mobile
""",
    "torch.onnx.export writes opset 18": """
onnx: ONNXProgram
onnx.operators: shape_as_tensor
onnx.symbolic_opset11: topk
onnx.symbolic_opset12: dropout
onnx.symbolic_opset9: masked_fill softmax
""",
    "Python stays Python here, and work is planned as it is": """
_C: Value
_C._functorch: _add_batch_dim _remove_batch_dim
_custom_ops: custom_op impl impl_abstract
_functorch.vmap: Tensor _add_batch_dim _broadcast_to_and_flatten _get_name _maybe_remove_batch_dim
_inductor.codecache: CppCodeCache PyCodeCache
_inductor.cpp_builder: get_cpp_compiler
_inductor.cpu_vec_isa: pick_vec_isa
_inductor.graph: GraphLowering
_inductor.runtime.cache_dir_utils: cache_dir
_ops: HigherOrderOperator
_subclasses.functional_tensor: FunctionalTensor mb_unwrap_functional_tensor
_subclasses.meta_utils: MetaConverter
_weights_only_unpickler: load
ao.quantization.fx._decomposed: quantize_per_tensor
fx._pytree: register_pytree_flatten_spec tree_flatten_spec
fx.passes.infra.pass_base: PassResult
nested._internal.nested_tensor: NestedTensor _tensor_symint_registry
nested._internal.ops: extract_kwargs
nn.utils._per_sample_grad: call_for_per_sample_grads
utils._sympy.numbers: IntInfinity
utils._sympy.value_ranges: ValueRanges
utils.cpp_extension: CUDAExtension CppExtension load load_inline
utils.tensorboard._pytorch_graph: graph
utils.tensorboard.summary: hparams
""",
    "write a Dataset": """
utils.data.datapipes.iter: Batcher FileLister FileOpener IterableWrapper
utils.data.datapipes.iter.combinatorics: ShufflerIterDataPipe
""",
    "one process has one GPU; see docs/distributed.md": """
cuda.nccl: all_gather all_reduce broadcast init_rank reduce reduce_scatter unique_id version
""",
}


# Those that are called: small.py has them by module and name.
_SMALL = """
_C: _jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu _jit_set_bailout_depth _jit_set_fusion_strategy
_C: _jit_set_nvfuser_enabled _jit_set_profiling_executor _jit_set_profiling_mode _jit_set_texpr_fuser_enabled
_C._distributed_rpc: _is_current_rpc_agent_set
_C._functorch: get_unwrapped is_batchedtensor
_dynamo.eval_frame: is_dynamo_supported
_dynamo.exc: TensorifyScalarRestartAnalysis
_functorch.vmap: tree_flatten tree_unflatten
_logging._internal: trace_structured
_ops: ops
_prims_common: is_contiguous_or_false
_utils: _get_device_module
autograd.profiler: emit_itt
cuda.nccl: is_available
distributed.constants: default_pg_timeout
distributed.distributed_c10d: Backend _get_default_group _world default_pg_timeout
distributions.kl: _KL_REGISTRY
distributions.multivariate_normal: _precision_to_scale_tril
distributions.transforms: _clipped_sigmoid
fx._symbolic_trace: Tracer is_fx_tracing symbolic_trace
fx.experimental.symbolic_shapes: GuardOnDataDependentSymNode free_symbols free_unbacked_symbols guard_or_false
fx.experimental.symbolic_shapes: guard_or_true statically_known_true
multiprocessing: start_processes
multiprocessing.spawn: ProcessExitedException ProcessRaisedException spawn
nn.modules.lazy: LazyModuleMixin
nn.modules.module: _global_parameter_registration_hooks
nn.parameter: UninitializedBuffer UninitializedTensorMixin _ParameterMeta
nn.utils._named_member_accessor: swap_tensor
onnx.symbolic_helper: parse_args
optim.optimizer: StateDict
return_types: cummax cummin max min
testing._comparison: default_tolerances
utils._contextlib: _DecoratorContextManager
utils._foreach_utils: _group_tensors_by_device_and_dtype
utils._python_dispatch: is_traceable_wrapper_subclass
utils._pytree: _namedtuple_flatten _namedtuple_unflatten tree_map_with_path
utils._triton: has_triton
utils.cpp_extension: BuildExtension CUDA_HOME
utils.data: IterDataPipe functional_datapipe
utils.data._utils.pin_memory: pin_memory
utils.data._utils.worker: _generate_state
utils.data.dataloader: _collate_fn_t
"""


class Unused(type):
    """The class of such classes: their other attributes are words, as those of enumerations are."""

    instead: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{cls.__name__} of PyTorch is not in spirograd; {cls.instead}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Part(ModuleType):
    """What a module of torch has of these names."""

    def __init__(self, path: str) -> None:
        super().__init__(f"spirograd.torch.unused.{path}", f"torch.{path}: names that packages import.")
        self.__file__, self._path = __file__, path
        self.__all__ = sorted({*_table().get(path, {}), *_small().get(path, {})})

    def __getattr__(self, name: str) -> Any:
        if name in _small().get(self._path, {}):
            from .small import BODIES

            return BODIES[self._path][name]
        if name in _table().get(self._path, {}):
            return _unused(name, _table()[self._path][name])
        raise AttributeError(name)


@functools.cache
def _unused(name: str, instead: str) -> type:
    """One class for a name, in whatever modules it is."""
    body = {"__module__": "torch", "instead": instead, "__class_getitem__": classmethod(lambda cls, item: cls)}
    return Unused(name, (), body)


def _read(text: str, value: str) -> dict[str, dict[str, str]]:
    """Modules, the names in each, and a value for all."""
    table: dict[str, dict[str, str]] = {}
    for line in text.strip().split("\n"):
        module, _, names = line.partition(": ")
        table.setdefault(module, {}).update(dict.fromkeys(names.split(), value))
    return table


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    """Of the classes that raise: by module and name, what to do instead."""
    table: dict[str, dict[str, str]] = {}
    for instead, text in _NAMES.items():
        for module, names in _read(text, instead).items():
            table.setdefault(module, {}).update(names)
    return table


@functools.cache
def _small() -> dict[str, dict[str, str]]:
    return _read(_SMALL, "")


@functools.cache
def _packages() -> set[str]:
    """The modules that have names, and those that contain them."""
    found: set[str] = set()
    for path in (*_table(), *_small()):
        parts = path.split(".")
        found |= {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return found


@functools.cache
def made_module(path: str) -> ModuleType | None:
    """What a module of torch has of these names; None if it has none, nor what it contains."""
    return _Part(path) if path in _packages() else None
