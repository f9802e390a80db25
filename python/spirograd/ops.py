"""Custom kernels: operations written as GLSL compute shaders."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ._core import LimitError, Tensor, _glsl_limits, _glsl_run
from .autograd import Function

__all__ = ["GlslKernel", "glsl_kernel"]

Shape: TypeAlias = tuple[int, ...]
Size: TypeAlias = int | Sequence[int]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_TAKEN = {
    "main", "tensor", "word", "push", "global_index", "load", "store", "barrier", "float", "int", "uint", "bool",
    "double", "void",
}  # fmt: skip
_LARGEST = 2**32


def _three(name: str, what: str, size: Size) -> tuple[int, int, int]:
    sizes = [size] if isinstance(size, int) else list(size)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(s, int) and s >= 0 for s in sizes):
        raise ValueError(f"{name}: {what} is {size!r}; give an int, or up to three of 0 or more")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


class GlslKernel:
    """A custom kernel, made by `glsl_kernel`; call it with tensors."""

    def __init__(
        self,
        name: str,
        source: str,
        inputs: Sequence[str],
        outputs: Sequence[Any],
        groups: Size | Callable[..., Size] | None,
        local_size: Size,
        constants: Mapping[str, int | float | bool] | None,
        grad: Callable[..., Any] | None,
        cpu: Callable[..., Any] | None,
        unchecked: bool,
    ) -> None:
        self.name, self.source = name, source
        self.inputs = [inputs] if isinstance(inputs, str) else list(inputs)
        self.outputs = [self._output(o) for o in ([outputs] if isinstance(outputs, str | tuple) else outputs)]
        self.groups = groups
        self.local_size = _three(name, "local_size", local_size)
        self.constants = dict(constants or {})
        self.grad, self.cpu, self.unchecked = grad, cpu, unchecked
        self._function: type[Function] = type(name, (_Call,), {})
        if not self.inputs or not self.outputs:
            raise ValueError(f"{name}: a kernel has inputs and outputs, at least one of each")
        names = [*self.inputs, *(o[0] for o in self.outputs), *self.constants]
        for n in names:
            if not isinstance(n, str) or not _NAME.fullmatch(n) or n in _TAKEN or n.startswith("gl_"):
                raise ValueError(f"{name}: {n!r} cannot be a name in GLSL; use letters, digits and single underscores")
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise ValueError(f"{name}: the name '{min(twice)}' is used twice; give each tensor and constant its own")
        for n, value in self.constants.items():
            if not isinstance(value, int | float):
                raise TypeError(f"{name}: the constant {n} is a {type(value).__name__}; use an int, a float or a bool")
            if type(value) is int and not -(2**31) <= value < 2**31:
                raise ValueError(f"{name}: the constant {n} is {value}, which does not fit into 32 bits")

    def __repr__(self) -> str:
        return f"<glsl_kernel {self.name}({', '.join(self.inputs)}) -> {', '.join(o[0] for o in self.outputs)}>"

    def __call__(self, *inputs: Tensor) -> Any:
        """The outputs for these inputs: a tensor, or a tuple when there are several."""
        if len(inputs) != len(self.inputs):
            raise TypeError(
                f"{self.name}: {len(inputs)} inputs given, it has {len(self.inputs)}: {', '.join(self.inputs)}"
            )
        for n, x in zip(self.inputs, inputs, strict=True):
            if not isinstance(x, Tensor):
                raise TypeError(f"{self.name}: {n} is a {type(x).__name__}; a tensor is needed")
            if x.device != inputs[0].device:
                raise ValueError(
                    f"{self.name}: inputs are on different devices, {inputs[0].device} and {x.device}; "
                    f'move one with .to("{inputs[0].device}")'
                )
        made = self._function.apply(self, *inputs)
        return made if len(self.outputs) > 1 else made[0] if isinstance(made, tuple) else made

    def _output(self, spec: Any) -> tuple[str, Any, Any]:
        """(name, shape, dtype); what is missing is that of the first input."""
        parts = (spec,) if isinstance(spec, str) else tuple(spec)
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"{self.name}: the output {spec!r} is not (name, shape, dtype)")
        name, shape, dtype = (*parts, None, None)[:3]
        return name, shape, dtype

    def _shape(self, shape: Any, shapes: dict[str, Shape]) -> Shape:
        if callable(shape):
            shape = shape(*shapes.values())
        if shape is None:
            shape = next(iter(shapes.values()))
        if isinstance(shape, str):
            if shape not in shapes:
                raise ValueError(f"{self.name}: the shape '{shape}' of an output is the name of no input")
            shape = shapes[shape]
        return (shape,) if isinstance(shape, int) else tuple(shape)

    def _grid(self, shapes: dict[str, Shape], first: Shape, limit: int) -> tuple[int, int, int]:
        if self.groups is None:
            groups = -(-math.prod(first) // math.prod(self.local_size))
            return (groups, 1, 1) if groups <= limit else (limit, -(-groups // limit), 1)
        size = self.groups(*shapes.values()) if callable(self.groups) else self.groups
        return _three(self.name, "groups", size)

    def _run(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        device = inputs[0].device
        shapes = {n: tuple(x.shape) for n, x in zip(self.inputs, inputs, strict=True)}
        outputs = [
            (n, self._shape(shape, shapes), inputs[0].dtype if dtype is None else dtype)
            for n, shape, dtype in self.outputs
        ]
        if device.kind == "cpu":
            return self._run_cpu(inputs, outputs)
        for n, shape in [*shapes.items(), *((n, s) for n, s, _ in outputs)]:
            if math.prod(shape) >= _LARGEST:
                raise LimitError(f"{self.name}: {n} has {math.prod(shape)} elements; kernels count to 2**32")
        max_groups, max_threads = _glsl_limits(device)
        groups = self._grid(shapes, outputs[0][1], max_groups)
        if max(groups) > max_groups:
            raise LimitError(
                f"{self.name}: groups {groups}, {device} launches {max_groups} along an axis; use more axes"
            )
        if not 1 <= math.prod(self.local_size) <= max_threads:
            raise LimitError(
                f"{self.name}: local_size {self.local_size}; a workgroup of {device} has 1 to {max_threads}"
            )
        named = list(zip(self.inputs, inputs, strict=True))
        source, constants, local = self.source, self.constants, self.local_size
        return tuple(_glsl_run(self.name, source, named, outputs, constants, groups, local, self.unchecked))

    def _run_cpu(self, inputs: Sequence[Tensor], outputs: list[tuple[str, Shape, Any]]) -> tuple[Tensor, ...]:
        if self.cpu is None:
            raise LimitError(
                f"{self.name}: a glsl_kernel runs on a GPU; move the inputs with .to('gpu'), or give it a cpu= function"
            )
        made = self.cpu(*inputs)
        results = (made,) if isinstance(made, Tensor) else tuple(made)
        if len(results) != len(outputs):
            raise ValueError(f"{self.name}: cpu= returned {len(results)} tensors for {len(outputs)} outputs")
        for (n, shape, dtype), y in zip(outputs, results, strict=True):
            if tuple(y.shape) != shape or y.dtype != dtype:
                raise ValueError(
                    f"{self.name}: cpu= returned {y.dtype.name} {tuple(y.shape)} for {n}, which is {dtype.name} {shape}"
                )
        return results

    def _gradients(self, grads: tuple[Any, ...], inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> list[Any]:
        if self.grad is None:
            raise LimitError(f"{self.name}: this kernel has no gradient; give glsl_kernel a grad= function")
        found = self.grad(grads, inputs, outputs)
        found = [found] if found is None or isinstance(found, Tensor) else list(found)
        if len(found) != len(inputs):
            raise ValueError(f"{self.name}: grad= returned {len(found)} gradients for {len(inputs)} inputs")
        for n, g, x in zip(self.inputs, found, inputs, strict=True):
            if g is not None and tuple(g.shape) != tuple(x.shape):
                raise ValueError(
                    f"{self.name}: grad= returned shape {tuple(g.shape)} for {n}, which has {tuple(x.shape)}"
                )
        return found


class _Call(Function):
    """A kernel's place in the gradient graph."""

    @staticmethod
    def forward(ctx: Any, kernel: GlslKernel, *inputs: Tensor) -> tuple[Tensor, ...]:
        outputs = kernel._run(inputs)
        ctx.kernel, ctx.count = kernel, len(inputs)
        if kernel.grad is not None:
            ctx.save_for_backward(*inputs, *outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        saved = ctx.saved_tensors
        return (None, *ctx.kernel._gradients(grads, saved[: ctx.count], saved[ctx.count :]))


def glsl_kernel(
    name: str,
    source: str,
    inputs: Sequence[str],
    outputs: Sequence[Any],
    groups: Size | Callable[..., Size] | None = None,
    local_size: Size = 128,
    constants: Mapping[str, int | float | bool] | None = None,
    grad: Callable[..., Any] | None = None,
    cpu: Callable[..., Any] | None = None,
    unchecked: bool = False,
) -> GlslKernel:
    """An operation made of a GLSL compute kernel.

    It is recorded, scheduled and submitted with everything else, keeps its compiled code in memory and on disk, and
    runs under its name in plans and profiles.

    In the source, `load(x, i)` is element i of the tensor `x`, and `store(y, i, value)` writes it, in C order, whatever
    the tensor's strides. Beyond a tensor's end, `load` gives 0 and `store` does nothing, and the next read raises
    IndexError, as for any index. For each tensor `x` there are `x_size`, its number of elements, and `x_shape(d)`, the
    size of dimension d, both uint and not part of the compiled code. `global_index` is the number of this invocation
    among all. Elements are float (also float16 and bfloat16), double, int (also narrower ones), int64_t and bool.

    Args:
        name: what it is called in errors, plans and profiles.
        source: the body of main; or, when it has a `void main()`, all functions and `shared` variables.
        inputs: a name for each input tensor.
        outputs: for each output (name, shape, dtype), or a name alone. The shape is a tuple, the name of an input, or
            a function of the inputs' shapes; shape and dtype are those of the first input when left out. A kernel
            writes all of each output: what it does not write is undefined.
        groups: how many workgroups along x, y, z: an int, a tuple, or a function of the inputs' shapes. None: an
            invocation for each element of the first output, with `global_index`, and some beyond the last.
        local_size: how many invocations a workgroup has along x, y, z.
        constants: names with an int, a float or a bool, compiled in; an int may size `shared` arrays. What changes
            often is better a tensor of one element.
        grad: `grad(gradients, inputs, outputs)`, three tuples, gives the gradient of each input, None where there is
            none. Made of tensor operations, or of other kernels with a gradient, it has gradients itself.
        cpu: `cpu(*inputs)` gives the outputs for inputs on the CPU, made of tensor operations. None: those raise.
        unchecked: a tensor is an array by its name, `y[i] = x[i]`, as it is in memory: bool is a uint8_t, narrow
            integers are themselves, float16 and bfloat16 are their bits. Indices are not checked: one out of range
            reads or overwrites memory of others.

    Returns:
        A function of tensors on one GPU; it returns a tensor, or a tuple when there are several outputs.

    Raises:
        ValueError, TypeError: names, shapes or inputs do not fit.
        KernelCompileError: at the call, with the line of the source.
        IndexError: at the next read, where a kernel went beyond a tensor's end.
        LimitError: inputs on the CPU without cpu=, or more than the GPU can launch.

    Example:
        >>> half = sg.ops.glsl_kernel(
        ...     "half",
        ...     "uint i = global_index; if (i < y_size) store(y, i, 0.5 * load(x, i));",
        ...     inputs=["x"], outputs=["y"], cpu=lambda x: 0.5 * x,
        ... )
        >>> half(sg.tensor([1.0, 2.0])).tolist()
        [0.5, 1.0]
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"glsl_kernel: the name {name!r} is not an identifier")
    return GlslKernel(name, source, inputs, outputs, groups, local_size, constants, grad, cpu, unchecked)
