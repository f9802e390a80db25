"""Bayes by optimisation: a hierarchical model of counts with many distributions, constraints and an autoguide."""

import math
from typing import ClassVar

import torch
from torch import nn
from torch.distributions import (
    AffineTransform,
    Beta,
    Exponential,
    Gamma,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Independent,
    InverseGamma,
    Kumaraswamy,
    LKJCholesky,
    LogNormal,
    LowRankMultivariateNormal,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Pareto,
    TransformedDistribution,
    VonMises,
    biject_to,
    constraints,
    kl_divergence,
    transform_to,
)
from torch.distributions.transforms import ExpTransform, SigmoidTransform, StickBreakingTransform

from shared import device, integers, normal, report

groups, per_group = 6, 8
exposure = normal(groups, per_group).abs() + 0.5
counts = integers(7, groups, per_group, seed=2).float()
angles = torch.remainder(normal(20, seed=3) * 2, 2 * math.pi) - math.pi


class Guide(nn.Module):
    """A point, and a mean field around it for the effects of groups."""

    sites: ClassVar = {
        "scale": (constraints.positive, ()),
        "dispersion": (constraints.positive, ()),
        "share": (constraints.unit_interval, ()),
        "mix": (constraints.simplex, (2,)),
        "factor": (constraints.lower_cholesky, (2, 2)),
        "turn": (constraints.interval(-math.pi, math.pi), ()),
        "spread": (constraints.greater_than(0.1), ()),
    }

    def __init__(self):
        super().__init__()
        self.raw = nn.ParameterDict({name: nn.Parameter(torch.zeros(shape)) for name, (_, shape) in self.sites.items()})
        self.loc = nn.Parameter(torch.zeros(groups))
        self.rho = nn.Parameter(torch.full((groups,), -1.0))

    def forward(self):
        point, log_det = {}, 0.0
        for name, (constraint, _) in self.sites.items():
            t = transform_to(constraint) if name == "factor" else biject_to(constraint)
            x = self.raw[name]
            point[name] = t(x)
            if name != "factor":
                log_det = log_det + t.log_abs_det_jacobian(x, point[name]).sum()
        return point, log_det, Normal(self.loc, nn.functional.softplus(self.rho))


def log_joint(p, effects):
    total = HalfCauchy(1.0).log_prob(p["scale"]) + InverseGamma(3.0, 2.0).log_prob(p["dispersion"])
    total = total + Kumaraswamy(2.0, 3.0).log_prob(p["share"]) + Beta(2.0, 2.0).log_prob(p["mix"][..., 0])
    total = total + Pareto(0.1, 1.5).log_prob(p["spread"]) + VonMises(0.0, 1.0).log_prob(p["turn"])
    correlation = p["factor"] / p["factor"].norm(dim=-1, keepdim=True)
    total = total + LKJCholesky(2, 2.0).log_prob(correlation)
    total = total + Independent(Normal(torch.zeros_like(effects), p["scale"]), 1).log_prob(effects)
    rate = torch.exp(effects).unsqueeze(1) * exposure
    law = NegativeBinomial(1 / p["dispersion"], logits=torch.log(rate * p["dispersion"]))
    total = total + law.log_prob(counts).sum() + VonMises(p["turn"], 1 / p["spread"]).log_prob(angles).sum()
    pair = torch.stack([effects[0], effects[1]])
    return total + MultivariateNormal(torch.zeros(2, device=device), scale_tril=p["factor"]).log_prob(pair)


guide = Guide().to(device)
optimizer = torch.optim.Adam(guide.parameters(), lr=0.05)
noise = normal(5, groups, seed=4)
for step in range(5):
    optimizer.zero_grad()
    point, log_det, q = guide()
    effects = q.loc + q.scale * noise[step]
    loss = -(log_joint(point, effects) + log_det + q.entropy().sum())
    loss.backward()
    optimizer.step()
    report(step, loss)
with torch.no_grad():
    point, _, q = guide()
    for name in sorted(point):
        report(name, point[name].double().sum())
    report("kl", kl_divergence(q, Normal(torch.zeros_like(q.loc), 1.0)).sum())
    report("kl", kl_divergence(Gamma(2.0, point["scale"]), Exponential(point["dispersion"])).sum())
    report("kl", kl_divergence(Gumbel(point["turn"], 2.0), Normal(0.0, point["scale"])).sum())
    report("kl", kl_divergence(LogNormal(0.0, point["scale"]), LogNormal(0.5, 1.0)).sum())
    law = TransformedDistribution(q, [AffineTransform(0.5, 2.0), SigmoidTransform()])
    report("cdf", law.cdf(torch.tensor(0.3, device=device)).sum())
    report("mode", HalfNormal(point["scale"]).icdf(torch.tensor(0.9, device=device)))
    low = LowRankMultivariateNormal(q.loc, q.scale.unsqueeze(1), q.scale)
    report("low rank", low.entropy())
    sticks = StickBreakingTransform()
    print(tuple(sticks(q.loc).shape), bool(torch.allclose(sticks.inv(sticks(q.loc)), q.loc, atol=1e-4)))
    print(ExpTransform().inv(torch.tensor(1.0)).item(), NegativeBinomial(2.0, 0.5).sample((3,)).shape == (3,))
