"""Learning rates that change with the steps. Call scheduler.step() after optimizer.step().

The rate is an argument of the plan of a step, so that changing it costs nothing on the device.
"""

from .combined import ChainedScheduler, SequentialLR
from .cycles import CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .rates import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    NoamLR,
    PolynomialLR,
    StepLR,
)
from .scheduler import LRScheduler
from .warmup import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR"]
__all__ += ["ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "NoamLR"]
__all__ += ["OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]
__all__ += ["get_constant_schedule_with_warmup", "get_cosine_schedule_with_warmup", "get_linear_schedule_with_warmup"]
