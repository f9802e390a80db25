"""Initial values: bounds, moments and structure; and what layers begin with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

init = nn.init
N = (200, 300)  # 60,000 numbers: means within 5 / sqrt(60000) = 0.02 deviations


def moments(x: sg.Tensor, mean: float, std: float) -> None:
    values = x.double().numpy()
    assert abs(values.mean() - mean) < 0.025 * std
    assert abs(values.std() / std - 1) < 0.02


def uniform(x: sg.Tensor, low: float, high: float) -> None:
    values = x.double().numpy()
    slack = 1e-3 * (high - low)
    assert low <= values.min() < low + slack and high - slack < values.max() <= high
    moments(x, (low + high) / 2, (high - low) / math.sqrt(12))


def test_uniform_and_normal(device: sg.Device) -> None:
    w = sg.empty(N, device=device)
    assert init.uniform_(w, -2.0, 3.0) is w
    uniform(w, -2.0, 3.0)
    moments(init.normal_(w, 1.0, 0.5), 1.0, 0.5)
    uniform(init.xavier_uniform_(w, gain=2.0), *(s * 2 * math.sqrt(6 / 500) for s in (-1, 1)))
    moments(init.xavier_normal_(w), 0, math.sqrt(2 / 500))
    bound = math.sqrt(2 / (1 + 0.2**2)) * math.sqrt(3 / 300)
    uniform(init.kaiming_uniform_(w, a=0.2), -bound, bound)
    moments(init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"), 0, math.sqrt(2 / 200))
    kernel = sg.empty(40, 50, 5, 6, device=device)
    moments(init.kaiming_normal_(kernel, nonlinearity="linear"), 0, math.sqrt(1 / 1500))
    assert not w.requires_grad


def test_one_seed_gives_one_start() -> None:
    a, b, c = sg.empty(5, 5), sg.empty(5, 5), sg.empty(5, 5)
    for f in (init.uniform_, init.normal_, init.trunc_normal_, init.orthogonal_, init.kaiming_uniform_):
        for x, seed in ((a, 1), (b, 1), (c, 2)):
            f(x, generator=sg.Generator().manual_seed(seed))
        assert a.tolist() == b.tolist() != c.tolist()


def test_truncated_normal() -> None:
    w = init.trunc_normal_(sg.empty(N), mean=1.0, std=2.0, a=0.0, b=4.0)
    values = np.sort(w.double().numpy().ravel())
    assert 0 <= values[0] < 1e-3 and 4 - 1e-3 < values[-1] <= 4

    def below(x: float) -> float:
        return 0.5 * math.erf((x - 1) / 2 / math.sqrt(2))

    for share in (0.1, 0.5, 0.9):
        place = values[int(share * values.size)]
        assert (below(place) - below(0)) / (below(4) - below(0)) == pytest.approx(share, abs=0.01)
    moments(init.trunc_normal_(sg.empty(N), a=-50, b=50), 0, 1)


def test_the_inverse_of_erf() -> None:
    x = np.array([-0.999, -0.9, -0.5, -1e-3, 0.0, 0.1, 0.7, 0.99])
    y = init._erfinv(sg.tensor(x)).tolist()
    np.testing.assert_allclose([math.erf(v) for v in y], x, atol=1e-7)


def test_constants(device: sg.Device) -> None:
    w = sg.empty(2, 3, device=device)
    assert init.constant_(w, 0.5).tolist() == [[0.5] * 3] * 2
    assert init.ones_(w).tolist() == [[1] * 3] * 2 and init.zeros_(w).tolist() == [[0] * 3] * 2
    assert init.eye_(w).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(("shape", "groups"), [((3, 3, 3), 1), ((4, 2, 3, 2), 2), ((2, 3, 1, 3, 3), 1), ((5, 3, 1), 1)])
def test_dirac(shape: tuple[int, ...], groups: int) -> None:
    want = np.zeros(shape)
    each = shape[0] // groups
    for g in range(groups):
        for d in range(min(each, shape[1])):
            want[(g * each + d, d, *(k // 2 for k in shape[2:]))] = 1
    np.testing.assert_array_equal(init.dirac_(sg.empty(shape), groups).numpy(), want)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (3, 2, 4)])
def test_orthogonal(shape: tuple[int, ...], device: sg.Device) -> None:
    w = init.orthogonal_(sg.empty(shape, device=device), gain=2.0).double().numpy().reshape(shape[0], -1)
    product = w @ w.T if shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_sparse() -> None:
    w = init.sparse_(sg.empty(20, 4), 0.33, std=2.0)
    assert (w == 0).sum(0).tolist() == [7] * 4 and 1 < w.std().item() < 3


def test_gains() -> None:
    names = ["linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu"]
    assert [init.calculate_gain(n) for n in names] == [1, 1, 1, 1, 5 / 3, math.sqrt(2), 0.75]
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))
    assert init.calculate_gain("leaky_relu", 1) == 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: init.xavier_uniform_(sg.empty(3)), r"xavier_uniform_: a tensor of shape \[3\] has no fan"),
        (lambda: init.kaiming_normal_(sg.empty(3, 3), mode="in"), "kaiming_normal_: mode 'in' is unknown"),
        (lambda: init.kaiming_uniform_(sg.empty(3, 3), nonlinearity="x"), "calculate_gain: nonlinearity 'x'"),
        (lambda: init.orthogonal_(sg.empty(3)), "orthogonal_: the tensor has shape"),
        (lambda: init.eye_(sg.empty(3)), "eye_: the tensor has shape"),
        (lambda: init.sparse_(sg.empty(3), 0.1), "sparse_: the tensor has shape"),
        (lambda: init.dirac_(sg.empty(3, 3)), "dirac_: a tensor of shape"),
    ],
)
def test_errors(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()


def test_layers_begin_as_in_pytorch() -> None:
    """The bounds and deviations of PyTorch's documentation."""
    layer = nn.Linear(300, 200)
    uniform(layer.weight.detach(), -1 / math.sqrt(300), 1 / math.sqrt(300))
    assert 0.05 < layer.bias.abs().max().item() <= 1 / math.sqrt(300)
    both = nn.Bilinear(16, 60, 60)
    uniform(both.weight.detach(), -0.25, 0.25)
    table = nn.Embedding(300, 200, padding_idx=-1)
    moments(table.weight.detach()[:299], 0, 1)
    assert table.weight[299].abs().sum().item() == 0
    norm = nn.BatchNorm1d(2)
    assert (norm.weight.tolist(), norm.bias.tolist()) == ([1, 1], [0, 0])
    assert nn.PReLU(2).weight.tolist() == [0.25, 0.25]


