"""ctc_loss: the sum over all ways to spell the labels, its gradient, lengths, what raises; PyTorch's numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.nn import functional as F

Array = np.ndarray[Any, Any]
random = np.random.default_rng(0)


def log_softmax(x: Array) -> Array:
    return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)))


def spelled(path: tuple[int, ...], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != blank]


def loss_of(log_probs: Array, target: list[int], blank: int) -> float:
    """Minus the logarithm of the sum over all paths that spell the target."""
    time, classes = log_probs.shape
    paths = (p for p in itertools.product(range(classes), repeat=time) if spelled(p, blank) == target)
    total = sum(math.exp(sum(log_probs[t, c] for t, c in enumerate(p))) for p in paths)
    return -math.log(total) if total else math.inf


SCORES = log_softmax(random.normal(size=(5, 4, 3)))
OUTPUTS, LABELS = [5, 4, 2, 5], [2, 3, 2, 0]


@pytest.mark.parametrize("blank", [0, 2])
def test_it_adds_up_all_paths(blank: int, device: sg.Device) -> None:
    targets = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1]])
    targets = np.where(targets == blank, 2 - blank, targets)
    want = [loss_of(SCORES[: OUTPUTS[n], n], targets[n, : LABELS[n]].tolist(), blank) for n in range(len(OUTPUTS))]
    assert math.isinf(want[2])  # two equal labels need a blank between them
    x = sg.tensor(SCORES, dtype=sg.float32, device=device)
    put = lambda values: sg.tensor(values, device=device)  # noqa: E731
    for lengths in (put(OUTPUTS), put(LABELS)), (tuple(OUTPUTS), tuple(LABELS)):
        got = F.ctc_loss(x, put(targets), *lengths, blank=blank, reduction="none")
        np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-5)
        finite = np.where(np.isinf(want), 0, want)
        got = F.ctc_loss(x, put(targets), *lengths, blank=blank, zero_infinity=True)
        np.testing.assert_allclose(got.item(), (finite / np.maximum(LABELS, 1)).mean(), rtol=1e-5)
        joined = np.concatenate([targets[n, :length] for n, length in enumerate(LABELS)])
        got = F.ctc_loss(x, put(joined), *lengths, blank=blank, reduction="sum", zero_infinity=True)
        np.testing.assert_allclose(got.item(), finite.sum(), rtol=1e-5)


def test_without_a_batch() -> None:
    x, targets = sg.tensor(SCORES[:, 0]), sg.tensor([1, 2])
    got = F.ctc_loss(x, targets, 5, 2, reduction="none")
    assert got.shape == () and math.isclose(got.item(), loss_of(SCORES[:, 0], [1, 2], 0))
    assert F.ctc_loss(x, targets, sg.tensor(5), sg.tensor(2), reduction="none").item() == got.item()
    assert F.ctc_loss(x, targets, 5, 2).item() == got.item() / 2


def test_gradients_of_both_orders_are_those_of_differences() -> None:
    targets = sg.tensor([[1, 2], [2, 2], [1, 1]])

    def loss(x: sg.Tensor) -> sg.Tensor:
        return F.ctc_loss(x, targets, (4, 3, 4), (2, 1, 0), reduction="none")

    x = sg.tensor(log_softmax(random.normal(size=(4, 3, 3)))).requires_grad_()
    assert sg.autograd.gradcheck(loss, [x])
    assert sg.autograd.gradgradcheck(loss, [x])


def test_a_loss_that_is_infinite_has_no_gradient(device: sg.Device) -> None:
    x = sg.zeros(2, 2, 3, device=device).requires_grad_()
    targets = sg.tensor([[1, 1], [1, 2]], device=device)
    losses = F.ctc_loss(x, targets, (2, 2), (2, 2), reduction="none")
    losses.sum().backward()
    assert losses.isinf().tolist() == [True, False] and losses.detach()[1].abs().item() < 1e-6
    assert x.grad[:, 0].abs().sum().item() == 0 and x.grad[:, 1].abs().sum().item() > 0


def test_a_probability_of_0_is_no_nan() -> None:
    x = sg.tensor([[[-math.inf, 0.0]], [[0.0, -math.inf]]]).requires_grad_()
    loss = F.ctc_loss(x, sg.tensor([[1]]), (2,), (1,))
    loss.backward()
    assert loss.item() == 0 and x.grad.isfinite().all()


def test_half_numbers_are_added_up_as_float32() -> None:
    x = sg.tensor(SCORES).half()
    loss = F.ctc_loss(x, sg.tensor([[1, 2, 1]] * 4), (5,) * 4, (3,) * 4)
    assert loss.dtype == sg.float32
    assert math.isclose(
        loss.item(), F.ctc_loss(x.double(), sg.tensor([[1, 2, 1]] * 4), (5,) * 4, (3,) * 4).item(), rel_tol=1e-5
    )


def test_the_module_is_the_function() -> None:
    x, targets = sg.tensor(SCORES), sg.tensor([[0, 1]] * 4)
    module = sg.nn.CTCLoss(blank=2, reduction="sum", zero_infinity=True)
    assert (
        module(x, targets, OUTPUTS, (2,) * 4).item() == F.ctc_loss(x, targets, OUTPUTS, (2,) * 4, 2, "sum", True).item()
    )
    assert "blank=2, reduction='sum', zero_infinity=True" in repr(module)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_pytorch_says_the_same_of_logits(reduction: str) -> None:
    torch = pytest.importorskip("torch")
    logits, targets = random.normal(size=(12, 4, 6)), random.integers(1, 6, (4, 5))
    outputs, labels = [12, 10, 7, 12], [5, 3, 1, 0]
    theirs, ours = torch.tensor(logits, requires_grad=True), sg.tensor(logits, requires_grad=True)
    b = torch.nn.functional.ctc_loss(theirs.log_softmax(2), torch.tensor(targets), outputs, labels, 0, reduction)
    a = F.ctc_loss(ours.log_softmax(2), sg.tensor(targets), outputs, labels, 0, reduction)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-11)
    a.sum().backward()
    b.sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-9, atol=1e-12)


X, ROWS = sg.zeros(4, 2, 3), sg.tensor([[1, 2], [1, 1]])


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda: F.ctc_loss(X[0, 0], ROWS, (4, 4), (2, 2)), ValueError, r"log_probs \[3\] float32, targets \[2, 2\]"),
        (lambda: F.ctc_loss(X, ROWS, (4, 4), (2, 2), blank=3), ValueError, "blank is 3 of 3 classes; use 0 to 2"),
        (lambda: F.ctc_loss(X, ROWS, (4, 5), (2, 2)), ValueError, "a length in input_lengths is 5; use 0 to 4"),
        (lambda: F.ctc_loss(X, ROWS, (4, 4), (2, 3)), ValueError, "a length in target_lengths is 3; use 0 to 2"),
        (lambda: F.ctc_loss(X, ROWS, (4,), (2, 2)), ValueError, r"input_lengths has shape \[1\] for a batch of 2"),
        (lambda: F.ctc_loss(X, ROWS[:1], (4, 4), (2,)), ValueError, "has 2 sequences, targets 1"),
        (
            lambda: F.ctc_loss(X, ROWS[0], (4, 4), (2, 2)),
            ValueError,
            "targets has 2 elements, target_lengths add up to 4",
        ),
        (lambda: F.ctc_loss(X, ROWS, sg.tensor([4, 5]), (2, 2)).item(), IndexError, "5 out of range"),
        (lambda: F.ctc_loss(X, ROWS + 2, (4, 4), (2, 2)).item(), IndexError, "out of range"),
        (lambda: F.ctc_loss(X, ROWS, (4, 4), (2, 2), reduction="max"), ValueError, "reduction 'max' is unknown"),
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong()
