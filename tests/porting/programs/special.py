"""torch.special: functions without gradients."""

import math

import pytest
import torch

from checking import check

S = torch.special
BESSEL = "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0"
BESSEL += " modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
POLYNOMIALS = "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w"
POLYNOMIALS += " shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v"
POLYNOMIALS += " shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l"
POLYNOMIALS += " legendre_polynomial_p"


@pytest.mark.parametrize("name", BESSEL.split())
def test_bessel(name):
    f = getattr(S, name)
    x = torch.tensor([-12.3, -4.0, -2.5, -1.0, -0.0, 1e-3, 0.7, 1.9, 2.1, 4.9, 5.1, 20.0, math.inf, math.nan])
    # PyTorch's own are off by some 1e-6: tests/porting/test_special.py compares with SciPy's.
    values = f(x.double()), f(x.clone().requires_grad_()), f(torch.arange(1, 7).reshape(2, 3))
    check(*values, within=(2e-5, 2e-6))


@pytest.mark.parametrize("name", POLYNOMIALS.split())
def test_polynomial(name):
    f = getattr(S, name)
    x = torch.tensor([[-1.5, -1.0, -0.3, 0.0], [0.25, 0.9, 1.0, 2.0]])
    n = torch.tensor([0, 1, 4, 9])
    for degree in (-2, 0, 1, 2, 7):
        check(degree, f(x, degree))
    check(f(x.double().requires_grad_(), n), f(0.3, n), f(torch.tensor([1, 2, 3]), 3), f(x[0], torch.tensor(3.7)))


def test_zeta():
    q = torch.tensor([0.1, 0.5, 0.9, 3.0, 20.0])
    check(S.zeta(torch.tensor([2.1, 2.5, 1.2, 5.0, 9.5]), q), S.zeta(2.5, q), S.zeta(3.0, q))
    check(S.zeta(torch.tensor([2.0, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64), q.double()))