def test_reset_parameters_draws_again() -> None:
    for layer in (nn.Linear(3, 3), nn.Bilinear(2, 2, 2), nn.Embedding(3, 3)):
        before = layer.weight.tolist()
        layer.reset_parameters()
        assert layer.weight.tolist() != before
    norm = nn.BatchNorm1d(1)
    norm(sg.rand(3, 1))
    init.constant_(norm.weight, 5.0)
    norm.reset_parameters()
    assert norm.weight.item() == 1 and norm.running_var.item() == 1 and norm.num_batches_tracked.item() == 0
    slopes = nn.PReLU()
    init.zeros_(slopes.weight)
    slopes.reset_parameters()
    assert slopes.weight.item() == 0.25


def test_layers_take_device_and_type(device: sg.Device) -> None:
    kinds: list[Any] = [
        lambda **o: nn.Linear(2, 2, **o), lambda **o: nn.Bilinear(2, 2, 2, **o), lambda **o: nn.Embedding(2, 2, **o),
        lambda **o: nn.BatchNorm1d(2, **o), lambda **o: nn.InstanceNorm1d(2, affine=True, **o),
        lambda **o: nn.LayerNorm(2, **o), lambda **o: nn.RMSNorm(2, **o), lambda **o: nn.GroupNorm(1, 2, **o),
        lambda **o: nn.PReLU(**o),
    ]  # fmt: skip
    for make in kinds:
        found = {(p.device, p.dtype) for p in make(device=device, dtype=sg.float16).parameters()}
        assert found == {(device, sg.float16)}
        assert {p.dtype for p in make().parameters()} == {sg.float32}
