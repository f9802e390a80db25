"""torch.nn.utils.stateless: functional_call() under its first name."""

from .....func import functional_call

__all__ = ["functional_call"]
