"""Functions that PyTorch's own layers are made of, for programs that call them; `spirograd` does not show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..base.overridable import open_functions
from ..linalg import vector_norm
from ..nn import functional

__all__ = ["_chunk_cat", "_log_softmax_backward_data", "_native_batch_norm_legit", "_safe_softmax"]
__all__ += ["_softmax_backward_data", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "constant_pad_nd"]
__all__ += ["grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "hash_tensor", "native_batch_norm", "native_dropout"]
__all__ += ["native_group_norm", "native_layer_norm", "norm_except_dim"]


# ---- normalised values with the means and the inverse deviations that were used --------------------------------------
def _statistics(x: Tensor, dims: Any, eps: float, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    x = x.float() if x.dtype in (_core.float16, _core.bfloat16) else x
    variance, mean = _core.var_mean(x, dims, correction=0, keepdim=keepdim)
    return mean, (variance + eps).rsqrt()


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm(), the means, and one over the deviations, which keep the folded dimensions with size 1."""
    dims = list(range(-len(normalized_shape), 0))
    mean, rstd = _statistics(input.detach(), dims, eps, keepdim=True)
    result = functional.layer_norm(input, normalized_shape, weight, bias, eps)
    return result, mean.to(input.dtype), rstd.to(input.dtype)


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """group_norm() of N images with C channels of HxW elements; the means and one over the deviations: [N, group]."""
    mean, rstd = _statistics(input.reshape(N, group, C // group * HxW), -1, eps)
    result = functional.group_norm(input.reshape(N, C, HxW), group, weight, bias, eps).reshape(input.shape)
    return result, mean.to(input.dtype), rstd.to(input.dtype)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm(), the means and one over the deviations that training used; else both are empty."""
    result = functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, input.new_zeros(0), input.new_zeros(0)
    mean, rstd = _statistics(input.detach(), [d for d in range(input.ndim) if d != 1], eps)
    dtype = input.dtype if weight is None else weight.dtype
    return result, mean.to(dtype), rstd.to(dtype)


def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """native_batch_norm(), also without running values."""
    running = rest[:-3] or (None, None)
    return native_batch_norm(input, weight, bias, *running, *rest[-3:])


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """dropout(), and which elements are left."""
    if train is False:
        return input.clone(), _core.ones(input.shape, dtype=_core.bool, device=input.device)
    kept = _core.rand(input.shape, device=input.device) >= p
    return input * kept * (1 / (1 - p) if p < 1 else 0.0), kept


# ---- the rest --------------------------------------------------------------------------------------------------------
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of softmax(), of that of its output."""
    found: Tensor = output * (grad_output - (grad_output * output).sum(dim, keepdim=True))
    return found.to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of log_softmax(), of that of its output."""
    found: Tensor = grad_output - output.exp() * grad_output.sum(dim, keepdim=True)
    return found.to(input_dtype)


def _safe_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """softmax() that is 0 where all elements are -inf."""
    x = input if dtype is None else input.to(dtype)
    none = (x == -math.inf).all(dim, keepdim=True)
    return _core.where(none, 0.0, _core.softmax(_core.where(none, 0.0, x), dim))


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor in so many parts along a dimension, the last filled with 0, and the parts of one number side by side.

    [..., n, rest] become [..., num_chunks, all parts together].
    """
    found = []
    dim %= tensors[0].ndim
    for x in tensors:
        size = -(-x.shape[dim] // num_chunks)
        x = _core.pad(x, [0, 0] * (x.ndim - 1 - dim) + [0, size * num_chunks - x.shape[dim]])
        found.append(x.reshape(*x.shape[:dim], num_chunks, -1))
    return _core.cat(found, dim + 1)


def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: float) -> Tensor:
    """input[indices] where the mask holds, else a number; indices there are of no account."""
    found = input[_inside(input, indices)]
    return _core.where(mask, found, _core.full_like(found, fill))


def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """input with values added at indices where the mask holds."""
    return input.index_put(_inside(input, indices), _core.where(mask, values, _core.zeros_like(values)), True)


def _inside(input: Tensor, indices: Sequence[Tensor | None]) -> Any:
    sizes = input.shape
    places = [None if i is None else i.clamp(-n, n - 1) for i, n in zip(indices, sizes, strict=False)]
    return tuple(slice(None) if i is None else i for i in places)


def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the bits of all elements, or along dimensions, each as float64 or int64.

    It runs on the CPU, in NumPy. The bits come as int64, PyTorch's as uint64, which there is not here.

    Raises:
        ValueError: the mode is not 0.
    """
    if mode != 0:
        raise ValueError(f"hash_tensor: mode {mode} is unknown; use 0")
    x = input.detach()
    bits = x.double().numpy().view(np.int64) if x.dtype.is_floating_point else x.to(_core.int64).numpy()
    dims = tuple(range(x.ndim)) if dim in ((), [], None) else (dim,) if isinstance(dim, int) else tuple(dim)
    reduce: Any = np.bitwise_xor.reduce
    found = reduce(bits, axis=dims, keepdims=keepdim) if x.ndim else bits
    return _core.tensor(np.asarray(found), dtype=_core.int64, device=input.device)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """pad() with one value."""
    return _core.pad(input, pad, value=value)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """nn.functional.grid_sample() with its modes by their numbers, in the order in which they are documented."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    return functional.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which keep size 1; over all of them if it is -1."""
    if dim == -1:
        return vector_norm(v, pow)
    return vector_norm(v, pow, [i for i in range(v.ndim) if i != dim % v.ndim], keepdim=True)


open_functions(__name__)
