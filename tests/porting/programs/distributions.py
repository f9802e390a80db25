"""Distributions of PyTorch: what they derive, and whether draws have the mean and the variance."""

import pytest
import torch
import torch.distributions as D
from torch.distributions import kl_divergence

from checking import check


def T(*v):
    return torch.tensor(v)


a, b = T(0.5, 1.0, 3.5), T(2.0, 1.0, 0.7)
p3 = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
l3 = torch.tensor([[0.0, 1.0, 2.0], [-1.0, 0.0, 0.5]])
u = T(0.2, 0.5, 0.9)
k = T(0.0, 2.0, 5.0)
bits = T(0.0, 1.0, 1.0)
cov = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
AFFINE = [D.transforms.AffineTransform(a, b), D.transforms.ExpTransform()]
TANH = [D.transforms.TanhTransform(), D.transforms.AffineTransform(1.0, 2.0)]
MIXTURE = D.MixtureSameFamily(D.Categorical(T(0.3, 0.3, 0.4)), D.Normal(a, b))
CASES = {
    "Normal": (D.Normal(a, b), a * 2),
    "LogNormal": (D.LogNormal(a, b), b),
    "HalfNormal": (D.HalfNormal(b), a),
    "Uniform": (D.Uniform(a, a + b), a + b / 2),
    "Laplace": (D.Laplace(a, b), b),
    "Cauchy": (D.Cauchy(a, b), b),
    "Exponential": (D.Exponential(b), a),
    "Gamma": (D.Gamma(a, b), b),
    "Chi2": (D.Chi2(b), a),
    "StudentT": (D.StudentT(b + 2, a, b), b),
    "Beta": (D.Beta(a, b), u),
    "Dirichlet": (D.Dirichlet(p3 * 3), p3),
    "Bernoulli": (D.Bernoulli(probs=u), bits),
    "Bernoulli of logits": (D.Bernoulli(logits=a), bits),
    "Geometric": (D.Geometric(u), k),
    "Binomial": (D.Binomial(5, u), k),
    "Poisson": (D.Poisson(b), k),
    "Categorical": (D.Categorical(p3), torch.tensor([1, 2])),
    "Categorical of logits": (D.Categorical(logits=l3), torch.tensor([1, 2])),
    "OneHotCategorical": (D.OneHotCategorical(p3), torch.eye(3)[[1, 2]]),
    "Multinomial": (D.Multinomial(4, p3), torch.tensor([[1.0, 1, 2], [0, 0, 4]])),
    "MultivariateNormal": (D.MultivariateNormal(torch.zeros(2), cov), torch.tensor([[1.0, 2.0], [0.0, 0.3]])),
    "MultivariateNormal of a precision": (
        D.MultivariateNormal(torch.zeros(2), precision_matrix=cov),
        T(1.0, 2.0),
    ),
    "RelaxedBernoulli": (D.RelaxedBernoulli(torch.tensor(0.5), probs=u), u),
    "RelaxedOneHotCategorical": (D.RelaxedOneHotCategorical(torch.tensor(0.5), probs=p3), p3),
    "Independent": (D.Independent(D.Normal(a, b), 1), b),
    "TransformedDistribution": (D.TransformedDistribution(D.Normal(a, b), TANH), T(0.5, 1.0, 2.0)),
    "Gumbel": (D.Gumbel(a, b), b),
    "HalfCauchy": (D.HalfCauchy(b), a),
    "Pareto": (D.Pareto(a, b + 2), a + 1),
    "Weibull": (D.Weibull(a, b), b),
    "Kumaraswamy": (D.Kumaraswamy(a, b), u),
    "InverseGamma": (D.InverseGamma(a + 2, b), a),
    "FisherSnedecor": (D.FisherSnedecor(b, a + 4), b),
    "VonMises": (D.VonMises(a, b * 10), b),
    "NegativeBinomial": (D.NegativeBinomial(a, u), k),
    "NegativeBinomial of logits": (D.NegativeBinomial(b, logits=a), k),
    "LogisticNormal": (D.LogisticNormal(a[:2], b[:2]), p3),
    "LKJCholesky": (D.LKJCholesky(3, T(0.7, 2.0)), torch.linalg.cholesky(torch.eye(3) * 0.5 + 0.5)),
    "LowRankMultivariateNormal": (D.LowRankMultivariateNormal(a, torch.ones(3, 2) / 2, b), b),
    "OneHotCategoricalStraightThrough": (D.OneHotCategoricalStraightThrough(p3), torch.eye(3)[[1, 2]]),
    "MixtureSameFamily": (MIXTURE, T(0.5, 1.0)),
    "ContinuousBernoulli": (D.ContinuousBernoulli(probs=T(0.1, 0.5, 0.7)), u),
    "Wishart": (D.Wishart(T(3.0, 4.5), cov), torch.stack([cov * 2, torch.eye(2)])),
}
WITH_INVERSE = ["Normal", "Uniform", "Laplace", "Cauchy", "Exponential", "LogNormal", "HalfNormal"]
WITH_INVERSE += ["Gumbel", "HalfCauchy", "Pareto", "Weibull", "Kumaraswamy", "ContinuousBernoulli"]
every = pytest.mark.parametrize("name", CASES)


