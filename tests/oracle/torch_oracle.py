"""One call, made in spirograd and in PyTorch: what comes out, its gradients, the class of what is raised."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import spirograd as sg
from reference.row import Array

HALVES = ("float16", "bfloat16")
FLOATS = ("float32", "float64", *HALVES)
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
# What a result may be off: relative to itself and to the largest of inputs and results.
TOLERANCE = {"float64": 1e-9, "float32": 3e-5, "float16": 1e-2, "bfloat16": 8e-2}
# Neural functions: those of nn.functional, whose arguments torch's own namespace orders in another way.
FUNCTIONAL = frozenset(
    [
        "avg_pool1d",
        "avg_pool2d",
        "celu",
        "cross_entropy",
        "elu",
        "embedding",
        "gelu",
        "hardshrink",
        "hardsigmoid",
        "hardswish",
        "hardtanh",
        "leaky_relu",
        "log_softmax",
        "logsigmoid",
        "mish",
        "nll_loss",
        "one_hot",
        "pad",
        "selu",
        "silu",
        "softmax",
        "softplus",
        "softshrink",
        "softsign",
        "tanhshrink",
        "threshold",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
    ]
)


@dataclass
class Given:
    """A tensor to be made in either library."""

    values: Array
    dtype: str
    layout: str = "plain"
    wants_grad: bool = False

    def put(self, library: Any) -> tuple[Any, Any]:
        """The tensor, and the leaf that it is a view of."""
        values, layout = self.values, self.layout
        if layout == "transposed":
            base = np.array(values.T, order="C")
        elif layout == "strided" and values.ndim:
            base = np.repeat(values, 2, axis=-1)
        elif layout == "repeated" and values.ndim and values.shape[0]:
            base = values[:1]
        else:
            base = np.array(values)
        leaf = library.tensor(base).to(getattr(library, self.dtype))
        if self.wants_grad:
            leaf.requires_grad_()
        x = leaf
        if layout == "transposed":
            x = leaf.permute(*reversed(range(values.ndim))) if values.ndim else leaf
        elif layout == "strided" and values.ndim:
            x = leaf[..., ::2]
        elif layout == "repeated" and values.ndim and values.shape[0]:
            x = leaf.expand(*values.shape)
        elif layout == "copied":
            x = leaf.clone()
        return x, leaf


@dataclass
class Type:
    """A dtype as an argument."""

    name: str


@dataclass
class Call:
    """A function by its name, or a callable that is given the library first."""

    name: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None
    method: bool = False

    def givens(self) -> list[Given]:
        found: list[Given] = []

        def walk(x: Any) -> None:
            if isinstance(x, Given):
                found.append(x)
            elif isinstance(x, (list, tuple)):
                for part in x:
                    walk(part)

        walk(self.arguments)
        walk(list(self.keywords.values()))
        return found

    def __str__(self) -> str:
        words = [text(a) for a in self.arguments] + [f"{k}={text(v)}" for k, v in self.keywords.items()]
        return f"{'Tensor.' if self.method else ''}{self.name}({', '.join(words)})"


def text(x: Any) -> str:
    if isinstance(x, Given):
        more = "" if x.layout == "plain" else f", {x.layout}"
        return f"<{x.values.tolist()} {x.dtype} {list(x.values.shape)}{more}{', grad' if x.wants_grad else ''}>"
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(text(part) for part in x)}]"
    return x.name if isinstance(x, Type) else repr(x)


def resolve(library: Any, name: str, method: bool) -> Callable[..., Any] | None:
    """The function of this name, or None."""
    owners = [library, library.nn.functional, library.linalg]
    if name in FUNCTIONAL:
        owners[:2] = owners[1::-1]
    if name.startswith("linalg_"):
        return getattr(library.linalg, name[7:], None)  # type: ignore[no-any-return]
    if method:
        return getattr(library.Tensor, name, None)
    owners.append(library.Tensor)
    return next((f for o in owners if (f := getattr(o, name, None)) is not None and callable(f)), None)


@dataclass
class Part:
    """A result: a tensor's facts, or any other value."""

    dtype: str
    shape: tuple[int, ...]
    values: Any
    wants_grad: bool = False


@dataclass
class Outcome:
    parts: list[Part] = field(default_factory=list)
    gradients: list[Part | None] | None = None
    error: BaseException | None = None
    gradient_error: BaseException | None = None


