"""The kinds of values of a module's attributes, and the values that may replace them."""

from __future__ import annotations

from typing import Any

from .._complex import ComplexTensor
from .._core import Tensor
from .parameter import Buffer, Parameter

# Entries that torch/entries.py adds to the dict of each module under `python -m spirograd run`.
OF_PYTORCH = ("_parameters", "_buffers", "_modules")
_kinds: dict[type, str] = {}  # the kind of attributes of each type
bases: dict[type, str] = {Parameter: "parameter", ComplexTensor: "complex", dict: "dict", list: "list", tuple: "list"}


def kind_of(value: Any) -> str:
    of = type(value)
    if of not in _kinds:
        _kinds[of] = next((kind for base, kind in reversed(bases.items()) if issubclass(of, base)), "data")
    return _kinds[of]


def _is_parameter(value: Any) -> bool:
    return isinstance(value.real if isinstance(value, ComplexTensor) else value, Parameter)


def refuse_other(module: Any, name: str, value: Any) -> None:
    """Raises TypeError if a value of another kind would replace an attribute, such as a tensor a parameter, which would
    no longer be trained."""
    if value is None or (name not in module._held_names and name not in module._persistent):
        return
    before, kind = vars(module).get(name), kind_of(value)
    if _is_parameter(value):
        return
    if _is_parameter(before):
        what, hint = "parameter", "pass a Parameter or None, or write its values by copy_() under no_grad()"
    elif kind == "module":
        return
    elif kind_of(before) == "module":
        what, hint = "module", "pass a module or None"
    elif name in module._persistent and not isinstance(value, (Tensor, ComplexTensor)):
        what, hint = "buffer", "pass a tensor or None"
    else:
        return
    raise TypeError(f"{type(module).__name__}: cannot assign '{type(value).__name__}' as {what} '{name}'; {hint}")


def note(module: Any, name: str, value: Any) -> None:
    """Notes the kind of value that an attribute holds from now on."""
    own = vars(module)
    if (kind := kind_of(value)) != "data" and name not in module._held_names:
        own["_held_names"] = module._held_names | {name}
    if isinstance(value, Buffer):
        own["_persistent"] = {**module._persistent, name: value.persistent}
    elif name in module._persistent and kind in ("module", "parameter"):
        own["_persistent"] = {k: v for k, v in module._persistent.items() if k != name}


def set_held(module: Any, name: str, value: Any) -> None:
    """Sets an attribute of any kind, without the checks of the module's class."""
    note(module, name, value)
    object.__setattr__(module, name, value)


def see_only_modules() -> None:
    """From now on, the contents of lists, tuples and dicts do not belong to a module, as in PyTorch."""
    _kinds.clear()
    for kind in (dict, list, tuple):
        bases.pop(kind, None)


def sort(
    name: str,
    value: Any,
    kind: str,
    modules: list[tuple[str, Any]],
    parameters: list[tuple[str, Parameter]],
) -> None:
    """Appends the modules and parameters of an attribute to their lists."""
    if kind == "module":
        modules.append((name, value))
    elif kind == "parameter":
        parameters.append((name, value))
    elif kind == "complex":
        parts = {"real": value.real, "imag": value.imag}
        parameters += [(f"{name}.{key}", part) for key, part in parts.items() if isinstance(part, Parameter)]
    else:
        # A subclass of a program may iterate over other values.
        listed = (list if isinstance(value, list) else tuple).__iter__
        held = list(value.items() if kind == "dict" else enumerate(listed(value)))
        if len(held) > 1000 and kind_of(held[0][1]) == "data":
            return
        for key, inside in held:
            if (inside_kind := kind_of(inside)) != "data":
                sort(f"{name}.{key}", inside, inside_kind, modules, parameters)
