"""torch._dynamo: settings of PyTorch's compiler, which is not here."""

from types import SimpleNamespace

from ..compiler import disable, reset

__all__ = ["config", "disable", "reset"]

config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, verbose=False)