def if_any(values):
    try:
        return values()
    except NotImplementedError:
        return "not implemented"


@every
def test_log_prob(name):
    d, v = CASES[name]
    check(d.log_prob(v))


@every
def test_moments(name):
    d, _ = CASES[name]
    for moment in ("mean", "variance", "stddev"):
        check(moment, if_any(lambda moment=moment: getattr(d, moment)))


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("Multinomial", "VonMises")])
def test_entropy(name):
    check(if_any(CASES[name][0].entropy))


@pytest.mark.parametrize("name", [*WITH_INVERSE, "Gamma", "Chi2", "InverseGamma", "MixtureSameFamily"])
def test_cdf(name):
    d, v = CASES[name]
    check(d.cdf(v))
    if name in WITH_INVERSE:
        check(d.icdf(u))


@every
def test_shapes(name):
    d, _ = CASES[name]
    check(tuple(d.batch_shape), tuple(d.event_shape), tuple(d.sample((2,)).shape), tuple(d.sample().shape))
    check(d.has_rsample)


@every
def test_support(name):
    d, v = CASES[name]
    check(d.support.check(v))
    if not d.event_shape:
        check(d.support.check(torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0]).reshape(5, 1)))
    check(sorted(d.arg_constraints), d.support.is_discrete, d.support.event_dim)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("MixtureSameFamily", "Wishart")])
def test_expand(name):
    d, v = CASES[name]
    e = d.expand((4, *d.batch_shape))
    check(tuple(e.batch_shape), tuple(e.sample().shape))
    if name not in ("Multinomial", "MultivariateNormal", "LogisticNormal", "LKJCholesky"):
        check(tuple(e.log_prob(v).shape))


