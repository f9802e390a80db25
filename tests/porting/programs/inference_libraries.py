"""What libraries for inference, such as pyro, derive from distributions, constraints, transforms and modules."""

import copy
import pickle

import numpy as np
import pytest
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import biject_to, constraints, kl_divergence, register_kl, transform_to
from torch.distributions import transforms as T

from checking import check, drawn


# ---- constraints are classes -----------------------------------------------------------------------------------------
class Softened(type(constraints.positive)):
    def __init__(self):
        super().__init__(lower_bound=0.0)


class Sphere(constraints.Constraint):
    event_dim = 1

    def check(self, value):
        return (value.norm(dim=-1) - 1).abs() < 1e-6


made = constraints._Interval(lower_bound=-1.0, upper_bound=2.0)
MIXED = [constraints.real, constraints.positive, constraints.real, constraints.boolean, made]
CONSTRAINTS = {
    "interval": made,
    "derived": Softened(),
    "greater_than": constraints.greater_than(0.5),
    "greater_than_eq": constraints.greater_than_eq(0.5),
    "less_than": constraints.less_than(1.0),
    "half_open_interval": constraints.half_open_interval(-1.0, 1.0),
    "integer_interval": constraints.integer_interval(0, 1),
    "nonnegative_integer": constraints.nonnegative_integer,
    "integer_less_than": constraints._IntegerLessThan(1),
    "boolean": constraints.boolean,
    "cat": constraints.cat([constraints.positive, constraints.boolean], 0, [2, 3]),
    "stack": constraints.stack(MIXED, 0),
    "independent": constraints.independent(made, 1),
    "real_vector": constraints.real_vector,
}


def test_constraints_are_classes():
    check(isinstance(made, constraints.interval), isinstance(constraints.unit_interval, constraints._Interval))
    check(made.lower_bound, made.upper_bound, made.event_dim, made.is_discrete, Softened().lower_bound)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    c = CONSTRAINTS[name]
    check(type(c).__name__.strip("_"), c.check(torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])), c.event_dim, c.is_discrete)


OF_MATRICES = ["square", "symmetric", "positive_semidefinite", "positive_definite"]
OF_MATRICES += ["lower_triangular", "lower_cholesky"]


@pytest.mark.parametrize("name", OF_MATRICES)
def test_constraint_of_matrices(name):
    m = torch.stack([torch.eye(2), -torch.eye(2), torch.ones(2, 2), torch.ones(2, 2).triu()])
    check(getattr(constraints, name).check(m[:3]), getattr(constraints, name).check(m))


def test_a_constraint_of_ones_own():
    check(Sphere().check(torch.tensor([[0.6, 0.8], [1.0, 1.0]])))


def test_dependent_constraints():
    known = constraints.dependent(is_discrete=False, event_dim=1)
    check(known.event_dim, known.is_discrete, constraints.is_dependent(known), constraints.is_dependent(made))


def test_the_constraint_of_a_mixture():
    intervals = constraints.interval(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0]))
    mixed = constraints.MixtureSameFamilyConstraint(intervals)
    check(mixed.check(torch.tensor([1.5, 2.5])), mixed.event_dim)


# ---- a distribution of one's own -------------------------------------------------------------------------------------
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


@register_kl(Between, Between)
def _between(p, q):
    return ((q.high - q.low) / (p.high - p.low)).log()


def between():
    return Between(0.0, torch.tensor([1.0, 4.0]), validate_args=True)


def test_a_support_that_depends_on_parameters():
    check(constraints.is_dependent(Between.support), Between.support.event_dim)
    check(type(D.Distribution._validate_args).__name__, between().support.upper_bound)


def test_samples_of_ones_own_distribution():
    b = between()
    check(b.rsample(), b.expand((3, 2)).sample((5,)).shape)
    grouped = D.Independent(b, 1)
    check(grouped.rsample((2,)), grouped.sample(), grouped.log_prob(torch.tensor([0.5, 2.0])))


def test_a_value_outside_of_the_support():
    with pytest.raises(ValueError):
        between().log_prob(torch.tensor([0.5, 5.0]))


