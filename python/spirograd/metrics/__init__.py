"""How good a model is: functions of tensors, and accumulators over many batches. Nothing is read until you read it.

Scores are [n, classes, ...] with classes [n, ...] as target. Scores of the shape of the target mean yes and no: those
above a threshold say yes (0 suits logits, 0.5 probabilities), and so do targets above it, so that both 0 and 1 and -1
and 1 will do. Integers of the shape of the target are classes themselves. Results are tensors on the device of the
input, so that a training loop does not wait for them; `.item()` reads one.
"""

from .accumulators import (
    F1,
    MAE,
    MSE,
    R2,
    Accuracy,
    ConfusionMatrix,
    Mean,
    Metric,
    Perplexity,
    Precision,
    Recall,
    Sum,
    TopK,
)
from .functions import (
    accuracy,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    perplexity,
    precision,
    r2_score,
    recall,
    top_k_accuracy,
)

__all__ = [
    "F1",
    "MAE",
    "MSE",
    "R2",
    "Accuracy",
    "ConfusionMatrix",
    "Mean",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "Sum",
    "TopK",
    "accuracy",
    "confusion_matrix",
    "f1_score",
    "mean_absolute_error",
    "mean_squared_error",
    "perplexity",
    "precision",
    "r2_score",
    "recall",
    "top_k_accuracy",
]
