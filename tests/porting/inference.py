"""What libraries for inference, such as pyro, derive from distributions, constraints, transforms and modules."""

import copy
import pickle

import numpy as np
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import biject_to, constraints, kl_divergence, register_kl, transform_to
from torch.distributions import transforms as T

rng = np.random.default_rng(0)


def random(*s):
    return torch.tensor(rng.standard_normal(s))


def show(name, *xs):
    print(name, *[(tuple(x.shape), [float(f"{v:.4g}") + 0.0 for v in x.detach().double().flatten()[:6]]) for x in xs])


# ---- constraints are classes ----
class Softened(type(constraints.positive)):
    def __init__(self):
        super().__init__(lower_bound=0.0)


class Sphere(constraints.Constraint):
    event_dim = 1

    def check(self, value):
        return (value.norm(dim=-1) - 1).abs() < 1e-6


made = constraints._Interval(lower_bound=-1.0, upper_bound=2.0)
print(isinstance(made, constraints.interval), isinstance(constraints.unit_interval, constraints._Interval))
print(made.lower_bound, made.upper_bound, made.event_dim, made.is_discrete, Softened().lower_bound)
x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])
for c in (
    made,
    Softened(),
    constraints.greater_than(0.5),
    constraints.greater_than_eq(0.5),
    constraints.less_than(1.0),
    constraints.half_open_interval(-1.0, 1.0),
    constraints.integer_interval(0, 1),
    constraints.nonnegative_integer,
    constraints._IntegerLessThan(1),
    constraints.boolean,
    constraints.cat([constraints.positive, constraints.boolean], 0, [2, 3]),
    constraints.stack([constraints.real, constraints.positive, constraints.real, constraints.boolean, made], 0),
    constraints.independent(made, 1),
    constraints.real_vector,
):
    print(type(c).__name__.strip("_"), c.check(x).tolist(), c.event_dim, c.is_discrete)
m = torch.stack([torch.eye(2), -torch.eye(2), torch.ones(2, 2), torch.ones(2, 2).triu()])
for c in ("square", "symmetric", "positive_semidefinite", "positive_definite", "lower_triangular", "lower_cholesky"):
    print(c, getattr(constraints, c).check(m[:3]).tolist(), getattr(constraints, c).check(m).tolist())
print(Sphere().check(torch.tensor([[0.6, 0.8], [1.0, 1.0]])).tolist())
known = constraints.dependent(is_discrete=False, event_dim=1)
print(known.event_dim, known.is_discrete, constraints.is_dependent(known), constraints.is_dependent(made))
mixed = constraints.MixtureSameFamilyConstraint(
    constraints.interval(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0]))
)
print(mixed.check(torch.tensor([1.5, 2.5])).tolist(), mixed.event_dim)


class Between(D.Distribution):
    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}  # noqa: RUF012
    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = D.utils.broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Between, _instance)
        new.low, new.high = self.low.expand(batch_shape), self.high.expand(batch_shape)
        super(Between, new).__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def rsample(self, sample_shape=()):
        return self.low + (self.high - self.low) * torch.ones(self._extended_shape(sample_shape)) / 2

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -(self.high - self.low).log() + value * 0


print(
    constraints.is_dependent(Between.support), Between.support.event_dim, type(D.Distribution._validate_args).__name__
)
b = Between(0.0, torch.tensor([1.0, 4.0]), validate_args=True)
print(b.support.upper_bound.tolist(), b.rsample().tolist(), b.expand((3, 2)).sample((5,)).shape)
grouped = D.Independent(b, 1)
show("grouped", grouped.rsample((2,)), grouped.sample(), grouped.log_prob(torch.tensor([0.5, 2.0])))
try:
    b.log_prob(torch.tensor([0.5, 5.0]))
except ValueError:
    print("outside")


@register_kl(Between, Between)
def _between(p, q):
    return ((q.high - q.low) / (p.high - p.low)).log()


