"""The import hook: modules whose names begin with `torch`.

A module torch.a.b shows the public names of spirograd.torch.modules.a.b, then those of spirograd.a.b. The hook is asked
before Python's own finders, so an installed PyTorch is not looked at.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

from .._core import _Overridable
from .answering import overridable
from .arguments import adapted
from .libraries import CHANGED, COMPILED, REPLACED
from .moved import OldPlaces
from .names import rename
from .unused import made_module

OURS = "spirograd.torch.modules"
LIBRARIES = "spirograd.torch.libraries"
# Modules of spirograd that have no counterpart in PyTorch.
HIDDEN = ["_core", "base", "callbacks", "cli", "compiler", "datasets", "einops", "engine", "examples", "graphs"]
HIDDEN += ["metrics", "onnx", "progress", "regions", "scalar", "text", "torch", "training", "transforms", "viz"]
_DISTRIBUTIONS = ["bernoulli", "beta", "binomial", "categorical", "cauchy", "chi2", "dirichlet", "exp_family"]
_DISTRIBUTIONS += ["exponential", "fishersnedecor", "gamma", "geometric", "gumbel", "half_cauchy", "half_normal"]
_DISTRIBUTIONS += ["independent", "inverse_gamma", "kumaraswamy", "laplace", "lkj_cholesky", "log_normal"]
_DISTRIBUTIONS += ["logistic_normal", "lowrank_multivariate_normal", "mixture_same_family", "multinomial"]
_DISTRIBUTIONS += ["multivariate_normal", "negative_binomial", "normal", "one_hot_categorical", "pareto", "poisson"]
_DISTRIBUTIONS += ["relaxed_bernoulli", "relaxed_categorical", "studentT", "transformed_distribution", "uniform"]
_DISTRIBUTIONS += ["von_mises", "weibull", "wishart"]
# Files of PyTorch whose names are elsewhere in spirograd.
_LAYERS = ["activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout"]
_LAYERS += ["flatten", "fold", "instancenorm", "lazy", "linear", "loss", "module", "normalization", "padding"]
_LAYERS += ["pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling"]
_OPTIMIZERS = ["adadelta", "adagrad", "adamax", "adamw", "asgd", "nadam", "radam", "rprop"]
MOVED = {
    "nn.modules": "nn",
    "nn.parameter": "nn",
    "utils.data.distributed": "utils.data",
    "utils.data.dataloader": "utils.data",
    "utils.data._utils": "utils.data",
    "utils.data._utils.collate": "utils.data",
    "utils.data._utils.worker": "utils.data",
    "cuda.amp.autocast_mode": "cuda.amp",
    "cuda.amp.common": "cuda.amp",
    "cuda.amp.grad_scaler": "amp",
    "cuda.streams": "cuda",
    "distributed.optim": "optim",
    "distributed.distributed_c10d": "distributed",
    "ao.nn.quantized": "nn.quantized",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.parallel_apply": "nn.parallel",
    "nn.parallel.replicate": "nn.parallel",
    "onnx.utils": "onnx",
    "quantization": "ao.quantization",
    **{f"distributions.{name}": "distributions" for name in _DISTRIBUTIONS},
    "distributions.constraint_registry": "distributions",
    **{f"nn.modules.{name}": "nn" for name in _LAYERS},
    **{f"optim.{name}": "optim" for name in _OPTIMIZERS},
    "optim._multi_tensor": "optim",
    "autograd.grad_mode": "",
    "autograd.variable": "autograd",
    "functional": "",
    "futures": "utils.futures",
    "_higher_order_ops": "func",
    "_higher_order_ops.associative_scan": "func",
    "nn.attention.flex_attention": "nn.flex_attention",
    "random": "",
    "nn.utils.spectral_norm": "nn.utils.old_norms",
    "nn.utils.weight_norm": "nn.utils.old_norms",
    "tensor": "",
    "_tensor": "",
}
HINT = "see docs/porting.md; `python -m spirograd run --check` lists all that a program lacks"


class MissingName(AttributeError):
    """A name of PyTorch that spirograd does not have; the message says where it was asked for."""


def _line() -> str:
    """The file and line of the program that runs, outside of spirograd and of Python's importing."""
    frame: FrameType | None = sys._getframe(1)
    package = str(Path(__file__).parents[1])
    while frame and (
        frame.f_code.co_filename.startswith((package, "<frozen")) or "importlib" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}: " if frame else ""


