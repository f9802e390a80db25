"""Functions that PyTorch has in another form: with other arguments, other results, or under other names."""

from __future__ import annotations

import builtins
import string
from typing import Any, NamedTuple

from ... import _core, conj, linalg, signal, special
from ..._core import Tensor
from ..._functions import shapes
from ...base.out import placed
from ..arguments import without_layout

__all__ = ["aminmax", "atleast_1d", "atleast_2d", "atleast_3d", "bartlett_window", "blackman_window", "cholesky"]
__all__ += ["conj_physical", "cross", "einsum", "empty_permuted", "empty_strided", "frobenius_norm", "hamming_window"]
__all__ += ["hann_window", "kaiser_window", "lu", "lu_solve", "lu_unpack", "norm", "nuclear_norm", "orgqr", "polygamma"]
__all__ += ["qr", "range", "resolve_conj", "resolve_neg", "row_stack", "scalar_tensor", "scatter", "svd"]
__all__ += ["tensor_split", "triangular_solve", "unsafe_chunk", "unsafe_split"]

unsafe_chunk, unsafe_split = _core.chunk, _core.split
row_stack, orgqr, conj_physical = _core.vstack, linalg.householder_product, conj


class Aminmax(NamedTuple):
    """The least and the greatest values."""

    min: Tensor
    max: Tensor


class TriangularSolution(NamedTuple):
    """The X for which A @ X = b, and A."""

    solution: Tensor
    cloned_coefficient: Tensor


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Aminmax:
    """amin and amax, by name."""
    return Aminmax(*_core.aminmax(input, dim=dim, keepdim=keepdim))


def polygamma(n: Any, input: Any) -> Tensor:
    """The n-th derivative of digamma; as a method, the tensor is named first."""
    return special.polygamma(*((input, n) if isinstance(n, Tensor) else (n, input)))


def resolve_conj(input: Any) -> Any:
    """The tensor itself: conj() computes the conjugate."""
    return input


resolve_neg = resolve_conj


def einsum(equation: Any, *operands: Any) -> Tensor:
    """einsum() that takes dimensions as lists of numbers as well: einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if isinstance(equation, str) and len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        given = [equation, *operands]
        result = ["->", _letters(given.pop())] if len(given) % 2 else []
        equation, operands = "".join([",".join(map(_letters, given[1::2])), *result]), tuple(given[::2])
    return _core.einsum(equation, *operands)


def _letters(dims: Any) -> str:
    return "".join("..." if d is Ellipsis else string.ascii_letters[d] for d in dims)


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along a dimension of size 3; without dim, along the first such dimension."""
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), -1)
    return linalg.cross(input, other, dim)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None, **names: Any) -> Any:
    """The length of vectors; with p="nuc" the sum of the singular values of matrices, which `dim` names.

    Args:
        input: a tensor.
        p: a number, "fro" or "nuc".
        dim: a dimension or several; None: all, which are two with "nuc".
        keepdim: keeps folded dimensions, with size 1.
        dtype: converts the input first.
        names: the same under NumPy's names.

    Raises:
        ValueError: p is unknown, or "nuc" has not two dimensions.
    """
    if p != "nuc":
        return _core.norm(input, p, dim, keepdim, dtype, **names)
    dims = list(builtins.range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return linalg.matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, **names)


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular factor of a positive matrix."""
    return linalg.cholesky(input, upper=upper)


def qr(input: Tensor, some: bool = True) -> Any:
    """The factors Q and R."""
    return linalg.qr(input, "reduced" if some else "complete")


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with input = U diag(S) V^H."""
    u, s, vh = linalg.svd(input, full_matrices=not some)
    return u, s, vh.mH


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Both factors in one matrix, and which rows were exchanged; with get_infos, zeros too."""
    found = linalg.lu_factor_ex(A, pivot=pivot)
    return tuple(found) if get_infos else tuple(found[:2])


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The x for which A @ x = b, from what lu() gives."""
    return linalg.lu_solve(LU_data, LU_pivots, b)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of what lu() gives."""
    return linalg.lu_unpack(LU_data, LU_pivots)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolution:
    """linalg.solve_triangular() by its old name: the X for which A @ X = b, and A.

    Args:
        b: [..., m, k].
        A: [..., m, m], of which one triangle is read.
        upper: which one.
        transpose: A.mT in the place of A.
        unitriangular: the diagonal counts as ones.
    """
    matrix = A.mT if transpose else A
    solution = linalg.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularSolution(solution, A.clone())


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares, of all elements or along dimensions."""
    return linalg.vector_norm(input, 2, dim, keepdim=keepdim)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values."""
    return linalg.matrix_norm(input, "nuc", dim=(-2, -1) if dim is None else tuple(dim), keepdim=keepdim)


def _each(name: str) -> Any:
    function = getattr(_core, name)

    def call(*tensors: Any) -> Any:
        several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        return function(*several) if several is tensors and len(tensors) == 1 else tuple(map(function, several))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}() of one tensor, or of each of several."
    return call


atleast_1d, atleast_2d, atleast_3d = map(_each, ("atleast_1d", "atleast_2d", "atleast_3d"))


def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Parts of a dimension: so many, of about one size, or cut at places."""
    given = [x for x in (indices_or_sections, indices, sections) if x is not None]
    if len(given) != 1:
        raise TypeError(f"tensor_split: {len(given)} of indices_or_sections, indices and sections are given; give one")
    where = given[0].tolist() if isinstance(given[0], Tensor) else given[0]
    return _core.tensor_split(input, where, dim)


