"""Distributions of PyTorch, and what they give; then whether draws have the mean and the variance."""

import torch
import torch.distributions as D
from torch.distributions import kl_divergence


def T(*v):
    return torch.tensor(v)


def show(n, *vs):
    print(n, *[[float(f"{x:.5g}") + 0.0 for x in v.detach().double().flatten().tolist()] for v in vs])


a, b = T(0.5, 1.0, 3.5), T(2.0, 1.0, 0.7)
p3 = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
l3 = torch.tensor([[0.0, 1.0, 2.0], [-1.0, 0.0, 0.5]])
u = T(0.2, 0.5, 0.9)
k = T(0.0, 2.0, 5.0)
bits = T(0.0, 1.0, 1.0)
cov = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
cases = [
    ("Normal", D.Normal(a, b), a * 2),
    ("LogNormal", D.LogNormal(a, b), b),
    ("HalfNormal", D.HalfNormal(b), a),
    ("Uniform", D.Uniform(a, a + b), a + b / 2),
    ("Laplace", D.Laplace(a, b), b),
    ("Cauchy", D.Cauchy(a, b), b),
    ("Exponential", D.Exponential(b), a),
    ("Gamma", D.Gamma(a, b), b),
    ("Chi2", D.Chi2(b), a),
    ("StudentT", D.StudentT(b + 2, a, b), b),
    ("Beta", D.Beta(a, b), u),
    ("Dirichlet", D.Dirichlet(p3 * 3), p3),
    ("Bernoulli", D.Bernoulli(probs=u), bits),
    ("BernoulliL", D.Bernoulli(logits=a), bits),
    ("Geometric", D.Geometric(u), k),
    ("Binomial", D.Binomial(5, u), k),
    ("Poisson", D.Poisson(b), k),
    ("Categorical", D.Categorical(p3), torch.tensor([1, 2])),
    ("CategoricalL", D.Categorical(logits=l3), torch.tensor([1, 2])),
    ("OneHot", D.OneHotCategorical(p3), torch.eye(3)[[1, 2]]),
    ("Multinomial", D.Multinomial(4, p3), torch.tensor([[1.0, 1, 2], [0, 0, 4]])),
    ("MVN", D.MultivariateNormal(torch.zeros(2), cov), torch.tensor([[1.0, 2.0], [0.0, 0.3]])),
    ("MVNp", D.MultivariateNormal(torch.zeros(2), precision_matrix=cov), T(1.0, 2.0)),
    ("RB", D.RelaxedBernoulli(torch.tensor(0.5), probs=u), u),
    ("ROH", D.RelaxedOneHotCategorical(torch.tensor(0.5), probs=p3), p3),
    ("Ind", D.Independent(D.Normal(a, b), 1), b),
    (
        "TD",
        D.TransformedDistribution(
            D.Normal(a, b), [D.transforms.TanhTransform(), D.transforms.AffineTransform(1.0, 2.0)]
        ),
        T(0.5, 1.0, 2.0),
    ),
    ("Gumbel", D.Gumbel(a, b), b),
    ("HalfCauchy", D.HalfCauchy(b), a),
    ("Pareto", D.Pareto(a, b + 2), a + 1),
    ("Weibull", D.Weibull(a, b), b),
    ("Kumaraswamy", D.Kumaraswamy(a, b), u),
    ("InverseGamma", D.InverseGamma(a + 2, b), a),
    ("F", D.FisherSnedecor(b, a + 4), b),
    ("VonMises", D.VonMises(a, b * 10), b),
    ("NegativeBinomial", D.NegativeBinomial(a, u), k),
    ("NegativeBinomialL", D.NegativeBinomial(b, logits=a), k),
    ("LogisticNormal", D.LogisticNormal(a[:2], b[:2]), p3),
    ("LKJ", D.LKJCholesky(3, T(0.7, 2.0)), torch.linalg.cholesky(torch.eye(3) * 0.5 + 0.5)),
    ("LowRank", D.LowRankMultivariateNormal(a, torch.ones(3, 2) / 2, b), b),
    ("OHST", D.OneHotCategoricalStraightThrough(p3), torch.eye(3)[[1, 2]]),
    ("Mix", D.MixtureSameFamily(D.Categorical(T(0.3, 0.3, 0.4)), D.Normal(a, b)), T(0.5, 1.0)),
    ("ContinuousBernoulli", D.ContinuousBernoulli(probs=T(0.1, 0.5, 0.7)), u),
    ("Wishart", D.Wishart(T(3.0, 4.5), cov), torch.stack([cov * 2, torch.eye(2)])),
]
POINTS = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0]).reshape(5, 1)
INVERTED = ("Gumbel", "HalfCauchy", "Pareto", "Weibull", "Kumaraswamy", "ContinuousBernoulli")
for n, d, v in cases:
    show(n + " log_prob", d.log_prob(v))
    for m in ("mean", "variance", "stddev"):
        try:
            show(n + " " + m, getattr(d, m))
        except NotImplementedError:
            print(n, m, "-")
    try:
        show(n + " entropy", d.entropy()) if n not in ("Multinomial", "VonMises") else None
    except NotImplementedError:
        print(n, "entropy -")
    if n in ("Normal", "Uniform", "Laplace", "Cauchy", "Exponential", "LogNormal", "HalfNormal", *INVERTED):
        show(n + " cdf", d.cdf(v), d.icdf(u))
    if n in ("Gamma", "Chi2", "InverseGamma", "Mix"):
        show(n + " cdf", d.cdf(v))
    print(
        n,
        tuple(d.batch_shape),
        tuple(d.event_shape),
        tuple(d.sample((2,)).shape),
        tuple(d.sample().shape),
        d.has_rsample,
    )
    show(n + " inside", d.support.check(v))
    if not d.event_shape:
        show(n + " inside", d.support.check(POINTS))
    print(n, sorted(d.arg_constraints), d.support.is_discrete, d.support.event_dim)
    if n not in ("Mix", "Wishart"):
        e = d.expand((4, *d.batch_shape))
        print(
            tuple(e.batch_shape),
            tuple(e.sample().shape),
            tuple(e.log_prob(v).shape) if n not in ("Multinomial", "MVN", "LogisticNormal", "LKJ") else "",
        )
