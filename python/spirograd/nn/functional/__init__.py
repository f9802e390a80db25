"""Functions of models without parameters of their own."""

from .activation import *  # noqa: F403
from .linear import *  # noqa: F403
from .loss import *  # noqa: F403
