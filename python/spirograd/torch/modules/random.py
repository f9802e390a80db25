"""torch.random: the generator of the default seed."""

from .flags import default_generator, fork_rng

__all__ = ["default_generator", "fork_rng"]