AFFINE = [D.transforms.AffineTransform(a, b), D.transforms.ExpTransform()]
for n, p, q in [
    ("N", D.Normal(a, b), D.Normal(b, a)),
    ("LN", D.LogNormal(a, b), D.LogNormal(b, a)),
    ("L", D.Laplace(a, b), D.Laplace(b, a)),
    ("U", D.Uniform(a, b + 5), D.Uniform(a - 1, b + T(6.0, 4.0, 8.0))),
    ("E", D.Exponential(a), D.Exponential(b)),
    ("P", D.Poisson(a), D.Poisson(b)),
    ("B", D.Bernoulli(u), D.Bernoulli(u / 2)),
    ("C", D.Categorical(p3), D.Categorical(logits=l3)),
    ("G", D.Gamma(a, b), D.Gamma(b, a)),
    ("Be", D.Beta(a, b), D.Beta(b, a)),
    ("D", D.Dirichlet(p3), D.Dirichlet(p3 * 2)),
    ("M", D.MultivariateNormal(torch.zeros(2), cov), D.MultivariateNormal(torch.ones(2), torch.eye(2))),
    ("I", D.Independent(D.Normal(a, b), 1), D.Independent(D.Normal(b, a), 1)),
    ("HN", D.HalfNormal(a), D.HalfNormal(b)),
    ("Ca", D.Cauchy(a, b), D.Cauchy(b, a)),
    ("Gu", D.Gumbel(a, b), D.Gumbel(b, a)),
    ("Pa", D.Pareto(a, b), D.Pareto(b, a)),
    ("IG", D.InverseGamma(a, b), D.InverseGamma(b, a)),
    ("Ge", D.Geometric(u), D.Geometric(u / 2)),
    ("Bi", D.Binomial(4, u), D.Binomial(4, u / 2)),
    ("T", D.TransformedDistribution(D.Normal(a, b), AFFINE), D.TransformedDistribution(D.Normal(b, a), AFFINE)),
    ("EN", D.Exponential(a), D.Normal(a, b)),
    ("GN", D.Gamma(a, b), D.Normal(a, b)),
    ("GuN", D.Gumbel(a, b), D.Normal(b, a)),
    ("LN", D.Laplace(a, b), D.Normal(b, a)),
    ("PN", D.Pareto(a, b + 2), D.Normal(b, a)),
    ("UN", D.Uniform(a, a + b), D.Normal(b, a)),
    ("BN", D.Beta(a, b), D.Normal(b, a)),
    ("GE", D.Gamma(a, b), D.Exponential(b)),
    ("BE", D.Beta(a, b), D.Exponential(b)),
    ("PE", D.Pareto(a, b + 2), D.Exponential(b)),
    ("EG", D.Exponential(a), D.Gamma(a, b)),
    ("NL", D.Normal(a, b), D.Laplace(b, a)),
    ("NG", D.Normal(a, b), D.Gumbel(b, a)),
    ("UE", D.Uniform(a - 1, b + 2), D.Exponential(b)),
    ("BP", D.Bernoulli(u), D.Poisson(b)),
    ("CB", D.ContinuousBernoulli(u), D.ContinuousBernoulli(u / 2)),
    ("UBe", D.Uniform(u / 4, u), D.Beta(a, b)),
    ("UG", D.Uniform(a, a + b), D.Gamma(a, b)),
    ("UGu", D.Uniform(a, a + b), D.Gumbel(b, a)),
    ("UPa", D.Uniform(a + 1, a + b + 1), D.Pareto(a, b)),
    ("BeG", D.Beta(a, b), D.Gamma(b, a)),
    ("BeU", D.Beta(a, b), D.Uniform(-b, a + 1)),
    ("BeCB", D.Beta(a, b), D.ContinuousBernoulli(u)),
    ("GGu", D.Gamma(a, b), D.Gumbel(b, a)),
    ("EGu", D.Exponential(a), D.Gumbel(b, a)),
    ("PaG", D.Pareto(a, b + 1), D.Gamma(b, a)),
    ("CBE", D.ContinuousBernoulli(u), D.Exponential(a)),
    ("CBN", D.ContinuousBernoulli(u), D.Normal(a, b)),
    ("NU", D.Normal(a, b), D.Uniform(a, a + b)),
    ("LChi", D.Laplace(a, b), D.Chi2(a)),
    ("PBi", D.Poisson(a), D.Binomial(4, u)),
]:
    show("kl " + n, kl_divergence(p, q))
