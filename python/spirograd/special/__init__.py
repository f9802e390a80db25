"""Special functions, under the names of torch.special, made of the package's operations: they run on every device. They
have gradients, without, as in PyTorch, Bessel's functions of real numbers, Airy's and orthogonal polynomials.
docs/numerics.md has their errors.
"""

from .._core import erf as erf
from .._core import erfc as erfc
from .._core import exp2 as exp2
from .._core import expm1 as expm1
from .._core import log1p as log1p
from .._core import log_softmax as log_softmax
from .._core import logsumexp as logsumexp
from .._core import round as round
from .._core import softmax as softmax
from .._core import xlogy as xlogy
from ..base.overridable import open_functions
from .bessel import i0 as i0
from .bessel import i0e as i0e
from .bessel import i1 as i1
from .bessel import i1e as i1e
from .elementary import entr as entr
from .elementary import expit as expit
from .elementary import logit as logit
from .elementary import sinc as sinc
from .elementary import xlog1py as xlog1py
from .gamma import digamma as digamma
from .gamma import gammainc as gammainc
from .gamma import gammaincc as gammaincc
from .gamma import gammaln as gammaln
from .gamma import lgamma as lgamma
from .gamma import multigammaln as multigammaln
from .gamma import polygamma as polygamma
from .gamma import psi as psi
from .gamma import zeta as zeta
from .normal import erfcx as erfcx
from .normal import erfinv as erfinv
from .normal import log_ndtr as log_ndtr
from .normal import ndtr as ndtr
from .normal import ndtri as ndtri
from .orthogonal import *  # noqa: F403
from .waves import *  # noqa: F403

open_functions(__name__)
