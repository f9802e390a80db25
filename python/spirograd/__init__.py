"""spirograd: a micrograd-style autograd engine that trains on any GPU through Vulkan.

Names and meanings are PyTorch's. Operations are recorded and run when a value is read, when an
optimiser steps, or when enough is pending; shape and type errors are raised at the line that is wrong.

Example:
    >>> import spirograd as sg
    >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
"""

from __future__ import annotations

import atexit
import importlib
import pkgutil
import sys
from typing import TYPE_CHECKING, Any

try:
    from . import _core
except ImportError as error:
    if isinstance(error.__cause__, Exception | None):
        raise
    raise error.__cause__ from None  # Ctrl-C, which pybind11 takes for a failure of the module
from . import _ufuncs as _ufuncs
from ._core import *  # noqa: F403  (the op table decides what there is)
from ._core import __version__ as __version__
from ._print import get_printoptions, set_printoptions
from .base.config import show_config
from .base.dtypes import finfo, iinfo
from .base.grad_mode import enable_grad, inference_mode, is_inference_mode_enabled, no_grad, set_grad_enabled
from .base.imports import import_with
from .scalar import MLP, Layer, Module, Neuron

if TYPE_CHECKING:
    from . import accelerator as accelerator
    from . import amp as amp
    from . import autograd as autograd
    from . import callbacks as callbacks
    from . import datasets as datasets
    from . import distributed as distributed
    from . import distributions as distributions
    from . import fft as fft
    from . import func as func
    from . import fx as fx
    from . import generation as generation
    from . import graphs as graphs
    from . import hub as hub
    from . import library as library
    from . import linalg as linalg
    from . import masked as masked
    from . import metrics as metrics
    from . import models as models
    from . import nested as nested
    from . import nn as nn
    from . import onnx as onnx
    from . import ops as ops
    from . import optim as optim
    from . import profiler as profiler
    from . import progress as progress
    from . import quasirandom as quasirandom
    from . import regions as regions
    from . import serialization as serialization
    from . import signal as signal
    from . import sparse as sparse
    from . import special as special
    from . import testing as testing
    from . import text as text
    from . import training as training
    from . import transforms as transforms
    from . import utils as utils
    from . import viz as viz
    from ._complex import angle as angle
    from ._complex import cdouble as cdouble
    from ._complex import cfloat as cfloat
    from ._complex import complex as complex
    from ._complex import complex64 as complex64
    from ._complex import complex128 as complex128
    from ._complex import conj as conj
    from ._complex import imag as imag
    from ._complex import polar as polar
    from ._complex import real as real
    from ._complex import view_as_complex as view_as_complex
    from ._complex import view_as_real as view_as_real
    from ._functions.elementwise import *  # noqa: F403
    from ._functions.places import *  # noqa: F403
    from ._functions.quantised import *  # noqa: F403
    from ._functions.random import *  # noqa: F403
    from ._functions.shapes import *  # noqa: F403
    from ._functions.statistics import *  # noqa: F403
    from .accelerator import Event as Event
    from .accelerator import memory_summary as memory_summary
    from .compiler import compile as compile
    from .linalg._packed import *  # noqa: F403
    from .linalg._solutions import *  # noqa: F403
    from .linalg._vectors import *  # noqa: F403
    from .serialization import load as load
    from .serialization import load_safetensors as load_safetensors
    from .serialization import load_weights as load_weights
    from .serialization import save as save
    from .serialization import save_safetensors as save_safetensors
    from .serialization import save_weights as save_weights
    from .serialization import savez as savez
    from .signal import istft as istft
    from .signal import stft as stft
    from .sparse import sparse_coo_tensor as sparse_coo_tensor
    from .sparse import sparse_csr_tensor as sparse_csr_tensor
    from .sparse import spmm as spmm
    from .training.fit import evaluate as evaluate
    from .training.fit import fit as fit
    from .training.fit import predict as predict

    autocast = amp.autocast
    cross, det, logdet, matrix_exp, slogdet = linalg.cross, linalg.det, linalg.logdet, linalg.matrix_exp, linalg.slogdet
    inverse, pinverse, matrix_power = linalg.inv, linalg.pinv, linalg.matrix_power
    digamma, erfinv, i0, lgamma, logit = special.digamma, special.erfinv, special.i0, special.lgamma, special.logit
    igamma, igammac, mvlgamma = special.gammainc, special.gammaincc, special.multigammaln
    polygamma, sinc = special.polygamma, special.sinc

