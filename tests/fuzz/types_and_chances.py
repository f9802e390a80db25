"""Statements about all pairs of types, and about distributions."""

from __future__ import annotations

from draw import Drawing, value
from program import TYPES

HALVES = ("float16", "bfloat16")


# ---- types ---
def typed(d: Drawing, x: str) -> str:
    """The tensor in one of the types. Not F, which is another one in the reference."""
    there = d.pick(*[name for name in TYPES if d.half or name not in HALVES])
    if "float" in there:
        return f"{x}.to(t.{there})"
    low = 0.0 if there == "uint8" else -90.0
    return f"t.clamp(t.floor({x}.to(F) * 4.0 + 0.3), {low}, 90.0).to(t.{there})"  # not near a whole number


@value(10, "types")
def pair(d: Drawing) -> str:
    x = d.pick_value(floats=False)
    a, b = typed(d, x), typed(d, d.like(x))
    if d.maybe(0.2):
        b = d.pick("2", "0.5", "True", "-3")
    op = d.pick("+", "-", "*", "/", "<", ">=", "&", "|", "^")
    if op in ("<", ">="):  # of what no rounding has touched
        a, b = (typed(d, f"leaf({d.key()}, {x}.shape)") for _ in range(2))
    if op == "/":
        return f"typed({a} / (t.abs({b}.to(t.int32)) + 1)).to(F)" if b.startswith("t.") else f"typed({a} / 4).to(F)"
    calls = [f"t.{f}({a}, {b})" for f in ("add", "mul", "maximum", "minimum", "hypot", "atan2")] if "." in b[:2] else []
    return f"typed({d.pick(f'({a} {op} {b})', *calls)}).to(F)"


@value(4, "types")
def several(d: Drawing) -> str:
    x = d.pick_value(1, floats=False)
    a, b = typed(d, x), typed(d, x)
    text = d.pick(
        f"t.cat([{a}, {b}])",
        f"t.where({x} > 0.1, {a}, {b})",
        f"{a}.{d.pick('sum', 'mean', 'prod', 'amax', 'cumsum', 'var', 'argmax')}({d.dim(x)})",
        f"t.{d.pick('exp', 'abs', 'neg', 'sqrt', 'floor', 'sign', 'sigmoid', 'square')}({a})",
        f"{a}.clone().{d.pick('add_', 'mul_', 'copy_', 'sub_')}({b})",
        f"t.clamp({a}, {d.pick('0', '-0.5')}, 1)",
        f"t.isin({a}, t.tensor([0, 1], device=D))",
    )
    return f"typed({text}).to(F)"


# ---- distributions ---
REAL, POSITIVE, UNIT, WHOLE = "{}", "{}.abs() + 0.25", "t.sigmoid({})", "t.floor({}.abs())"
# Float32 has too few digits for chances nearer to 1; test_distribution_ends.py is about those.
CHANCE, SIZE = "t.sigmoid(t.clamp({}, -6.0, 6.0))", "(t.nn.functional.softplus({}) + 0.25)"
# Name, parameters, where its values lie, and what else it has: c a cdf, e an entropy, k a divergence, m moments.
DISTRIBUTIONS = (
    ("Normal", (REAL, SIZE), REAL, "cekm"),
    ("Laplace", (REAL, SIZE), REAL, "cekm"),
    ("Cauchy", (REAL, SIZE), REAL, "cek"),
    ("Gumbel", (REAL, SIZE), REAL, "cekm"),
    ("LogNormal", (REAL, SIZE), POSITIVE, "ce"),
    ("HalfNormal", (SIZE,), POSITIVE, "cekm"),
    ("HalfCauchy", (SIZE,), POSITIVE, "ce"),
    ("Exponential", (SIZE,), POSITIVE, "cekm"),
    ("Weibull", (SIZE, SIZE), POSITIVE, "cem"),
    ("Kumaraswamy", (SIZE, SIZE), UNIT, "ce"),
    ("Gamma", (SIZE, SIZE), POSITIVE, "ekm"),
    ("InverseGamma", (SIZE, SIZE), POSITIVE, "e"),
    ("Chi2", (SIZE,), POSITIVE, "em"),
    ("Beta", (SIZE, SIZE), UNIT, "ekm"),
    ("StudentT", (SIZE, REAL, SIZE), REAL, "e"),
    ("VonMises", (REAL, SIZE), REAL, ""),
    ("Bernoulli", (CHANCE,), "({} > 0.1).to(F)", "ekm"),
    ("Bernoulli(logits=", (REAL,), "({} > 0.1).to(F)", "ekm"),
    ("Geometric", (CHANCE,), WHOLE, "ekm"),
    ("Poisson", (SIZE,), WHOLE, "km"),
    ("ContinuousBernoulli", (CHANCE,), UNIT, "ecm"),
    ("RelaxedBernoulli(t.tensor(0.5, dtype=F, device=D), logits=", (REAL,), UNIT, ""),
    ("NegativeBinomial(4.0, ", ("t.sigmoid({}) * 0.75",), WHOLE, ""),
    ("Dirichlet", (SIZE,), "t.softmax({}, -1)", "ekm"),
    ("Categorical(logits=", (REAL,), "", "ek"),
    ("OneHotCategorical(logits=", (REAL,), "", "ekm"),
)


def made(name: str, options: list[str]) -> str:
    return f"t.distributions.{name}{'' if '(' in name else '('}{', '.join(options)})"


@value(10, "distributions")
def distribution(d: Drawing) -> str:
    name, options, support, has = d.pick(*DISTRIBUTIONS)
    x = d.pick_value(1 if "Categorical" in name or name == "Dirichlet" else 0)
    small = f"t.clamp({x}, -6.0, 6.0)" if d.maybe(0.8) else x
    one = made(name, [o.format(small) for o in options])
    texts = [f"{one}.log_prob({support.format(f'leaf({d.key()}, {x}.shape)')})"] * 2 if support else []
    if "Categorical(" in name and name[0] == "C":
        texts.append(f"{one}.log_prob(ints({d.key()}, {d.shape(x)[:-1]}, {d.shape(x)[-1]}))")
    if "c" in has:
        texts.append(f"{one}.cdf({support.format(f'leaf({d.key()}, {x}.shape)')})")
        names = "abc"[: len(options)]
        free = made(name, [o.format(f"t.clamp({n}, -4.0, 4.0)") for o, n in zip(options, names, strict=True)])
        texts.append(f"pathwise(lambda {', '.join(names)}: {free}, {', '.join([x] * len(options))})")
    if "e" in has:
        texts.append(f"{one}.entropy()")
    if "k" in has:
        other = made(name, [o.format(f"leaf({d.key()}, {x}.shape)") for o in options])
        texts.append(f"t.distributions.kl_divergence({one}, {other})")
    if "m" in has:
        texts.append(f"{one}.{d.pick('mean', 'variance')}")
    return d.pick(*texts)  # type: ignore[no-any-return]
