"""Distributions and special functions at the corners of their parameters and values, against mpmath
(tests/reference/ends.py), and draws, which stay where densities are finite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
import spirograd.distributions as D
from spirograd import special

TYPES = [sg.float16, sg.bfloat16, sg.float32, sg.float64]
ROWS = json.loads((Path(__file__).parent.parent / "golden" / "ends.json").read_text(encoding="utf-8"))
TABLES = {key: list(rows) for key, rows in groupby(ROWS, lambda row: (row[0], row[1]))}
BY_LOGITS = {"Bernoulli", "Geometric", "ContinuousBernoulli"}
MADE: dict[str, Callable[..., D.Distribution]] = {
    **{name: lambda z, name=name: getattr(D, name)(logits=z) for name in BY_LOGITS},  # type: ignore[misc]
    "Binomial": lambda n, z: D.Binomial(n, logits=z),
    "NegativeBinomial": lambda r, z: D.NegativeBinomial(r, logits=z),
    "RelaxedBernoulli": lambda t, z: D.RelaxedBernoulli(t, logits=z),
}


@pytest.fixture(params=TYPES, ids=lambda t: t.name)
def dtype(request: pytest.FixtureRequest, device: sg.Device) -> sg.dtype:
    """On a GPU one of them: the formulas are the same, and compiling their kernels takes long."""
    if device.kind == "gpu" and request.param != sg.float32:
        pytest.skip("a CPU has the other types")
    return request.param  # type: ignore[no-any-return]


def fits(x: float, dtype: sg.dtype) -> bool:
    return float(sg.tensor(x, dtype=sg.float64).to(dtype).item()) == x


def assert_close(found: float, wanted: float, dtype: sg.dtype, size: float, what: object) -> None:
    limits = sg.finfo(dtype)
    if abs(wanted) > limits.max:
        assert math.isinf(found) or abs(found) > 0.99 * limits.max, (what, found, wanted)
        return
    bound = limits.eps * (abs(wanted) + (size if dtype in (sg.float32, sg.float64) else size * 2**-13)) + limits.tiny
    assert abs(found - wanted) <= bound, (what, found, wanted)


def compare(
    function: Callable[..., sg.Tensor], rows: list[Any], dtype: sg.dtype, device: sg.Device, room: float
) -> None:
    """Values, and derivatives by what has one."""
    rows = [row for row in rows if all(fits(x, dtype) for x in row[2])]
    if not rows:
        pytest.skip("the type holds none of the arguments")
    columns = [sg.tensor(list(c), dtype=dtype, device=device) for c in zip(*(row[2] for row in rows), strict=True)]
    for c in columns:
        c.requires_grad_()
    y = function(*columns)
    assert y.dtype == dtype
    slopes = sg.autograd.grad(y.sum(), columns, allow_unused=True)
    for i, (found, (_, _, at, wanted, derivatives)) in enumerate(zip(y.tolist(), rows, strict=True)):
        assert_close(found, wanted, dtype, room * max(1.0, abs(wanted)), at)
        for j, (slope, by) in enumerate(zip(slopes, derivatives, strict=True)):
            if by is not None:
                assert slope is not None
                size = room * max(abs(by), 1.0, 1.0 / (abs(at[j]) or 1.0))  # of what may cancel in it
                assert_close(slope[i].item(), by, dtype, size, (at, j))


@pytest.mark.parametrize(("name", "method"), [key for key in TABLES if key[1] != "special"])
def test_densities_and_shares(name: str, method: str, dtype: sg.dtype, device: sg.Device) -> None:
    def call(*arguments: sg.Tensor) -> sg.Tensor:
        made = MADE.get(name, getattr(D, name))(*arguments[:-1])
        return getattr(made, method)(arguments[-1])  # type: ignore[no-any-return]

    compare(call, TABLES[name, method], dtype, device, 1024.0 if name == "Beta" else 256.0)


@pytest.mark.parametrize("name", [key[0] for key in TABLES if key[1] == "special"])
def test_special_functions(name: str, dtype: sg.dtype, device: sg.Device) -> None:
    function: Callable[..., sg.Tensor]
    if name.startswith("polygamma"):
        function = lambda x: special.polygamma(int(name.split()[1]), x)  # noqa: E731
    else:
        function = getattr(special, name, None) or getattr(special.normal, name)
    compare(function, TABLES[name, "special"], dtype, device, 64.0)


def of(*values: float, like: sg.dtype, device: sg.Device) -> sg.Tensor:
    return sg.tensor(list(values), dtype=like, device=device).requires_grad_()


DRAWN: dict[str, Callable[[Any], D.Distribution]] = {
    "Gamma": lambda t: D.Gamma(t(2**-10, 0.125, 1.0), t(1.0)),
    "Beta": lambda t: D.Beta(t(2**-10, 2**-10, 8.0), t(2**-10, 8.0, 2**-10)),
    "Dirichlet": lambda t: D.Dirichlet(t(2**-10, 2**-10, 2**-10)),
    "InverseGamma": lambda t: D.InverseGamma(t(2**-10, 0.125, 1.0), t(1.0)),
    "FisherSnedecor": lambda t: D.FisherSnedecor(t(2**-7, 1.0), t(2**-7)),
    "Kumaraswamy": lambda t: D.Kumaraswamy(t(2**-6, 8.0, 2**-6), t(2**-6, 2**-6, 8.0)),
    "Gumbel": lambda t: D.Gumbel(t(0.0), t(1.0)),
    "Laplace": lambda t: D.Laplace(t(0.0), t(1.0)),
    "Exponential": lambda t: D.Exponential(t(1.0)),
    "Weibull": lambda t: D.Weibull(t(1.0), t(0.5, 1.0)),
    "Pareto": lambda t: D.Pareto(t(1.0), t(4.0)),
    "RelaxedBernoulli": lambda t: D.RelaxedBernoulli(t(0.125), logits=t(0.0, 8.0, -8.0)),
    "RelaxedOneHotCategorical": lambda t: D.RelaxedOneHotCategorical(t(0.125)[0], logits=t(0.0, 8.0, -8.0)),
    "LogisticNormal": lambda t: D.LogisticNormal(t(0.0, 8.0), t(8.0, 8.0)),
    "LogNormal": lambda t: D.LogNormal(t(0.0), t(1.0)),
    "ContinuousBernoulli": lambda t: D.ContinuousBernoulli(logits=t(0.0, 16.0, -32.0)),
    "Sigmoid": lambda t: D.TransformedDistribution(D.Normal(t(0.0), t(16.0)), D.transforms.SigmoidTransform()),
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws_stay_where_the_density_is_finite(name: str, dtype: sg.dtype, device: sg.Device) -> None:
    if device.kind == "gpu" and name not in ("Gamma", "Gumbel", "RelaxedBernoulli"):
        pytest.skip("each loop of proposals is a large kernel")
    leaves: list[sg.Tensor] = []

    def leaf(*values: float) -> sg.Tensor:
        leaves.append(of(*values, like=dtype, device=device))
        return leaves[-1]

    sg.manual_seed(0)
    law = DRAWN[name](leaf)
    drawn = law.rsample((2000,))
    assert drawn.dtype == dtype and drawn.isfinite().all()
    assert law.support.check(drawn if drawn.dtype == sg.float64 else drawn.float()).all() or name in (
        "RelaxedOneHotCategorical",
        "Dirichlet",
        "LogisticNormal",
    )  # whose sums are rounded
    if law.support in (D.constraints.unit_interval, D.constraints.simplex) and name != "ContinuousBernoulli":
        assert (drawn > 0).all() and (drawn < 1).all()
    density = law.log_prob(drawn.detach())
    assert density.dtype == dtype and not density.isnan().any() and not (density == math.inf).any()
    for gradient in sg.autograd.grad(drawn.float().log1p().mean(), leaves, allow_unused=True):
        assert gradient is None or not gradient.isnan().any()


def test_uniform_numbers_stay_below_1(dtype: sg.dtype, device: sg.Device) -> None:
    sg.manual_seed(0)
    u = sg.rand(100_000, dtype=dtype, device=device)
    assert u.min().item() >= 0 and u.max().item() < 1 and abs(u.float().mean().item() - 0.5) < 0.01
    assert sg.rand_like(u).max().item() < 1
    assert sg.empty(100_000, dtype=dtype, device=device).uniform_(-3, 0.1).max().item() < 0.1
    assert sg.empty(100_000, dtype=dtype, device=device).exponential_().min().item() > 0
    logits = sg.zeros(1000, 100, dtype=dtype, device=device)
    assert sg.nn.functional.gumbel_softmax(logits, hard=True).sum(-1).eq(1).all()


PAIRS = [-300.0, -40.0, -17.0, 0.0, 17.0, 40.0, 300.0]


def entropy_of(z: float, w: float) -> float:
    """The mean of -log(sigmoid(w)) and its other side under sigmoid(z)."""
    logs = [-np.logaddexp(0, -w), -np.logaddexp(0, w)]
    shares = [math.exp(-np.logaddexp(0, -z)), math.exp(-np.logaddexp(0, z))]
    return -sum(p * v for p, v in zip(shares, logs, strict=True))


@pytest.mark.parametrize("name", ["Bernoulli", "Geometric", "Binomial"])
def test_divergences_of_sure_trials(name: str, dtype: sg.dtype, device: sg.Device) -> None:
    if dtype not in (sg.float32, sg.float64):
        pytest.skip("halves are float32 inside")
    grid = [(z, w) for z in PAIRS for w in PAIRS if name != "Geometric" or z >= -40]
    z, w = (of(*side, like=dtype, device=device) for side in zip(*grid, strict=True))
    trials = (5,) if name == "Binomial" else ()
    made = getattr(D, name)
    found = D.kl_divergence(made(*trials, logits=z), made(*trials, logits=w))
    slopes = sg.autograd.grad(found.sum(), [z, w])
    for (a, b), value, *by in zip(grid, found.tolist(), *(s.tolist() for s in slopes), strict=True):
        times = 5 if trials else 1 + math.exp(-a) if name == "Geometric" else 1
        assert np.isclose(value, times * (entropy_of(a, b) - entropy_of(a, a)), rtol=1e-5, atol=1e-5 * times), (a, b)
        assert all(map(math.isfinite, by)), (a, b, by)


def test_probabilities_of_0_and_1(device: sg.Device) -> None:
    p = of(0.0, 1.0, 1.0, like=sg.float32, device=device)
    counts = sg.tensor([0.0, 0.0, 1.0], device=device)
    for law in (D.Geometric(p), D.Bernoulli(p), D.Binomial(3, p), D.NegativeBinomial(3.0, p)):
        for value in (law.log_prob(counts), law.entropy() if not isinstance(law, D.NegativeBinomial) else p.sum()):
            (slope,) = sg.autograd.grad(value.sum(), p, retain_graph=True, allow_unused=True)
            assert not value.isnan().any() and (slope is None or not slope.isnan().any()), law
    assert D.Geometric(p).log_prob(counts).tolist() == [-math.inf, 0.0, -math.inf]
    assert D.Geometric(p[1:]).sample((5,)).eq(0).all()
    assert D.kl_divergence(D.Bernoulli(p), D.Bernoulli(p.flip(0))).tolist() == [math.inf, 0.0, math.inf]


def test_a_sure_and_wrong_prediction_recovers(device: sg.Device) -> None:
    p = of(1.0, 0.0, 1.0, 0.0, like=sg.float32, device=device)
    loss = sg.nn.functional.binary_cross_entropy(p, sg.tensor([0.0, 1.0, 1.0, 0.0], device=device), reduction="sum")
    loss.backward()
    assert loss.item() == 200.0 and np.allclose(p.grad.tolist(), [1e12, -1e12, -1.0, 1.0])


def test_slopes_at_a_kink(device: sg.Device) -> None:
    """What is smooth has its slope also where a formula has two sides."""
    x = of(0.0, like=sg.float64, device=device)
    half = of(0.5, like=sg.float64, device=device)
    slopes = [
        (D.Laplace(0.0, 1.0).cdf(x), x, 0.5),
        (D.Laplace(0.0, 1.0).icdf(half), half, 2.0),
        (D.VonMises(0.0, x).log_prob(sg.zeros((), dtype=sg.float64, device=device)), x, 1.0),
        (special.sinc(x), x, 0.0),
        (special.entr(x), x, math.inf),
        (special.xlogy(x, half.detach()), x, math.log(0.5)),
        (special.xlog1py(x, half.detach()), x, math.log(1.5)),
    ]
    for y, by, wanted in slopes:
        (slope,) = sg.autograd.grad(y.sum(), by)
        assert slope.item() == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    (first,) = sg.autograd.grad(special.sinc(x).sum(), x, create_graph=True)
    (second,) = sg.autograd.grad(first.sum(), x)
    assert second.item() == pytest.approx(-(math.pi**2) / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "at", "wanted"),
    [
        ("lgamma", (-math.inf,), math.inf),
        ("lgamma", (-2.0,), math.inf),
        ("digamma", (-2.0,), math.nan),
        ("log_ndtr", (-math.inf,), -math.inf),
        ("log_ndtr", (math.inf,), 0.0),
        ("entr", (-1.0,), -math.inf),
        ("xlog1py", (0.0, math.nan), math.nan),
        ("xlog1py", (0.0, -1.0), 0.0),
        ("xlog1py", (0.0, math.inf), 0.0),
        ("zeta", (1.0, 2.0), math.inf),
        ("zeta", (0.5, 2.0), math.nan),
        ("zeta", (math.inf, 1.0), 1.0),
        ("zeta", (200.0, 1.0), 1.0),
        ("zeta", (2.0, 0.0), math.inf),
        ("gammainc", (math.inf, 2.0), 0.0),
        ("gammaincc", (1e30, 2.0), 1.0),
        ("gammainc", (2.0, -1.0), math.nan),
    ],
)
def test_ends_of_special_functions(name: str, at: tuple[float, ...], wanted: float, device: sg.Device) -> None:
    for dtype in (sg.float32, sg.float64):
        found = getattr(special, name)(*(sg.tensor(x, dtype=dtype, device=device) for x in at)).item()
        assert found == wanted or (math.isnan(found) and math.isnan(wanted)), (dtype, found)


@pytest.mark.parametrize(
    ("law", "wanted"),
    [
        (lambda t: D.Beta(t(2.0), t(8192.0)), -7.434002837051453),
        (lambda t: D.Beta(t(2**-10), t(2**-10)), -1015.3785853472851),
        (lambda t: D.StudentT(t(8192.0)), 1.4190606072421598),
        (lambda t: D.Dirichlet(t(8.0, 8.0, 16.0)), -2.4259536781194059),
        (lambda t: D.VonMises(t(0.0), t(1024.0)), -2.0465530499131246),
        (lambda t: D.Bernoulli(logits=t(-40.0)), 1.7418252446695515e-16),
        (lambda t: D.ContinuousBernoulli(logits=t(200.0)), -4.298317366548037),
    ],
)
def test_entropies(law: Callable[[Any], D.Distribution], wanted: float, dtype: sg.dtype, device: sg.Device) -> None:
    found = law(lambda *values: of(*values, like=dtype, device=device)).entropy().sum().item()
    assert found == pytest.approx(wanted, rel=64 * sg.finfo(dtype).eps, abs=1024 * sg.finfo(dtype).eps)