class Namespace(ModuleType):
    """A module of PyTorch: looks names up in its sources when they are first asked for, and keeps them."""

    def __init__(self, name: str, sources: Sequence[ModuleType]) -> None:
        super().__init__(name, sources[0].__doc__)
        self.__path__: list[str] = []
        self.__file__ = sources[0].__file__
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted({n for source in self._sources for n in _public(source)})
        for source in self._sources:
            if name in _public(source):
                value = getattr(source, name)
                if not _is_ours(value):
                    if isinstance(value, type):
                        rename(value)
                    value = overridable(adapted(value), self.__name__, name)
                    setattr(self, name, value)
                    return value
        if name.startswith("__") and name != "__config__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if _sources(f"{self.__name__}.{name}"):
            return importlib.import_module(f"{self.__name__}.{name}")
        raise MissingName(f"{_line()}{self.__name__}.{name} is not in spirograd; {HINT}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing torch.nn.utils.weight_norm, a file there, leaves the function of that name.
        if isinstance(value, Namespace) and any(_is_called(vars(source).get(name)) for source in self._sources):
            return
        super().__setattr__(name, value)

    def __dir__(self) -> Iterable[str]:
        return sorted({*self.__all__, *vars(self)})


def _is_called(value: Any) -> bool:
    return isinstance(value, (FunctionType, BuiltinFunctionType, _Overridable))


def _public(source: ModuleType) -> Iterable[str]:
    listed: Iterable[str] | None = getattr(source, "__all__", None)
    return [n for n in vars(source) if not n.startswith("_")] if listed is None else listed


def _is_ours(value: Any) -> bool:
    """Whether it is a module of spirograd, which programs see as a Namespace."""
    return isinstance(value, ModuleType) and value.__name__.startswith("spirograd")


def _sources(name: str) -> list[ModuleType]:
    """What a module of PyTorch shows: the names given here, then spirograd's own."""
    path = name.partition(".")[2]
    own = MOVED.get(path, path)
    places = [f"{OURS}.{path}" if path else OURS]
    if path in MOVED and own:
        places.append(f"{OURS}.{own}")
    if own.split(".")[0] not in HIDDEN:
        places.append(f"spirograd.{own}" if own else "spirograd")
    found = [importlib.import_module(place) for place in places if _exists(place)]
    return found + [part for part in [made_module(path)] if part is not None]


def _exists(place: str) -> bool:
    try:
        spec = find_spec(place)
        return spec is not None and not isinstance(spec.loader, OldPlaces)
    except ModuleNotFoundError:  # nor is the package that it would be in
        return False


def _made(name: str) -> ModuleType | None:
    """A module that is an attribute of its package, not a file: torch.backends.cudnn."""
    package, _, last = name.rpartition(".")
    value = getattr(sys.modules.get(package), last, None)
    return value if isinstance(value, ModuleType) and not isinstance(value, Namespace) else None


class _Package(Distribution):
    """The package torch, as if it were installed."""

    def read_text(self, filename: str) -> str | None:
        """The metadata; there are no other files."""
        version = importlib.import_module(f"{OURS}.version").__version__
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        """Where a file of it would be."""
        return Path(__file__).parent / path


class Finder(MetaPathFinder, Loader):
    """Finds and makes the modules."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's specification; None for those of others.

        Raises:
            ModuleNotFoundError: PyTorch's module is not in spirograd.
        """
        if name in REPLACED:
            return ModuleSpec(name, self)
        if name in CHANGED:
            return _changed(name, path)
        if name != "torch" and not name.startswith("torch."):
            return None
        if not _sources(name) and not _made(name):
            raise ModuleNotFoundError(f"{_line()}there is no module {name} in spirograd; {HINT}", name=name)
        return ModuleSpec(name, self, is_package=True)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        """What is known of the package torch: packages ask for its version."""
        return [_Package()] if context.name in ("torch", None) else []

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """A Namespace, or the module that stands in its package."""
        if spec.name in REPLACED:
            return Namespace(spec.name, [importlib.import_module(f"{LIBRARIES}.{REPLACED[spec.name]}")])
        sources = _sources(spec.name)
        return Namespace(spec.name, sources) if sources else _made(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Puts classes and functions into a Namespace, for programs that look into its __dict__; torch.torch is torch.

        It looks all other names up when they are asked for.
        """
        if module.__name__ == "torch":
            vars(module)["torch"] = module
        for source in getattr(module, "_sources", ()):
            for name in _public(source):
                if isinstance(vars(source).get(name), type) or _is_called(vars(source).get(name)):
                    getattr(module, name)


class _Changing(Loader):
    """Imports a package as another loader does, and puts a class of ours, which knows the package's own, into it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """What the other loader makes."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the package, then changes it."""
        self.loader.exec_module(module)
        name, file = CHANGED[module.__name__]
        ours = getattr(importlib.import_module(f"{LIBRARIES}.{file}"), name)
        ours.other = getattr(module, name)
        setattr(module, name, ours)


def _changed(name: str, path: Any) -> ModuleSpec | None:
    spec = PathFinder.find_spec(name, path)
    if spec is not None and spec.loader is not None:
        spec.loader = _Changing(spec.loader)
    return spec


def installed() -> bool:
    """Whether the hook is there."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> None:
    """Puts the hook before Python's own."""
    sys.meta_path.insert(0, Finder())
    sys.modules.update(dict.fromkeys(COMPILED))  # type: ignore[arg-type]
