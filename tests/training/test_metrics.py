"""Metrics: the numbers of NumPy's formulas, over one batch and over many; on the device until they are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import metrics

random = np.random.default_rng(0)
SCORES = random.normal(size=(40, 4)).astype(np.float32)
LABELS = random.integers(0, 4, 40)
SAID = SCORES.argmax(1)
MATRIX = np.zeros((4, 4), int)
np.add.at(MATRIX, (LABELS, SAID), 1)
RIGHT = MATRIX.diagonal()
PRECISION, RECALL = RIGHT / MATRIX.sum(0), RIGHT / MATRIX.sum(1)
F1 = 2 * PRECISION * RECALL / (PRECISION + RECALL)
LOGITS, BITS = random.normal(size=30).astype(np.float32), random.integers(0, 2, 30)
A, B = random.normal(size=(30, 2)).astype(np.float32), random.normal(size=(30, 2)).astype(np.float32) + 3
LOG_P = SCORES - np.log(np.exp(SCORES).sum(1, keepdims=True))
PERPLEXITY = math.exp(-LOG_P[np.arange(40), LABELS].mean())
TOP2 = np.mean([label in np.argsort(-row)[:2] for row, label in zip(SCORES, LABELS, strict=True)])
R2 = (1 - ((A - B) ** 2).sum(0) / ((B - B.mean(0)) ** 2).sum(0)).mean()
YES = LOGITS > 0
BINARY = [(YES & (BITS == 1)).sum() / YES.sum(), (YES & (BITS == 1)).sum() / BITS.sum()]

CASES: dict[str, tuple[Callable[..., sg.Tensor], metrics.Metric, Any, Any, Any]] = {
    "accuracy": (metrics.accuracy, metrics.Accuracy(), SCORES, LABELS, (SAID == LABELS).mean()),
    "accuracy-binary": (metrics.accuracy, metrics.Accuracy(), LOGITS, BITS, (YES == BITS).mean()),
    "top2": (lambda x, y: metrics.top_k_accuracy(x, y, 2), metrics.TopK(2), SCORES, LABELS, TOP2),
    "confusion": (metrics.confusion_matrix, metrics.ConfusionMatrix(), SCORES, LABELS, MATRIX),
    "precision": (metrics.precision, metrics.Precision(), SCORES, LABELS, PRECISION.mean()),
    "recall": (metrics.recall, metrics.Recall(), SCORES, LABELS, RECALL.mean()),
    "f1": (metrics.f1_score, metrics.F1(), SCORES, LABELS, F1.mean()),
    "f1-none": (lambda x, y: metrics.f1_score(x, y, "none"), metrics.F1("none"), SCORES, LABELS, F1),
    "f1-micro": (
        lambda x, y: metrics.f1_score(x, y, "micro"),
        metrics.F1("micro"),
        SCORES,
        LABELS,
        (SAID == LABELS).mean(),
    ),
    "precision-binary": (metrics.precision, metrics.Precision(), LOGITS, BITS, BINARY[0]),
    "recall-binary": (metrics.recall, metrics.Recall(), LOGITS, BITS, BINARY[1]),
    "perplexity": (metrics.perplexity, metrics.Perplexity(), SCORES, LABELS, PERPLEXITY),
    "mae": (metrics.mean_absolute_error, metrics.MAE(), A, B, np.abs(A - B).mean()),
    "mse": (metrics.mean_squared_error, metrics.MSE(), A, B, ((A - B) ** 2).mean()),
    "r2": (metrics.r2_score, metrics.R2(), A, B, R2),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_formula(name: str) -> None:
    function, _, x, y, want = CASES[name]
    np.testing.assert_allclose(function(sg.tensor(x), sg.tensor(y)).numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_batches_of_any_size_give_the_value_of_all(name: str) -> None:
    _, metric, x, y, want = CASES[name]
    for cuts in ([7, 8, 20], [1], []):
        metric.reset()
        for some, wanted in zip(np.split(x, cuts), np.split(y, cuts), strict=True):
            metric.update(sg.tensor(some), sg.tensor(wanted))
        np.testing.assert_allclose(metric.compute().numpy(), want, rtol=1e-5)
    metric.reset()
    with pytest.raises(ValueError, match=f"{metric.name}: nothing was added; call update\\(\\) first"):
        metric.compute()


@pytest.mark.gpu
def test_the_gpu_agrees() -> None:
    for name in ("accuracy", "top2", "f1", "perplexity", "r2"):
        function, _, x, y, want = CASES[name]
        value = function(sg.tensor(x, device="gpu"), sg.tensor(y, device="gpu"))
        assert value.device.kind == "gpu"
        np.testing.assert_allclose(value.numpy(), want, rtol=1e-5)


def test_nothing_is_read_before_the_end_and_memory_is_flat() -> None:
    x, y = sg.tensor(SCORES), sg.tensor(LABELS)
    kept = [metrics.Accuracy(), metrics.F1(), metrics.Perplexity()]

    def step() -> None:
        for metric in kept:
            metric.update(x, y)
        kept[0].compute().data_ptr()  # runs what is pending

    for _ in range(3):
        step()
    sg.reset_stats()
    for _ in range(20):
        step()
    s = sg.stats()
    assert (s["bytes_read"], s["allocations"], s["plan_misses"], s["fallbacks"]) == (0, 0, 0, 0)
    assert kept[0].compute().item() == pytest.approx((SAID == LABELS).mean())


def test_yes_and_no_may_be_0_and_1_or_minus_1_and_1_or_booleans() -> None:
    x = sg.tensor([2.0, -1.0, 0.5])
    for target in ([1, 0, 0], [1.0, 0.0, 0.0], [1.0, -1.0, -1.0]):
        assert metrics.accuracy(x, sg.tensor(target)).item() == pytest.approx(2 / 3)
    assert metrics.accuracy(x > 0, sg.tensor([True, False, False])).item() == pytest.approx(2 / 3)
    assert metrics.accuracy(x.unsqueeze(1), sg.tensor([1, 0, 0])).item() == pytest.approx(2 / 3)
    assert metrics.accuracy(sg.tensor([0.9, 0.2]), sg.tensor([1, 0]), threshold=0.5).item() == 1


def test_of_equal_scores_the_first_is_the_guess() -> None:
    x, y = sg.zeros(4, 3), sg.tensor([0, 1, 2, 2])
    assert metrics.top_k_accuracy(x, y, 1).item() == metrics.accuracy(x, y).item() == 0.25
    assert metrics.top_k_accuracy(x, y, 2).item() == 0.5


def test_classes_that_do_not_occur_do_not_count_and_nothing_said_is_0() -> None:
    said, wanted = sg.tensor([0, 0, 1]), sg.tensor([0, 0, 0])
    assert metrics.precision(said, wanted, "none", num_classes=3).tolist() == [1.0, 0.0, 0.0]
    assert metrics.recall(said, wanted, "macro", num_classes=3).item() == pytest.approx((2 / 3 + 0) / 2)


def test_pictures_of_classes() -> None:
    scores, labels = sg.randn(2, 3, 4, 5), sg.randint(0, 3, (2, 4, 5))
    want = (scores.numpy().argmax(1) == labels.numpy()).mean()
    assert metrics.accuracy(scores, labels).item() == pytest.approx(want)
    assert metrics.confusion_matrix(scores, labels).sum().item() == 40
    assert 0 <= metrics.top_k_accuracy(scores, labels, 2).item() <= 1


def test_a_class_out_of_range_is_found() -> None:
    for said, wanted in (([0, 3], [0, 1]), ([0, 1], [0, 3]), ([0, 1], [-1, 1])):
        with pytest.raises(IndexError):
            metrics.confusion_matrix(sg.tensor(said), sg.tensor(wanted), 3).tolist()


def test_r2_keeps_its_digits_far_from_0() -> None:
    y = (1000 + random.normal(size=200)).astype(np.float32)
    x = (y + 0.1 * random.normal(size=200)).astype(np.float32)
    metric = metrics.R2()
    for some, wanted in zip(np.split(x, 10), np.split(y, 10), strict=True):
        metric.update(sg.tensor(some), sg.tensor(wanted))
    x, y = x.astype(float), y.astype(float)
    assert metric.compute().item() == pytest.approx(1 - ((x - y) ** 2).sum() / ((y - y.mean()) ** 2).sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: metrics.accuracy(sg.zeros(3, 2), sg.zeros(2)), "accuracy: input has shape [3, 2], target [2]; give"),
        (lambda: metrics.top_k_accuracy(sg.zeros(3, 2), sg.tensor([0, 1, 0]), 3), "k is 3 with 2 classes; use 1 to 2"),
        (lambda: metrics.confusion_matrix(sg.tensor([1]), sg.tensor([1])), "input holds classes, which do not tell"),
        (lambda: metrics.recall(sg.zeros(1, 3), sg.tensor([1]), "binary"), "recall: average is binary with 3 classes"),
        (lambda: metrics.recall(sg.zeros(1, 3), sg.tensor([1]), "mean"), "recall: average 'mean' is unknown; use auto"),
        (lambda: metrics.r2_score(sg.zeros(2), sg.zeros(2, 1)), "r2_score: input has shape [2], target [2, 1]"),
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as raised:
        wrong()
    assert words in str(raised.value)