show("kl", kl_divergence(Between(0.0, 1.0), Between(-1.0, 3.0)), kl_divergence(grouped, D.Independent(b, 1)))


# ---- transforms are found by the class of a constraint ----
@transform_to.register(Softened)
@biject_to.register(Softened)
def _soft(constraint):
    return T.SoftplusTransform()


transform_to.register(Sphere(), lambda c: T.AffineTransform(0.0, 1.0, event_dim=1))
z = random(4, 3)
show("soft", transform_to(Softened())(z), biject_to(Softened()).inv(biject_to(Softened())(z)))
print(type(transform_to(Sphere())).__name__)
try:
    biject_to(Sphere())
except NotImplementedError:
    print("none")
for c in (constraints.independent(constraints.positive, 1), constraints.corr_cholesky, constraints.simplex, made):
    t = biject_to(c)
    y = t(z)
    show(type(t).__name__, y, t.log_abs_det_jacobian(z, y), t.inv(y))
joined = [constraints.positive, constraints.unit_interval]
for c in (constraints.cat(joined, 1, [2, 1]), constraints.stack([*joined, constraints.real], 1)):
    show(type(transform_to(c)).__name__, transform_to(c)(z), biject_to(c).log_abs_det_jacobian(z, transform_to(c)(z)))
show("definite", transform_to(constraints.positive_definite)(random(2, 3, 3)))


class Counted(T.Transform):
    """Has no inverse but what it remembers."""

    domain, codomain, bijective = constraints.real, constraints.real, True
    calls = 0

    def _call(self, x):
        self.calls += 1
        return x + x.tanh()

    def log_abs_det_jacobian(self, x, y):
        return (2 - x.tanh().square()).log()


t = Counted(cache_size=1)
d = D.TransformedDistribution(D.Normal(torch.zeros(3), 1.0), [t])
s = d.rsample()
print(d.log_prob(s).shape, t.calls, t.inv(s) is t._cached_x_y[0], t._cached_x_y[1] is s, t.with_cache(1) is t)
x = t.inv(s)
print(torch.allclose(d.log_prob(s), D.Normal(0.0, 1.0).log_prob(x) - t.log_abs_det_jacobian(x, s)))


class Learned(T.Transform, nn.Module):
    domain, codomain, bijective, sign = constraints.real, constraints.real, True, 1
    __hash__ = nn.Module.__hash__

    def __init__(self, cache_size=0):
        super().__init__(cache_size)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def _call(self, x):
        return x * self.scale

    def _inverse(self, y):
        return y / self.scale


show("learned", Learned()(z), Learned().inv(z))
print([n for n, _ in Learned(cache_size=1).named_parameters()])

# ---- values that can be listed ----
for d in (
    D.Bernoulli(torch.tensor([0.2, 0.5])),
    D.Categorical(torch.ones(2, 3)),
    D.OneHotCategorical(torch.ones(2, 3)),
    D.Binomial(3, torch.tensor([0.2, 0.5])),
    D.Independent(D.Bernoulli(torch.tensor([0.2, 0.5])), 0),
):
    print(
        type(d).__name__, d.has_enumerate_support, d.enumerate_support().shape, d.enumerate_support(expand=False).shape
    )
    show("log_prob", d.log_prob(d.enumerate_support(expand=False)))
print(D.Independent(D.Bernoulli(torch.ones(2)), 1).has_enumerate_support, D.Normal(0.0, 1.0).has_enumerate_support)


# ---- modules whose classes look attributes up themselves ----
class Watching(nn.Module):
    asked = []  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.inner, self.scale, self.size = nn.Linear(2, 3), nn.Parameter(torch.ones(1)), 4
        self.register_buffer("count", torch.zeros(1))

    def __getattr__(self, name):
        Watching.asked.append(name)
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

    def __setattr__(self, name, value):
        if isinstance(value, nn.Module):
            return self.add_module(name, value)
        return super().__setattr__(name, value)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)


