"""What each ONNX operator is in spirograd. An entry is called with the node and its inputs.

Inputs that hold sizes, axes and the like are NumPy arrays when they are constants of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from .. import _core
from .._core import Error, Tensor
from ..nn import functional as F

_TYPES = {
    TensorProto.BOOL: "bool", TensorProto.UINT8: "uint8", TensorProto.INT8: "int8", TensorProto.INT16: "int16",
    TensorProto.INT32: "int32", TensorProto.INT64: "int64", TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16", TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64",
}  # fmt: skip
# The inputs that say how, by operator; all others are data.
_SETTINGS = {
    "Reshape": (1,), "Expand": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 2, 3), "Unsqueeze": (1,), "Squeeze": (1,),
    "Tile": (1,),
    "ReduceSum": (1,), "ReduceMean": (1,), "ReduceMax": (1,), "ReduceMin": (1,), "ReduceProd": (1,), "ReduceL1": (1,),
    "ReduceL2": (1,), "ReduceLogSumExp": (1,), "ReduceSumSquare": (1,), "CumSum": (1,), "TopK": (1,), "Split": (1,),
    "Trilu": (1,), "OneHot": (1,), "ConstantOfShape": (0,), "Resize": (1, 2, 3), "Clip": (), "Range": (0, 1, 2),
}  # fmt: skip


def from_array(tensor: onnx.TensorProto) -> npt.NDArray[Any]:
    """The elements in the file."""
    array = numpy_helper.to_array(tensor)
    return array.astype(np.float32) if tensor.data_type == TensorProto.BFLOAT16 else array


class Node:
    """A node with its attributes as Python values."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self.op = str(node.op_type) if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.attributes = {a.name: _value(helper.get_attribute_value(a)) for a in node.attribute}

    def data_inputs(self) -> list[str]:
        """The names of the inputs that hold numbers to compute with."""
        settings = _SETTINGS.get(self.op, ())
        return [name for i, name in enumerate(self.inputs) if i not in settings]

    def get(self, name: str, fallback: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, fallback)


def _value(x: Any) -> Any:
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, (list, tuple)):
        return [_value(v) for v in x]
    return x


Function = Callable[..., Any]
FUNCTIONS: dict[str, Function] = {}


def operator(*names: str) -> Callable[[Function], Function]:
    """Registers an entry."""

    def put(entry: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = entry
        return entry

    return put


def _ints(x: Any) -> list[int]:
    """A setting; it may come out of the graph."""
    return [int(v) for v in np.atleast_1d(x.numpy() if isinstance(x, Tensor) else np.asarray(x)).ravel()]


def _same_place(a: Any, b: Any) -> tuple[Any, Any]:
    """Arrays of settings become tensors where the other one is."""
    if isinstance(a, Tensor) and isinstance(b, np.ndarray):
        return a, _core.tensor(b, device=a.device)
    if isinstance(b, Tensor) and isinstance(a, np.ndarray):
        return _core.tensor(a, device=b.device), b
    return a, b


_OF_ONE: dict[str, Callable[[Any], Any]] = {
    "Abs": _core.abs, "Neg": _core.neg, "Exp": _core.exp, "Log": _core.log, "Sqrt": _core.sqrt, "Sin": _core.sin,
    "Reciprocal": _core.reciprocal, "Cos": _core.cos, "Tan": _core.tan, "Asin": _core.asin, "Acos": _core.acos,
    "Atan": _core.atan, "Sinh": _core.sinh, "Cosh": _core.cosh, "Tanh": _core.tanh, "Asinh": _core.asinh,
    "Acosh": _core.acosh, "Atanh": _core.atanh, "Sigmoid": _core.sigmoid, "Relu": _core.relu, "Floor": _core.floor,
    "Ceil": _core.ceil, "Round": _core.round, "Sign": _core.sign, "Erf": _core.erf, "Softsign": F.softsign,
    "Mish": F.mish, "HardSwish": F.hardswish, "Not": _core.logical_not, "IsNaN": _core.isnan, "IsInf": _core.isinf,
    "Softplus": F.softplus, "BitwiseNot": _core.bitwise_not, "Identity": lambda x: x,
}  # fmt: skip
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Pow": lambda a, b: a**b,
    "And": _core.logical_and, "Or": _core.logical_or, "Xor": _core.logical_xor, "Equal": lambda a, b: a == b,
    "Greater": lambda a, b: a > b, "GreaterOrEqual": lambda a, b: a >= b, "Less": lambda a, b: a < b,
    "LessOrEqual": lambda a, b: a <= b, "MatMul": lambda a, b: a @ b, "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b, "BitwiseXor": lambda a, b: a ^ b,
    "PRelu": lambda a, b: _core.where(a < 0, a * b, a),
}  # fmt: skip