def test_a_divergence_of_ones_own():
    check(kl_divergence(Between(0.0, 1.0), Between(-1.0, 3.0)))
    check(kl_divergence(D.Independent(between(), 1), D.Independent(between(), 1)))


# ---- transforms are found by the class of a constraint ---------------------------------------------------------------
@transform_to.register(Softened)
@biject_to.register(Softened)
def _soft(constraint):
    return T.SoftplusTransform()


transform_to.register(Sphere(), lambda c: T.AffineTransform(0.0, 1.0, event_dim=1))


def test_registered_transforms():
    z = drawn(4, 3, dtype=torch.float64)
    check(transform_to(Softened())(z), biject_to(Softened()).inv(biject_to(Softened())(z)))
    check(type(transform_to(Sphere())).__name__)
    with pytest.raises(NotImplementedError):
        biject_to(Sphere())


TRANSFORMED = {
    "positive": constraints.independent(constraints.positive, 1),
    "corr_cholesky": constraints.corr_cholesky,
    "simplex": constraints.simplex,
    "interval": made,
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transform_of(name):
    z, t = drawn(4, 3, dtype=torch.float64), biject_to(TRANSFORMED[name])
    y = t(z)
    check(type(t).__name__, y, t.log_abs_det_jacobian(z, y), t.inv(y))


PARTS = [constraints.positive, constraints.unit_interval]
JOINED = [constraints.cat(PARTS, 1, [2, 1]), constraints.stack([*PARTS, constraints.real], 1)]


@pytest.mark.parametrize("c", JOINED, ids=["cat", "stack"])
def test_transform_of_parts(c):
    z = drawn(4, 3, dtype=torch.float64)
    y = transform_to(c)(z)
    check(type(transform_to(c)).__name__, y, biject_to(c).log_abs_det_jacobian(z, y))


def test_transform_to_positive_definite():
    check(transform_to(constraints.positive_definite)(drawn(2, 3, 3, dtype=torch.float64)))


class Counted(T.Transform):
    """Has no inverse but what it remembers."""

    domain, codomain, bijective = constraints.real, constraints.real, True
    calls = 0

    def _call(self, x):
        self.calls += 1
        return x + x.tanh()

    def log_abs_det_jacobian(self, x, y):
        return (2 - x.tanh().square()).log()


def test_a_transform_that_remembers():
    t = Counted(cache_size=1)
    d = D.TransformedDistribution(D.Normal(torch.zeros(3), 1.0), [t])
    s = d.rsample()
    check(d.log_prob(s).shape, t.calls, t.inv(s) is t._cached_x_y[0], t._cached_x_y[1] is s, t.with_cache(1) is t)
    x = t.inv(s)
    assert torch.allclose(d.log_prob(s), D.Normal(0.0, 1.0).log_prob(x) - t.log_abs_det_jacobian(x, s))


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


def test_a_transform_that_is_a_module():
    z = drawn(4, 3, dtype=torch.float64)
    check(Learned()(z), Learned().inv(z), [n for n, _ in Learned(cache_size=1).named_parameters()])


# ---- values that can be listed ---------------------------------------------------------------------------------------
LISTED = {
    "Bernoulli": D.Bernoulli(torch.tensor([0.2, 0.5])),
    "Categorical": D.Categorical(torch.ones(2, 3)),
    "OneHotCategorical": D.OneHotCategorical(torch.ones(2, 3)),
    "Binomial": D.Binomial(3, torch.tensor([0.2, 0.5])),
    "Independent": D.Independent(D.Bernoulli(torch.tensor([0.2, 0.5])), 0),
}


@pytest.mark.parametrize("name", LISTED)
def test_enumerate_support(name):
    d = LISTED[name]
    values = d.enumerate_support(expand=False)
    check(d.has_enumerate_support, d.enumerate_support().shape, values.shape, d.log_prob(values))


def test_values_that_cannot_be_listed():
    check(D.Independent(D.Bernoulli(torch.ones(2)), 1).has_enumerate_support)
    check(D.Normal(0.0, 1.0).has_enumerate_support)


# ---- modules whose classes look attributes up themselves -------------------------------------------------------------
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


@pytest.mark.parametrize("kind", [Watching, Derived])
def test_a_getattr_of_ones_own(kind):
    w = kind()
    kind.asked.clear()
    check(w.scale.shape, w.count.shape, w.inner.in_features, w.size, w.out_features, kind.asked)


def test_a_delattr_of_ones_own():
    w = Derived()
    check([n for n, _ in w._named_members(lambda m: m._parameters.items())])
    del w.scale
    check([n for n, _ in w.named_parameters()], list(w._modules), nn.Linear(1, 2).__getattr__("bias").shape)
    del w.inner
    check(list(w._modules), w.count._cdata == w.count._cdata)


# ---- names of botorch and gpytorch -----------------------------------------------------------------------------------
FAR = [-5.0, -0.5, 0.0, 0.1, 1.0, 3.0, 7.9, 8.1, 100.0, 1e4]


def test_erfcx():
    x = torch.tensor(FAR, dtype=torch.float64, requires_grad=True)
    y = torch.special.erfcx(x)
    y.sum().backward()
    check(y, x.grad)


def test_numpy_under_no_grad():
    x = torch.tensor(FAR, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        check((x * 2).numpy()[:2].tolist(), float(np.asarray(x * 1)[2]))


def test_shapes():
    check(torch.broadcast_shapes((2, 1), (3,), 1).numel(), [p.shape for p in torch.ones(10).split(split_size=4)])


MODES = {
    "LogNormal": D.LogNormal(0.3, 0.5),
    "Beta": D.Beta(torch.tensor([2.0, 0.5]), torch.tensor([3.0, 0.5])),
    "Dirichlet": D.Dirichlet(torch.tensor([[2.0, 3.0, 4.0], [0.5, 0.7, 0.2]])),
    "Geometric": D.Geometric(torch.tensor(0.4)),
    "Binomial": D.Binomial(5, torch.tensor([0.3, 1.0])),
    "StudentT": D.StudentT(3.0, torch.tensor(1.0)),
    "Independent": D.Independent(D.Normal(torch.ones(2), 1.0), 1),
}


@pytest.mark.parametrize("name", MODES)
def test_mode(name):
    check(MODES[name].mode)


def test_entropy_of_multinomial():
    check(D.Multinomial(5, torch.tensor([0.2, 0.8])).entropy(), D.Multinomial(3, torch.ones(2, 4)).entropy())


def test_dsmm():
    m = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    check(torch.dsmm(m, torch.eye(3)), m.ndimension())


# ---- what a module holds, as dicts -----------------------------------------------------------------------------------
def filled():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    net.p = nn.Parameter(torch.ones(1))
    net.register_buffer("b", torch.zeros(1))
    return net


def test_dicts_of_a_module():
    net = filled()
    check(next(iter(reversed(net._modules.items())))[0])
    check(isinstance(net._modules, dict), isinstance(net._parameters, dict))


def test_changed_dicts_of_a_module():
    net = filled()
    net._parameters["q"] = net._parameters.pop("p")
    net._modules.update({"z": nn.Identity()})
    net._buffers.clear()
    check([n for n, _ in net.named_parameters()], list(net._modules), list(net.buffers()), len(net))
    del net._modules["0"]
    check(next(reversed(net._modules)), net._modules.popitem()[0], list(net._modules))


# ---- modules that change what pickles keep of them -------------------------------------------------------------------
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
        check(state.pop("names"), sorted(state["_modules"]), sorted(state["_buffers"]))
        super().__setstate__(state)


COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda m: pickle.loads(pickle.dumps(m)), "copy": copy.copy}


@pytest.mark.parametrize("how", COPIES)
def test_getstate_of_ones_own(how):
    kept, x = Kept().eval(), torch.ones(1, 2)
    other = COPIES[how](kept)
    check(other.size, other.training, torch.equal(other(x), kept(x)), other.rest[0] is other.first)
    check([n for n, _ in other.named_parameters()], list(other.state_dict()), other.first is kept.first)
