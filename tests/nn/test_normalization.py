"""Normalisation beyond the table of layers: running values, evaluation, half types, many values, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

F = nn.functional
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("momentum", [0.3, None])
def test_running_values_follow_the_batches(momentum: float | None, device: sg.Device) -> None:
    layer = nn.BatchNorm2d(3, momentum=momentum).to(device)
    mean, var = np.zeros(3), np.ones(3)
    for step in range(1, 4):
        x = RNG.normal(step, 2, size=(2, 3, 2, 2))
        layer(sg.tensor(x, dtype=sg.float32, device=device))
        share = 1 / step if momentum is None else momentum
        mean += share * (x.mean((0, 2, 3)) - mean)
        var += share * (x.var((0, 2, 3), ddof=1) - var)
    assert layer.num_batches_tracked.item() == 3
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-5)
    layer.eval()
    y = layer(sg.tensor(x, dtype=sg.float32, device=device))
    want = (x - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-4, atol=1e-5)
    assert layer.num_batches_tracked.item() == 3, "evaluation changes nothing"
    layer.reset_running_stats()
    assert layer.running_var.tolist() == [1, 1, 1] and layer.num_batches_tracked.item() == 0
    layer.load_state_dict({**layer.state_dict(), "num_batches_tracked": [4]})
    assert layer.num_batches_tracked.tolist() == 4, "old files have a number as a list of it"


def test_without_running_values_evaluation_uses_the_batch() -> None:
    layer = nn.BatchNorm1d(2, track_running_stats=False, affine=False).eval()
    assert list(layer.state_dict()) == []
    np.testing.assert_allclose(layer(sg.tensor([[1.0, 5.0], [3.0, 5.0]])).numpy(), [[-1, 0], [1, 0]], atol=1e-4)


def test_a_gradient_does_not_run_into_running_values() -> None:
    layer = nn.BatchNorm1d(2)
    for _ in range(2):
        layer(sg.rand(4, 2, requires_grad=True)).sum().backward()
    assert not layer.running_mean.requires_grad and layer.running_mean.is_leaf


def test_instance_norm_averages_its_running_values_over_the_samples() -> None:
    x = RNG.normal(2, 3, size=(4, 2, 5))
    layer = nn.InstanceNorm1d(2, momentum=1.0, track_running_stats=True, affine=True).double()
    layer(sg.tensor(x))
    np.testing.assert_allclose(layer.running_mean.numpy(), x.mean(2).mean(0))
    np.testing.assert_allclose(layer.running_var.numpy(), x.var(2, ddof=1).mean(0))
    assert layer.eval()(sg.tensor(x[0])).shape == (2, 5)


LAYERS: list[Callable[[], nn.Module]] = [
    lambda: nn.LayerNorm(64),
    lambda: nn.RMSNorm(64),
    lambda: nn.GroupNorm(1, 4),
    lambda: nn.BatchNorm1d(4),
    lambda: nn.InstanceNorm1d(4, affine=True),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("make", LAYERS, ids=lambda make: type(make()).__name__)
def test_half_types_are_computed_in_float32(make: Callable[[], nn.Module], dtype: str) -> None:
    """A square of these values is infinite in float16, their mean is lost in bfloat16."""
    x = sg.tensor(RNG.normal(300, 50, size=(8, 4, 64)).astype(np.float32)).to(dtype)
    layer = make()
    want = layer(x.float()).detach()
    got = layer.to(dtype)(x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.detach().float().numpy(), want.to(dtype).float().numpy())


@pytest.mark.parametrize("make", LAYERS, ids=lambda make: type(make()).__name__)
def test_a_mean_far_from_zero_costs_no_digits(make: Callable[[], nn.Module]) -> None:
    x = RNG.normal(1e4, 1, size=(8, 4, 64)).astype(np.float32)
    layer = make()
    got = layer(sg.tensor(x)).detach().numpy()
    want = make().double()(sg.tensor(x.astype(np.float64))).detach().numpy()
    np.testing.assert_allclose(got, want, atol=2e-3 if not isinstance(layer, nn.RMSNorm) else 1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.layer_norm(sg.ones(2, 3), (2,)), r"layer_norm: the input has shape \[2, 3\], .* end with \[2\]"),
        (lambda: F.layer_norm(sg.ones(2, 3), (3,), sg.ones(2)), r"layer_norm: a parameter has shape \[2\]; give \[3\]"),
        (lambda: F.rms_norm(sg.ones(2, 3), ()), "rms_norm: the input has shape"),
        (lambda: F.group_norm(sg.ones(2, 3), 2), r"group_norm: .* \[2, 3\]; .* multiple of 2 channels"),
        (lambda: nn.GroupNorm(2, 3), "GroupNorm: 3 channels in 2 groups"),
        (lambda: nn.BatchNorm1d(3)(sg.ones(1, 3)), r"batch_norm: one value per channel in shape \[1, 3\]"),
        (lambda: nn.BatchNorm1d(3)(sg.ones(2, 4)), r"BatchNorm1d: .* \[2, 4\]; give 3 channels in dimension 1"),
        (lambda: nn.BatchNorm2d(3)(sg.ones(2, 3)), r"BatchNorm2d: the input has shape \[2, 3\]; give 4 dimensions"),
        (lambda: nn.InstanceNorm2d(3)(sg.ones(2, 3)), "InstanceNorm2d: .* give 3 or 4 dimensions"),
        (lambda: F.batch_norm(sg.ones(2, 3), None, None), "batch_norm: evaluation needs running_mean"),
        (lambda: F.batch_norm(sg.ones(3), None, None, training=True), r"batch_norm: .* give \[n, channels, ...\]"),
        (lambda: F.instance_norm(sg.ones(2, 3, 1)), "instance_norm: .* several values"),
        (lambda: F.local_response_norm(sg.ones(2, 3), 2), "local_response_norm: .* give"),
    ],
)  # fmt: skip
def test_errors(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()


def test_an_empty_batch() -> None:
    assert nn.LayerNorm(3)(sg.ones(0, 3)).shape == (0, 3)
    assert nn.BatchNorm1d(3).eval()(sg.ones(0, 3)).shape == (0, 3)
    assert nn.GroupNorm(1, 3)(sg.ones(0, 3, 2)).shape == (0, 3, 2)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(3), nn.InstanceNorm1d(3, track_running_stats=True)])
def test_an_empty_batch_leaves_the_running_values(layer: Any) -> None:
    assert layer(sg.ones(0, 3, 2)).shape == (0, 3, 2)
    assert layer.running_mean.tolist() == [0] * 3 and layer.running_var.tolist() == [1] * 3


def test_a_layer_norm_is_one_kernel(device: sg.Device) -> None:
    layer = nn.LayerNorm(32).to(device)
    x = sg.rand(8, 32, device=device)
    with sg.no_grad():
        for _ in range(2):
            sg.synchronize(device)
            sg.reset_stats()
            y = layer(x)
            y.realize()
            del y
    assert sg.stats()["dispatches"] == 1