@operator(*_OF_ONE)
def _(node: Node, x: Any) -> Any:
    return _OF_ONE[node.op](x)


@operator(*_OF_TWO)
def _(node: Node, a: Any, b: Any) -> Any:
    return _OF_TWO[node.op](*_same_place(a, b))


@operator("Div")
def _(node: Node, a: Any, b: Any) -> Any:
    a, b = _same_place(a, b)
    return a / b if a.is_floating_point() else _core.div(a, b, rounding_mode="trunc")


@operator("Mod")
def _(node: Node, a: Any, b: Any) -> Any:
    a, b = _same_place(a, b)
    return _core.fmod(a, b) if node.get("fmod") else a % b


@operator("Max", "Min", "Sum")
def _(node: Node, first: Any, *others: Any) -> Any:
    for other in others:
        a, b = _same_place(first, other)
        first = a + b if node.op == "Sum" else (_core.maximum if node.op == "Max" else _core.minimum)(a, b)
    return first


@operator("Clip")
def _(node: Node, x: Any, low: Any = None, high: Any = None) -> Any:
    low, high = (node.get("min") if low is None else low), (node.get("max") if high is None else high)
    if low is not None:
        x = _core.maximum(*_same_place(x, low))
    return x if high is None else _core.minimum(*_same_place(x, high))


@operator("Where")
def _(node: Node, condition: Any, a: Any, b: Any) -> Any:
    a, b = _same_place(a, b)
    return _core.where(condition, a, b)


@operator("Cast")
def _(node: Node, x: Any) -> Any:
    name = _TYPES[node.get("to")]
    return (
        x.to(getattr(_core, name))
        if isinstance(x, Tensor)
        else np.asarray(x).astype("float32" if name == "bfloat16" else name)
    )


@operator("Constant")
def _(node: Node) -> Any:
    if (tensor := node.get("value")) is not None:
        return from_array(tensor)
    return np.asarray(next(iter(node.attributes.values())))


@operator("ConstantOfShape")
def _(node: Node, shape: Any) -> Any:
    value = node.get("value")
    fill = np.zeros(1, np.float32) if value is None else from_array(value)
    return _core.tensor(np.full(_ints(shape), fill[0]))


@operator("Range")
def _(node: Node, start: Any, stop: Any, step: Any) -> Any:
    return _core.tensor(
        np.arange(*(np.asarray(v.numpy() if isinstance(v, Tensor) else v).item() for v in (start, stop, step)))
    )


# ---- activations -----------------------------------------------------------------------------------------------------
@operator("Elu", "Celu", "LeakyRelu", "ThresholdedRelu")
def _(node: Node, x: Any) -> Any:
    if node.op == "LeakyRelu":
        return F.leaky_relu(x, node.get("alpha", 0.01))
    if node.op == "ThresholdedRelu":
        return F.threshold(x, node.get("alpha", 1.0), 0.0)
    return (F.elu if node.op == "Elu" else F.celu)(x, node.get("alpha", 1.0))


@operator("Selu")
def _(node: Node, x: Any) -> Any:
    alpha, gamma = node.get("alpha", 1.6732632423543772), node.get("gamma", 1.0507009873554805)
    return gamma * F.elu(x, alpha)


@operator("Shrink")
def _(node: Node, x: Any) -> Any:
    limit, bias = node.get("lambd", 0.5), node.get("bias", 0.0)
    return _core.where(x > limit, x - bias, _core.where(x < -limit, x + bias, _core.zeros_like(x)))


@operator("Softmax", "LogSoftmax")
def _(node: Node, x: Any) -> Any:
    return (F.softmax if node.op == "Softmax" else F.log_softmax)(x, node.get("axis", -1))


# ---- folds -----------------------------------------------------------------------------------------------------------
_FOLDS: dict[str, Callable[..., Any]] = {
    "ReduceSum": _core.sum,
    "ReduceMean": _core.mean,
    "ReduceMax": _core.amax,
    "ReduceMin": _core.amin,
    "ReduceProd": _core.prod,
    "ReduceLogSumExp": _core.logsumexp,
    "ReduceL1": lambda x, dims, keepdim: x.abs().sum(dims, keepdim),
    "ReduceL2": lambda x, dims, keepdim: (x * x).sum(dims, keepdim).sqrt(),
    "ReduceSumSquare": lambda x, dims, keepdim: (x * x).sum(dims, keepdim),
}


