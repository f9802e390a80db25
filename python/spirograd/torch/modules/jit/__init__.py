"""torch.jit: functions and modules stay Python. What is fused and replayed does not depend on it."""

from __future__ import annotations

import builtins
from typing import Any, Final, NoReturn, TypeVar

from .... import nn

T = TypeVar("T")

__all__ = ["Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate", "export"]
__all__ += ["freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load"]
__all__ += ["optimize_for_inference"]
__all__ += ["_overload", "_overload_method", "_script_if_tracing", "save", "script", "script_if_tracing"]
__all__ += ["script_method", "trace", "trace_module", "unused"]


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
export = unused = interface = script_method = script
_overload = _overload_method = _script_if_tracing = script_if_tracing = script


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself; used with and without brackets."""
    return drop if callable(drop) else script


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


def is_scripting() -> bool:
    """False: Python runs."""
    return False


is_tracing = is_scripting


def Attribute(value: T, type: Any) -> T:
    """The value itself."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, or of one of several; of List[int] and the like, whether it is a list."""
    types = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(t, "__origin__", None) or t for t in types))


class Error(RuntimeError):
    """What compiled code raises: none does."""


def load(f: Any, map_location: Any = None, *args: Any, **options: Any) -> NoReturn:
    """An error: what PyTorch compiled is a program for its own interpreter.

    Raises:
        NotImplementedError: always; it says how to take the weights along.
    """
    raise NotImplementedError(
        f"jit.load: {f} holds a program that PyTorch compiled, which only PyTorch runs; write its weights with "
        "PyTorch, torch.save(torch.jit.load(path).state_dict(), 'weights.pt'), and load_state_dict() them here"
    )


def save(m: Any, f: Any, *args: Any, **options: Any) -> NoReturn:
    """An error: script() and trace() give the module itself, so there is no compiled program.

    Raises:
        NotImplementedError: always; it says what to write instead.
    """
    raise NotImplementedError(
        f"jit.save: {type(m).__name__} stays Python, there is no compiled program to write; use "
        "torch.save(module.state_dict(), path), or torch.onnx.export() for other runtimes"
    )
