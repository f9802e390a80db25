"""Functions of models without parameters of their own."""

from ...base.overridable import open_functions
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .conv import *  # noqa: F403
from .ctc import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .fractional import *  # noqa: F403
from .linear import *  # noqa: F403
from .logits import *  # noqa: F403
from .loss import *  # noqa: F403
from .norm import *  # noqa: F403
from .pooling import *  # noqa: F403
from .resize import *  # noqa: F403
from .spatial import *  # noqa: F403

open_functions(__name__)