@operator(*_FOLDS)
def _(node: Node, x: Any, axes: Any = None) -> Any:
    dims = node.get("axes") if axes is None else _ints(axes)
    if not dims:
        if node.get("noop_with_empty_axes"):
            return x
        dims = list(range(x.ndim))
    return _FOLDS[node.op](x, dims, bool(node.get("keepdims", 1)))


@operator("ArgMax", "ArgMin")
def _(node: Node, x: Any) -> Any:
    return getattr(_core, node.op.lower())(x, node.get("axis", 0), bool(node.get("keepdims", 1)))


# ---- products --------------------------------------------------------------------------------------------------------
@operator("Gemm")
def _(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    a, b = (a.T if node.get("transA") else a), (b.T if node.get("transB") else b)
    out = a @ b * node.get("alpha", 1.0) if node.get("alpha", 1.0) != 1 else a @ b
    return out if c is None else out + c * node.get("beta", 1.0)


def _pads(node: Node, x: Any, sizes: list[int]) -> list[tuple[int, int]]:
    """What is added before and after each dimension."""
    dims = len(sizes)
    steps, strides = node.get("dilations", [1] * dims), node.get("strides", [1] * dims)
    kind = node.get("auto_pad", "NOTSET")
    if kind in ("NOTSET", "VALID"):
        pads = node.get("pads", [0] * 2 * dims)
        return list(zip(pads[:dims], pads[dims:], strict=True))
    both = []
    for n, k, d, s in zip(x.shape[2:], sizes, steps, strides, strict=True):
        total = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
        less, more = total // 2, total - total // 2
        both.append((less, more) if kind == "SAME_UPPER" else (more, less))
    return both


def _padded(x: Any, pads: list[tuple[int, int]], value: float = 0.0) -> Any:
    return _core.pad(x, tuple(n for pair in reversed(pads) for n in pair), value=value)


@operator("Conv")
def _(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    dims = weight.ndim - 2
    pads = _pads(node, x, list(weight.shape[2:]))
    if all(a == b for a, b in pads):
        padding: Any = tuple(a for a, _ in pads)
    else:
        x, padding = _padded(x, pads), 0
    conv = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    strides, dilations = tuple(node.get("strides", [1] * dims)), tuple(node.get("dilations", [1] * dims))
    return conv(x, weight, bias, strides, padding, dilations, node.get("group", 1))


@operator("ConvTranspose")
def _(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    dims = weight.ndim - 2
    pads = _pads(node, x, list(weight.shape[2:]))
    if any(a != b for a, b in pads) or node.get("output_shape"):
        raise Error(
            "onnx.load: ConvTranspose with uneven pads or output_shape is not known here; export it with even ones"
        )
    conv = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
    strides, dilations = tuple(node.get("strides", [1] * dims)), tuple(node.get("dilations", [1] * dims))
    over = tuple(node.get("output_padding", [0] * dims))
    return conv(x, weight, bias, strides, tuple(a for a, _ in pads), over, node.get("group", 1), dilations)


@operator("MaxPool", "AveragePool")
def _(node: Node, x: Any) -> Any:
    sizes = node.get("kernel_shape")
    dims = len(sizes)
    pads, strides = _pads(node, x, sizes), tuple(node.get("strides", [1] * dims))
    if len(node.outputs) > 1 and node.outputs[1]:
        raise Error("onnx.load: MaxPool with indices is not known here; export the model without them")
    ceil, even = bool(node.get("ceil_mode", 0)), all(a == b for a, b in pads)
    if node.op == "MaxPool":
        pool: Any = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1]
        small = all(2 * a <= k for (a, _), k in zip(pads, sizes, strict=True))
        if not (even and small):
            x, pads = _padded(x, pads, -math.inf), [(0, 0)] * dims
        steps = tuple(node.get("dilations", [1] * dims))
        return pool(x, tuple(sizes), strides, tuple(a for a, _ in pads), steps, ceil)
    counted = bool(node.get("count_include_pad", 0))
    if not even:
        if not counted:
            raise Error("onnx.load: AveragePool with uneven pads is not known here; export it with even ones")
        x, pads = _padded(x, pads), [(0, 0)] * dims
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[dims - 1]
    return pool(x, tuple(sizes), strides, tuple(a for a, _ in pads), ceil, counted)


@operator("GlobalAveragePool", "GlobalMaxPool")
def _(node: Node, x: Any) -> Any:
    dims = tuple(range(2, x.ndim))
    return x.mean(dims, True) if node.op == "GlobalAveragePool" else x.amax(dims, True)


@operator("BatchNormalization")
def _(node: Node, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    return F.batch_norm(x, mean, var, scale, bias, False, 0.1, node.get("epsilon", 1e-5))


@operator("LayerNormalization")
def _(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    axis = node.get("axis", -1)
    return F.layer_norm(x, tuple(x.shape[axis:]), scale, bias, node.get("epsilon", 1e-5))


@operator("InstanceNormalization")
def _(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return F.instance_norm(x, weight=scale, bias=bias, eps=node.get("epsilon", 1e-5))


# ---- places ----------------------------------------------------------------------------------------------------------
@operator("Reshape")
def _(node: Node, x: Any, shape: Any) -> Any:
    wanted = _ints(shape) if np.size(shape) or not isinstance(shape, np.ndarray) else []
    if not node.get("allowzero"):
        wanted = [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return x.reshape(wanted)


@operator("Flatten")
def _(node: Node, x: Any) -> Any:
    axis = node.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), -1)


@operator("Unsqueeze")
def _(node: Node, x: Any, axes: Any = None) -> Any:
    dims = _ints(node.get("axes") if axes is None else axes)
    rank = x.ndim + len(dims)
    for d in sorted(d + rank if d < 0 else d for d in dims):
        x = x.unsqueeze(d) if isinstance(x, Tensor) else np.expand_dims(x, d)
    return x


@operator("Squeeze")
def _(node: Node, x: Any, axes: Any = None) -> Any:
    dims = node.get("axes") if axes is None else _ints(axes)
    if not isinstance(x, Tensor):
        return np.squeeze(x, None if dims is None else tuple(dims))
    return x.squeeze() if dims is None else x.squeeze(tuple(dims))


@operator("Concat")
def _(node: Node, *parts: Any) -> Any:
    if all(isinstance(p, np.ndarray) for p in parts):
        return np.concatenate(parts, node.get("axis"))
    device = next(p.device for p in parts if isinstance(p, Tensor))
    return _core.cat([p if isinstance(p, Tensor) else _core.tensor(p, device=device) for p in parts], node.get("axis"))


@operator("Split")
def _(node: Node, x: Any, sizes: Any = None) -> Any:
    axis, split = node.get("axis", 0), node.get("split") if sizes is None else _ints(sizes)
    return x.split(split if split is not None else math.ceil(x.shape[axis] / len(node.outputs)), axis)


@operator("Slice")
def _(node: Node, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    first = _ints(node.get("starts") if starts is None else starts)
    last = _ints(node.get("ends") if ends is None else ends)
    dims = node.get("axes") if axes is None else _ints(axes)
    dims, by = list(range(len(first))) if dims is None else dims, [1] * len(first) if steps is None else _ints(steps)
    for a, b, d, s in zip(first, last, dims, by, strict=True):
        d = d + x.ndim if d < 0 else d
        places = range(x.shape[d])[slice(a, b if s > 0 or b > -x.shape[d] - 1 else None, s)]
        if s > 0 or isinstance(x, np.ndarray):
            key = slice(places.start, places.stop if places.stop >= 0 else None, s)
            x = x[(slice(None),) * d + (key,)]
        else:
            x = x.index_select(d, _core.tensor(np.array(places, np.int64), device=x.device))
    return x


@operator("Pad")
def _(node: Node, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    sizes = node.get("pads") if pads is None else _ints(pads)
    dims = list(range(x.ndim)) if axes is None else [d + x.ndim if d < 0 else d for d in _ints(axes)]
    both = [(0, 0)] * x.ndim
    for i, d in enumerate(dims):
        both[d] = (sizes[i], sizes[i + len(dims)])
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[
        node.get("mode", "constant")
    ]
    if mode == "constant":
        number = node.get("value", 0.0) if value is None else value.item()
        return _padded(x, both, number)
    while both and both[0] == (0, 0):
        both = both[1:]
    return _core.pad(x, tuple(n for pair in reversed(both) for n in pair), mode=mode)


@operator("Gather")
def _(node: Node, x: Any, index: Any) -> Any:
    axis = node.get("axis", 0)
    if isinstance(x, np.ndarray) and not isinstance(index, Tensor):
        return np.take(x, index, axis)
    if isinstance(x, np.ndarray):
        x = _core.tensor(x, device=index.device)
    axis = axis + x.ndim if axis < 0 else axis
    index = _core.tensor(np.asarray(index), device=x.device) if not isinstance(index, Tensor) else index
    index = _core.where(index < 0, index + x.shape[axis], index)
    rows = x.index_select(axis, index.flatten())
    return rows.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


@operator("GatherND")
def _(node: Node, x: Any, index: Any) -> Any:
    if node.get("batch_dims"):
        raise Error("onnx.load: GatherND with batch_dims is not known here; export the model without it")
    return x[tuple(index[..., i] for i in range(index.shape[-1]))]


@operator("ScatterElements")
def _(node: Node, x: Any, index: Any, updates: Any) -> Any:
    if node.get("reduction", "none") == "add":
        return x.scatter_add(node.get("axis", 0), index, updates)
    return x.scatter(node.get("axis", 0), index, updates)


@operator("Trilu")
def _(node: Node, x: Any, diagonal: Any = None) -> Any:
    by = 0 if diagonal is None else _ints(diagonal)[0]
    return x.triu(by) if node.get("upper", 1) else x.tril(by)


@operator("OneHot")
def _(node: Node, index: Any, depth: Any, values: Any) -> Any:
    count = _ints(depth)[0]
    hot = index.unsqueeze(-1) == _core.arange(count, device=index.device)
    return _core.where(hot, values[1], values[0])


@operator("DepthToSpace")
def _(node: Node, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.get("blocksize")
    if node.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, b)
    return x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)


# ---- recurrent layers ------------------------------------------------------------------------------------------------
@operator("LSTM", "GRU", "RNN")
def _(
    node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, cell: Any = None, *more: Any
) -> Any:
    if lengths is not None or more or node.get("layout") or (node.op == "GRU" and not node.get("linear_before_reset")):
        raise Error(
            f"onnx.load: this form of {node.op} is not known here (lengths, layout, peepholes, GRU's older form)"
        )
    ways, hidden = w.shape[0], node.get("hidden_size")
    back = [1] if node.get("direction", "forward") == "reverse" else [0, 1][:ways]
    outputs, ends, cells = [], [], []
    for i, reverse in enumerate(back):
        bias = None if b is None else (b[i][: w.shape[1]], b[i][w.shape[1] :])
        state = _core.zeros(x.shape[1], hidden, dtype=x.dtype, device=x.device) if h is None else h[i]
        inner = _core.zeros_like(state) if cell is None else cell[i]
        products = x @ w[i].T + (0 if bias is None else bias[0])
        steps = []
        for t in range(x.shape[0])[:: -1 if reverse else 1]:
            of_state = state @ r[i].T + (0 if bias is None else bias[1])
            state, inner = _step(node, products[t], of_state, state, inner)
            steps.append(state)
        outputs.append(_core.stack(steps[::-1] if reverse else steps))
        ends.append(state)
        cells.append(inner)
    y = _core.stack(outputs, 1)
    return (y, _core.stack(ends), _core.stack(cells)) if node.op == "LSTM" else (y, _core.stack(ends))


def _step(node: Node, p: Any, q: Any, state: Any, inner: Any) -> tuple[Any, Any]:
    """The next state; p and q: the products of input and state with their weights."""
    if node.op == "LSTM":
        i, o, f, c = (p + q).chunk(4, 1)
        inner = f.sigmoid() * inner + i.sigmoid() * c.tanh()
        return o.sigmoid() * inner.tanh(), inner
    if node.op == "GRU":
        (pz, pr, ph), (qz, qr, qh) = p.chunk(3, 1), q.chunk(3, 1)
        z, r = (pz + qz).sigmoid(), (pr + qr).sigmoid()
        return (1 - z) * (ph + r * qh).tanh() + z * state, inner
    kind = node.get("activations", ["Tanh"])[0]
    return getattr(_core, kind.lower())(p + q), inner


FUNCTIONS.update(
    {
        "Shape": lambda node, x: np.array(x.shape, np.int64)[node.get("start", 0) : node.get("end")],
        "Gelu": lambda node, x: F.gelu(x, node.get("approximate", "none")),
        "HardSigmoid": lambda node, x: (x * node.get("alpha", 0.2) + node.get("beta", 0.5)).clamp(0, 1),
        "Dropout": lambda node, x, *settings: x,
        "CumSum": lambda node, x, axis: x.cumsum(_ints(axis)[0]),
        "TopK": lambda node, x, k: tuple(x.topk(_ints(k)[0], node.get("axis", -1), bool(node.get("largest", 1)))),
        "Einsum": lambda node, *operands: _core.einsum(node.get("equation"), *operands),
        "Expand": lambda node, x, shape: x.expand(np.broadcast_shapes(tuple(x.shape), tuple(_ints(shape)))),
        "Transpose": lambda node, x: x.permute(node.get("perm", list(range(x.ndim))[::-1])),
        "Tile": lambda node, x, repeats: x.repeat(_ints(repeats)),
        "GatherElements": lambda node, x, index: x.gather(node.get("axis", 0), index),
    }
)
