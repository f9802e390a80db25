"""Calls of PyTorch's operator table as JSON, made in whichever library `import torch` gives.

The recorder runs them in PyTorch, and keeps what comes out beside them; the replay runs them in spirograd.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Json = Any


# ---- values ----------------------------------------------------------------------------------------------------------
def encode(x: Any) -> Json:
    """A value of PyTorch as JSON. A tensor is its type, its sizes, whether it requires grad, and its bytes."""
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if torch.is_tensor(x):
        return encode_tensor(x)
    if isinstance(x, complex):
        return {"complex": [x.real, x.imag]}
    if isinstance(x, (list, tuple)):
        return {"list" if type(x) is list else "tuple": [encode(part) for part in x]}
    if isinstance(x, dict):
        return {"dict": [[encode(k), encode(v)] for k, v in x.items()]}
    if isinstance(x, slice):
        return {"slice": [encode(part) for part in (x.start, x.stop, x.step)]}
    if x is Ellipsis:
        return {"ellipsis": 0}
    if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
        return {"name": str(x).partition(".")[2]}
    if isinstance(x, torch.device):
        return {"device": 0}
    if isinstance(x, np.generic):
        return x.item()
    raise TypeError(f"no JSON for a {type(x).__name__}")


def encode_tensor(x: torch.Tensor) -> Json:
    if x.layout != torch.strided:
        return encode_tensor(x.to_dense())
    name = str(x.dtype).partition(".")[2]
    wants_grad = bool(real_parts(x)[0].requires_grad)
    parts = [part.detach().cpu() for part in real_parts(x)]
    values = (parts[0].to(torch.float32) if name == "bfloat16" else parts[0]).numpy()
    if len(parts) == 2:
        values = (values + 1j * parts[1].numpy()).astype(name)
    if name == "bfloat16":
        values = (values.view(np.uint32) >> 16).astype(np.uint16)
    data = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return {"tensor": [name, list(x.shape), wants_grad, data]}


def real_parts(x: Any) -> list[Any]:
    """The tensor, or the real and the imaginary part of a complex one."""
    if x.layout != torch.strided:
        x = x.to_dense()
    return [x.real, x.imag] if str(x.dtype).startswith("torch.complex") else [x]


def array(data: Json) -> np.ndarray[Any, Any]:
    """The values of an encoded tensor; bfloat16 as float32."""
    name, shape, _, text = data["tensor"]
    raw = base64.b64decode(text)
    if name == "bfloat16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(raw, name).reshape(shape)


def decode(data: Json, device: str, leaves: list[Any]) -> Any:
    """The value; tensors that require grad are collected."""
    if not isinstance(data, dict):
        return data
    ((kind, value),) = data.items()
    if kind == "tensor":
        x = torch.tensor(array(data).copy()).to(device=device, dtype=getattr(torch, value[0]))
        if value[2]:
            leaves.append(x.requires_grad_())
        return x
    if kind == "complex":
        return complex(*value)
    if kind in ("list", "tuple"):
        parts = [decode(part, device, leaves) for part in value]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict":
        return {decode(k, device, leaves): decode(v, device, leaves) for k, v in value}
    if kind == "slice":
        return slice(*(decode(part, device, leaves) for part in value))
    if kind == "ellipsis":
        return Ellipsis
    if kind == "device":
        return torch.device(device)
    return getattr(torch, value)


# ---- functions -------------------------------------------------------------------------------------------------------
def method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


# Rows of the table that are not the public function of their name.
ROWS: dict[str, Callable[..., Any]] = {
    **{name: lambda x, name=name: getattr(x, name) for name in ("T", "H", "mT", "mH")},
    **{name: method(f"{name}_") for name in ("cauchy", "exponential", "geometric", "log_normal", "uniform")},
    "normal in_place": method("normal_"),
    "einsum": lambda tensors, equation: torch.einsum(equation, tensors),
    "linalg.lstsq grad_oriented": lambda a, b, driver: torch.linalg.lstsq(a, b, driver=driver)[:2],
    "linalg.pinv singular": lambda a, b: torch.linalg.pinv(a @ b.mT),
    "nn.functional.embedding": lambda w, i, **kw: torch.nn.functional.embedding(i, w, **kw),
    "nn.functional.embedding_bag": lambda w, i, **kw: torch.nn.functional.embedding_bag(i, w, **kw),
    "pca_lowrank": lambda a, b, **kw: torch.pca_lowrank(a @ b.mT, **kw),
    "polygamma": lambda x, n: torch.polygamma(n, x),
    "resize_": lambda x, shape: x.clone().resize_(shape),
    "resize_as_": lambda x, other: x.clone().resize_as_(other),
    "slice": lambda x, *args, **kw: torch.ops.aten.slice.Tensor(x, *args, **kw),
    "special.polygamma": lambda x, n: torch.special.polygamma(n, x),
    "svd_lowrank": lambda a, b, **kw: torch.svd_lowrank(a @ b.mT, **kw),
    "where": lambda x, condition, other: torch.where(condition, x, other),
    "zero_": lambda x: x.clone().zero_(),
    "grid_sampler_2d": lambda *args: torch.grid_sampler_2d(*args),
    "sparse.mm": lambda a, b, reduce: torch.sparse.mm(a, b, reduce),
}
METHODS = frozenset(["item", "sum_to_size", "to_sparse", "unfold", "expand", "repeat", "contiguous", "to", "view"])
METHODS |= {"bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short"}


def function(name: str, variant: str) -> Callable[..., Any]:
    """The function that a row names; AttributeError when there is none."""
    for key in (f"{name} {variant}", name):
        if key in ROWS:
            return ROWS[key]
    path = name.removeprefix("torch.").split(".")
    if len(path) == 1 and (name in METHODS or (name.startswith("__") and name.endswith("__"))):
        return method(name)
    found: Any = torch
    for part in path:
        if found is torch and len(path) == 1 and not hasattr(torch, part):
            getattr(torch.Tensor, part)  # raises
            return method(part)
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


# What is compared of a result that is free in a sign, a phase or an order: what does not depend on the choice.
def low_rank(r: Any, *_: Any) -> Any:
    return [r[1], (r[0] * r[1].unsqueeze(-2)) @ r[2].mH]


def eigenvectors(r: Any, *_: Any) -> Any:
    return [r[0], r[1].abs()]


def svd(r: Any, *_: Any) -> Any:
    return [r[0][..., : r[1].shape[-1]].abs(), r[1], r[2][..., : r[1].shape[-1]].abs()]


def svd_h(r: Any, *_: Any) -> Any:
    return [r[0][..., : r[1].shape[-1]].abs(), r[1], r[2][..., : r[1].shape[-1], :].abs()]


def chosen_by(indices: Any, x: Any, dim: int) -> Any:
    """The elements that indices name: of equal ones, either may be named."""
    return x.gather(dim, indices) if x.ndim else indices


def argsort(r: Any, x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return chosen_by(r, x.detach(), dim)


def sort(r: Any, x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return [r[0].detach(), chosen_by(r[1], x.detach(), dim)]


def topk(r: Any, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return [r[0].detach(), chosen_by(r[1], x.detach(), dim)]


def one_of(r: Any, *_: Any, **__: Any) -> Any:
    """Values without their indices, and without gradients, which go to those."""
    return r[0].detach()


CHOSEN: dict[str, Callable[..., Any]] = {
    "argsort": argsort,
    "kthvalue": one_of,
    "linalg.eig": eigenvectors,
    "linalg.eigh": eigenvectors,
    "linalg.svd": svd_h,
    "mode": one_of,
    "msort": lambda r, x: r.detach(),
    "pca_lowrank": low_rank,
    "sort": sort,
    "svd": svd,
    "svd_lowrank": low_rank,
    "topk": topk,
}
# Where nothing is equal, the order is not free, and gradients can be compared.
TIES = frozenset(["argsort", "kthvalue", "mode", "msort", "sort", "topk"])


def hermitian(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: f(x + x.mH, *args, **kwargs)


# Functions of matrices that read one triangle: given both, their gradients do not depend on which.
GIVEN: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(["cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.eigh", "linalg.eigvalsh"], hermitian),
    "linalg.pinv hermitian": hermitian,
    "nn.functional.ctc_loss": lambda f: lambda x, *args, **kwargs: f(x.log_softmax(2), *args, **kwargs),
}


# ---- results ---------------------------------------------------------------------------------------------------------
def tensors(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return tensors(list(x.values()))
    if isinstance(x, (list, tuple)):
        return [t for part in x for t in tensors(part)]
    return [x] if torch.is_tensor(x) else []


def weights(x: Any, shift: int) -> Any:
    """Factors that differ from element to element."""
    count = math.prod(x.shape)
    values = ((np.arange(count) + shift) % 5 - 1.5).reshape(tuple(x.shape))
    return torch.tensor(values).to(device=x.device, dtype=x.dtype)


def distinct(x: Any) -> bool:
    """Whether no two elements are equal."""
    return len(set(x.detach().double().flatten().tolist())) == math.prod(x.shape)


def gradients(results: list[Any], leaves: list[Any], shift: int, again: bool) -> list[Any] | None:
    """Of a weighted sum of all results, or None where none has a graph."""
    results = [part for r in results for part in real_parts(r) if part.requires_grad]
    if not results or not leaves:
        return None
    upstream = [weights(r, shift) for r in results]
    return list(torch.autograd.grad(results, leaves, upstream, allow_unused=True, create_graph=again))


def evaluate(row: Json, case: Json, device: str) -> dict[str, Any]:
    """Results ("out"), gradients of leaves ("first") and gradients of those ("second")."""
    leaves: list[Any] = []
    args = decode(case["args"], device, leaves)
    kwargs = decode(case["kwargs"], device, leaves)
    name, key = row["name"], f"{row['name']} {row['variant']}".strip()
    form = case["form"]
    f = function(name, row["variant"]) if form == "function" else method(name + ("_" if form == "in place" else ""))
    if form == "in place":
        args = (args[0].clone(), *args[1:])
    for known in (key, name):
        if known in GIVEN:
            f = GIVEN[known](f)
            break
    out = f(*args, **kwargs)
    if name in CHOSEN and not (name in TIES and distinct(args[0])):
        out = CHOSEN[name](out, *args, **kwargs)
    found: dict[str, Any] = {"out": out}
    orders = case["orders"]
    if orders >= 1:
        found["first"] = gradients(tensors(out), leaves, 0, again=orders >= 2)
    if orders >= 2 and found["first"] is not None:
        found["second"] = gradients([g for g in found["first"] if g is not None], leaves, 1, again=False)
    return found
