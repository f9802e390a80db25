"""Prints tensors in terminals and notebooks, in PyTorch's format."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._core import Tensor, get_default_dtype


@dataclass
class Options:
    """The options that set_printoptions() sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=math.inf)}
OPTIONS = Options()
CORNER = 8  # rows and columns of a table in a notebook
INDENT = len("tensor(")


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed.

    Args:
        precision: digits after the decimal point.
        threshold: tensors with more elements than this are shortened.
        edgeitems: how many elements are shown at either end of a shortened dimension.
        linewidth: characters in a line.
        profile: "default", "short" or "full": values for all of these, which the others then change.
        sci_mode: whether to write 1.0000e+00; None decides by the values.

    Raises:
        ValueError: there is no such profile.

    Example:
        >>> sg.set_printoptions(precision=2)
        >>> sg.tensor([1 / 3])
        tensor([0.33])
        >>> sg.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"set_printoptions: profile {profile!r} is unknown; use one of {', '.join(PROFILES)}")
        OPTIONS.__dict__.update(asdict(PROFILES[profile]))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    OPTIONS.__dict__.update({name: value for name, value in given.items() if value is not None})
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options that set_printoptions() sets, by name.

    Example:
        >>> sg.get_printoptions()["precision"]
        4
    """
    return asdict(OPTIONS)


def _ends(x: Tensor, shown: int) -> np.ndarray[Any, Any]:
    """The values, with only the first and last elements of each long dimension; reads no more than these."""
    for dim, size in enumerate(x.shape):
        if size > 2 * shown:
            before = (slice(None),) * dim
            head, tail = (*before, slice(0, shown)), (*before, slice(size - shown, size))
            return np.concatenate([_ends(x[head], shown), _ends(x[tail], shown)], axis=dim)
    return _array(x)


def _array(x: Tensor) -> np.ndarray[Any, Any]:
    return (x.float() if x.dtype.name == "bfloat16" else x).numpy()


def _formatter(values: np.ndarray[Any, Any]) -> tuple[Callable[[Any], str], int]:
    """A function that formats one value, and the width of the widest."""
    if values.dtype.kind != "f":
        return str, max((len(str(v)) for v in values.ravel().tolist()), default=1)
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    if finite.size == 0:
        return (lambda v: f"{v:.0f}." if math.isfinite(v) else str(v)), 1
    largest, smallest = np.abs(finite).max(), np.abs(finite).min()
    whole = bool((finite == np.trunc(finite)).all())
    scientific = OPTIONS.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
    digits = OPTIONS.precision

    def write(v: float) -> str:
        if scientific:
            return f"{v:.{digits}e}"
        if whole:
            return f"{v:.0f}." if math.isfinite(v) else str(v)
        return f"{v:.{digits}f}"

    return write, max(len(write(v)) for v in finite.tolist())


def _lines(values: Any, shape: tuple[int, ...], indent: int, write: Callable[[Any], str], width: int, cut: bool) -> str:
    """The values in brackets. `values` has only the ends of shortened dimensions; `shape` is the full shape."""
    if not shape:
        return write(values).rjust(width)
    dots = cut and shape[0] > 2 * OPTIONS.edgeitems
    if len(shape) == 1:
        words = [write(v).rjust(width) for v in values]
        if dots:
            words.insert(OPTIONS.edgeitems, " ...")
        each = max(1, (OPTIONS.linewidth - indent) // (width + 2))
        lines = [", ".join(words[i : i + each]) for i in range(0, len(words), each)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_lines(v, shape[1:], indent + 1, write, width, cut) for v in values]
    if dots:
        parts.insert(OPTIONS.edgeitems, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _values(x: Tensor) -> str:
    cut = x.numel() > OPTIONS.threshold
    values = _ends(x, OPTIONS.edgeitems) if cut else _array(x)
    write, width = _formatter(values)
    return _lines(values.tolist(), x.shape, INDENT, write, width if x.ndim else 0, cut)


def _notes(x: Tensor) -> list[str]:
    notes = []
    if x.device.kind != "cpu":
        notes.append(f"device='{x.device}'")
    default = get_default_dtype().name
    if x.numel() == 0:
        if x.ndim != 1:
            notes.append(f"size={tuple(x.shape)}")
        if x.dtype.name != default:
            notes.append(f"dtype={x.dtype!r}")
    elif x.dtype.name not in (default, "int64", "bool"):
        notes.append(f"dtype={x.dtype!r}")
    if x.grad_fn is not None:
        notes.append(f"grad_fn=<{x.grad_fn.name()}>")
    elif x.requires_grad:
        notes.append("requires_grad=True")
    return notes


def tensor_text(x: Tensor) -> str:
    """repr(x), as PyTorch would print it."""
    text = "tensor(" + (_values(x.detach()) if x.numel() else "[]")
    for note in _notes(x):
        used = len(text) - (text.rfind("\n") + 1)
        text += (", " if used + len(note) + 3 <= OPTIONS.linewidth else ",\n" + " " * INDENT) + note
    name = type(x).__name__
    head = f"{name} containing:\n" if name != "Tensor" else ""
    return f"{head}{text})"


def tensor_format(x: Tensor, spec: str) -> str:
    """format(x, spec): a 0-d tensor is formatted like its number."""
    if x.ndim == 0:
        return format(x.item(), spec)
    if spec:
        raise TypeError(f"format: a tensor of shape {list(x.shape)} takes no format {spec!r}; format its elements")
    return tensor_text(x)


def tensor_html(x: Tensor) -> str:
    """A small table for notebooks: the upper left corner of the first matrix."""
    caption = html.escape(f"tensor {list(x.shape)} {x.dtype.name} {x.device}")
    x = x.detach()
    if x.ndim == 0 or x.numel() == 0:
        return f"<pre>{html.escape(tensor_text(x))}</pre>"
    while x.ndim > 2:
        x = x[0]
    matrix = x if x.ndim == 2 else x.unsqueeze(0)
    values = _array(matrix[:CORNER, :CORNER])
    write, _ = _formatter(values)
    rows = [[write(v) for v in row] + ["…"] * (matrix.shape[1] > CORNER) for row in values.tolist()]
    if matrix.shape[0] > CORNER:
        rows.append(["…"] * len(rows[0]))
    lines = ("<tr>" + "".join(f"<td>{html.escape(t)}</td>" for t in row) + "</tr>" for row in rows)
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"
