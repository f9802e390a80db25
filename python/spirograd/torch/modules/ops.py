"""torch.ops: the operations of compiled extensions of PyTorch, which are not loaded here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ... import _core, library, regions
from ..finder import HINT, MissingName, Namespace
from ..libraries import skipped
from ..libraries import torch_cluster as cluster_operations
from ..libraries import torch_scatter as scatter_operations

_FIXED = ["aten", "load_library", "torch_cluster", "torch_scatter", "torchvision"]


class Operation:
    """An operation of PyTorch by name: a call is the function of torch of that name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, overload: str) -> Operation:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self  # its forms for numbers, tensors and so on are one here

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        return (_slice if self._name == "slice" else getattr(torch, self._name))(*args, **kwargs)

    def __repr__(self) -> str:
        return f"aten::{self._name}"


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


class Operations:
    """torch.ops.aten: the operations that functions of torch are made of, by name."""

    def __getattr__(self, name: str) -> Operation:
        if name.startswith("__"):
            raise AttributeError(name)
        made = vars(self)[name] = Operation(name)
        return made


aten = Operations()


def _channels(pooled: Any) -> Any:
    """Which channel each cell was pooled from."""
    own = _core.arange(pooled[:1].numel() if len(pooled) else 0, dtype=_core.int32, device=pooled.device)
    return own.reshape(pooled.shape[1:]).expand(pooled.shape) if len(pooled) else pooled.int()


class _Regions:
    """torch.ops.torchvision: what detectors call of torchvision's extension."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingName(f"torch.ops.torchvision.{name} is not in spirograd; {HINT}", name=name, obj=self)

    @staticmethod
    def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
        return regions.nms(dets, scores, iou_threshold)

    @staticmethod
    def roi_align(
        input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,
        sampling_ratio: int, aligned: bool,
    ) -> Any:  # fmt: skip
        size = (pooled_height, pooled_width)
        return regions.roi_align(input, rois, size, spatial_scale, sampling_ratio, aligned)

    @staticmethod
    def roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
        return regions._pooled(input, rois, pooled_height, pooled_width, spatial_scale)

    @staticmethod
    def ps_roi_align(
        input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
    ) -> Any:
        size = (pooled_height, pooled_width)
        made = regions.ps_roi_align(input, rois, size, spatial_scale, sampling_ratio)
        return made, _channels(made)

    @staticmethod
    def ps_roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
        made = regions.ps_roi_pool(input, rois, (pooled_height, pooled_width), spatial_scale)
        return made, _channels(made)

    @staticmethod
    def deform_conv2d(
        input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int, pad_h: int,
        pad_w: int, dil_h: int, dil_w: int, groups: int, offset_groups: int, use_mask: bool,
    ) -> Any:  # fmt: skip
        stride, padding, dilation = (stride_h, stride_w), (pad_h, pad_w), (dil_h, dil_w)
        mask = mask if use_mask else None
        return regions.deform_conv2d(input, offset, weight, bias, stride, padding, dilation, mask)

    @staticmethod
    def _cuda_version() -> int:
        return -1


torchvision = _Regions()
torch_cluster = Namespace("torch.ops.torch_cluster", [cluster_operations])
torch_scatter = Namespace("torch.ops.torch_scatter", [scatter_operations])


class _Named:
    """torch.ops.NAMESPACE: the operations of torch.library there."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        found = library.operations(self._namespace)
        if name not in found:
            raise AttributeError(f"torch.ops.{self._namespace}: there is no {name}; make it with library.custom_op()")
        return found[name]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_FIXED, *library.namespaces()]
    if name in library.namespaces():
        return _Named(name)
    raise AttributeError(name)


def load_library(path: str | os.PathLike[str]) -> None:
    """Skips the extensions of torch_cluster and torch_scatter, whose operations are here.

    Raises:
        OSError: any other; programs with another way go that way.
    """
    package = Path(path).parent.name
    if package not in ("torch_cluster", "torch_scatter"):
        raise OSError(f"load_library: {os.fspath(path)} is compiled for PyTorch; spirograd cannot load it")
    skipped(package, "sg.graphs has its operations")
