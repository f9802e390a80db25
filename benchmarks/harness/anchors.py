"""The libraries measured beside spirograd. Each is imported only when it is asked for and installed."""

from __future__ import annotations

import importlib.util
from typing import Any

MODULES = {"compile": "torch", "floats": "builtins"}  # where a name is not that of a module


def available(wanted: str, libraries: tuple[str, ...]) -> frozenset[str]:
    """ "all", "none" or names with commas. Says what is left out, and why.

    Raises:
        ValueError: a name is none of `libraries`, or one asked for by name is not installed.
    """
    names = () if wanted == "none" else libraries if wanted == "all" else tuple(wanted.split(","))
    found = set()
    for name in names:
        if name not in libraries:
            raise ValueError(f"anchors: no library {name!r}; there are {', '.join(libraries)}, all, none")
        module = MODULES.get(name, name)
        if importlib.util.find_spec(module):
            found.add(name)
        elif wanted == "all":
            print(f"without {name}: {module} is not installed")
        else:
            raise ValueError(f"anchors: {module} is not installed; pip install {module}")
    return frozenset(found)


class Torch:
    """PyTorch on the same kind of device; `device` is None when it has none of that kind."""

    def __init__(self, gpu: bool) -> None:
        import torch

        torch.backends.cudnn.allow_tf32 = False  # convolutions and LSTMs in float32, as products are by default
        self.torch = torch
        self.device: Any = None
        if not gpu:
            self.device = torch.device("cpu")
        elif torch.cuda.is_available():
            self.device = torch.device("cuda")

    def wait(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def array(self, values: Any) -> Any:
        return self.torch.from_numpy(values.copy()).to(self.device)


class Jax:
    """JAX on the same kind of device; `device` is None when it has none of that kind."""

    def __init__(self, gpu: bool) -> None:
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax, self.jnp = jax, jax.numpy
        self.device: Any = None
        try:
            self.device = jax.devices("gpu" if gpu else "cpu")[0]
        except RuntimeError:
            return
        jax.config.update("jax_default_device", self.device)

    def array(self, values: Any) -> Any:
        return self.jax.device_put(values, self.device)


def torch_for(context: Any) -> Torch | None:
    """PyTorch, if it is wanted (eager or compiled) and has the device."""
    if not context.anchors & {"torch", "compile"}:
        return None
    torch = Torch(context.gpu)
    return torch if torch.device is not None else None


def jax_for(context: Any) -> Jax | None:
    if "jax" not in context.anchors:
        return None
    jax = Jax(context.gpu)
    return jax if jax.device is not None else None
