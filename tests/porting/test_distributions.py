"""Distributions: draws follow their densities; special functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spirograd as sg


@pytest.mark.parametrize("rate", [0.3, 9.99, 10.0, 25.0, 400.0])
def test_poisson_draws_have_their_probabilities(device: sg.Device, rate: float) -> None:
    n = 20000
    poisson = sg.distributions.Poisson(sg.tensor(rate, device=device))
    drawn = poisson.sample((n,)).cpu().numpy().astype(int)
    counts = np.bincount(drawn)
    expected = n * poisson.log_prob(sg.arange(len(counts), dtype=sg.float32, device=device)).exp().cpu().numpy()
    bins = expected > 20
    assert bins.sum() >= 2
    chi_square = ((counts - expected)[bins] ** 2 / expected[bins]).sum()
    freedom = bins.sum()
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("concentration", [0.1, 1.0, 7.5])
def test_gamma_draws_have_their_distribution(device: sg.Device, concentration: float) -> None:
    n = 20000
    gamma = sg.distributions.Gamma(sg.tensor(concentration, device=device), sg.tensor(2.0, device=device))
    drawn = np.sort(gamma.sample((n,)).cpu().numpy().astype(float))
    edges = drawn[:: n // 20]  # the density between two quantiles holds a twentieth
    grid = np.geomspace(edges[5], edges[15], 4001)
    density = gamma.log_prob(sg.tensor(grid, dtype=sg.float32, device=device)).exp().cpu().numpy()
    area = ((density[1:] + density[:-1]) / 2 * np.diff(grid)).sum()
    assert abs(area - 0.5) < 0.02


def test_rsample_without_a_gradient_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"Beta: draws have no gradient; use sample\(\)"):
        sg.distributions.Beta(1.0, 1.0).rsample()


def test_arguments_are_checked_on_request() -> None:
    sg.distributions.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="Normal: scale is -1 somewhere; make it positive"):
        sg.distributions.Normal(0.0, -1.0, validate_args=True)
    for kind in (sg.distributions.OneHotCategorical, lambda p, **o: sg.distributions.Multinomial(3, p, **o)):
        with pytest.raises(ValueError, match="Categorical: probs is NaN"):
            kind(sg.tensor([0.5, float("nan")]), validate_args=True)
    with pytest.raises(ValueError, match="Bernoulli: both of probs and logits given"):
        sg.distributions.Bernoulli(0.5, 0.0)
    with pytest.raises(NotImplementedError, match="no formula for Cauchy and Poisson"):
        sg.distributions.kl_divergence(sg.distributions.Cauchy(0.0, 1.0), sg.distributions.Poisson(1.0))


def test_special_functions_have_gradients() -> None:
    x = sg.tensor([0.3, 1.0, 2.5, 12.0], dtype=sg.float64, requires_grad=True)
    u = sg.tensor([-0.9, -0.1, 0.0, 0.5], dtype=sg.float64, requires_grad=True)
    assert sg.autograd.gradcheck(sg.special.lgamma, x)
    assert sg.autograd.gradcheck(sg.special.digamma, x)
    assert sg.autograd.gradcheck(sg.special.erfinv, u)
    assert sg.autograd.gradcheck(lambda y: sg.special.polygamma(2, y), x)


def test_special_functions_against_python(device: sg.Device) -> None:
    values = [0.05, 0.5, 0.99, 1.0, 1.7, 2.0, 5.0, 30.0, 4000.0]
    x = sg.tensor(values, device=device)
    expected = np.array([math.lgamma(v) for v in values])
    np.testing.assert_allclose(sg.special.lgamma(x).cpu().numpy(), expected, rtol=3e-6, atol=3e-6)
    y = sg.tensor([-0.999, -0.5, 0.0, 0.25, 0.9999], device=device)
    back = sg.erf(sg.special.erfinv(y)).cpu().numpy()
    np.testing.assert_allclose(back, y.cpu().numpy(), atol=2e-7)
