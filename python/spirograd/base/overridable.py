"""Functions written in Python that ask classes of arguments and interceptors, as those of the core do."""

from __future__ import annotations

import sys
from collections.abc import Container
from inspect import isfunction

from .._core import _Overridable

__all__ = ["open_functions"]


def open_functions(name: str, only: Container[str] | None = None) -> None:
    """Lets the public functions of a module, or of a package and the modules in it, be answered for by others.

    Args:
        name: of the module, which has been executed to its end.
        only: their names; None: all.
    """
    modules = [module for key, module in list(sys.modules.items()) if key == name or key.startswith(f"{name}.")]
    listed = [vars(module)[n] for module in modules for n in getattr(module, "__all__", ())]
    listed += [value for n, value in vars(sys.modules[name]).items() if not n.startswith("_")]
    public = {id(f): f for f in listed if isfunction(f) and f.__module__.startswith(name)}
    made = {key: _Overridable(f) for key, f in public.items() if only is None or f.__name__ in only}
    for module in modules:
        for n, value in list(vars(module).items()):
            if id(value) in made:
                setattr(module, n, made[id(value)])