MOVED = D.TransformedDistribution(D.Normal(a, b), AFFINE), D.TransformedDistribution(D.Normal(b, a), AFFINE)
MULTIVARIATE = D.MultivariateNormal(torch.zeros(2), cov), D.MultivariateNormal(torch.ones(2), torch.eye(2))
PAIRS = {
    "Normal": (D.Normal(a, b), D.Normal(b, a)),
    "LogNormal": (D.LogNormal(a, b), D.LogNormal(b, a)),
    "Laplace": (D.Laplace(a, b), D.Laplace(b, a)),
    "Uniform": (D.Uniform(a, b + 5), D.Uniform(a - 1, b + T(6.0, 4.0, 8.0))),
    "Exponential": (D.Exponential(a), D.Exponential(b)),
    "Poisson": (D.Poisson(a), D.Poisson(b)),
    "Bernoulli": (D.Bernoulli(u), D.Bernoulli(u / 2)),
    "Categorical": (D.Categorical(p3), D.Categorical(logits=l3)),
    "Gamma": (D.Gamma(a, b), D.Gamma(b, a)),
    "Beta": (D.Beta(a, b), D.Beta(b, a)),
    "Dirichlet": (D.Dirichlet(p3), D.Dirichlet(p3 * 2)),
    "MultivariateNormal": MULTIVARIATE,
    "Independent": (D.Independent(D.Normal(a, b), 1), D.Independent(D.Normal(b, a), 1)),
    "HalfNormal": (D.HalfNormal(a), D.HalfNormal(b)),
    "Cauchy": (D.Cauchy(a, b), D.Cauchy(b, a)),
    "Gumbel": (D.Gumbel(a, b), D.Gumbel(b, a)),
    "Pareto": (D.Pareto(a, b), D.Pareto(b, a)),
    "InverseGamma": (D.InverseGamma(a, b), D.InverseGamma(b, a)),
    "Geometric": (D.Geometric(u), D.Geometric(u / 2)),
    "Binomial": (D.Binomial(4, u), D.Binomial(4, u / 2)),
    "TransformedDistribution": MOVED,
    "Exponential, Normal": (D.Exponential(a), D.Normal(a, b)),
    "Gamma, Normal": (D.Gamma(a, b), D.Normal(a, b)),
    "Gumbel, Normal": (D.Gumbel(a, b), D.Normal(b, a)),
    "Laplace, Normal": (D.Laplace(a, b), D.Normal(b, a)),
    "Pareto, Normal": (D.Pareto(a, b + 2), D.Normal(b, a)),
    "Uniform, Normal": (D.Uniform(a, a + b), D.Normal(b, a)),
    "Beta, Normal": (D.Beta(a, b), D.Normal(b, a)),
    "Gamma, Exponential": (D.Gamma(a, b), D.Exponential(b)),
    "Beta, Exponential": (D.Beta(a, b), D.Exponential(b)),
    "Pareto, Exponential": (D.Pareto(a, b + 2), D.Exponential(b)),
    "Exponential, Gamma": (D.Exponential(a), D.Gamma(a, b)),
    "Normal, Laplace": (D.Normal(a, b), D.Laplace(b, a)),
    "Normal, Gumbel": (D.Normal(a, b), D.Gumbel(b, a)),
    "Uniform, Exponential": (D.Uniform(a - 1, b + 2), D.Exponential(b)),
    "Bernoulli, Poisson": (D.Bernoulli(u), D.Poisson(b)),
    "ContinuousBernoulli": (D.ContinuousBernoulli(u), D.ContinuousBernoulli(u / 2)),
    "Uniform, Beta": (D.Uniform(u / 4, u), D.Beta(a, b)),
    "Uniform, Gamma": (D.Uniform(a, a + b), D.Gamma(a, b)),
    "Uniform, Gumbel": (D.Uniform(a, a + b), D.Gumbel(b, a)),
    "Uniform, Pareto": (D.Uniform(a + 1, a + b + 1), D.Pareto(a, b)),
    "Beta, Gamma": (D.Beta(a, b), D.Gamma(b, a)),
    "Beta, Uniform": (D.Beta(a, b), D.Uniform(-b, a + 1)),
    "Beta, ContinuousBernoulli": (D.Beta(a, b), D.ContinuousBernoulli(u)),
    "Gamma, Gumbel": (D.Gamma(a, b), D.Gumbel(b, a)),
    "Exponential, Gumbel": (D.Exponential(a), D.Gumbel(b, a)),
    "Pareto, Gamma": (D.Pareto(a, b + 1), D.Gamma(b, a)),
    "ContinuousBernoulli, Exponential": (D.ContinuousBernoulli(u), D.Exponential(a)),
    "ContinuousBernoulli, Normal": (D.ContinuousBernoulli(u), D.Normal(a, b)),
    "Normal, Uniform": (D.Normal(a, b), D.Uniform(a, a + b)),
    "Laplace, Chi2": (D.Laplace(a, b), D.Chi2(a)),
    "Poisson, Binomial": (D.Poisson(a), D.Binomial(4, u)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_kl_divergence(pair):
    check(kl_divergence(*PAIRS[pair]))


def test_repr():
    check(D.Normal(0.0, 1.0), D.Normal(a, b))


def test_gradient_of_a_sample():
    x = a.clone().requires_grad_()
    D.Normal(x, b).rsample((3,)).sum().backward()
    check(x.grad)


def test_gradient_of_log_prob():
    y = a.clone().requires_grad_()
    D.Beta(y, b).log_prob(u).sum().backward()
    check(y.grad)


SAMPLED = {
    "Gamma": D.Gamma(a, b),
    "Beta": D.Beta(a, b),
    "Dirichlet": D.Dirichlet(p3 * 3),
    "Poisson": D.Poisson(T(0.5, 9.9, 40.0, 300.0)),
    "Binomial": D.Binomial(T(5.0, 9.0, 20.0), u),
    "Geometric": D.Geometric(u),
    "Laplace": D.Laplace(a, b),
    "StudentT": D.StudentT(b + 8, a, b),
    "Multinomial": D.Multinomial(6, p3),
    "MultivariateNormal": D.MultivariateNormal(torch.zeros(2), cov),
    "LogNormal": D.LogNormal(a, T(0.3, 0.5, 0.4)),
    "OneHotCategorical": D.OneHotCategorical(p3),
    "MixtureSameFamily": MIXTURE,
    "Gumbel": D.Gumbel(a, b),
    "Pareto": D.Pareto(a, b + 8),
    "Weibull": D.Weibull(a, b + 1),
    "Kumaraswamy": D.Kumaraswamy(a, b),
    "InverseGamma": D.InverseGamma(a + 8, b),
    "FisherSnedecor": D.FisherSnedecor(b, a + 16),
    "NegativeBinomial": D.NegativeBinomial(a, u),
    "LowRankMultivariateNormal": D.LowRankMultivariateNormal(a, torch.ones(3, 2) / 2, b),
    "ContinuousBernoulli": D.ContinuousBernoulli(u),
    "Wishart": D.Wishart(T(3.0, 4.5), cov),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_draws_have_the_mean_and_the_variance(name):
    d = SAMPLED[name]
    s = d.sample((20000,))
    e = (s.mean(0) - d.mean) / (d.variance / 20000).sqrt()
    assert bool((e.abs() < 4.5).all())
    assert bool(((s.var(0) / d.variance - 1).abs() < 0.15).all())


def test_logit_relaxed_bernoulli():
    relaxed = D.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(2.0), torch.tensor([0.2, 0.3]))
    check(relaxed.log_prob(torch.tensor([0.3, -0.6])), relaxed.rsample((3,)).shape)


def test_exp_relaxed_categorical():
    relaxed = D.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(2.0), logits=torch.tensor([0.2, 0.3]))
    check(relaxed.log_prob(torch.log_softmax(torch.tensor([0.3, -0.6]), 0)), relaxed.sample().shape)
