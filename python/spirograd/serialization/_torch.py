"""Files of PyTorch, read by PyTorch itself."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from .._core import FileFormatError
from ._arrays import DTYPES, RAW, tensor_of
from ._paths import Place


def load_torch(stream: BinaryIO, path: str, at: Place) -> Any:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise ImportError(
            f"load: {path} is a file of PyTorch, which is not installed; install it, or write safetensors there"
        ) from None
    try:
        found = torch.load(stream, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, and many lines
        raise FileFormatError(
            f"load: {path}: PyTorch does not read it with weights_only=True ({str(error).partition(chr(10))[0][:200]})"
        ) from None
    made: dict[int, Any] = {}

    def converted(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            if id(x) not in made:
                dtype = str(x.dtype).removeprefix("torch.")
                if dtype not in DTYPES:
                    raise FileFormatError(f"load: {path} has a tensor of type {dtype}, which spirograd does not have")
                own = x.detach().contiguous()
                values = own.view(torch.int16).numpy().view(RAW) if dtype == "bfloat16" else own.numpy()
                made[id(x)] = tensor_of(values, at("cpu"), path, "a tensor").requires_grad_(x.requires_grad)
            return made[id(x)]
        if isinstance(x, Mapping):
            return {key: converted(value) for key, value in x.items()}
        if isinstance(x, (list, tuple)):
            return tuple(map(converted, x)) if isinstance(x, tuple) else [converted(part) for part in x]
        return x

    return converted(found)
