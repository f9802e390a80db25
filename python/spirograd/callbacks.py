"""What goes along with a training: early stopping, checkpoints, learning rates, logs. Pass them to `fit`."""

from .training.callbacks import (
    Callback,
    CSVLogger,
    EarlyStopping,
    JSONLogger,
    LearningRateScheduler,
    ModelCheckpoint,
)

__all__ = ["CSVLogger", "Callback", "EarlyStopping", "JSONLogger", "LearningRateScheduler", "ModelCheckpoint"]
