"""torch.random: the generator of the default seed."""

from .flags import default_generator

__all__ = ["default_generator"]
