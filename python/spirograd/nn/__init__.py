"""Building blocks of models."""

from ..scalar import MLP as MLP
from ..scalar import Layer as Layer
from ..scalar import Neuron as Neuron
from . import functional as functional
from . import init as init
from . import parallel as parallel
from . import utils as utils
from .activation import *  # noqa: F403
from .adaptive import *  # noqa: F403
from .attention import *  # noqa: F403
from .containers import *  # noqa: F403
from .convolution import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .lazy import *  # noqa: F403
from .less_common import *  # noqa: F403
from .linear import *  # noqa: F403
from .loss import *  # noqa: F403
from .module import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .parameter import *  # noqa: F403
from .pooling import *  # noqa: F403
from .position import *  # noqa: F403
from .recurrent import *  # noqa: F403
from .sync_batch_norm import *  # noqa: F403
from .transformer import *  # noqa: F403
from .upsampling import *  # noqa: F403
