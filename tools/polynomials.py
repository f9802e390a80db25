#!/usr/bin/env python
"""tools/polynomials.py > python/spirograd/special/polynomials.py: interpolates, at Chebyshev nodes and with 60 digits,
the functions that special functions are made of. Needs mpmath.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp

mp.mp.dps = 60
ROOT = mp.findroot(mp.digamma, 1.46)  # of digamma


def bessel(order: int, x: Any) -> Any:
    """exp(-x) I_order(x) / x**order."""
    return mp.exp(-x) * (mp.besseli(order, x) / x**order if x else mp.mpf(1) / (order + 1))


def bessel_far(order: int, w: Any) -> Any:
    """sqrt(x) exp(-x) I_order(x) at x = 1 / w."""
    return mp.sqrt(1 / w) * mp.exp(-1 / w) * mp.besseli(order, 1 / w)


# name: what is interpolated, from where to where, about which point, degree in float32 and in float64
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], str, str, str, int, int]] = {
    "LGAMMA_1": (lambda t: mp.loggamma(1 + t) / t, "-0.5", "0.5", "0", 13, 27),
    "LGAMMA_2": (lambda t: mp.loggamma(2 + t) / t, "-0.5", "1", "0.25", 10, 21),
    "DIGAMMA_2": (lambda t: mp.digamma(2 + t) / (2 + t - ROOT), "-1", "1", "0", 14, 28),
    "I0_NEAR": (lambda x: bessel(0, x), "0", "1", "1", 7, 13),
    "I0_MIDDLE": (lambda x: bessel(0, x), "1", "3", "3", 9, 17),
    "I0_WIDE": (lambda x: bessel(0, x), "3", "6", "6", 9, 18),
    "I0_FAR": (lambda w: bessel_far(0, w), "0", "1/6", "1/12", 7, 27),
    "I1_NEAR": (lambda x: bessel(1, x), "0", "1", "1", 7, 13),
    "I1_MIDDLE": (lambda x: bessel(1, x), "1", "3", "3", 9, 17),
    "I1_WIDE": (lambda x: bessel(1, x), "3", "6", "6", 9, 18),
    "I1_FAR": (lambda w: bessel_far(1, w), "0", "1/6", "1/12", 7, 27),
}


def interpolate(f: Callable[[Any], Any], low: Any, high: Any, about: Any, degree: int) -> list[Any]:
    """The coefficients of powers of (x - about)."""
    middle, half, n = (low + high) / 2, (high - low) / 2, degree + 1
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    powers = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            powers[i, j] = (x - about) ** j
    return list(mp.lu_solve(powers, mp.matrix([f(x) for x in nodes])))


def table(name: str) -> str:
    """One table as source text."""
    f, *bounds, single, double = FUNCTIONS[name]
    low, high, about = (mp.mpf(Fraction(b).numerator) / Fraction(b).denominator for b in bounds)
    rows = []
    for degree, digits in ((single, 10), (double, 17)):
        numbers = [mp.nstr(c, digits, min_fixed=-2, max_fixed=3) for c in interpolate(f, low, high, about, degree)]
        rows.append(textwrap.fill(f"({', '.join(numbers)}),", 118, initial_indent="    ", subsequent_indent="     "))
    return f"{name} = (\n" + "\n".join(rows) + "\n)"


if __name__ == "__main__":
    print('"""Made by tools/polynomials.py, which says what they are: coefficients for float32, then for float64."""\n')
    print("# fmt: off")
    for key in FUNCTIONS:
        print(table(key))
