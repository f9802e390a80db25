"""The attributes that PyTorch's sparse and complex tensors have, which install() adds to those of spirograd."""

from __future__ import annotations

import re
from typing import Any

from .. import signal
from .._complex import ComplexTensor
from .._core import Tensor, get_default_dtype
from ..sparse import SparseTensor
from .layouts import Size, sparse_coo, sparse_csr, strided

__all__ = ["change_stand_ins"]

_WIDTH = 80
_INDENT = len("tensor(")


def _sparse_mask(self: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements at the places of a sparse tensor, sparse."""
    places = tuple(mask._places.unbind(0))
    return SparseTensor(mask._places, self[places], mask.shape, mask.coalesced, mask._begins)


def _part(name: str, x: Tensor) -> str:
    """A tensor by name, its lines below each other."""
    text = re.sub(r",\s+(dtype|device|size)=[^()]*(\([^()]*\))?(?=\))", "", repr(x.detach()))
    return f"{name}={text}".replace("\n", "\n" + " " * (_INDENT + len(name) + 1))


def _text(self: SparseTensor) -> str:
    csr = self.is_sparse_csr
    parts = [_part("crow_indices", self.crow_indices()), _part("col_indices", self.col_indices())] if csr else []
    parts += (
        [_part("values", self._elements)] if csr else [_part("indices", self._places), _part("values", self._elements)]
    )
    text = "tensor(" + (",\n" + " " * _INDENT).join(parts)
    notes = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
    if self.device.kind != "cpu":
        notes.insert(0, f"device='{self.device}'")
    if self.dtype.name not in (get_default_dtype().name, "int64", "bool"):
        notes.append(f"dtype={self.dtype!r}")
    notes.append(f"layout={self.layout}")
    if self._elements.grad_fn is not None:
        notes.append(f"grad_fn=<{self._elements.grad_fn.name()}>")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    for i, note in enumerate(notes):
        used = len(text) - text.rfind("\n") + 1
        below = used + len(note) + 2 > _WIDTH or (i == 0 and not csr)
        text += (",\n" + " " * _INDENT if below else ", ") + note
    return f"{text})"


def change_stand_ins() -> None:
    """Makes the changes."""
    shape: Any = vars(SparseTensor)["shape"]
    changes: dict[str, Any] = {
        "shape": property(lambda self: Size(shape.__get__(self)), shape.__set__),
        "layout": property(lambda self: sparse_csr if self.is_sparse_csr else sparse_coo),
        "is_cuda": property(lambda self: self.device.kind == "gpu"),
        "__repr__": _text,
    }
    for name, value in changes.items():
        setattr(SparseTensor, name, value)
    Tensor.sparse_mask = _sparse_mask  # type: ignore[attr-defined]
    of_complex: dict[str, Any] = {
        "is_cuda": property(lambda self: self.device.kind == "gpu"),
        "is_sparse": False,
        "is_quantized": False,
        "layout": property(lambda self: strided),
        "grad_fn": property(lambda self: self.real.grad_fn or self.imag.grad_fn),
        "itemsize": property(lambda self: self.dtype.itemsize),
        "nbytes": property(lambda self: self.numel() * self.dtype.itemsize),
        "nelement": lambda self: self.numel(),
        "is_conj": lambda self: False,
        "stft": lambda self, *args, **kwargs: signal.stft(self, *args, **kwargs),
        "istft": lambda self, *args, **kwargs: signal.istft(self, *args, **kwargs),
        "get_device": lambda self: self.real.get_device(),
        "stride": lambda self, *dim: self.real.contiguous().stride(*dim),
    }
    for name, value in of_complex.items():
        setattr(ComplexTensor, name, value)
