"""Where things are that were below spirograd.torch: for one release they are found there, too, with a warning. Pickles
name the classes of objects.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "OldPlaces", "former"]

_OLD = "spirograd.torch"
# The old module below spirograd.torch, and the modules below spirograd that have its names.
MOVED = {
    "check": "cli.missing",
    "functions.foreach": "_functions.foreach",
    "modules.futures": "utils.futures",
    "modules.library": "library",
    "modules.nn.parallel": "nn.parallel",
    "modules.nn.parallel.scatter_gather": "nn.parallel.scatter_gather",
    "running": "cli.running",
    "functions.algebra": """linalg linalg._vectors linalg._solutions _functions.shapes _functions.places
        torch.functions.forms""",
    "functions.elementwise": "_functions.elementwise special torch.functions.forms",
    "functions.factors": "linalg._packed linalg torch.functions.forms",
    "functions.native": "_functions.native",
    "functions.quantised": "_functions.quantised",
    "functions.rare": """_functions.statistics _functions.places _functions.native _functions.random
        torch.functions.forms""",
    "functions.spectral": "signal torch.functions.forms",
    "functions.statistics": "_functions.statistics torch.functions.forms",
    "modules.autograd.forward_ad": "autograd.forward_ad",
    "modules.distributions.utils": "distributions.utils",
    "modules.fx.passes": "fx.passes",
    "modules.fx.passes.shape_prop": "fx.passes.shape_prop",
    "modules.linalg": "linalg linalg._solutions",
    "modules.masked": "masked",
    "modules.nested": "nested",
    "modules.nn.attention.flex_attention": "nn.flex_attention",
    "modules.nn.fractional": "nn.functional",
    "modules.nn.grad": "nn.grad",
    "modules.nn.linear_loss": "nn nn.functional",
    "modules.nn.quantized": "nn.quantized",
    "modules.nn.rare": "nn",
    "modules.nn.spatial": "nn.functional",
    "modules.nn.utils.fusion": "nn.utils.fusion",
    "modules.nn.utils.old_norms": "nn.utils.old_norms",
    "modules.optim.sparse_adam": "optim",
    "modules.quasirandom": "quasirandom",
    "modules.special": "special",
    "modules.special.bessel": "special",
    "modules.special.orthogonal": "special",
    "modules.utils._pytree": "utils._pytree",
    "modules.utils.benchmark": "utils.benchmark",
}


def former(thing: Any) -> list[str]:
    """The old modules of a class or a function."""
    places = {old: [sys.modules.get(f"spirograd.{new}") for new in places.split()] for old, places in MOVED.items()}
    name = getattr(thing, "__name__", "")
    return [f"{_OLD}.{old}" for old, new in places.items() if any(getattr(m, name, None) is thing for m in new)]


class _Moved(ModuleType):
    """An old module: its names are looked up in the new ones."""

    def __getattr__(self, name: str) -> Any:
        for place in MOVED[self.__name__.removeprefix(f"{_OLD}.")].split():
            found = getattr(importlib.import_module(f"spirograd.{place}"), name, None)
            if found is not None and not name.startswith("__"):
                warnings.warn(f"{self.__name__}.{name} is now in spirograd.{place}", DeprecationWarning, stacklevel=2)
                return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class OldPlaces(MetaPathFinder, Loader):
    """Finds the old modules; it is asked last."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The specification of an old module; None for others."""
        old = name.removeprefix(f"{_OLD}.")
        return ModuleSpec(name, self, is_package=True) if old != name and old in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that looks its names up."""
        return _Moved(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it has no names of its own."""