def facts(x: Any) -> list[Part]:
    if isinstance(x, (sg.Tensor, torch.Tensor)):
        dtype, x_ = str(x.dtype).rsplit(".", 1)[-1], x.detach()
        if dtype in HALVES:
            x_ = x_.to(torch.float32 if isinstance(x, torch.Tensor) else sg.float32)
        return [Part(dtype, tuple(x.shape), np.array(x_.numpy()), bool(x.requires_grad))]
    if isinstance(x, (torch.dtype, sg.dtype)):
        return [Part("type", (), str(x).rsplit(".", 1)[-1])]
    if isinstance(x, (list, tuple)):
        return [fact for part in x for fact in facts(part)]
    return [Part(type(x).__name__, (), x)]


def make(call: Call, library: Any) -> Outcome:
    """Calls it, and takes the gradients of what comes out."""
    made: dict[int, Any] = {}
    leaves: list[Any] = []

    def build(x: Any) -> Any:
        if isinstance(x, Given):
            tensor, leaf = x.put(library)
            made[id(x)] = tensor
            if x.wants_grad:
                leaves.append(leaf)
            return tensor
        if isinstance(x, Type):
            return getattr(library, x.name)
        if isinstance(x, (list, tuple)):
            return type(x)(build(part) for part in x)
        return x

    out = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = [build(a) for a in call.arguments]
        keywords = {k: build(v) for k, v in call.keywords.items()}
        try:
            if call.function is not None:
                result = call.function(library, *arguments, **keywords)
            else:
                f = resolve(library, call.name, call.method)
                assert f is not None, call.name
                result = f(*arguments, **keywords)
            out.parts = facts(result)
            if call.name.endswith("_"):
                out.parts += facts(arguments[0])
            if library is sg:
                sg.synchronize()  # an index out of range is reported when the work runs
        except Exception as e:
            out.error = e
            return out
        tensors = [t for t in flat(result) if t.requires_grad]
        if not tensors or not leaves:
            return out
        upstream = [weights(library, t) for t in tensors]
        try:
            found = library.autograd.grad(tensors, leaves, upstream, allow_unused=True)
            out.gradients = [None if g is None else facts(g)[0] for g in found]
        except Exception as e:
            out.gradient_error = e
    return out


