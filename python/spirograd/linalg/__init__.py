"""Linear algebra: norms, inverses, decompositions, determinants; batches of matrices in the leading dimensions.

Norms and matrix_exp are made of tensor operations, on every device. inv, solve, cholesky, qr, svd, eig, eigh, det and
slogdet, and what is made of them, run in LAPACK on the CPU, through NumPy, and lu_factor in NumPy itself, in float32
and float64. A GPU tensor is copied there and back, which one `FallbackWarning` an operation says,
`stats()["fallbacks"]` counts, and SPIROGRAD_STRICT=1 refuses. Gradients are tensor operations and have gradients
themselves.
"""

from .._core import matmul
from ..base.overridable import open_functions
from . import _complex as _complex
from ._decompositions import EighResult, QRResult, SVDResult, eigh, eigvalsh, qr, svd, svdvals
from ._determinants import SlogdetResult, det, slogdet
from ._determinants import logdet as logdet
from ._eigenvalues import EigResult, eig, eigvals
from ._factors import LUFactorResult, LUResult, lu, lu_factor, lu_solve, lu_unpack, matrix_exp
from ._inverses import cholesky, inv, solve, solve_triangular
from ._lapack import LinAlgError
from ._norms import matrix_norm, norm, vector_norm
from ._packed import LDLFactor, LDLFactorInfo, ldl_factor, ldl_factor_ex, ldl_solve
from ._products import householder_product, matrix_power, multi_dot, pinv
from ._solutions import (
    cholesky_ex,
    cond,
    inv_ex,
    lstsq,
    lu_factor_ex,
    matrix_rank,
    solve_ex,
    tensorinv,
    tensorsolve,
)
from ._vectors import cross, diagonal, vander, vecdot

__all__ = ["EigResult", "EighResult", "LDLFactor", "LDLFactorInfo", "LUFactorResult", "LUResult", "LinAlgError"]
__all__ += ["QRResult", "SVDResult", "SlogdetResult", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal"]
__all__ += ["eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex"]
__all__ += ["ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "lu_unpack", "matmul", "matrix_exp"]
__all__ += ["matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve"]
__all__ += ["solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot"]
__all__ += ["vector_norm"]

open_functions(__name__)