print(D.Normal(0.0, 1.0), D.Normal(a, b))
x = a.clone().requires_grad_()
torch.manual_seed(0)
(D.Normal(x, b).rsample((3,)).sum()).backward()
show("grad", x.grad)
y = a.clone().requires_grad_()
D.Beta(y, b).log_prob(u).sum().backward()
show("beta grad", y.grad)
torch.manual_seed(0)
for n, d in [
    ("Gamma", D.Gamma(a, b)),
    ("Beta", D.Beta(a, b)),
    ("Dirichlet", D.Dirichlet(p3 * 3)),
    ("Poisson", D.Poisson(T(0.5, 9.9, 40.0, 300.0))),
    ("Binomial", D.Binomial(T(5.0, 9.0, 20.0), u)),
    ("Geometric", D.Geometric(u)),
    ("Laplace", D.Laplace(a, b)),
    ("StudentT", D.StudentT(b + 8, a, b)),
    ("Multinomial", D.Multinomial(6, p3)),
    ("MVN", D.MultivariateNormal(torch.zeros(2), cov)),
    ("LogNormal", D.LogNormal(a, T(0.3, 0.5, 0.4))),
    ("Categorical", D.OneHotCategorical(p3)),
    ("Mix", D.MixtureSameFamily(D.Categorical(T(0.3, 0.3, 0.4)), D.Normal(a, b))),
    ("Gumbel", D.Gumbel(a, b)),
    ("Pareto", D.Pareto(a, b + 8)),
    ("Weibull", D.Weibull(a, b + 1)),
    ("Kumaraswamy", D.Kumaraswamy(a, b)),
    ("InverseGamma", D.InverseGamma(a + 8, b)),
    ("F", D.FisherSnedecor(b, a + 16)),
    ("NegativeBinomial", D.NegativeBinomial(a, u)),
    ("LowRank", D.LowRankMultivariateNormal(a, torch.ones(3, 2) / 2, b)),
    ("ContinuousBernoulli", D.ContinuousBernoulli(u)),
    ("Wishart", D.Wishart(T(3.0, 4.5), cov)),
]:
    s = d.sample((20000,))
    e = (s.mean(0) - d.mean) / (d.variance / 20000).sqrt()
    r = s.var(0) / d.variance
    print(n, "ok" if bool((e.abs() < 4.5).all()) and bool(((r - 1).abs() < 0.15).all()) else ("BAD", e, r))
relaxed = D.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(2.0), torch.tensor([0.2, 0.3]))
show("logit", relaxed.log_prob(torch.tensor([0.3, -0.6])), torch.ones(relaxed.rsample((3,)).shape))
relaxed = D.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(2.0), logits=torch.tensor([0.2, 0.3]))
show("exp", relaxed.log_prob(torch.log_softmax(torch.tensor([0.3, -0.6]), 0)), torch.ones(relaxed.sample().shape))
