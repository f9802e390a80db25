"""Convolutions and pools."""

from __future__ import annotations

import math
from typing import Any

from ..._core import Tensor
from ..graph import Value
from .call import Call, given, op


def _each(value: Any, dims: int) -> list[int]:
    return [value] * dims if isinstance(value, int) else list(value) * (dims if len(value) == 1 else 1)


def _windowed(c: Call, name: str, x: Value, *weights: Value | None, shape: Any, dims: int, **options: Any) -> Value:
    """A node over images with channels; without a batch, a batch of one."""
    alone = x.ndim == dims + 1
    x = c.graph.reshape(x, [1, *x.shape]) if alone else x
    out = c.graph.node(name, [x, *weights], [1, *shape] if alone else shape, x.dtype, **options)
    return c.graph.reshape(out, shape)


@op("conv1d", "conv2d", "conv3d")
def _(
    c: Call,
    x: Value,
    weight: Value,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Value:
    dims, sizes = weight.ndim - 2, list(weight.shape[2:])
    steps = _each(dilation, dims)
    if padding == "same":
        over = [d * (k - 1) for d, k in zip(steps, sizes, strict=True)]
        pads = [n // 2 for n in over] + [n - n // 2 for n in over]
    else:
        pads = _each(0 if padding == "valid" else padding, dims) * 2
    options = {"strides": _each(stride, dims), "pads": pads, "dilations": steps, "group": groups, "kernel_shape": sizes}
    return _windowed(c, "Conv", x, weight, bias, shape=c.shape, dims=dims, **options)


@op("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _(
    c: Call,
    x: Value,
    weight: Value,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Value:
    dims = weight.ndim - 2
    options = {"strides": _each(stride, dims), "pads": _each(padding, dims) * 2, "dilations": _each(dilation, dims)}
    options |= {"output_padding": _each(output_padding, dims), "kernel_shape": list(weight.shape[2:])}
    return _windowed(c, "ConvTranspose", x, weight, bias, shape=c.shape, dims=dims, group=groups, **options)


def _pool(c: Call, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> dict[str, Any]:
    dims = int(c.name.split("_pool")[1][0])
    sizes = _each(kernel_size, dims)
    steps = sizes if given(stride) is None else _each(stride, dims)
    options = {"dims": dims, "kernel_shape": sizes, "strides": steps, "pads": _each(padding, dims) * 2}
    return options | {"ceil_mode": int(ceil_mode)}


@op("max_pool1d", "max_pool2d", "max_pool3d")
@op("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _(
    c: Call,
    x: Value,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    options = _pool(c, kernel_size, stride, padding, ceil_mode)
    alone = isinstance(c.result, Tensor)
    shape = c.shape if alone else tuple(c.result[0].shape)
    out = _windowed(c, "MaxPool", x, shape=shape, dilations=_each(dilation, options["dims"]), **options)
    return out if alone else (out, None)  # ONNX counts places in another way


@op("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _(
    c: Call,
    x: Value,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    options = _pool(c, kernel_size, stride, padding, ceil_mode)
    counted = int(count_include_pad or divisor_override is not None)
    out = _windowed(c, "AveragePool", x, shape=c.shape, count_include_pad=counted, **options)
    if divisor_override is not None:
        out = c.binary("Mul", out, math.prod(options["kernel_shape"]) / divisor_override)
    return out