def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor, of the default type unless another one is given."""
    dtype = dtype or _core.get_default_dtype()
    return _core.tensor(s, dtype=dtype, device=device).requires_grad_(requires_grad)


def range(start: float = 0, end: float | None = None, step: float = 1, **options: Any) -> Tensor:
    """arange with its end, as floats."""
    if end is None:
        start, end = 0, start
    options.setdefault("dtype", _core.get_default_dtype())
    return _core.arange(start, end + step * 0.5 if (end - start) % step == 0 else end, step, **options)


def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    """A tensor with any values, whose dimensions have these steps in memory."""
    return shapes.empty_strided(size, stride, **without_layout("empty_strided", options))


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """A tensor with any values, whose dimensions are in memory in this order, from the outermost on."""
    return shapes.empty_permuted(size, physical_layout, **without_layout("empty_permuted", options))


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with elements at the indices of one dimension replaced, added to or multiplied.

    Args:
        input: [...].
        dim: the dimension that index counts along.
        index: whole numbers, of as many dimensions.
        src, value: a tensor, or a number for all.
        reduce: None replaces; "add" or "multiply".
        out: where the result is written.

    Raises:
        ValueError: another way to reduce, or shapes that do not fit.
    """
    src = value if src is None else src
    folds = {"add": "sum", "multiply": "prod"}
    if reduce is None:
        made = _core.scatter(input, dim, index, src)
    elif reduce in folds:
        source = src if isinstance(src, Tensor) else input.new_full(index.shape, src)
        made = input.scatter_reduce(dim, index, source, folds[reduce])
    else:
        raise ValueError(f"scatter: reduce {reduce!r} is unknown; use 'add' or 'multiply'")
    return made if out is None else placed("scatter", made, out)


def hann_window(window_length: int, periodic: bool = True, *, pin_memory: bool = False, **options: Any) -> Tensor:
    """signal.windows.hann(), periodic by default."""
    return signal.windows.hann(window_length, sym=not periodic, **options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    pin_memory: bool = False,
    **options: Any,
) -> Tensor:
    """alpha - beta cos(t), periodic by default."""
    return signal.windows.general_cosine(window_length, a=[alpha, beta], sym=not periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, *, pin_memory: bool = False, **options: Any) -> Tensor:
    """signal.windows.blackman(), periodic by default."""
    return signal.windows.blackman(window_length, sym=not periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, *, pin_memory: bool = False, **options: Any) -> Tensor:
    """signal.windows.bartlett(), periodic by default."""
    return signal.windows.bartlett(window_length, sym=not periodic, **options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, pin_memory: bool = False, **options: Any
) -> Tensor:
    """signal.windows.kaiser(), periodic by default."""
    return signal.windows.kaiser(window_length, beta=beta, sym=not periodic, **options)