class Derived(Watching):
    pass


for kind in (Watching, Derived):
    w = kind()
    kind.asked.clear()
    print(w.scale.shape, w.count.shape, w.inner.in_features, w.size, w.out_features, kind.asked)
print([n for n, _ in w._named_members(lambda m: m._parameters.items())])
del w.scale
print([n for n, _ in w.named_parameters()], list(w._modules), nn.Linear(1, 2).__getattr__("bias").shape)
del w.inner
print(list(w._modules), w.count._cdata == w.count._cdata)

# ---- names of botorch and gpytorch ----
x = torch.tensor([-5.0, -0.5, 0.0, 0.1, 1.0, 3.0, 7.9, 8.1, 100.0, 1e4], dtype=torch.float64, requires_grad=True)
y = torch.special.erfcx(x)
y.sum().backward()
print("erfcx", [f"{v:.6g}" for v in y.tolist()], [f"{v:.5g}" for v in x.grad.tolist()])
with torch.no_grad():
    print((x * 2).numpy()[:2].tolist(), np.asarray(y)[2])
print(torch.broadcast_shapes((2, 1), (3,), 1).numel(), [p.shape for p in x.split(split_size=4)])
for d in (
    D.LogNormal(0.3, 0.5),
    D.Beta(torch.tensor([2.0, 0.5]), torch.tensor([3.0, 0.5])),
    D.Dirichlet(torch.tensor([[2.0, 3.0, 4.0], [0.5, 0.7, 0.2]])),
    D.Geometric(torch.tensor(0.4)),
    D.Binomial(5, torch.tensor([0.3, 1.0])),
    D.StudentT(3.0, torch.tensor(1.0)),
    D.Independent(D.Normal(torch.ones(2), 1.0), 1),
):
    show(f"mode {type(d).__name__}", d.mode)
show("entropy", D.Multinomial(5, torch.tensor([0.2, 0.8])).entropy(), D.Multinomial(3, torch.ones(2, 4)).entropy())
m = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
print(torch.dsmm(m, torch.eye(3)).tolist(), m.ndimension())

# ---- what a module holds, as dicts ----
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
net.p = nn.Parameter(torch.ones(1))
net.register_buffer("b", torch.zeros(1))
print(next(iter(reversed(net._modules.items())))[0], isinstance(net._modules, dict), isinstance(net._parameters, dict))
net._parameters["q"] = net._parameters.pop("p")
net._modules.update({"z": nn.Identity()})
net._buffers.clear()
print([n for n, _ in net.named_parameters()], list(net._modules), list(net.buffers()), len(net))
del net._modules["0"]
print(next(reversed(net._modules)), net._modules.popitem()[0], list(net._modules))


# ---- modules that change what pickles keep of them ----
class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.scale, self.size = nn.Linear(2, 2), nn.Parameter(torch.ones(1)), 4
        self.register_buffer("count", torch.ones(2), persistent=False)
        self.rest = nn.Sequential(self.first, nn.ReLU())

    def forward(self, x):
        return self.rest(x) * self.scale

    def __getstate__(self):
        state = self.__dict__.copy() if not hasattr(super(), "__getstate__") else super().__getstate__().copy()
        state["_modules"] = state["_modules"].copy()
        state["names"], state["size"] = sorted(state["_parameters"]), 9
        return state

    def __setstate__(self, state):
        state = state.copy()
        print(state.pop("names"), sorted(state["_modules"]), sorted(state["_buffers"]))
        super().__setstate__(state)


kept, x = Kept().eval(), torch.ones(1, 2)
for other in (copy.deepcopy(kept), pickle.loads(pickle.dumps(kept)), copy.copy(kept)):
    print(other.size, other.training, torch.equal(other(x), kept(x)), other.rest[0] is other.first)
    print([n for n, _ in other.named_parameters()], list(other.state_dict()), other.first is kept.first)
