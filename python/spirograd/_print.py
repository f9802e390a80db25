"""How tensors look in a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ._core import Tensor

EDGE = 3  # shown at either end of a long dimension
THRESHOLD = 1000  # elements; beyond, dimensions are shortened
MAX_TABLE = 12  # rows and columns of a table in a notebook


def _ends(x: Tensor, shown: int) -> np.ndarray[Any, Any]:
    """The values, with only the first and last elements of each long dimension; reads no more than these."""
    for dim, size in enumerate(x.shape):
        if size > 2 * shown + 1:
            before = (slice(None),) * dim
            head, tail = (*before, slice(0, shown + 1)), (*before, slice(size - shown, size))
            first, last = _ends(x[head], shown), _ends(x[tail], shown)
            return np.concatenate([first, last], axis=dim)
    return x.numpy()


def _values(x: Tensor) -> str:
    long = x.numel() > THRESHOLD
    values = _ends(x, EDGE) if long else x.numpy()
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    whole = values.dtype.kind != "f" or bool((finite == np.trunc(finite)).all())
    return np.array2string(
        values,
        precision=4,
        floatmode="maxprec" if whole else "fixed",
        separator=", ",
        prefix="tensor(",
        edgeitems=EDGE,
        threshold=0 if long else THRESHOLD,
    )


def tensor_text(x: Tensor) -> str:
    """repr(x), as PyTorch would print it."""
    notes = []
    if x.numel() == 0 and x.shape != (0,):
        notes.append(f"size={x.shape}")
    if x.dtype.name not in ("float32", "int64", "bool"):
        notes.append(f"dtype={x.dtype!r}")
    if x.device.kind != "cpu":
        notes.append(f"device='{x.device}'")
    if x.grad_fn is not None:
        notes.append(f"grad_fn={x.grad_fn!r}")
    elif x.requires_grad:
        notes.append("requires_grad=True")
    name = type(x).__name__
    head = f"{name} containing:\n" if name != "Tensor" else ""
    values = _values(x.detach()) if x.numel() else "[]"
    return f"{head}tensor({', '.join([values, *notes])})"


def tensor_html(x: Tensor) -> str:
    """A small table for notebooks."""
    caption = html.escape(f"tensor {list(x.shape)} {x.dtype.name} {x.device}")
    if x.ndim not in (1, 2) or x.numel() == 0:
        return f"<pre>{html.escape(tensor_text(x))}</pre>"
    matrix = x.detach() if x.ndim == 2 else x.detach().unsqueeze(0)
    rows, columns = matrix.shape
    half = MAX_TABLE // 2
    cells = _ends(matrix, half)
    lines = []
    for i, row in enumerate(cells):
        texts = [f"{v:.4g}" if cells.dtype.kind == "f" else str(v) for v in row]
        if columns > 2 * half + 1:
            texts[half] = "…"
        if rows > 2 * half + 1 and i == half:
            texts = ["…"] * len(texts)
        lines.append("<tr>" + "".join(f"<td>{html.escape(t)}</td>" for t in texts) + "</tr>")
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"
