"""torch.autograd.graph: what is kept for backward(). It is chosen by the graph itself here, and cannot be changed."""

from __future__ import annotations

from typing import Any

__all__ = ["save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """Would change what is kept for backward(). Entering it is an error; utils.checkpoint keeps less."""

    def __init__(self, pack_hook: Any = None, unpack_hook: Any = None) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: what is kept for backward() cannot be changed; use utils.checkpoint"
        )

    def __exit__(self, *args: object) -> None:
        pass


class save_on_cpu:
    """A context that changes nothing: values of a GPU are kept there."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass
