"""torch._inductor: settings of PyTorch's compiler, which is not here: they can be set, and choose nothing."""

from types import ModuleType, SimpleNamespace

__all__ = ["config"]

config = ModuleType("torch._inductor.config")
vars(config).update(fx_graph_cache=False, coordinate_descent_tuning=False, triton=SimpleNamespace())
