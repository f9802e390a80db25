"""Tensor.view(dtype): the bytes of a tensor as elements of another type. Called from C++ by these names.

On a CPU both see each other's writes, through an array on the same memory. On a GPU memory has one type, so a kernel
copies the bits.
"""

from __future__ import annotations

import functools
from typing import Any

from . import _core
from ._core import Tensor
from .ops import GlslKernel, glsl_kernel

_WORDS = {"bool": "uint8_t", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int"}
_WORDS |= {"float16": "uint16_t", "bfloat16": "uint16_t"}  # they are kept as their bits
# An element as two words, and back.
_TO_BITS = {
    "float32": "uvec2(floatBitsToUint({}), 0u)",
    "float64": "unpackDouble2x32({})",
    "int64": "uvec2(uint({0} & 0xffffffffL), uint(({0} >> 32) & 0xffffffffL))",
}
_FROM_BITS = {
    "float32": "uintBitsToFloat({}.x)",
    "float64": "packDouble2x32({})",
    "int64": "(int64_t({0}.x) | (int64_t({0}.y) << 32))",
}


@functools.cache
def _kernel(source: _core.dtype, target: _core.dtype) -> GlslKernel:
    size, other = source.itemsize, target.itemsize
    mask = f" & {2 ** (8 * size) - 1:#x}u" if size < 4 else ""
    read = _TO_BITS.get(source.name, f"uvec2(uint({{}}){mask}, 0u)").format
    write = _FROM_BITS.get(target.name, f"{_WORDS.get(target.name)}({{}}.x)").format
    if other >= size:
        count = other // size
        lines = [f"uvec2 bits = {read(f'x[i * {count}u]')};"]
        for k in range(1, count):
            at = 8 * size * k
            part = f"{read(f'x[i * {count}u + {k}u]')}.x"
            lines.append(f"bits.{'xy'[at // 32]} |= {part} << {at % 32};")
    else:
        count = size // other
        lines = [
            f"uvec2 all = {read(f'x[i / {count}u]')};",
            f"uint at = {8 * other}u * (i % {count}u);",
            "uvec2 bits = uvec2(at < 32u ? all.x >> at : all.y >> (at - 32u), 0u);",
        ]
    body = " ".join(lines)

    def shape(x: tuple[int, ...]) -> tuple[int, ...]:
        return (*x[:-1], x[-1] * size // other) if x else x

    return glsl_kernel(
        f"view_{source.name}_as_{target.name}",
        f"uint i = global_index; if (i < y_size) {{ {body} y[i] = {write('bits')}; }}",
        inputs=["x"],
        outputs=[("y", shape, target)],
        unchecked=True,
    )


def view(x: Tensor, dtype: Any) -> Tensor:
    """The bytes of x as elements of a type; the last size changes with the size of an element."""
    target = _core.promote_types(dtype, dtype)
    x = x.detach()
    source = x.dtype
    if source == target:
        return x
    if source.itemsize != target.itemsize and (x.ndim == 0 or (x.shape[-1] > 1 and x.stride(-1) != 1)):
        raise ValueError(
            f"view: {source.name} of shape {list(x.shape)} with strides {list(x.stride())} as {target.name}; the last "
            "dimension must lie without gaps"
        )
    if x.ndim and x.shape[-1] * source.itemsize % target.itemsize:
        raise ValueError(
            f"view: {x.shape[-1]} elements of {source.name} in the last dimension are no whole number of "
            f"{target.name}; use a multiple"
        )
    if x.device.kind == "gpu":
        out: Tensor = _kernel(source, target)(x)
        return out
    return _core.from_numpy(x.numpy().view(target.dtype))
