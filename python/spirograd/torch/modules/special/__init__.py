"""torch.special: the functions that spirograd.special lacks. As in PyTorch, only erfcx() has a gradient among them."""

from ....special.normal import erfcx as erfcx
from .bessel import airy_ai as airy_ai
from .bessel import bessel_j0 as bessel_j0
from .bessel import bessel_j1 as bessel_j1
from .bessel import bessel_y0 as bessel_y0
from .bessel import bessel_y1 as bessel_y1
from .bessel import modified_bessel_i0 as modified_bessel_i0
from .bessel import modified_bessel_i1 as modified_bessel_i1
from .bessel import modified_bessel_k0 as modified_bessel_k0
from .bessel import modified_bessel_k1 as modified_bessel_k1
from .bessel import scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from .bessel import scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from .bessel import spherical_bessel_j0 as spherical_bessel_j0
from .orthogonal import chebyshev_polynomial_t as chebyshev_polynomial_t
from .orthogonal import chebyshev_polynomial_u as chebyshev_polynomial_u
from .orthogonal import chebyshev_polynomial_v as chebyshev_polynomial_v
from .orthogonal import chebyshev_polynomial_w as chebyshev_polynomial_w
from .orthogonal import hermite_polynomial_h as hermite_polynomial_h
from .orthogonal import hermite_polynomial_he as hermite_polynomial_he
from .orthogonal import laguerre_polynomial_l as laguerre_polynomial_l
from .orthogonal import legendre_polynomial_p as legendre_polynomial_p
from .orthogonal import shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t
from .orthogonal import shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u
from .orthogonal import shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v
from .orthogonal import shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w