# Work in flight must end before C++ and the drivers are shut down.
atexit.register(_core._drain)
_core._keep_lines(hasattr(sys, "ps1"))  # a prompt, IPython or a notebook

# Modules that are imported when they are first used: all but those for the package itself, or for another package.
_HIDDEN = {"base", "cli", "compiler", "einops", "engine", "examples", "scalar", "torch", "tracer"}
_modules = {module.name for module in pkgutil.iter_modules(sys.modules[__name__].__path__)}
_lazy = sorted(name for name in _modules - _HIDDEN if not name.startswith("_"))
# Names of modules that are available here as well, and such under another name.
_PLACES = {
    "_complex": """angle cdouble cfloat complex complex64 complex128 conj imag polar real view_as_complex
        view_as_real""",
    "_functions.elementwise": """copysign fill float_power fmax fmin frexp gcd heaviside isneginf isposinf isreal lcm
        ldexp logaddexp2 nextafter rsub signbit""",
    "_functions.places": """as_strided_scatter diagonal_scatter index_reduce nonzero_static put segment_reduce
        select_scatter slice_scatter""",
    "_functions.quantised": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "_functions.random": "binomial fork_rng poisson",
    "_functions.shapes": """column_stack combinations diagflat dsplit empty_permuted empty_strided frombuffer
        unravel_index vander""",
    "_functions.statistics": "cumulative_trapezoid gradient histc histogram histogramdd mode trapezoid trapz",
    "accelerator": "Event memory_summary",
    "amp": "autocast",
    "compiler": "compile",
    "linalg": "cross det logdet matrix_exp matrix_power slogdet",
    "linalg._packed": "geqrf ormqr",
    "linalg._solutions": "cholesky_inverse cholesky_solve pca_lowrank svd_lowrank",
    "linalg._vectors": "addr adjoint cdist dist renorm trace",
    "serialization": "load load_safetensors load_weights save save_safetensors save_weights savez",
    "signal": "istft stft",
    "sparse": "sparse_coo_tensor sparse_csr_tensor spmm",
    "special": "digamma erfinv i0 lgamma logit polygamma sinc",
    "training": "evaluate fit predict",
}
_elsewhere = {name: f"{place}.{name}" for place, names in _PLACES.items() for name in names.split()}
_elsewhere |= {"inverse": "linalg.inv", "pinverse": "linalg.pinv", "igamma": "special.gammainc"}
_elsewhere |= {"igammac": "special.gammaincc", "mvlgamma": "special.multigammaln"}
__all__ = [name for name in dir(_core) if not name.startswith("_")]
__all__ += ["MLP", "Layer", "Module", "Neuron", "enable_grad", "inference_mode", "is_inference_mode_enabled"]
__all__ += ["no_grad", "set_grad_enabled", *_lazy, *_elsewhere]
__all__ += ["finfo", "get_printoptions", "iinfo", "set_printoptions", "show_config"]


if not TYPE_CHECKING:  # type checkers would allow every name

    def __getattr__(name: str) -> Any:
        if name in _lazy:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _elsewhere:
            module, _, attribute = _elsewhere[name].rpartition(".")
            return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
        if name == "cuda":
            raise AttributeError('cuda: GPUs are used through Vulkan; use .to("gpu") and sg.accelerator')
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


import_with("einops", f"{__name__}.einops")  # its functions take tensors


def __dir__() -> list[str]:
    return __all__
