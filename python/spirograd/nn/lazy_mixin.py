"""Modules of your own that learn sizes from their first input."""

from __future__ import annotations

from typing import Any

from .. import _core
from .module import Module
from .parameter import UninitializedParameter

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module of one's own learn sizes from its first input: it calls initialize_parameters(*args) then."""

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    @staticmethod
    def _infer_parameters(module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"{type(module).__name__}: initialize_parameters() left a parameter without a shape")
        module._initialize_hook.remove()
        del module._initialize_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter has no shape yet."""
        return any(isinstance(p, UninitializedParameter) for p in self.parameters(recurse=False))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """To be written: gives the parameters their shapes, with materialize()."""
        raise NotImplementedError(f"{type(self).__name__} has no initialize_parameters(); write it")


def materialize(self: UninitializedParameter, shape: Any, device: Any = None, dtype: Any = None) -> None:
    """Gives a parameter without one its shape; the values are undefined."""
    self.become(_core.empty(shape, device=device or self.device, dtype=dtype or self.dtype))


UninitializedParameter.materialize = materialize  # type: ignore[attr-defined]
