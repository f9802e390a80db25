"""Distributions: draws follow their densities; special functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spirograd as sg
from spirograd.distributions import constraints
from spirograd.special.gamma import log_slope


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
    ours = (sg.tensor(draws) * log_slope(sg.tensor(a), sg.tensor(draws))).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_a_draw_has_a_second_gradient() -> None:
    a = sg.tensor([0.7, 3.0], dtype=sg.float64).requires_grad_()

    def slope(concentration: float, x: float) -> float:
        drawn = sg.tensor([x], dtype=sg.float64)
        return (drawn * log_slope(sg.tensor([concentration], dtype=sg.float64), drawn)).item()

    sg.manual_seed(3)
    draw = sg.distributions.Gamma(a, 1.0).rsample()
    (first,) = sg.autograd.grad(draw.sum(), a, create_graph=True)
    (second,) = sg.autograd.grad(first.sum(), a)
    for i, value in enumerate(a.tolist()):
        h, x, v = 1e-4, draw[i].item(), first[i].item()
        # The draw moves with its parameter.
        want = (slope(value + h, x + h * v) - slope(value - h, x - h * v)) / (2 * h)
        assert math.isclose(second[i].item(), want, rel_tol=1e-3)


D = sg.distributions
CONTINUOUS = {
    "Gumbel": (lambda: D.Gumbel(sg.tensor(0.5, dtype=sg.float64), 1.5), -8.0, 60.0),
    "HalfNormal": (lambda: D.HalfNormal(sg.tensor(2.0, dtype=sg.float64)), 0.0, 30.0),
    "Pareto": (lambda: D.Pareto(sg.tensor(1.5, dtype=sg.float64), 9.0), 1.5, 100.0),
    "Weibull": (lambda: D.Weibull(sg.tensor(2.0, dtype=sg.float64), 1.7), 0.0, 30.0),
    "Kumaraswamy": (lambda: D.Kumaraswamy(sg.tensor(2.5, dtype=sg.float64), 3.0), 0.0, 1.0),
    "InverseGamma": (lambda: D.InverseGamma(sg.tensor(12.0, dtype=sg.float64), 2.0), 0.0, 20.0),
    "Gamma": (lambda: D.Gamma(sg.tensor(2.5, dtype=sg.float64), 2.0), 0.0, 30.0),
    "VonMises": (lambda: D.VonMises(sg.tensor(0.5, dtype=sg.float64), 3.0), -math.pi, math.pi),
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(sg.tensor(0.2, dtype=sg.float64)), 0.0, 1.0),
    "ContinuousBernoulli near 1 / 2": (lambda: D.ContinuousBernoulli(sg.tensor(0.506, dtype=sg.float64)), 0.0, 1.0),
    "Laplace": (lambda: D.Laplace(sg.tensor(0.0, dtype=sg.float64), 1.0), -40.0, 40.0),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_what_a_distribution_says_are_integrals_of_its_density(name: str) -> None:
    make, low, high = CONTINUOUS[name]
    law, n = make(), 200_000
    step = (high - low) / n
    x = low + step * (np.arange(n) + 0.5)
    log_density = law.log_prob(sg.tensor(x)).numpy()
    density = np.exp(log_density)

    def integral(f: np.ndarray) -> float:
        return float((f * density).sum() * step)

    assert math.isclose(integral(np.ones(n)), 1.0, rel_tol=1e-6)
    assert math.isclose(law.entropy().item(), integral(-log_density), rel_tol=1e-5, abs_tol=1e-6)
    if name == "VonMises":
        assert math.isclose(law.variance.item(), 1 - math.hypot(integral(np.cos(x)), integral(np.sin(x))), rel_tol=1e-6)
        other = D.VonMises(sg.tensor(-1.0, dtype=sg.float64), 0.7)
        apart = integral(log_density - other.log_prob(sg.tensor(x)).numpy())
        assert math.isclose(D.kl_divergence(law, other).item(), apart, rel_tol=1e-6)
        return
    mean = integral(x)
    assert math.isclose(law.mean.item(), mean, rel_tol=1e-5, abs_tol=1e-6)
    assert math.isclose(law.variance.item(), integral((x - mean) ** 2), rel_tol=1e-4)
    ends = sg.tensor(x[:: n // 50] + step / 2)
    np.testing.assert_allclose(law.cdf(ends).numpy(), (density.cumsum() * step)[:: n // 50], atol=2e-6)
    if name not in ("InverseGamma", "Gamma"):
        shares = sg.tensor([0.01, 0.3, 0.5, 0.99], dtype=sg.float64)
        np.testing.assert_allclose(law.cdf(law.icdf(shares)).numpy(), shares.numpy(), rtol=1e-9)


@pytest.mark.parametrize("make", [D.Gumbel, D.Weibull, D.Pareto, D.Kumaraswamy, D.InverseGamma, D.FisherSnedecor])
def test_draws_move_with_their_parameters(make: type[sg.distributions.Distribution]) -> None:
    a, b = (sg.tensor([v], requires_grad=True) for v in (9.0, 12.0))
    draws = make(a, b).rsample((40000,))
    (got,) = sg.autograd.grad(draws.mean(), b)
    (want,) = sg.autograd.grad(make(a, b).mean.sum(), b)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=0.05, atol=3e-3)


def test_a_wishart_of_one_dimension_is_a_gamma_distribution() -> None:
    law, gamma = D.Wishart(5.0, sg.tensor([[1.5]])), D.Gamma(2.5, 1 / 3)
    x = sg.tensor([0.3, 2.0, 9.0])
    np.testing.assert_allclose(law.log_prob(x.reshape(3, 1, 1)).numpy(), gamma.log_prob(x).numpy(), rtol=1e-5)
    assert math.isclose(law.entropy().item(), gamma.entropy().item(), rel_tol=1e-5)
    assert math.isclose(law.mode.item(), gamma.mode.item(), rel_tol=1e-5)


def test_draws_of_a_wishart_distribution_have_gradients() -> None:
    scale = sg.tensor([[1.0, 0.0], [0.5, 0.8]], requires_grad=True)
    law = D.Wishart(4.0, scale_tril=scale)
    (got,) = sg.autograd.grad(law.rsample((20000,)).mean(0).sum(), scale)
    (want,) = sg.autograd.grad(law.mean.sum(), scale)
    np.testing.assert_allclose(got.tril().numpy(), want.tril().numpy(), rtol=0.05)


def test_values_outside_the_support_are_found_on_request() -> None:
    D.Gamma(1.0, 1.0).log_prob(sg.tensor([-1.0]))
    with pytest.raises(ValueError, match="Gamma: the value is -1 somewhere; make it nonnegative"):
        D.Gamma(1.0, 1.0, validate_args=True).log_prob(sg.tensor([0.5, -1.0]))
    with pytest.raises(ValueError, match="scale_tril lies outside somewhere; make it lower_cholesky"):
        D.MultivariateNormal(sg.zeros(2), scale_tril=sg.ones(2, 2), validate_args=True)
    with pytest.raises(ValueError, match=r"Wishart: df is 1 somewhere; make it greater_than\(1\)"):
        D.Wishart(1.0, sg.eye(2), validate_args=True)
    with pytest.raises(ValueError, match="Categorical: the value is 3 somewhere"):
        D.Categorical(sg.ones(3), validate_args=True).log_prob(sg.tensor(3))
    with pytest.raises(ValueError, match="ask for the constraint of a distribution"):
        constraints.dependent.check(sg.ones(1))


@pytest.mark.parametrize("concentration", [0.0, 0.3, 4.0, 1e6])
def test_von_mises_draws_have_their_mean_length(device: sg.Device, concentration: float) -> None:
    law = D.VonMises(sg.tensor(2.0, device=device), concentration)
    angles = law.sample((20000,)).cpu().numpy().astype(float)
    assert (abs(angles) <= math.pi + 1e-6).all()
    length = 1 - law.variance.item()
    assert abs(np.cos(angles - 2).mean() - length) < 0.02
    assert abs(np.sin(angles - 2).mean()) < 0.02
    if concentration == 1e6:
        assert math.isclose(np.std(angles), 1e-3, rel_tol=0.03)


def test_correlations_of_lkj() -> None:
    factors = D.LKJCholesky(3, 2.0).sample((20000,))
    matrices = (factors @ factors.mT).numpy()
    np.testing.assert_allclose(np.diagonal(matrices, axis1=-2, axis2=-1), 1, atol=1e-5)
    # Each correlation is 2 beta - 1, with both concentrations 2 + (3 - 2) / 2.
    assert abs(matrices[:, 0, 1].var() - 1 / 6) < 0.01 and abs(matrices[:, 1, 2].var() - 1 / 6) < 0.01
    with pytest.raises(ValueError, match="LKJCholesky: dim is 1; use 2 or more"):
        D.LKJCholesky(1)


def test_the_divergence_of_transformed_distributions() -> None:
    p, q = (D.LogNormal(sg.tensor(m), 1.0) for m in (0.0, 1.0))
    assert D.kl_divergence(p, q).item() == 0.5
    moved = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(sg.tensor(1.0), 2.0))
    assert D.kl_divergence(moved, moved).item() == 0
    with pytest.raises(NotImplementedError, match="the transforms of the two differ"):
        D.kl_divergence(p, moved)
    with pytest.raises(NotImplementedError, match="the first Binomial has fewer trials"):
        D.kl_divergence(D.Binomial(2, sg.tensor(0.5)), D.Binomial(3, sg.tensor(0.5)))


def test_parameters_that_are_numbers_go_with_values_of_any_device(device: sg.Device) -> None:
    x = sg.ones(3, device=device)
    for law in (D.Normal(0.0, 1.0), D.LogNormal(0.0, 1.0), D.HalfCauchy(2.0), D.Gamma(2.0, 1.0), D.VonMises(0.0, 2.0)):
        assert law.log_prob(x).device == device and law.log_prob(x).shape == (3,)
    assert D.Normal(0.0, 1.0).cdf(x).device == device and D.Gumbel(0.0, 1.0).icdf(x / 2).device == device
    near, plain = D.Normal(x, x), D.Normal(0.0, 1.0)
    assert D.kl_divergence(near, plain).device == D.kl_divergence(plain, near).device == device
    assert plain.loc.device == sg.Device("cpu")


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
    z = sg.tensor([0.2, 1.5, 2.0, 14.0], dtype=sg.float64, requires_grad=True)
    assert sg.autograd.gradcheck(sg.special.gammainc, (x, z)) and sg.autograd.gradcheck(sg.special.gammaincc, (x, z))
    assert sg.autograd.gradcheck(sg.special.ndtri, x / 13)
    both = sg.tensor([-25.0, -0.4, 3.0, 12.0], dtype=sg.float64, requires_grad=True)
    for bessel in (sg.special.i0e, sg.special.i1e, lambda y: sg.special.i0(y / 9), lambda y: sg.special.i1(y / 9)):
        assert sg.autograd.gradcheck(bessel, both) and sg.autograd.gradgradcheck(bessel, both)


def test_bessel_functions_against_numpy(device: sg.Device) -> None:
    values = np.array([-80.0, -10.5, -9.9, -1.0, 0.0, 1e-3, 0.7, 5.0, 19.9, 20.1, 60.0])
    values = values.astype(np.float32).astype(float)
    x = sg.tensor(values, dtype=sg.float32, device=device)
    np.testing.assert_allclose(sg.special.i0(x).cpu().numpy(), np.i0(values), rtol=4e-7)
    angles = (np.arange(2000) + 0.5) * np.pi / 2000  # DLMF 10.32.3, by the midpoint rule
    first = (np.exp(np.abs(values[:, None]) * (np.cos(angles) - 1)) * np.cos(angles)).mean(1) * np.sign(values)
    np.testing.assert_allclose(sg.special.i1e(x).cpu().numpy(), first, rtol=3e-7)
    np.testing.assert_allclose(sg.special.i1e(sg.tensor(values)).numpy(), first, rtol=1e-13, atol=1e-15)


def ulps(ours: sg.Tensor, exact: np.ndarray) -> float:
    found = ours.cpu().numpy()
    return float((abs(found.astype(float) - exact) / np.spacing(abs(exact).astype(found.dtype))).max())


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64], ids=str)
def test_special_functions_against_python(device: sg.Device, dtype: sg.dtype) -> None:
    values = np.concatenate([np.geomspace(1e-6, 0.8, 50), np.linspace(2.4, 16, 300), np.geomspace(16, 1e30, 50)])
    x = sg.tensor(values, dtype=dtype, device=device)
    values = x.cpu().numpy().astype(float)
    assert ulps(sg.special.lgamma(x), np.array([math.lgamma(v) for v in values])) < (
        3 if dtype == sg.float32 else 40
    )  # Python's
    whole = sg.arange(2.0, 40.0, dtype=dtype, device=device)
    harmonic = np.cumsum([1 / k for k in range(1, 39)]) - 0.57721566490153286
    assert ulps(sg.special.digamma(whole), harmonic) < (3 if dtype == sg.float32 else 8)
    y = sg.tensor([-0.999, -0.5, 0.0, 0.25, 0.9999, 1 - 2**-23], dtype=dtype, device=device)
    # The slope of erf makes an error of the inverse as small as one of the argument.
    back = sg.erf(sg.special.erfinv(y)).cpu().numpy()
    np.testing.assert_allclose(back, y.cpu().numpy(), rtol=4 * np.finfo(back.dtype).eps)
    z = sg.tensor([1e-37, 1e-20, 1e-9, 0.01, 0.24, 0.26, 0.7, 0.99], dtype=dtype, device=device)
    np.testing.assert_allclose(
        sg.special.ndtr(sg.special.ndtri(z)).cpu().numpy(), z.cpu().numpy(), rtol=500 * np.finfo(back.dtype).eps
    )


def test_special_functions_at_the_ends() -> None:
    inf, nan = math.inf, math.nan
    x = sg.tensor([0.0, -1.0, -2.0, 1.0, 2.0, inf, nan])
    np.testing.assert_array_equal(sg.special.lgamma(x).numpy(), [inf, inf, inf, 0, 0, inf, nan])
    np.testing.assert_array_equal(sg.special.digamma(x[:3]).numpy(), [-inf, nan, nan])
    np.testing.assert_array_equal(sg.special.erfinv(sg.tensor([-1.0, 1, 2, nan])).numpy(), [-inf, inf, nan, nan])
    np.testing.assert_array_equal(sg.special.ndtri(sg.tensor([0.0, 1, -0.1, nan])).numpy(), [-inf, inf, nan, nan])
    a, b = sg.tensor([0.0, 0, 1, 1, -1, 2, 1]), sg.tensor([0.0, 1, 0, inf, 1, -1, nan])
    np.testing.assert_array_equal(sg.special.gammainc(a, b).numpy(), [nan, 1, 0, 1, nan, nan, nan])
    np.testing.assert_array_equal(sg.special.gammaincc(a, b).numpy(), [nan, 0, 1, 0, nan, nan, nan])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_derivatives_of_digamma_at_negative_numbers(n: int) -> None:
    x = sg.tensor([-0.3, -1.75, -7.5, -8.478, -20.25, -55.1], dtype=sg.float64)
    sums = [
        (-1) ** (n + 1) * math.factorial(n) * sum(1 / (v + k) ** (n + 1) for k in range(200_000)) for v in x.tolist()
    ]
    np.testing.assert_allclose(sg.special.polygamma(n, x).numpy(), sums, rtol=1e-5)


@pytest.mark.parametrize("a", [0.01, 0.5, 1.0, 7.5, 60.0, 4000.0])
def test_incomplete_gamma_functions(device: sg.Device, a: float) -> None:
    points = a * np.array([0.3, 0.8, 1.0, 1.1, 3.0])
    exact = [gamma_cdf(x, a) if x < 100 else None for x in points]
    for dtype, tolerance in ((sg.float32, 2e-5), (sg.float64, 1e-12)):
        x = sg.tensor(points, dtype=dtype, device=device)
        below = sg.special.gammainc(sg.tensor(a, dtype=dtype, device=device), x)
        above = sg.special.gammaincc(sg.tensor(a, dtype=dtype, device=device), x)
        np.testing.assert_allclose((below + above).cpu().numpy(), 1, rtol=1e-6)
        for found, want in zip(below.tolist(), exact, strict=True):
            assert want is None or math.isclose(found, want, rel_tol=tolerance)
        if a == 4000:  # nearly normal: the probability below the mean is 1/2 + 1 / (3 sqrt(2 pi a))
            assert math.isclose(below[2].item(), 0.5 + 1 / (3 * math.sqrt(2 * math.pi * a)), abs_tol=1e-5)


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
        bijection = sg.distributions.biject_to(constraint)
        assert constraint.check(bijection(x)).all() and bijection(x).shape == (5, 3, 4)
        np.testing.assert_allclose(bijection.inv(bijection(x)).numpy(), x.numpy(), atol=1e-12)
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


def test_a_registry_names_itself_where_it_has_no_transform() -> None:
    for name in ("transform_to", "biject_to"):
        with pytest.raises(NotImplementedError, match=f"^{name}: there is no transform to boolean"):
            getattr(sg.distributions, name)(constraints.boolean)


@pytest.mark.parametrize("name", ["Bernoulli", "Categorical", "OneHotCategorical", "Geometric", "ContinuousBernoulli"])
def test_a_draw_before_changes_no_gradient(name: str) -> None:
    gradients = []
    for drawn in (False, True):
        logits = sg.tensor([0.3, -1.0, 2.0], requires_grad=True)
        made = getattr(sg.distributions, name)(logits=logits)
        if drawn:
            made.sample()
        (made.entropy().sum() + (made.probs**2).sum()).backward()
        assert logits.grad is not None
        gradients.append(logits.grad.tolist())
    assert any(gradients[0])
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-6)  # its parts are added in another order
