"""Distributions: draws follow their densities; special functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spirograd as sg
from spirograd.distributions import constraints, gamma


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
    law = sg.distributions.Gamma(sg.tensor(concentration, device=device), sg.tensor(2.0, device=device))
    drawn = np.sort(law.sample((n,)).cpu().numpy().astype(float))
    edges = drawn[:: n // 20]  # the density between two quantiles holds a twentieth
    grid = np.geomspace(edges[5], edges[15], 4001)
    density = law.log_prob(sg.tensor(grid, dtype=sg.float32, device=device)).exp().cpu().numpy()
    area = ((density[1:] + density[:-1]) / 2 * np.diff(grid)).sum()
    assert abs(area - 0.5) < 0.02


def gamma_cdf(x: float, concentration: float) -> float:
    """By its power series."""
    term = total = 1 / concentration
    for n in range(1, 1000):
        term *= x / (concentration + n)
        total += term
    return total * math.exp(concentration * math.log(x) - x - math.lgamma(concentration))


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
def test_the_probability_below_a_gamma_draw_stays_when_its_parameter_moves(dtype: sg.dtype) -> None:
    sg.manual_seed(0)
    values = [0.1, 0.5, 1.0, 3.0, 20.0, 100.0]
    a = sg.tensor(values, dtype=dtype).requires_grad_()
    for _ in range(40):
        x = sg.distributions.Gamma(a, 1.0).rsample()
        (slopes,) = sg.autograd.grad(x.sum(), a)
        for drawn, slope, value in zip(x.tolist(), slopes.tolist(), values, strict=True):
            h = 1e-5 * value
            moved = (gamma_cdf(drawn, value + h) - gamma_cdf(drawn, value - h)) / (2 * h)
            density = math.exp((value - 1) * math.log(drawn) - drawn - math.lgamma(value))
            assert math.isclose(slope, -moved / density, rel_tol=2e-5)


def test_gradients_of_means_of_draws_are_those_of_the_means(device: sg.Device) -> None:
    d, n = sg.distributions, 20000
    sg.manual_seed(0)
    for make, start in [
        (lambda a: d.Gamma(a, a * 0 + 2), [0.3, 4.0]),
        (lambda a: d.Gamma(a * 0 + 2, a), [0.3, 4.0]),
        (lambda a: d.Chi2(a), [1.0, 9.0]),
        (lambda a: d.Beta(a, a.flip(0)), [0.5, 3.0]),
        (lambda a: d.Dirichlet(a), [0.5, 3.0, 1.0]),
    ]:
        a = sg.tensor(start, device=device).requires_grad_()
        made = make(a)
        weight = sg.tensor([1.0, -2.0, 0.5], device=device)[: len(start)]
        (want,) = sg.autograd.grad((made.mean * weight).sum(), a)
        draws = make(a).rsample((n,))
        assert made.has_rsample
        (got,) = sg.autograd.grad((draws.mean(0) * weight).sum(), a)
        np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=0.02, atol=0.04)
    scale = sg.tensor(2.0, device=device).requires_grad_()
    draws = d.StudentT(5.0, 0.0, scale).rsample((n,))
    (got,) = sg.autograd.grad(draws.square().mean(), scale)
    assert math.isclose(got.item(), 4 * 5 / 3, rel_tol=0.1)


def test_pytorch_has_the_same_gradients_of_draws() -> None:
    torch = pytest.importorskip("torch")
    a = np.repeat([[0.05], [0.5], [2.0], [7.0], [50.0]], 30, 1)
    draws = np.random.default_rng(0).gamma(a).clip(1e-30)
    theirs = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(draws)).numpy()
    ours = (sg.tensor(draws) * gamma._slope(sg.tensor(a), sg.tensor(draws))).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_a_draw_has_a_second_gradient() -> None:
    a = sg.tensor([0.7, 3.0], dtype=sg.float64).requires_grad_()

    def slope(concentration: float, x: float) -> float:
        drawn = sg.tensor([x], dtype=sg.float64)
        return (drawn * gamma._slope(sg.tensor([concentration], dtype=sg.float64), drawn)).item()

    sg.manual_seed(3)
    draw = sg.distributions.Gamma(a, 1.0).rsample()
    (first,) = sg.autograd.grad(draw.sum(), a, create_graph=True)
    (second,) = sg.autograd.grad(first.sum(), a)
    for i, value in enumerate(a.tolist()):
        h, x, v = 1e-4, draw[i].item(), first[i].item()
        # The draw moves with its parameter.
        want = (slope(value + h, x + h * v) - slope(value - h, x - h * v)) / (2 * h)
        assert math.isclose(second[i].item(), want, rel_tol=1e-3)


def test_rsample_without_a_gradient_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"Poisson: draws have no gradient; use sample\(\)"):
        sg.distributions.Poisson(1.0).rsample()


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
    both = sg.tensor([-25.0, -0.4, 3.0, 12.0], dtype=sg.float64, requires_grad=True)
    for bessel in (sg.special.i0e, sg.special.i1e, lambda y: sg.special.i0(y / 9), lambda y: sg.special.i1(y / 9)):
        assert sg.autograd.gradcheck(bessel, both) and sg.autograd.gradgradcheck(bessel, both)


def test_bessel_functions_against_numpy(device: sg.Device) -> None:
    values = np.array([-80.0, -10.5, -9.9, -1.0, 0.0, 1e-3, 0.7, 5.0, 19.9, 20.1, 60.0])
    x = sg.tensor(values.astype(np.float32), device=device)
    np.testing.assert_allclose(sg.special.i0(x).cpu().numpy(), np.i0(values), rtol=6e-6)
    angles = (np.arange(2000) + 0.5) * np.pi / 2000  # DLMF 10.32.3, by the midpoint rule
    first = (np.exp(np.abs(values[:, None]) * (np.cos(angles) - 1)) * np.cos(angles)).mean(1) * np.sign(values)
    np.testing.assert_allclose(sg.special.i1e(x).cpu().numpy(), first, rtol=1e-6)
    np.testing.assert_allclose(sg.special.i1e(sg.tensor(values)).numpy(), first, rtol=1e-13)


def test_special_functions_against_python(device: sg.Device) -> None:
    values = [0.05, 0.5, 0.99, 1.0, 1.7, 2.0, 5.0, 30.0, 4000.0]
    x = sg.tensor(values, device=device)
    expected = np.array([math.lgamma(v) for v in values])
    np.testing.assert_allclose(sg.special.lgamma(x).cpu().numpy(), expected, rtol=3e-6, atol=3e-6)
    y = sg.tensor([-0.999, -0.5, 0.0, 0.25, 0.9999], device=device)
    back = sg.erf(sg.special.erfinv(y)).cpu().numpy()
    np.testing.assert_allclose(back, y.cpu().numpy(), atol=2e-7)


@pytest.mark.parametrize(
    "constraint",
    [
        constraints.real,
        constraints.positive,
        constraints.unit_interval,
        constraints.interval(-2.0, 3.0),
        constraints.greater_than(1.0),
        constraints.less_than(-1.0),
        constraints.simplex,
        constraints.lower_cholesky,
    ],
    ids=repr,
)
def test_a_constraint_holds_after_its_transform(constraint: constraints.Constraint) -> None:
    x = sg.randn(5, 3, 3, dtype=sg.float64, generator=sg.Generator().manual_seed(0))
    y = sg.distributions.transform_to(constraint)(x)
    assert constraint.check(y).all() and constraint.check(y).shape == x.shape[: 3 - constraint.event_dim]
    if constraint is not constraints.real:
        assert not constraint.check(-10 - y.abs()).any() or repr(constraint) == "less_than(-1.0)"
    if constraint is constraints.simplex:
        with pytest.raises(NotImplementedError, match="not one to one"):
            sg.distributions.biject_to(constraint)
    else:
        back = sg.distributions.biject_to(constraint).inv(y)
        wanted = x.tril() if constraint is constraints.lower_cholesky else x
        np.testing.assert_allclose(back.numpy(), wanted.numpy(), atol=1e-12)


def test_constraints_of_whole_numbers() -> None:
    x = sg.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])
    assert constraints.nonnegative_integer.check(x).tolist() == [False, True, False, True, True]
    assert constraints.integer_interval(0, 1).check(x).tolist() == [False, True, False, True, False]
    assert constraints.boolean.check(x).tolist() == [False, True, False, True, False]
    assert constraints.half_open_interval(0, 1).check(x).tolist() == [False, True, True, False, False]
    with pytest.raises(NotImplementedError, match="no transform to boolean"):
        sg.distributions.transform_to(constraints.boolean)
