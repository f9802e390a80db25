"""torch.backends: flags of libraries that PyTorch uses. They can be set and read; none of those libraries is here.

`cuda.matmul.allow_tf32` and `fp32_precision` are other names of `set_float32_matmul_precision`. `cudnn.deterministic`
and `cudnn.allow_tf32` say what is always so: results are deterministic, and convolutions of float32 are computed in
float32.
"""

from __future__ import annotations

import contextlib
from collections import namedtuple
from types import ModuleType, SimpleNamespace
from typing import Any

from .... import _core

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]
__all__ += ["__allow_nonbracketed_mutation", "disable_global_flags"]


class _Library(ModuleType):
    """The flags of one library, which is not here."""

    def __init__(self, name: str, **flags: Any) -> None:
        super().__init__(f"torch.backends.{name}")
        self.__dict__.update(flags)

    def is_available(self) -> bool:
        """False."""
        return False

    is_built = is_available

    def flags(self, **values: Any) -> contextlib.AbstractContextManager[None]:
        """A context in which nothing changes."""
        return contextlib.nullcontext()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("enable_"):  # enable_flash_sdp() and others
            return lambda enabled=True: None
        if name.endswith("_enabled"):
            return lambda: False
        raise AttributeError(f"{self.__name__} has no flag {name}; see docs/porting.md")


def __allow_nonbracketed_mutation() -> contextlib.AbstractContextManager[None]:
    """A context in which flags may be set, as everywhere."""
    return contextlib.nullcontext()


def disable_global_flags() -> None:
    """Accepted: flags may be set."""


class _Products:
    """The flags of float32 products, which are one, and others that change nothing."""

    allow_fp16_accumulation = allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 matrices may be less than strict. True sets "high", False "highest"."""
        return _core.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        _core.set_float32_matmul_precision("high" if allowed else "highest")

    @property
    def fp32_precision(self) -> str:
        """ "tf32" or "ieee": the same flag as a word."""
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        self.allow_tf32 = precision == "tf32"


_products = _Products()
_convolutions = SimpleNamespace(fp32_precision="ieee")
cudnn = _Library("cudnn", enabled=False, benchmark=False, deterministic=True, allow_tf32=False, benchmark_limit=10)
cudnn.version, cudnn.conv = lambda: None, _convolutions  # type: ignore[attr-defined]
cuda = _Library("cuda", matmul=_products)
cuda.sdp_kernel = cuda.flags  # type: ignore[attr-defined]
cuda.can_use_flash_attention = lambda params, debug=False: False  # type: ignore[attr-defined]
vars(cuda)["SDPAParams"] = namedtuple("SDPAParams", "query key value attn_mask dropout is_causal enable_gqa")
cpu = _Library("cpu", get_cpu_capability=lambda: "DEFAULT")
mha = _Library("mha", get_fastpath_enabled=lambda: False, set_fastpath_enabled=lambda value: None)
mkl, mkldnn, mps, openmp = (_Library(name, enabled=False) for name in ("mkl", "mkldnn", "mps", "openmp"))
opt_einsum = _Library("opt_einsum", enabled=False, strategy=None)
quantized = _Library("quantized", engine="none", supported_engines=["none"])
