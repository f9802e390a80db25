"""Writes tests/golden/ends.json with mpmath: `python tests/reference/ends.py > tests/golden/ends.json`.

Log densities and distribution functions at the corners of parameters and values, with all derivatives, and special
functions at theirs. A row is [name, method, arguments, value, derivatives]; None: there is no derivative.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import mpmath as mp

mp.mp.dps = 80
Formula = Callable[..., Any]


def log_binomial(n: Any, k: Any) -> Any:
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def log_sigmoid(z: Any) -> Any:
    return -mp.log1p(mp.exp(-z))


def log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def continuous_bernoulli(z: Any, x: Any) -> Any:
    return z * x - (mp.log(mp.expm1(z) / z) if z else 0)


def relaxed_bernoulli(t: Any, z: Any, x: Any) -> Any:
    y = mp.log(x) - mp.log1p(-x)
    return mp.log(t) + z - t * y - 2 * mp.log1p(mp.exp(z - t * y)) - mp.log(x) - mp.log1p(-x)


def student(n: Any, m: Any, s: Any, x: Any) -> Any:
    norm = mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(n * mp.pi) / 2 - mp.log(s)
    return norm - (n + 1) / 2 * mp.log1p(((x - m) / s) ** 2 / n)


def fisher(n: Any, m: Any, x: Any) -> Any:
    a, b = n / 2, m / 2
    return a * mp.log(n / m) + (a - 1) * mp.log(x) - (a + b) * mp.log1p(n / m * x) - log_beta(a, b)


def ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def laplace_below(m: Any, s: Any, x: Any) -> Any:
    z = (x - m) / s
    return mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2


def power(k: int) -> float:
    return 2.0**k


SCALES = [power(-12), 1.0, power(12), power(-60), power(60)]
LOGITS = [0.0, power(-10), -0.015625, 0.5, -3.0, 17.0, -40.0, 88.0, -300.0]
SHAPES = [power(-10), 0.5, 1.0, 3.0, 40.0, 1024.0]
INSIDE = [power(-12), 0.25, 0.5, 1 - power(-8)]
HALF_LOG = mp.log(2 * mp.pi) / 2

# Of each: the log density of parameters and a value, and what they are.
DENSITIES: dict[str, tuple[Formula, list[list[float]]]] = {
    "Normal": (
        lambda m, s, x: -(((x - m) / s) ** 2) / 2 - mp.log(s) - HALF_LOG,
        [[0.0, 3.0], SCALES[:3], [0.0, 3.0, -100.0]],
    ),
    "HalfNormal": (lambda s, x: mp.log(2) - ((x / s) ** 2) / 2 - mp.log(s) - HALF_LOG, [SCALES[:3], [power(-12), 8.0]]),
    "Laplace": (lambda m, s, x: -abs(x - m) / s - mp.log(2 * s), [[0.0, 3.0], SCALES, [power(-12), -100.0]]),
    "Cauchy": (
        lambda m, s, x: -mp.log(mp.pi * s) - mp.log1p(((x - m) / s) ** 2),
        [[0.0, 3.0], SCALES, [0.0, -100.0, power(80)]],
    ),
    "HalfCauchy": (
        lambda s, x: mp.log(2 / mp.pi / s) - mp.log1p((x / s) ** 2),
        [SCALES, [power(-12), 100.0, power(80)]],
    ),
    "Exponential": (lambda r, x: mp.log(r) - r * x, [SCALES, [0.0, power(-12), 100.0]]),
    "Gumbel": (
        lambda m, s, x: -(x - m) / s - mp.exp(-(x - m) / s) - mp.log(s),
        [[0.0], [0.5, 1.0, power(12)], [0.0, -3.0, 100.0]],
    ),
    "Pareto": (
        lambda s, a, x: mp.log(a) + a * mp.log(s) - (a + 1) * mp.log(x),
        [[power(-6), 1.0], SHAPES, [2.0, 100.0]],
    ),
    "Weibull": (
        lambda s, k, x: mp.log(k / s) + (k - 1) * mp.log(x / s) - (x / s) ** k,
        [[1.0, 4.0], [power(-6), 0.5, 1.0, 3.0], [power(-12), 1.0, 8.0]],
    ),
    "Kumaraswamy": (
        lambda a, b, x: mp.log(a * b) + (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-(x**a)),
        [[power(-6), 1.0, 3.0], [power(-6), 1.0, 3.0], INSIDE],
    ),
    "Gamma": (
        lambda a, b, x: a * mp.log(b) + (a - 1) * mp.log(x) - b * x - mp.loggamma(a),
        [SHAPES, [power(-6), 1.0, 8.0], [power(-12), 1.0, 100.0]],
    ),
    "Beta": (
        lambda a, b, x: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta(a, b),
        [SHAPES, SHAPES, INSIDE],
    ),
    "InverseGamma": (
        lambda a, b, x: a * mp.log(b) - mp.loggamma(a) - (a + 1) * mp.log(x) - b / x,
        [SHAPES, [power(-6), 1.0, 8.0], [power(-6), 1.0, 100.0]],
    ),
    "StudentT": (student, [SHAPES, [0.0], [1.0, power(-6)], [0.0, 3.0, power(80)]]),
    "FisherSnedecor": (fisher, [SHAPES[1:5], SHAPES[1:5], [power(-12), 1.0, 100.0]]),
    "VonMises": (
        lambda m, k, x: k * mp.cos(x - m) - mp.log(2 * mp.pi * mp.besseli(0, k)),
        [[0.0], [power(-10), 1.0, 50.0, 1024.0], [0.0, 0.5, 3.0]],
    ),
    "Bernoulli": (lambda z, x: x * log_sigmoid(z) + (1 - x) * log_sigmoid(-z), [LOGITS, [0.0, 1.0]]),
    "Geometric": (lambda z, x: x * log_sigmoid(-z) + log_sigmoid(z), [LOGITS, [0.0, 1.0, 100.0]]),
    "Binomial": (
        lambda n, z, x: log_binomial(n, x) + x * log_sigmoid(z) + (n - x) * log_sigmoid(-z),
        [[8.0, 100.0], LOGITS, [0.0, 3.0, 8.0]],
    ),
    "NegativeBinomial": (
        lambda r, z, x: (
            mp.loggamma(r + x) - mp.loggamma(x + 1) - mp.loggamma(r) + r * log_sigmoid(-z) + x * log_sigmoid(z)
        ),
        [[0.5, 8.0], LOGITS, [0.0, 3.0, 100.0]],
    ),
    "Poisson": (lambda r, x: (x * mp.log(r) if x else 0) - r - mp.loggamma(x + 1), [SCALES[:3], [0.0, 1.0, 100.0]]),
    "ContinuousBernoulli": (continuous_bernoulli, [LOGITS, [0.0, 0.25, 1.0]]),
    "RelaxedBernoulli": (relaxed_bernoulli, [[0.125, 1.0], LOGITS, [power(-12), 0.5, 1 - power(-8)]]),
}
WHOLE = {"Bernoulli", "Geometric", "Binomial", "NegativeBinomial", "Poisson"}  # no derivative by the value
SHARES: dict[str, tuple[Formula, list[list[float]]]] = {
    "Laplace": (laplace_below, [[0.0], [1.0, 4.0], [0.0, -3.0, 3.0]]),
    "Normal": (lambda m, s, x: ndtr((x - m) / s), [[0.0], [1.0, 4.0], [0.0, -20.0, 3.0]]),
    "ContinuousBernoulli": (lambda z, x: mp.expm1(z * x) / mp.expm1(z) if z else x, [LOGITS, [0.25, 0.75]]),
    "Gumbel": (lambda m, s, x: mp.exp(-mp.exp(-(x - m) / s)), [[0.0], [1.0], [0.0, -3.0, -400.0, 8.0]]),
    "Cauchy": (lambda m, s, x: mp.atan((x - m) / s) / mp.pi + 0.5, [[0.0], [1.0], [0.0, -100.0, 3.0]]),
    "Weibull": (lambda s, k, x: -mp.expm1(-((x / s) ** k)), [[1.0], [0.5, 3.0, 32.0], [power(-6), 8.0, 32.0]]),
    "Kumaraswamy": (
        lambda a, b, x: -mp.expm1(b * mp.log1p(-(x**a))),
        [[power(-6), 0.5, 3.0], [0.5, 3.0], [power(-12), 0.5, 1 - power(-8), 1 - power(-24)]],
    ),
    "Exponential": (lambda r, x: -mp.expm1(-r * x), [[1.0, power(-12)], [power(-6), 8.0]]),
}

# Special functions: of what, and where.
SPECIAL: dict[str, tuple[Formula, list[Any]]] = {
    "log_ndtr": (lambda x: mp.log(ndtr(x)), [-1e10, -100, -38, -20, -10, -7, -5.5, -5, -4.5, -1, -0.5, 0, 1, 3, 5, 10]),
    "ndtr": (ndtr, [-37, -20, -5, -1, -0.125, 0, 1, 8]),
    "erfinv": (mp.erfinv, [-0.75, -0.5, -0.25, power(-60), 0, 0.5, 0.515625, 1 - power(-8), 1 - power(-20)]),
    "erfcx": (
        lambda x: mp.exp(x * x) * mp.erfc(x),
        [-26, -5, -1, -0.125, 0, 0.5, 1, 3, 3.5, 5, 7.5, 8, 8.5, 20, 1000, power(40)],
    ),
    "lgamma": (
        lambda x: mp.log(abs(mp.gamma(x))),
        [-50.25, -10.5, -2.5, -0.5, power(-60), 0.25, 0.5, 0.75, 1.25, 1.5, 2.5, 3, 7.5, 8, 8.5, 100, power(40)],
    ),
    "digamma": (mp.digamma, [-50.25, -2.25, -0.25, power(-60), 0.25, 0.5, 1, 1.5, 2, 3, 7.5, 8, 8.5, 100, power(40)]),
    **{
        f"polygamma {n}": (lambda x, n=n: mp.psi(n, x), [-2.25, -0.5, 0.25, 0.5, 1, 2, 3, 5, 7.5, 8, 8.5, 10, 100])
        for n in (1, 2, 3, 7)
    },
    "i0": (lambda x: mp.besseli(0, x), [-3, power(-30), 1, 3, 6, 8, 80]),
    "i0e": (lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [-3, 0.5, 1, 3, 6, 8, 1000]),
    "i1": (lambda x: mp.besseli(1, x), [-3, power(-30), 1, 3, 6, 8, 80]),
    "i1e": (lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [-3, 0.5, 1, 3, 6, 8, 1000]),
    "entr": (lambda x: -x * mp.log(x), [power(-60), 0.125, 1 - power(-20), 2, power(40)]),
    "sinc": (
        lambda x: mp.sinc(mp.pi * x) if x else mp.mpf(1),
        [0, power(-60), power(-10), 0.125, 0.3125, 0.5, 1.5, 10.25],
    ),
    "logit": (lambda x: mp.log(x) - mp.log1p(-x), [power(-60), 0.25, 0.5, 1 - power(-20)]),
    "zeta": (
        mp.zeta,
        [(1.125, 1), (1.5, 2.5), (2, 1), (2, power(-20)), (2, -0.5), (3, -1.5), (3, 100), (4.5, 1), (10, 30), (50, 3)],
    ),
    "xlog1py": (lambda a, b: a * mp.log1p(b), [(2, power(-60)), (2, -0.5), (0, 3), (5, power(-30) - 1)]),
    "xlogy": (lambda a, b: a * mp.log(b), [(2, power(-60)), (0, 3), (3, 0.5)]),
    "gammainc": (
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        [
            (power(-10), 0.5),
            (0.125, power(-30)),
            (0.5, 0.5),
            (1, 1),
            (3, 10),
            (50, 30),
            (50, 80),
            (1000, 900),
            (1e5, 99000),
        ],
    ),
    "gammaincc": (
        lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        [(power(-10), 0.5), (power(-16), power(-16)), (0.5, 5), (0.5, 50), (1, 30), (50, 80), (1000, 1100), (1e5, 1e5)],
    ),
}


def derivative(f: Formula, at: tuple[float, ...], i: int) -> float | None:
    """By central differences of 80 digits; None where a side of it is not defined."""
    step = mp.mpf(2) ** -100 * min(1, abs(at[i]) or 1)
    try:
        ends = [f(*(mp.mpf(x) + (side * step if j == i else 0) for j, x in enumerate(at))) for side in (1, -1)]
    except (ValueError, ZeroDivisionError):
        return None
    if any(mp.im(e) for e in ends):
        return None
    return float((ends[0] - ends[1]) / (2 * step))


def rows() -> Iterator[list[Any]]:
    """Of all tables."""
    for method, table in (("log_prob", DENSITIES), ("cdf", SHARES)):
        for name, (f, corners) in table.items():
            for at in product(*corners):
                if name == "Pareto" and at[2] < at[0]:
                    continue
                if name == "VonMises" and at[1] > 500 and at[2] > 1:
                    continue  # cos() of a half angle far away is all rounding
                wanted = len(at) - (name in WHOLE)
                counts = name in ("Binomial",)
                slopes = [None if i >= wanted or (counts and i == 0) else derivative(f, at, i) for i in range(len(at))]
                yield [name, method, list(at), float(f(*map(mp.mpf, at))), slopes]
    for name, (f, places) in SPECIAL.items():
        for place in places:
            at = tuple(map(float, place if isinstance(place, tuple) else (place,)))
            slopes = [None] * len(at) if len(at) == 2 else [derivative(f, at, 0)]
            yield [name, "special", list(at), float(f(*map(mp.mpf, at))), slopes]


if __name__ == "__main__":
    print("[\n" + ",\n".join(json.dumps(row) for row in rows()) + "\n]")
