"""torch.optim.optimizer: what optimizers of other people's import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ....optim import Optimizer
from ....optim.hooks import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Optimizer", "ParamsT", "_default_to_fused_or_foreach", "_get_value", "_params_t", "required"]
__all__ += ["register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]
__all__ += ["_dispatch_sqrt", "_get_capturable_supported_devices", "_use_grad_for_differentiable"]

ParamsT = Iterable[Any]
_params_t = ParamsT


class _Required:
    """Stands for an option that a group must have."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _use_grad_for_differentiable(func: F) -> F:
    """step() without gradients, as all steps are here."""
    from ....base.grad_mode import no_grad

    return no_grad()(func)


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Neither: equal kernels run together anyway."""
    return False, False


def _get_value(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if hasattr(x, "sqrt") else x**0.5


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda"]
