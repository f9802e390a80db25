"""Modules that are imported when another package is: what belongs to it costs nothing where it is not used."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["import_with"]


def import_with(package: str, module: str) -> None:
    """Imports a module as soon as a package has been imported: now, or later."""
    if package in sys.modules:
        importlib.import_module(module)
    else:
        sys.meta_path.insert(0, _Waiting(package, module))


class _Waiting(importlib.abc.MetaPathFinder):
    """Finds nothing itself: sees that the package is being imported."""

    def __init__(self, package: str, module: str) -> None:
        self._package, self._module = package, module

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The package's own, whose loader imports the module at its end."""
        if name != self._package:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(package: ModuleType) -> None:
                run(package)
                importlib.import_module(self._module)

            loader.exec_module = exec_module
        return spec
