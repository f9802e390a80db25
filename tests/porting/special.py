"""torch.special: functions without gradients."""

import math

import torch

S = torch.special


def show(name, v):
    numbers = [float(f"{x:.4g}") + 0.0 for x in v.detach().double().flatten().tolist()]
    print(name, tuple(v.shape), v.dtype, v.requires_grad, numbers)


x = torch.tensor([-12.3, -4.0, -2.5, -1.0, -0.0, 1e-3, 0.7, 1.9, 2.1, 4.9, 5.1, 20.0, math.inf, math.nan])
BESSEL = "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0"
BESSEL += " modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
for name in BESSEL.split():
    f = getattr(S, name)
    show(name, f(x.double()))
    show(name, f(x.clone().requires_grad_()))
    show(name, f(torch.arange(1, 7).reshape(2, 3)))

x = torch.tensor([[-1.5, -1.0, -0.3, 0.0], [0.25, 0.9, 1.0, 2.0]])
n = torch.tensor([0, 1, 4, 9])
KINDS = "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w"
KINDS += " shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v"
KINDS += " shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l"
KINDS += " legendre_polynomial_p"
for name in KINDS.split():
    f = getattr(S, name)
    for degree in (-2, 0, 1, 2, 7):
        show(f"{name} {degree}", f(x, degree))
    show(name, f(x.double().requires_grad_(), n))
    show(name, f(0.3, n))
    show(name, f(torch.tensor([1, 2, 3]), 3))
    show(name, f(x[0], torch.tensor(3.7)))
q = torch.tensor([0.1, 0.5, 0.9, 3.0, 20.0])
show("zeta", S.zeta(torch.tensor([2.1, 2.5, 1.2, 5.0, 9.5]), q))
show("zeta 2.5", S.zeta(2.5, q))
show("zeta 3", S.zeta(3.0, q))
show("zeta float64", S.zeta(torch.tensor([2.0, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64), q.double()))
