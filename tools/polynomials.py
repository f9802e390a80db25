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


def unscaled(order: int, near: Callable[[Any], Any], t: Any) -> Any:
    """near(x) / x**order at t = x**2; at 0 by a point beside it."""
    x = mp.sqrt(t or mp.mpf(10) ** -40)
    return near(x) / x**order


def regular_y(order: int, x: Any) -> Any:
    """Y_order(x) without what is not smooth at 0."""
    rest = mp.log(x) * mp.besselj(order, x) - (1 / x if order else 0)
    return mp.bessely(order, x) - 2 / mp.pi * rest


def regular_k(order: int, x: Any) -> Any:
    """K_order(x) without what is not smooth at 0."""
    rest = mp.log(x / 2) * mp.besseli(order, x)
    return mp.besselk(order, x) - rest - 1 / x if order else mp.besselk(order, x) + rest


def wave(order: int, part: int, w: Any) -> Any:
    """P or x Q at x**2 = 1 / w, where J_order is sqrt(2 / (pi x)) times P cos - Q sin of x - (order / 2 + 1 / 4) pi."""
    if not w:
        return mp.mpf(1) if part == 0 else mp.mpf(4 * order**2 - 1) / 8
    x = 1 / mp.sqrt(w)
    angle = x - (2 * order + 1) * mp.pi / 4
    j, y, c, s = mp.besselj(order, x), mp.bessely(order, x), mp.cos(angle), mp.sin(angle)
    return mp.sqrt(mp.pi * x / 2) * (j * c + y * s if part == 0 else x * (y * c - j * s))


def k_far(order: int, w: Any) -> Any:
    """sqrt(x) exp(x) K_order(x) at x = 1 / w."""
    return mp.sqrt(1 / w) * mp.exp(1 / w) * mp.besselk(order, 1 / w) if w else mp.sqrt(mp.pi / 2)


def airy_far(w: Any) -> Any:
    """x**(1/4) exp(z) Ai(x) at z = 2/3 x**(3/2) = 1 / w."""
    x = (mp.mpf(3) / 2 / w) ** (mp.mpf(2) / 3) if w else mp.mpf(0)
    return mp.airyai(x) * mp.root(x, 4) * mp.exp(1 / w) if w else 1 / (2 * mp.sqrt(mp.pi))


def airy_wave(part: int, w: Any) -> Any:
    """P or z Q at z**2 = 1 / w, z = 2/3 x**(3/2): Ai(-x) x**(1/4) sqrt(pi) is P cos + Q sin of z - pi / 4."""
    if not w:
        return mp.mpf(1) if part == 0 else mp.mpf(5) / 72
    z = 1 / mp.sqrt(w)
    x = (mp.mpf(3) / 2 * z) ** (mp.mpf(2) / 3)
    a, b, c, s = mp.airyai(-x), mp.airybi(-x), mp.cos(z - mp.pi / 4), mp.sin(z - mp.pi / 4)
    return mp.sqrt(mp.pi) * mp.root(x, 4) * (a * c - b * s if part == 0 else z * (a * s + b * c))


def erfcx_share(t: Any) -> Any:
    """(1 + 2 x) exp(x**2) erfc(x) at t = (x - 3) / (x + 3)."""
    x = 3 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


# What is interpolated, from where to where, about which point, degree in float32 and in float64.
Row = tuple[Callable[[Any], Any], str, str, str, int, int]


def of_order(n: int) -> dict[str, Row]:
    """Bessel functions J, Y and K."""
    return {
        f"J{n}_NEAR": (lambda t: unscaled(n, lambda x: mp.besselj(n, x), t), "0", "25", "25/2", 8, 13),
        f"Y{n}_NEAR": (lambda t: unscaled(n, lambda x: regular_y(n, x), t), "0", "25", "25/2", 8, 13),
        f"J{n}_P": (lambda w: wave(n, 0, w), "0", "1/25", "1/50", 5, 18),
        f"J{n}_Q": (lambda w: wave(n, 1, w), "0", "1/25", "1/50", 5, 18),
        f"K{n}_NEAR": (lambda t: unscaled(n, lambda x: regular_k(n, x), t), "0", "4", "2", 5, 9),
        f"K{n}_FAR": (lambda w: k_far(n, w), "0", "1/2", "1/4", 8, 23),
    }


FUNCTIONS: dict[str, Row] = {
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
    **of_order(0),
    **of_order(1),
    "ERFCX": (erfcx_share, "-1", "1", "0", 11, 24),
    "AI_BELOW": (mp.airyai, "-3", "0", "-3/2", 12, 20),
    "AI_NEAR": (mp.airyai, "0", "2", "2", 9, 17),
    "AI_FAR": (airy_far, "0", "8/15", "4/15", 7, 23),
    "AI_P": (lambda w: airy_wave(0, w), "0", "1/12", "1/24", 6, 22),
    "AI_Q": (lambda w: airy_wave(1, w), "0", "1/12", "1/24", 6, 22),
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
