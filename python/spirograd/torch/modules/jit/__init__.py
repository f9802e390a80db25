"""torch.jit: functions and modules stay Python. What is fused and replayed does not depend on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from .... import nn

T = TypeVar("T")

__all__ = [
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "optimize_for_inference",
]
__all__ += [
    "_overload",
    "_overload_method",
    "_script_if_tracing",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]


class ScriptModule(nn.Module):
    """A compiled module: script() and trace() give the module itself, so only subclasses of this one are."""


class ScriptFunction:
    """A compiled function: script() gives the function itself, so none is one."""


class TracerWarning(Warning):
    """What a trace would warn of: nothing is traced."""


def script(obj: T, *args: Any, **options: Any) -> T:
    """The function or module itself."""
    return obj


def trace(func: T, example_inputs: Any = None, *args: Any, **options: Any) -> T:
    """The function or module itself."""
    return func


trace_module, freeze, optimize_for_inference = trace, script, script
export = unused = script_method = _overload = _overload_method = _script_if_tracing = script_if_tracing = script


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself; used with and without brackets."""
    return drop if isinstance(drop, Callable) else script  # type: ignore[arg-type]


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


def is_scripting() -> bool:
    """False: Python runs."""
    return False


is_tracing = is_scripting
