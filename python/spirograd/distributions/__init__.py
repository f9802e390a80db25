"""Probability distributions, under the names of torch.distributions.

Draws come from the generator of the default seed; sample() has no gradient, rsample() has one where has_rsample is
true. Parameters are checked only where validate_args=True asks for it: a check reads them.

Example:
    >>> policy = sg.distributions.Categorical(logits=sg.zeros(4, 2))
    >>> action = policy.sample()
    >>> action.shape, policy.log_prob(action).shape
    ((4,), (4,))
"""

from . import bases as bases
from . import constraints as constraints
from . import kl as kl
from . import kl_pairs as kl_pairs
from . import transforms as transforms
from . import utils as utils
from .composed import *  # noqa: F403
from .constraint_registry import biject_to as biject_to
from .constraint_registry import transform_to as transform_to
from .continuous import *  # noqa: F403
from .continuous_bernoulli import *  # noqa: F403
from .counts import *  # noqa: F403
from .discrete import *  # noqa: F403
from .distribution import Distribution as Distribution
from .distribution import ExponentialFamily as ExponentialFamily
from .gamma import *  # noqa: F403
from .inverted import *  # noqa: F403
from .kl import kl_divergence as kl_divergence
from .kl import register_kl as register_kl
from .multivariate import *  # noqa: F403
from .quotients import *  # noqa: F403
from .transforms import *  # noqa: F403
from .von_mises import *  # noqa: F403
