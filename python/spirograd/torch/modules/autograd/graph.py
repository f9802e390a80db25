"""torch.autograd.graph: what a `Function` saves for its backward() in another form.

What operations keep is chosen by the graph itself, and no hook sees it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ...._core import Device, Tensor
from ....autograd.function import open_hooks

__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]

_state = threading.local()


def _refusals() -> list[str]:
    """What the contexts say in which this thread refuses hooks; the last one counts."""
    if not hasattr(_state, "refusals"):
        _state.refusals = []
    found: list[str] = _state.refusals
    return found


class saved_tensors_hooks:
    """A context in which tensors that save_for_backward() gets are kept in another form.

    Args:
        pack_hook: makes anything of a tensor.
        unpack_hook: makes the tensor again, in backward().

    Example:
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda x: x.cpu(), lambda x: x.cuda()):  # doctest: +SKIP
        ...     y = MyFunction.apply(x)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _refusals():
            raise RuntimeError(_refusals()[-1])
        open_hooks().append((self.pack_hook, self.unpack_hook))

    def __exit__(self, *args: object) -> None:
        open_hooks().pop()


def _to_cpu(x: Tensor) -> tuple[Device, Tensor]:
    return x.device, x.cpu()


class save_on_cpu(saved_tensors_hooks):
    """A context in which tensors that save_for_backward() gets wait on the CPU.

    Args:
        pin_memory: has no effect, uploads have their own pinned memory.
        device_type: has no effect, there is one kind of GPU.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_to_cpu, lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks:
    """A context in which saved_tensors_hooks is an error.

    Args:
        error_message: what it says.
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if open_hooks():
            raise RuntimeError(self.error_message)
        _refusals().append(self.error_message)

    def __exit__(self, *args: object) -> None:
        _refusals().pop()
