"""Arguments are PyTorch's, by name and default; what is not so is listed here."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import spirograd as sg

torch = pytest.importorskip("torch")

MODULES = [
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "utils.data",
    "utils.checkpoint",
    "autograd",
    "autograd.functional",
    "func",
    "amp",
    "testing",
    "accelerator",
]
NOWHERE = {
    "size_average": "long deprecated: reduction says it",
    "reduce": "the same",
    "out": "a result is written by copy_()",
    "foreach": "how PyTorch computes it; optimisers accept it",
    "fused": "the same",
    "capturable": "the same",
    "differentiable": "accepted when False",
}
ELSEWHERE = {
    "nn.Hardtanh": "min_value max_value",  # deprecated
    "nn.RMSNorm.forward": "x",  # its neighbours in PyTorch say input
    "nn.RNNCellBase": "num_chunks device dtype",  # a base, for subclasses
    "nn.functional.log_softmax": "dim",  # implicit dimensions are deprecated
    "nn.functional.softmax": "dim",
    "nn.functional.softmin": "dim",
    "nn.functional.max_pool1d_with_indices": "return_indices",
    "nn.functional.max_pool2d_with_indices": "return_indices",
    "nn.utils.rnn.PackedSequence": "batch_sizes",  # None is of no use
    "optim.LBFGS.step": "closure",  # None, as in other optimisers; it says that it needs one
    "utils.data.BatchSampler": "drop_last",
    "utils.data.random_split": "generator",
    "utils.checkpoint.checkpoint": "use_reentrant context_fn determinism_check debug early_stop",
    "utils.checkpoint.checkpoint_sequential": "use_reentrant",
    "autograd.backward": "grad_variables",  # deprecated
    "autograd.enable_grad": "orig_func",
    "autograd.grad": "only_inputs",  # deprecated
    "autograd.gradcheck": """check_undefined_grad check_grad_dtypes check_batched_grad check_batched_forward_grad
        check_forward_ad check_backward_ad masked""",
    "autograd.gradgradcheck": """gen_non_contig_grad_outputs check_undefined_grad check_grad_dtypes check_batched_grad
        check_fwd_over_rev check_rev_over_rev masked""",
    "amp.GradScaler": "device",
    "testing.make_tensor": "device",  # has a default here
}


def signature(thing: Any) -> dict[str, inspect.Parameter] | None:
    try:
        listed = inspect.signature(thing).parameters.values()
    except (ValueError, TypeError):  # written in C++
        return None
    return {p.name: p for p in listed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self"}


def is_default(ours: Any, theirs: Any) -> bool:
    if callable(theirs) and not isinstance(theirs, type):  # of nn.Transformer: relu, or its name
        return ours == getattr(theirs, "__name__", None)
    return bool(ours == theirs) or str(ours).split(".")[-1] == str(theirs).split(".")[-1]


def differences(ours: Any, theirs: Any) -> set[str]:
    """The arguments of PyTorch that are missing, or have another default."""
    mine, others = signature(ours), signature(theirs)
    if mine is None or others is None:
        return set()
    found = set()
    for name, p in others.items():
        if name.startswith("_") or name in NOWHERE:
            continue
        if name not in mine or not is_default(mine[name].default, p.default):
            found.add(name)
    return found


def shared(module: str) -> Iterator[tuple[str, Any, Any]]:
    ours = functools.reduce(getattr, module.split("."), sg)
    theirs = importlib.import_module(f"torch.{module}")
    for name in getattr(ours, "__all__", [n for n in dir(ours) if not n.startswith("_")]):
        mine, other = getattr(ours, name), getattr(theirs, name, None)
        if other is None or inspect.ismodule(mine) or not callable(mine):
            continue
        if getattr(mine, "__module__", "").startswith("spirograd"):
            yield f"{module}.{name}", mine, other
        if inspect.isclass(mine) and inspect.isclass(other):
            for method in vars(mine):
                if not method.startswith("_") and callable(getattr(other, method, None)):
                    yield f"{module}.{name}.{method}", getattr(mine, method), getattr(other, method)


@pytest.mark.parametrize("module", MODULES)
def test_arguments_are_those_of_pytorch(module: str) -> None:
    found = {name: differences(mine, other) for name, mine, other in shared(module)}
    listed = {name: set(names.split()) for name, names in ELSEWHERE.items() if name.rpartition(".")[0] == module}
    listed |= {name: set(ELSEWHERE[name].split()) for name in found if name in ELSEWHERE}
    assert {name: names for name, names in found.items() if names} == listed


def order(thing: Callable[..., Any], of: dict[str, inspect.Parameter]) -> list[str]:
    return [p.name for p in (signature(thing) or {}).values() if p.name in of and p.kind != p.KEYWORD_ONLY]


@pytest.mark.parametrize("module", MODULES)
def test_arguments_come_in_pytorchs_order(module: str) -> None:
    for name, mine, other in shared(module):
        both = {k: v for k, v in (signature(mine) or {}).items() if k in (signature(other) or {})}
        ours, theirs = order(mine, both), order(other, both)
        assert ours[: len(theirs)] == theirs[: len(ours)], name
