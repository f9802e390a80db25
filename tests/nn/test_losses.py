"""Losses: NumPy's formulas, finite differences, reductions, what raises; PyTorch's numbers where it is installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import spirograd as sg
from spirograd.nn import functional as F

Array = np.ndarray[Any, Any]


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def at(x: Array, classes: Array) -> Array:
    """x[n, classes[n, ...], ...]."""
    return np.take_along_axis(x, np.expand_dims(classes, 1), 1).squeeze(1)


def huber(d: Array, delta: float) -> Array:
    return np.where(np.abs(d) < delta, d * d / 2, delta * (np.abs(d) - delta / 2))


def hinge(x: Array) -> Array:
    return np.maximum(x, 0)


def distance(a: Array, b: Array, p: float = 2.0, eps: float = 1e-6) -> Array:
    return np.asarray((np.abs(a - b + eps) ** p).sum(-1) ** (1 / p))


def cosine(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))


random = np.random.default_rng(0)
X, Y, Z = (random.normal(size=(6, 5)) for _ in range(3))
IMAGES, LABELS = random.normal(size=(2, 4, 3, 2)), random.integers(0, 4, (2, 3, 2))
P, Q = sigmoid(X), sigmoid(Y)
SHARES = np.exp(log_softmax(Y))
CLASSES, SIGNS = random.integers(0, 5, 6), random.choice([-1.0, 1.0], (6, 5))
SOME = np.where(np.arange(6) % 3 == 1, -100, CLASSES)
WEIGHT = random.uniform(0.5, 2, 5)
COUNTS = random.integers(0, 5, (6, 5)).astype(float)


class Case(NamedTuple):
    name: str
    inputs: tuple[Array, ...]  # those after the first need no gradient unless they are floats like it
    losses: Array  # reduction="none"
    options: Mapping[str, Any] = MappingProxyType({})
    module: str = ""  # class of the same options
    weights: Array | None = None  # what the mean is divided by, where that is not the number of losses
    torch: bool = True


def smooth(x: Array, classes: Array, share: float, weight: Array) -> Array:
    lp = log_softmax(x) * weight
    return np.asarray(-(1 - share) * at(lp, classes) - share / x.shape[1] * lp.sum(1))


ONE = np.ones(5)
CASES = [
    Case("cross_entropy", (X, CLASSES), -at(log_softmax(X), CLASSES), {}, "CrossEntropyLoss"),
    Case("cross_entropy", (IMAGES, LABELS), -at(log_softmax(IMAGES), LABELS)),
    Case("cross_entropy", (X, CLASSES), smooth(X, CLASSES, 0.1, ONE), {"label_smoothing": 0.1}, "CrossEntropyLoss"),
    Case(
        "cross_entropy",
        (X, CLASSES),
        smooth(X, CLASSES, 0.2, WEIGHT),
        {"weight": WEIGHT, "label_smoothing": 0.2},
        "CrossEntropyLoss",
        WEIGHT[CLASSES],
    ),
    Case(
        "cross_entropy",
        (X, SOME),
        np.where(SOME < 0, 0, -at(log_softmax(X), CLASSES)),
        {},
        "",
        (SOME >= 0).astype(float),
    ),
    Case(
        "cross_entropy",
        (X, SOME),
        np.where(SOME < 0, 0, smooth(X, CLASSES, 0.1, ONE)),
        {"label_smoothing": 0.1},
        "",
        (SOME >= 0).astype(float),
    ),
    Case(
        "cross_entropy",
        (X, CLASSES),
        np.where(CLASSES == 2, 0, -at(log_softmax(X), CLASSES)),
        {"ignore_index": 2},
        "CrossEntropyLoss",
        (CLASSES != 2).astype(float),
    ),
    Case("cross_entropy", (X, SHARES), -(log_softmax(X) * SHARES).sum(1), {}, "CrossEntropyLoss"),
    Case(
        "cross_entropy",
        (X, SHARES),
        -(log_softmax(X) * (SHARES * 0.9 + 0.1 / 5) * WEIGHT).sum(1),
        {"weight": WEIGHT, "label_smoothing": 0.1},
    ),
    Case("nll_loss", (np.log(P), CLASSES), -at(np.log(P), CLASSES), {}, "NLLLoss"),
    Case("nll_loss", (X, CLASSES), -at(X * WEIGHT, CLASSES), {"weight": WEIGHT}, "NLLLoss", WEIGHT[CLASSES]),
    Case(
        "nll_loss",
        (IMAGES, LABELS),
        np.where(LABELS == 1, 0, -at(IMAGES, LABELS)),
        {"ignore_index": 1},
        "NLLLoss",
        (LABELS != 1).astype(float),
    ),
    Case("mse_loss", (X, Y), (X - Y) ** 2, {}, "MSELoss"),
    Case("mse_loss", (X, Y), (X - Y) ** 2 * P, {"weight": P}, "", P, False),
    Case("l1_loss", (X, Y), np.abs(X - Y), {}, "L1Loss"),
    Case("smooth_l1_loss", (X, Y), huber(X - Y, 1), {}, "SmoothL1Loss"),
    Case("smooth_l1_loss", (X, Y), huber(X - Y, 0.5) / 0.5, {"beta": 0.5}, "SmoothL1Loss"),
    Case("huber_loss", (X, Y), huber(X - Y, 0.7), {"delta": 0.7}, "HuberLoss"),
    Case("binary_cross_entropy", (P, Q), -(Q * np.log(P) + (1 - Q) * np.log(1 - P)), {}, "BCELoss"),
    Case(
        "binary_cross_entropy",
        (P, Q),
        -(Q * np.log(P) + (1 - Q) * np.log(1 - P)) * WEIGHT,
        {"weight": WEIGHT},
        "BCELoss",
    ),
    Case(
        "binary_cross_entropy_with_logits", (X, Q), -(Q * np.log(P) + (1 - Q) * np.log(1 - P)), {}, "BCEWithLogitsLoss"
    ),
    Case(
        "binary_cross_entropy_with_logits",
        (X, Q),
        -(WEIGHT * Q * np.log(P) + (1 - Q) * np.log(1 - P)),
        {"pos_weight": WEIGHT},
        "BCEWithLogitsLoss",
    ),
    Case("kl_div", (np.log(P), Q), Q * (np.log(Q) - np.log(P)), {}, "KLDivLoss"),
    Case("kl_div", (np.log(P), np.log(Q)), Q * (np.log(Q) - np.log(P)), {"log_target": True}, "KLDivLoss"),
    Case("gaussian_nll_loss", (X, Y, Q), (np.log(Q) + (X - Y) ** 2 / Q) / 2, {}, "GaussianNLLLoss"),
    Case(
        "gaussian_nll_loss",
        (X, Y, Q[:, :1]),
        (np.log(Q[:, :1]) + (X - Y) ** 2 / Q[:, :1] + math.log(2 * math.pi)) / 2,
        {"full": True},
        "GaussianNLLLoss",
    ),
    Case("poisson_nll_loss", (X, COUNTS), np.exp(X) - COUNTS * X, {}, "PoissonNLLLoss"),
    Case(
        "poisson_nll_loss",
        (P, COUNTS),
        P
        - COUNTS * np.log(P + 1e-8)
        + np.where(COUNTS > 1, COUNTS * np.log(COUNTS + 1e-99) - COUNTS + np.log(2 * np.pi * COUNTS + 1e-99) / 2, 0),
        {"log_input": False, "full": True},
        "PoissonNLLLoss",
    ),
    Case("hinge_loss", (X, SIGNS), hinge(1 - X * SIGNS), {}, "HingeLoss", None, False),
    Case("soft_margin_loss", (X, SIGNS), np.log1p(np.exp(-X * SIGNS)), {}, "SoftMarginLoss"),
    Case(
        "multilabel_soft_margin_loss",
        (X, Q),
        -(Q * np.log(P) + (1 - Q) * np.log(1 - P)).mean(1),
        {},
        "MultiLabelSoftMarginLoss",
    ),
    Case(
        "multi_margin_loss",
        (X, CLASSES),
        (hinge(0.5 - at(X, CLASSES)[:, None] + X) ** 2 * (np.arange(5) != CLASSES[:, None])).sum(1)
        / 5
        * WEIGHT[CLASSES],
        {"p": 2, "margin": 0.5, "weight": WEIGHT},
        "MultiMarginLoss",
    ),
    Case(
        "hinge_embedding_loss",
        (X, SIGNS),
        np.where(SIGNS == 1, X, hinge(0.7 - X)),
        {"margin": 0.7},
        "HingeEmbeddingLoss",
    ),
    Case("margin_ranking_loss", (X, Y, SIGNS), hinge(0.2 - SIGNS * (X - Y)), {"margin": 0.2}, "MarginRankingLoss"),
    Case("triplet_margin_loss", (X, Y, Z), hinge(1 + distance(X, Y) - distance(X, Z)), {}, "TripletMarginLoss"),
    Case(
        "triplet_margin_loss",
        (X, Y, Z),
        hinge(2 + distance(X, Y, 3) - np.minimum(distance(X, Z, 3), distance(Y, Z, 3))),
        {"margin": 2.0, "p": 3.0, "swap": True},
        "TripletMarginLoss",
    ),
    Case(
        "cosine_embedding_loss",
        (X, Y, SIGNS[:, 0]),
        np.where(SIGNS[:, 0] == 1, 1 - cosine(X, Y), hinge(cosine(X, Y) - 0.1)),
        {"margin": 0.1},
        "CosineEmbeddingLoss",
    ),
    Case(
        "contrastive_loss",
        (X, Y, (SIGNS[:, 0] + 1) / 2),
        np.where(SIGNS[:, 0] == 1, distance(X, Y), hinge(3 - distance(X, Y))) ** 2 / 2,
        {"margin": 3.0},
        "ContrastiveLoss",
        None,
        False,
    ),
    Case(
        "focal_loss",
        (X, CLASSES),
        -((1 - np.exp(at(log_softmax(X), CLASSES))) ** 2) * at(log_softmax(X), CLASSES),
        {},
        "FocalLoss",
        None,
        False,
    ),
    Case(
        "focal_loss",
        (X, (SIGNS + 1) / 2),
        np.where(SIGNS > 0, -0.25 * (1 - P) ** 1.5 * np.log(P), -0.75 * P**1.5 * np.log(1 - P)),
        {"gamma": 1.5, "alpha": 0.25},
        "FocalLoss",
        None,
        False,
    ),
]
IDS = [f"{i}-{case.name}" for i, case in enumerate(CASES)]
cases = pytest.mark.parametrize("case", CASES, ids=IDS)


def call(case: Case, device: Any = "cpu", dtype: Any = sg.float64, **more: Any) -> sg.Tensor:
    def put(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        return sg.tensor(x, device=device, dtype=dtype if x.dtype.kind == "f" else sg.int64)

    options = {key: put(value) for key, value in case.options.items()}
    result: sg.Tensor = getattr(F, case.name)(*map(put, case.inputs), **options, **more)
    return result


@cases
def test_it_is_the_formula_in_each_reduction(case: Case) -> None:
    losses = call(case, reduction="none").numpy()
    assert losses.shape == case.losses.shape
    np.testing.assert_allclose(losses, case.losses, rtol=1e-11, atol=1e-12)
    total = case.losses.sum()
    np.testing.assert_allclose(call(case, reduction="sum").item(), total, rtol=1e-11)
    mean = total / (case.losses.size if case.weights is None else case.weights.sum())
    np.testing.assert_allclose(call(case).item(), mean, rtol=1e-11)
    with pytest.raises(ValueError, match=f"{case.name}: reduction 'max' is unknown; use mean, sum or none"):
        call(case, reduction="max")


@cases
def test_its_gradient_is_that_of_differences(case: Case) -> None:
    floats = [i for i, x in enumerate(case.inputs) if x.dtype.kind == "f" and not set(np.unique(x)) <= {-1.0, 0.0, 1.0}]
    if case.name in ("poisson_nll_loss",):
        floats = [0]
    fixed = [sg.tensor(x) for x in case.inputs]
    options = {k: sg.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.options.items()}

    def loss(*inputs: sg.Tensor) -> sg.Tensor:
        values = list(fixed)
        for i, x in zip(floats, inputs, strict=True):
            values[i] = x
        result: sg.Tensor = getattr(F, case.name)(*values, **options)
        return result

    assert sg.autograd.gradcheck(loss, [fixed[i].clone().requires_grad_() for i in floats])


@pytest.mark.parametrize("case", [c for c in CASES if c.module], ids=[c.name for c in CASES if c.module])
def test_the_module_is_the_function(case: Case) -> None:
    options = {k: sg.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.options.items()}
    module = getattr(sg.nn, case.module)(**options, reduction="sum")
    assert module(*map(sg.tensor, case.inputs)).item() == call(case, reduction="sum").item()
    assert "reduction='sum'" in repr(module)


ON_GPU = ("cross_entropy", "binary_cross_entropy_with_logits", "triplet_margin_loss", "gaussian_nll_loss")


@pytest.mark.gpu
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name in ON_GPU], ids=[i for i in IDS if i.split("-")[1] in ON_GPU]
)
def test_the_gpu_agrees(case: Case) -> None:
    np.testing.assert_allclose(call(case, "gpu", sg.float32).item(), call(case).item(), rtol=1e-5)


@cases
def test_pytorch_says_the_same(case: Case) -> None:
    torch = pytest.importorskip("torch")
    if not case.torch:
        pytest.skip("PyTorch has no such loss, or it means another thing")
    put = lambda x: torch.tensor(x) if isinstance(x, np.ndarray) else x  # noqa: E731
    options = {k: put(v) for k, v in case.options.items()}
    mine = [sg.tensor(x) for x in case.inputs]
    mine[0].requires_grad_()
    theirs = [torch.tensor(x) for x in case.inputs]
    theirs[0].requires_grad_()
    for reduction in ("mean", "sum", "none"):
        own = {k: sg.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.options.items()}
        a = getattr(F, case.name)(*mine, **own, reduction=reduction)
        b = getattr(torch.nn.functional, case.name)(*theirs, **options, reduction=reduction)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-11, atol=1e-12)
        a.sum().backward()
        b.sum().backward()
        np.testing.assert_allclose(mine[0].grad.numpy(), theirs[0].grad.numpy(), rtol=1e-9, atol=1e-11)


# ---- edges -----------------------------------------------------------------------------------------------------------


def test_when_every_target_is_ignored_the_mean_is_nan_and_the_sum_is_0() -> None:
    x, none = sg.randn(3, 4, requires_grad=True), sg.full((3,), -100, dtype=sg.int64)
    assert math.isnan(F.cross_entropy(x, none).item())
    assert math.isnan(F.nll_loss(x, none).item())
    total = F.cross_entropy(x, none, reduction="sum")
    total.backward()
    assert total.item() == 0 and x.grad.tolist() == [[0.0] * 4] * 3
    assert F.cross_entropy(x, none, reduction="none").tolist() == [0.0] * 3
    for loss in (F.cross_entropy, F.nll_loss):
        assert math.isnan(loss(x[:0], none[:0]).item()) and loss(x[:0], none[:0], reduction="sum").item() == 0


def test_a_class_that_is_ignored_has_no_gradient_whatever_the_logits() -> None:
    x = sg.tensor([[1.0, 2.0], [math.inf, -math.inf]], requires_grad=True)
    loss = F.nll_loss(x, sg.tensor([1, -100]))
    loss.backward()
    assert loss.item() == -2 and x.grad.tolist() == [[0.0, -1.0], [0.0, 0.0]]


def test_a_class_out_of_range_is_found_on_the_device(device: sg.Device) -> None:
    for target in (4, -1):
        with pytest.raises(IndexError, match=rf"nll_loss: index {target} out of range \[0, 4\)"):
            F.nll_loss(sg.zeros(2, 4, device=device), sg.tensor([0, target], device=device)).item()
    assert F.nll_loss(sg.zeros(2, 4, device=device), sg.tensor([0, 3], device=device)).item() == 0


def test_a_weighted_mean_divides_by_the_weights_but_that_of_huber_by_their_number() -> None:
    torch = pytest.importorskip("torch")
    x, y, w = np.float64([[1, -4, 2], [0, 0.5, 2], [3, 0.25, 1]])
    for name in ("mse_loss", "l1_loss", "huber_loss"):
        for reduction in ("mean", "sum", "none"):
            theirs = getattr(torch.nn.functional, name)
            want = theirs(*map(torch.tensor, (x, y)), weight=torch.tensor(w), reduction=reduction)
            got = getattr(F, name)(*map(sg.tensor, (x, y)), weight=sg.tensor(w), reduction=reduction)
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-14, err_msg=name)


def test_without_a_batch() -> None:
    x = sg.tensor([0.0, 0.0, 0.0, 0.0])
    assert F.cross_entropy(x, sg.tensor(2)).item() == pytest.approx(math.log(4))
    assert F.cross_entropy(x, sg.tensor([0.5, 0.5, 0.0, 0.0])).item() == pytest.approx(math.log(4))


def test_a_mean_of_many_half_numbers_does_not_overflow() -> None:
    x = sg.zeros(70_000, 2, dtype=sg.float16)
    assert F.cross_entropy(x, sg.zeros(70_000, dtype=sg.int64)).item() == pytest.approx(math.log(2), rel=1e-3)


def test_probabilities_of_0_and_1_have_finite_losses_and_gradients() -> None:
    x = sg.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    losses = F.binary_cross_entropy(x, sg.tensor([0.0, 1.0, 1.0, 0.0]), reduction="none")
    losses.sum().backward()
    assert losses.tolist() == [0.0, 0.0, 100.0, 100.0] and all(map(math.isfinite, x.grad.tolist()))


@pytest.mark.parametrize(("input", "target"), [(1.5, 1.0), (-1e-6, 0.0), (math.nan, 1.0), (0.5, 2.0)])
def test_probabilities_outside_of_0_and_1_are_an_error_where_the_loss_is_read(input: float, target: float) -> None:
    loss = F.binary_cross_entropy(sg.tensor([input, 0.5]), sg.tensor([target, 1.0]))
    with pytest.raises(
        ValueError, match=r"binary_cross_entropy: an input or a target is not in \[0, 1\] at .*test_losses"
    ):
        loss.item()


def test_large_logits_do_not_overflow() -> None:
    x = sg.tensor([-1e4, 1e4], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, sg.tensor([1.0, 0.0]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [1e4, 1e4] and x.grad.tolist() == [-1.0, 1.0]


def test_kl_of_a_share_of_0_is_0_and_batchmean_divides_by_rows() -> None:
    log_p, q = sg.full((2, 2), math.log(0.5)), sg.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert F.kl_div(log_p, q, reduction="sum").item() == pytest.approx(math.log(2))
    assert F.kl_div(log_p, q, reduction="batchmean").item() == pytest.approx(math.log(2) / 2)


def test_like_pairs_of_no_distance_have_finite_gradients() -> None:
    x = sg.ones(2, 3, requires_grad=True)
    F.triplet_margin_loss(x, sg.ones(2, 3), sg.ones(2, 3)).backward()
    assert np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize("dtype", [sg.float64, sg.float16, sg.int64])
def test_weights_and_targets_do_not_change_the_type_of_a_loss(dtype: sg.DType) -> None:
    """As in PyTorch 2.13; weights from NumPy are float64."""
    x, y = sg.tensor([0.25, 0.5]), sg.tensor([1.0, 0.0])
    weights = sg.tensor([1, 3])
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        got, want = loss(x, y, weights.to(dtype)), loss(x, y, weights.float())
        assert got.dtype == sg.float32 and sg.equal(got, want)
    got = F.binary_cross_entropy_with_logits(x, y, pos_weight=weights.to(dtype))
    assert got.dtype == sg.float32 and sg.equal(got, F.binary_cross_entropy_with_logits(x, y, pos_weight=weights * 1.0))
    for other in (F.huber_loss, F.soft_margin_loss):
        assert other(x, y.to(dtype)).dtype == sg.float32 and other(x.to(sg.bfloat16), y).dtype == sg.bfloat16
    assert F.huber_loss(sg.tensor([1, 2]), x).dtype == sg.float32


def test_the_weights_of_a_loss_move_with_it() -> None:
    loss = sg.nn.CrossEntropyLoss(weight=sg.ones(3)).to(sg.float64)
    assert loss.weight.dtype == sg.float64


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (
            lambda: F.nll_loss(sg.zeros(2, 3), sg.zeros(3, dtype=sg.int64)),
            ValueError,
            "nll_loss: input [2, 3] and target [3] do not fit; "
            "give log-probabilities [n, classes, ...] and target [n, ...]",
        ),
        (
            lambda: F.nll_loss(sg.zeros(2, 3), sg.zeros(2)),
            TypeError,
            "nll_loss: target is float32; give classes as int64",
        ),
        (
            lambda: F.cross_entropy(sg.zeros(2, 3), sg.zeros(2, dtype=sg.int64), weight=sg.ones(2)),
            ValueError,
            "cross_entropy: weight [2] for input [2, 3]; give one weight a class, [3]",
        ),
        (
            lambda: F.cross_entropy(sg.zeros(2, 3), sg.zeros(2, dtype=sg.int64), label_smoothing=2.0),
            ValueError,
            "cross_entropy: label_smoothing is 2.000000; use 0 to 1",
        ),
        (
            lambda: F.cross_entropy(sg.zeros(2, 3), sg.zeros(2, 3), ignore_index=1),
            ValueError,
            "cross_entropy: ignore_index 1 with probabilities; give classes",
        ),
        (
            lambda: F.cross_entropy(sg.zeros(2, 3), sg.zeros(2, 3, dtype=sg.int64)),
            TypeError,
            "cross_entropy: target is int64; give probabilities as floats",
        ),
        (
            lambda: F.l1_loss(sg.zeros(2), sg.zeros(2, 1)),
            ValueError,
            "l1_loss: input has shape [2], target [2, 1]; reshape one of them",
        ),
        (
            lambda: F.mse_loss(sg.zeros(2), sg.zeros(2), weight=sg.ones(1)),
            ValueError,
            "mse_loss: weight has shape [1], input [2]; give one weight per element",
        ),
        (
            lambda: F.huber_loss(sg.zeros(2), sg.zeros(2), delta=0.0),
            ValueError,
            "huber_loss: delta is 0.0; use a positive number",
        ),
        (
            lambda: F.smooth_l1_loss(sg.zeros(2), sg.zeros(2), beta=-1.0),
            ValueError,
            "smooth_l1_loss: beta is -1.0; use 0 or more",
        ),
        (
            lambda: F.gaussian_nll_loss(sg.zeros(4, 3), sg.zeros(4, 3), sg.ones(3)),
            ValueError,
            "gaussian_nll_loss: var has shape [3], input [4, 3]; give one per element or row",
        ),
        (
            lambda: F.gaussian_nll_loss(sg.zeros(2), sg.zeros(2), -1.0),
            ValueError,
            "gaussian_nll_loss: var is -1.0; use 0 or more",
        ),
        (
            lambda: F.focal_loss(sg.zeros(2, 3), sg.tensor([0, 1]), alpha=0.5),
            TypeError,
            "focal_loss: alpha is a number; give a tensor with one weight per class",
        ),
        (
            lambda: F.multi_margin_loss(sg.zeros(2, 3), sg.tensor([0, 1]), p=3),
            ValueError,
            "multi_margin_loss: p is 3; use 1 or 2",
        ),
        (
            lambda: F.cosine_embedding_loss(sg.zeros(2, 3), sg.zeros(2, 3), sg.ones(3)),
            ValueError,
            "cosine_embedding_loss: input1 has shape [2, 3], target [3]; give [2]",
        ),
        (
            lambda: F.triplet_margin_loss(sg.zeros(2, 3), sg.zeros(2, 3), sg.zeros(3)),
            ValueError,
            "triplet_margin_loss: shapes [2, 3], [2, 3], [3]; use the same number of dimensions",
        ),
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        wrong()
    assert str(raised.value) == words


def test_equal_inputs_without_a_margin_are_moved_apart(device: sg.Device) -> None:
    """As with parameters that begin at 0."""
    x = sg.zeros(3, 2, device=device, requires_grad=True)
    ones = sg.ones(3, device=device)
    losses = {
        -1.0: F.margin_ranking_loss(x[:, 0], x[:, 1], ones, reduction="sum"),
        1.0: F.hinge_embedding_loss(1 - x[:, 0], -ones, reduction="sum"),
    }
    for slope, loss in losses.items():
        (found,) = sg.autograd.grad(loss, x)
        assert found[:, 0].tolist() == [slope] * 3


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_sure_predictions_keep_their_small_slopes(side: float, device: sg.Device) -> None:
    sign = 1 - 2 * side
    z = sg.tensor([-20.0, -60.0, 30.0, 0.0], device=device, requires_grad=True)
    targets = sg.full((4,), side, device=device)
    losses = F.binary_cross_entropy_with_logits(z * sign, targets, reduction="none")
    (slopes,) = sg.autograd.grad(losses.sum(), z)
    assert slopes.tolist() == pytest.approx([2.0611536e-9, 8.7565108e-27, 1.0, 0.5], rel=1e-5)