def flat(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [t for part in x for t in flat(part)]
    return [x] if isinstance(x, (sg.Tensor, torch.Tensor)) else []


def weights(library: Any, t: Any) -> Any:
    """An upstream gradient that differs from element to element."""
    values = (np.arange(math.prod(t.shape)) % 5 - 1.5).reshape(tuple(t.shape))
    return library.tensor(values).to(t.dtype)


def differ(ours: Part, theirs: Part, scale: float, loose: float, precision: str) -> str:
    """What is different, or nothing."""
    if ours.dtype != theirs.dtype:
        return f"type {ours.dtype}, PyTorch {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)}, PyTorch {list(theirs.shape)}"
    got, want = ours.values, theirs.values
    same = True
    if isinstance(got, np.ndarray) and got.dtype.kind == "f":
        finite = np.isfinite(want)
        size = max([scale, *np.abs(want[finite]).ravel()[:1000].tolist()])
        with np.errstate(all="ignore"):
            near = np.abs(got - want) <= loose * TOLERANCE[precision] * (np.abs(want) + min(size, 1e6))
            same = bool(np.all(np.where(finite, near, (got == want) | (np.isnan(got) & np.isnan(want)))))
    elif isinstance(got, np.ndarray):
        same = np.array_equal(got, want)
    elif isinstance(got, float):
        same = got == want or (got != got and want != want) or abs(got - want) <= 1e-6 * abs(want)
    else:
        same = got == want
    return "" if same else f"values {np.asarray(got).tolist()}, PyTorch {np.asarray(want).tolist()}"


# What PyTorch refuses and spirograd takes, by words of PyTorch's message.
WIDER: dict[str, str] = {
    "not implemented for|not supported|not yet implemented|Could not run|[Uu]nsupported|does not support|"
    "NotImplemented": ("a kernel that PyTorch has not written for a type is no statement about the operation"),
    "ZeroDivisionError": "integers by zero give 0: docs/numerics.md",
    "only support floating point|could not infer output dtype|have floating point|be either float or double|"
    "Integer division with addcdiv|[Ii]nput dtype must be|only supports? floating": "integers and bool become float32",
    "Autograd not support dtype": "an integer result just wants no gradient",
    "same (scalar |data)?(type|dtype)|expected scalar type|expected dtype|have the same|dtypes match|"
    "input dtype should": ("types are promoted"),
    "boolean tensor|Expected a long tensor|Expected dtype int64|LongTensor|expected index to be|must be a? ?long|"
    "expects? a? ?bool|should be bool|scalar types? .*Long|tensors used as indices": (
        "conditions and indices of any type"
    ),
    "Boolean alpha|alpha must not be a floating point|For integral input tensors|beta must not be|"
    "result type .* can't be cast|must not be floating": "numbers promote",
    "argument 'dim' must be int, not tuple|got \\(Tensor, dim=tuple": "several dimensions",
    "view size is not compatible": "an operation that is no view copies where it must",
    "only supports? 0-dimension|0-dimensional value": "a value of one element",
    "without overflow": "a number that does not fit wraps around",
    "but tensor has no dimensions|0-dim": "a 0-d tensor counts as one dimension of one element",
    "all tensors to have the same dtype|be equal to src.dtype|dtypes? must be the same": "types are promoted",
    "INTERNAL ASSERT FAILED": "a mistake of PyTorch's",
    "out of DATA bounds|dimension with size 0": "nothing is read where there is nothing",
    "Bad in-place call": "types are promoted",
}
# What spirograd refuses and PyTorch takes, by words of spirograd's message.
STRICTER: dict[str, str] = {
    "leaves a result of size 0": "an image of nothing is taken for a mistake",
    "is not for tensors of bool": "truth values are no numbers",
}
OURS = (ValueError, TypeError, IndexError, OverflowError, sg.Error)


def wider(error: BaseException) -> bool:
    return any(re.search(words, f"{type(error).__name__}: {error}") for words in WIDER)


def compare(call: Call, loose: float) -> str:
    """What is different between the libraries, or nothing."""
    ours, theirs = make(call, sg), make(call, torch)
    if ours.error is not None and not isinstance(ours.error, OURS):
        return f"raises {type(ours.error).__name__}: {ours.error}"
    if (ours.error is None) != (theirs.error is None):
        if ours.error is None and theirs.error is not None and wider(theirs.error):
            return ""
        if ours.error is None:
            return f"gives {said(ours)}, PyTorch raises {type(theirs.error).__name__}: {str(theirs.error)[:200]}"
        if any(words in str(ours.error) for words in STRICTER):
            return ""
        return f"raises {type(ours.error).__name__}: {ours.error}; PyTorch gives {said(theirs)}"
    if theirs.error is not None:
        return ""
    if len(ours.parts) != len(theirs.parts):
        return f"{len(ours.parts)} results, PyTorch {len(theirs.parts)}"
    givens = call.givens()
    scale = max([1.0, *(largest(g.values) for g in givens)])
    types = [t if t in FLOATS else "float32" for g in [*givens, *theirs.parts] if (t := g.dtype) != "bool"]
    precision = max(types, key=lambda t: TOLERANCE[t], default="float32")
    for i, (a, b) in enumerate(zip(ours.parts, theirs.parts, strict=True)):
        if found := differ(a, b, scale, loose, precision):
            return f"result {i}: {found}"
        empty = any(g.values.size == 0 for g in givens) or np.size(a.values) == 0  # wants none, or one of nothing
        if a.wants_grad != b.wants_grad and a.dtype in FLOATS and not empty:
            return f"result {i}: requires_grad {a.wants_grad}, PyTorch {b.wants_grad}"
    if theirs.gradient_error is not None:  # not written, or a mistake of PyTorch's: the call itself went well
        return ""
    if ours.gradient_error is not None:
        return f"gradient: raises {ours.gradient_error!r}"
    none: list[Part | None] = [None for g in givens if g.wants_grad]
    for i, (g, w) in enumerate(zip(ours.gradients or none, theirs.gradients or none, strict=True)):
        if (g is None) != (w is None):
            if not (g or w).values.any():  # type: ignore[union-attr]
                continue  # nothing and zeros are the same gradient
            return f"gradient {i}: {g and g.values.tolist()}, PyTorch {w and w.values.tolist()}"
        if g is not None and w is not None and (found := differ(g, w, scale, 4 * loose, precision)):
            return f"gradient {i}: {found}"
    return ""


def largest(values: Array) -> float:
    if values.dtype.kind != "f":
        return 1.0
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 1.0


def said(outcome: Outcome) -> str:
    return "; ".join(f"{np.asarray(p.values).tolist()} {p.dtype} {list(p.shape)}" for p in outcome.parts)[:300]
