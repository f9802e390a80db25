"""Calls that are made up, for each name of PyTorch that spirograd has: the table CALLS, and why a name is not in it.

A maker draws arguments: mostly ones that fit, sometimes ones that do not. Importing this file fills the table.
"""

from __future__ import annotations

import torch

import spirograd as sg
import torch_calls_folds  # noqa: F401
import torch_calls_indexing  # noqa: F401
import torch_calls_movement  # noqa: F401
import torch_calls_neural  # noqa: F401
import torch_calls_pointwise  # noqa: F401
from torch_draw import CALLS, LOOSE, Draw, Maker, made, written
from torch_oracle import Call

__all__ = ["CALLS", "LOOSE", "SKIPPED", "Draw", "made"]


# ---- in place --------------------------------------------------------------------------------------------------------
def in_place(name: str) -> Maker:
    def maker(d: Draw) -> Call:
        out = made(d, name)
        for i, x in enumerate(out.givens()):
            if i == 0:
                written(x)
        out.method = True
        return out

    return maker


for name in sorted(sg._core._methods):
    if name.endswith("_") and name[:-1] in CALLS and name not in CALLS and hasattr(torch.Tensor, name):
        CALLS[name], LOOSE[name] = in_place(name[:-1]), LOOSE[name[:-1]]


# ---- what is not called ----------------------------------------------------------------------------------------------
SKIPPED: dict[str, str] = {
    **dict.fromkeys(
        [
            "bernoulli",
            "bernoulli_",
            "exponential_",
            "get_rng_state",
            "initial_seed",
            "manual_seed",
            "multinomial",
            "normal",
            "normal_",
            "rand",
            "rand_like",
            "randint",
            "randint_like",
            "randn",
            "randn_like",
            "random_",
            "randperm",
            "seed",
            "set_rng_state",
            "uniform_",
        ],
        "other random numbers: tests/ops/test_random.py",
    ),
    **dict.fromkeys(["empty", "empty_like", "new_empty"], "undefined contents"),
    **dict.fromkeys(
        ["backward", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad"],
        "the gradient graph: tests/autograd/test_autograd.py",
    ),
    **dict.fromkeys(
        [
            "__array__",
            "__deepcopy__",
            "__dlpack__",
            "__dlpack_device__",
            "__format__",
            "__reduce_ex__",
            "from_dlpack",
            "from_numpy",
            "numpy",
        ],
        "exchange with others: tests/api/test_interop.py",
    ),
    **dict.fromkeys(["cuda", "get_device"], "devices"),
    **dict.fromkeys(["data_ptr", "storage_offset"], "memory"),
    **dict.fromkeys(["get_default_dtype", "set_default_dtype"], "state of the process"),
    **dict.fromkeys(["get_float32_matmul_precision", "set_float32_matmul_precision"], "state of the process"),
    **dict.fromkeys(
        ["get_default_device", "set_default_device", "is_grad_enabled", "is_inference"], "state of the process"
    ),
    **dict.fromkeys(["device", "empty_cache", "synchronize"], "devices"),
    **dict.fromkeys(["is_same_size", "is_tensor", "type"], "says what a tensor of the own library is"),
}
