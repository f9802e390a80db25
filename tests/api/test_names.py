"""Names that must exist with PyTorch's meaning, signatures and errors."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import ops_page
import spirograd as sg

NAMES = {
    "spirograd": """
        zeros ones full arange linspace eye zeros_like ones_like full_like empty rand randn randint randperm
        rand_like randn_like tensor as_tensor from_numpy from_dlpack abs ceil floor round trunc exp exp2 expm1
        log log1p log2 log10 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc
        sign square reciprocal isnan isinf isfinite maximum minimum logaddexp where clamp clip neg negative sub
        subtract mul multiply div divide pow atan2 fmod remainder floor_divide lerp addcmul addcdiv logical_and
        logical_or logical_not bitwise_and eq ne lt le gt ge allclose isclose equal sum prod mean max min any
        all var std argmax argmin logsumexp cumsum cumprod cummax cummin median norm amax amin count_nonzero
        reshape flatten squeeze unsqueeze transpose permute split stack roll diag diagonal tril triu cat concat
        chunk tile repeat_interleave flip rot90 moveaxis swapaxes broadcast_to meshgrid gather scatter
        scatter_add scatter_reduce index_select masked_select nonzero take_along_dim sort argsort topk matmul mm bmm dot
        mv outer einsum addmm baddbmm tensordot softmax log_softmax relu sigmoid nan_to_num no_grad enable_grad
        set_grad_enabled inference_mode is_grad_enabled manual_seed float32 float64 float16 bfloat16 int8 uint8
        int16 int32 int64 bool Tensor Generator set_printoptions set_default_device get_default_device
    """,
    "spirograd.Tensor": """
        add sub mul div pow add_ mul_ zero_ fill_ copy_ clamp_ relu tanh sigmoid exp log sum mean max min argmax
        var std view reshape permute transpose t T mT expand expand_as squeeze unsqueeze flatten unflatten
        unfold repeat contiguous is_contiguous stride clone detach backward requires_grad_ register_hook
        retain_grad grad grad_fn is_leaf item tolist numpy to cpu float half double bfloat16 int long bool
        type_as size numel dim ndim element_size nbytes shape dtype device masked_fill masked_fill_ index_add_
        scatter_add_ new_zeros new_ones uniform_ normal_ __array__ __dlpack__ __dlpack_device__ __len__ __iter__
        __getitem__ __setitem__ __matmul__ __rmatmul__ __invert__ __bool__ __float__ __int__ __index__
        __contains__ _repr_html_
    """,
    "spirograd.linalg": """
        norm inv solve cholesky qr svd eigh det slogdet
    """,
    "spirograd.autograd": """
        grad backward Function gradcheck gradgradcheck
    """,
    "spirograd.func": """
        grad value_and_grad vjp jvp vmap jacrev
    """,
    "spirograd.nn.functional": """
        relu relu6 leaky_relu elu celu selu gelu silu mish softplus softsign hardswish hardtanh logsigmoid
        softmax log_softmax pad one_hot cross_entropy
        conv1d conv2d conv3d conv_transpose1d conv_transpose2d unfold fold max_pool1d max_pool2d avg_pool1d avg_pool2d
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
        lp_pool1d lp_pool2d lp_pool3d
    """,
    "spirograd.utils.data": """
        Dataset IterableDataset TensorDataset Subset ConcatDataset ChainDataset StackDataset DataLoader random_split
        default_collate default_convert get_worker_info Sampler RandomSampler SequentialSampler SubsetRandomSampler
        WeightedRandomSampler BatchSampler DistributedSampler
    """,
    "spirograd.nn.utils": """
        clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm parameters_to_vector
        vector_to_parameters
    """,
    "spirograd.optim": """
        Optimizer SGD Adam AdamW Adamax NAdam RAdam RMSprop Adagrad Adadelta LAMB LARS Lion Muon LBFGS Lookahead
    """,
    "spirograd.optim.lr_scheduler": """
        LRScheduler LambdaLR MultiplicativeLR StepLR MultiStepLR ConstantLR LinearLR ExponentialLR CosineAnnealingLR
        CosineAnnealingWarmRestarts OneCycleLR CyclicLR PolynomialLR ReduceLROnPlateau SequentialLR ChainedScheduler
        NoamLR
    """,
    "spirograd.optim.swa_utils": """
        AveragedModel SWALR update_bn get_ema_multi_avg_fn get_swa_multi_avg_fn get_ema_avg_fn get_swa_avg_fn
    """,
    "spirograd.amp": """
        autocast GradScaler is_autocast_enabled get_autocast_dtype
    """,
    "spirograd.profiler": """
        profile record_function schedule tensorboard_trace_handler ProfilerAction ProfilerActivity
    """,
    "spirograd.accelerator.memory": """
        empty_cache get_memory_info memory_allocated max_memory_allocated memory_reserved memory_stats
        reset_peak_memory_stats
    """,
}


@pytest.mark.parametrize(("where", "name"), [(where, name) for where, names in NAMES.items() for name in names.split()])
def test_exists(where: str, name: str) -> None:
    owner = sg.Tensor if where == "spirograd.Tensor" else importlib.import_module(where)
    assert hasattr(owner, name), f"{where}.{name} is missing"


def test_arguments_have_pytorchs_names() -> None:
    x, at = sg.tensor([3.0, 1.0, 2.0]), sg.tensor([0, 2])
    assert x.clamp_min(min=2).tolist() == sg.clamp_min(x, min=2).tolist() == [3, 2, 2]
    assert x.clamp_max(max=2).tolist() == x.clone().clamp_max_(max=2).tolist() == [2, 1, 2]
    assert x.pow(exponent=2).tolist() == [9, 1, 4] and x.mul(other=2).tolist() == [6, 2, 4]
    assert x.scatter(0, at, value=0).tolist() == x.clone().scatter_(0, at, value=0).tolist() == [0, 1, 0]
    assert sg.zeros(3).copy_(x, non_blocking=True).tolist() == x.tolist()
    assert sg.searchsorted(x, sg.tensor([1.5, 3.0]), sorter=x.argsort()).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"searchsorted: sorter \[2\] does not fit the sequence \[3\]"):
        sg.searchsorted(x, 1.0, sorter=at)
    with pytest.raises(TypeError, match="argument other is missing"):
        x.mul(exponent=2)


@pytest.mark.needs("the order of GCC")
def test_page_of_ops_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.chdir(root)
    page = ops_page.page()
    assert (root / "docs" / "ops.md").read_text(encoding="utf-8") == page, "run python tools/ops_page.py > docs/ops.md"


def test_page_of_ops_says_what_has_a_gradient() -> None:
    """Where the table of reference results has a gradient, the page says so."""
    from reference.table import FLOATS, NOT_OPS, ROWS

    said = {entry.name: entry.gradient for entries in ops_page.sections().values() for entry in entries}
    rows: dict[str, bool] = {}
    for row in ROWS:
        name = row.name.split(":")[0]
        rows[name] = rows.get(name, False) or (row.differentiable and any(d in row.dtypes for d in FLOATS))
    wrong = {n: (said[n], has) for n, has in rows.items() if has and said.get(n, "any") != "any"}
    assert not wrong, wrong
    assert said["matmul"] == "any" and said["argmax"] == said["eq"] == "-"
    assert set(said) - set(rows) - set(NOT_OPS) - {n for n in said if n.startswith("linalg.")} == set()
