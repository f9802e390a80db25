"""Complex tensors against NumPy's: arithmetic, shapes, gradients, what is refused."""

from __future__ import annotations

import cmath
import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Array = np.ndarray[Any, Any]
random = np.random.default_rng(0)


def numbers(*shape: int) -> Array:
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(np.complex64)


def put(x: Array, device: Any = "cpu") -> Any:
    return sg.tensor(x, dtype=sg.complex64, device=device) if x.dtype.kind == "c" else sg.tensor(x, device=device)


Z, W, X = numbers(3, 4), numbers(3, 4), random.normal(size=(3, 4)).astype(np.float32)
M = numbers(4, 2)
PAIRS = [(Z, W), (Z, X), (X, Z), (Z, 2.0), (0.5, Z), (Z, 1 + 2j), (X, 1 + 2j), (2j, X), (Z, W[0]), (X[0], Z)]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_are_those_of_numpy(operator: str, device: sg.Device) -> None:
    for a, b in PAIRS:
        ours = [put(x, device) if isinstance(x, np.ndarray) else x for x in (a, b)]
        got = OPERATORS[operator](*ours)
        got = got.cpu().numpy() if isinstance(got, sg.Tensor) else got.numpy()
        np.testing.assert_allclose(got, OPERATORS[operator](a, b), rtol=1e-5, atol=1e-6)


# The function, called on spirograd's tensors and on NumPy's arrays.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Any]]] = {
    "abs": (sg.abs, np.abs),
    "abs()": (lambda z: z.abs(), np.abs),
    "angle": (sg.angle, np.angle),
    "conj": (sg.conj, np.conj),
    "real": (sg.real, np.real),
    "imag": (lambda z: z.imag, np.imag),
    "exp": (sg.exp, np.exp),
    "log": (sg.log, np.log),
    "sqrt": (sg.sqrt, np.sqrt),
    "square": (sg.square, np.square),
    "pow 3": (lambda z: z**3, lambda z: z**3),
    "pow 2": (lambda z: sg.pow(z, 2), lambda z: z**2),
    "reciprocal": (sg.reciprocal, lambda z: 1 / z),
    "neg": (lambda z: -z, lambda z: -z),
    "sgn": (lambda z: z.sgn(), lambda z: z / abs(z)),
    "matmul": (lambda z: z @ put(M, z.device), lambda z: z @ M),
    "real @ complex": (lambda z: sg.ones(2, 3, device=z.device) @ z, lambda z: np.ones((2, 3)) @ z),
    "einsum": (lambda z: sg.einsum("ij,jk->ki", z, put(M, z.device)), lambda z: np.einsum("ij,jk->ki", z, M)),
    "einsum of three": (
        lambda z: sg.einsum("ij,jk,ij->ki", z, put(M, z.device), put(X, z.device)),
        lambda z: np.einsum("ij,jk,ij->ki", z, M, X),
    ),
    "einsum of three without a result": (
        lambda z: sg.einsum("ij,jk,kl", z, put(M, z.device), put(M.T.copy(), z.device)),
        lambda z: np.einsum("ij,jk,kl", z, M, M.T),
    ),
    "mul": (lambda z: sg.mul(put(X, z.device), z), lambda z: X * z),
    "add alpha": (lambda z: sg.add(z, put(X, z.device), alpha=2), lambda z: z + 2 * X),
    "reshape": (lambda z: z.reshape(2, 6), lambda z: z.reshape(2, 6)),
    "transposed": (lambda z: z.T, lambda z: z.T),
    "mH": (lambda z: z.mH, lambda z: z.conj().T),
    "slice": (lambda z: z[1:, None, ::2], lambda z: z[1:, None, ::2]),
    "places": (lambda z: z[sg.tensor([2, 0], device=z.device)], lambda z: z[[2, 0]]),
    "mask": (lambda z: z[z.real > 0], lambda z: z[z.real > 0]),
    "cat": (lambda z: sg.cat([z, put(X, z.device)]), lambda z: np.concatenate([z, X])),
    "stack": (lambda z: sg.stack([z, z * 1j], dim=1), lambda z: np.stack([z, z * 1j], 1)),
    "split": (lambda z: z.split(3, dim=1)[1], lambda z: z[:, 3:]),
    "sum": (lambda z: z.sum(1), lambda z: z.sum(1)),
    "mean": (sg.mean, np.mean),
    "where": (lambda z: sg.where(z.real > 0, z, 0.0), lambda z: np.where(z.real > 0, z, 0)),
    "masked_fill": (lambda z: z.masked_fill(z.real > 0, 1j), lambda z: np.where(z.real > 0, 1j, z)),
    "expand": (lambda z: z[:1].expand(3, 4), lambda z: np.broadcast_to(z[:1], (3, 4))),
    "unbind": (lambda z: z.unbind(1)[2], lambda z: z[:, 2]),
    "isfinite": (sg.isfinite, np.isfinite),
    "zeros_like": (sg.zeros_like, np.zeros_like),
    "view_as_real": (sg.view_as_real, lambda z: np.stack([z.real, z.imag], -1)),
    "float64": (lambda z: z.to(sg.complex128), lambda z: z.astype(np.complex128)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name: str, device: sg.Device) -> None:
    ours, theirs = FUNCTIONS[name]
    got, want = ours(put(Z, device)), np.asarray(theirs(Z))
    array = got.cpu().numpy() if isinstance(got, sg.Tensor) else got.numpy()
    assert tuple(got.shape) == want.shape and array.dtype.kind == want.dtype.kind
    np.testing.assert_allclose(array, want, rtol=1e-5, atol=1e-6)


def test_views_share_memory(device: sg.Device) -> None:
    pairs = sg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    z = sg.view_as_complex(pairs)
    z.real[0] = 9
    z[1] = 5 - 1j
    z *= 2
    assert pairs.tolist() == [[18.0, 4.0], [10.0, -2.0]] and z.tolist() == [18 + 4j, 10 - 2j]
    z[:1].copy_(sg.ones(1, device=device))
    assert pairs.tolist()[0] == [1.0, 0.0]


def test_what_is_made_with_a_complex_type() -> None:
    assert sg.zeros(2, 3, dtype=sg.cfloat).shape == (2, 3) and sg.zeros(1, dtype=sg.cdouble).dtype is sg.complex128
    assert sg.tensor([1, 2j], dtype=sg.complex64).tolist() == [1, 2j]
    assert sg.ones(2, dtype=sg.complex64).tolist() == [1, 1] and sg.full((1,), 3.0, dtype=sg.cfloat).item() == 3
    assert sg.ones(2).to(sg.complex64).imag.tolist() == [0, 0]
    sg.manual_seed(0)
    drawn = sg.randn(20000, dtype=sg.complex64)
    assert abs((drawn.abs() ** 2).mean().item() - 1) < 0.05 and abs(drawn.real.square().mean().item() - 0.5) < 0.02
    assert sg.polar(sg.tensor([2.0]), sg.tensor([cmath.pi / 2])).imag.item() == 2.0
    assert sg.is_complex(drawn) and not sg.is_complex(drawn.real)
    assert sg.angle(sg.tensor([-1.0, 2.0])).tolist() == [np.float32(np.pi), 0.0] and sg.conj(sg.ones(1)).item() == 1


@pytest.mark.parametrize("left", ["real", "complex"])
def test_arrays_of_complex_numbers_are_operands(left: str, device: sg.Device) -> None:
    a, b = np.array([1.5, -2.0], np.float32), np.array([1j, 3 - 1j], np.complex64)
    x = sg.tensor(a, device=device) if left == "real" else sg.tensor(a + 2j * a, device=device)
    first = a if left == "real" else a + 2j * a
    for function in (operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.eq):
        for found, want in ((function(x, b), function(first, b)), (function(b, x), function(b, first))):
            assert found.device == device
            np.testing.assert_allclose(found.cpu().numpy(), want, rtol=1e-6)
    assert (x + b.astype(np.complex128)).dtype is sg.complex128


FIRST = ["sg.tensor([1j])", "sg.ones(1) * 1j", "sg.ones(1) + np.array([1j])", "sg.full((1,), 1j)"]


@pytest.mark.parametrize("program", FIRST)
def test_a_complex_number_may_be_the_first_thing_of_a_program(program: str, run_python: Callable[..., str]) -> None:
    assert "j" in run_python(f"import numpy as np, spirograd as sg\nprint({program})")


def test_complex_numbers_and_arrays_make_complex_tensors(device: sg.Device) -> None:
    for data, dtype in (
        (1j, sg.complex64),
        ([1, 2j], sg.complex64),
        ([[1.0, 2.0], [3j, 4.0]], sg.complex64),
        (Z, sg.complex64),
        (Z.astype("c16"), sg.complex128),
        (np.complex128(2j), sg.complex128),
    ):
        for make in (sg.tensor, sg.as_tensor, sg.asarray):
            made = make(data, device=device)
            assert made.dtype is dtype and made.device == device
            np.testing.assert_array_equal(made.cpu().numpy(), np.asarray(data))
    assert sg.full((2,), 1 + 2j, device=device).tolist() == [1 + 2j] * 2
    assert sg.full_like(sg.ones(2, device=device), 1j).dtype is sg.complex64
    assert sg.exp(1j * sg.tensor([cmath.pi], device=device)).real.item() == -1.0
    x = sg.ones(2, device=device)
    assert x.masked_fill(x > 0, 1j).tolist() == sg.where(x < 0, x, 1j).tolist() == [1j, 1j]
    assert (x * np.complex64(2j)).tolist() == (np.complex128(2j) * x).tolist() == [2j, 2j]
    with pytest.raises(TypeError, match="a complex number does not fit into a tensor of float32"):
        x *= 1j
    with pytest.raises(TypeError, match="'<' not supported"):
        _ = x < 1j


def test_an_array_of_complex_numbers_shares_its_memory() -> None:
    array = Z.copy()
    sg.from_numpy(array[:, ::2]).imag.zero_()
    np.testing.assert_array_equal(array[:, ::2], Z.real[:, ::2])
    np.testing.assert_array_equal(array[:, 1::2], Z[:, 1::2])
    assert sg.from_numpy(np.array(1j)).item() == 1j


def test_it_prints_as_numbers_and_is_copied() -> None:
    z = sg.complex(sg.tensor([1.0, -2.0]), sg.tensor([0.5, 0.0]))
    assert repr(z) == "tensor([ 1.+0.5j, -2.+0.j ])"
    assert repr(z.to(sg.complex128)).endswith("dtype=spirograd.complex128)")
    for copied in (copy.deepcopy(z), pickle.loads(pickle.dumps(z))):
        assert copied.tolist() == z.tolist() and copied.dtype is sg.complex64
    assert len(z) == 2 and [y.item() for y in z] == z.tolist() and np.asarray(z).dtype == np.complex64
    assert z.numel() == 2 and z.dim() == z.ndim == 1 and z.size(0) == 2 and z.device == sg.device("cpu")


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda z, w: z * w,
    "quotient": lambda z, w: z / w,
    "matmul": lambda z, w: z @ w.mT,
    "exp": lambda z, w: (z * 0.3).exp() + w.log(),
    "sqrt": lambda z, w: z.sqrt() * sg.conj(w),
    "angle": lambda z, w: sg.complex(z.angle(), w.abs()),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    def call(a: sg.Tensor, b: sg.Tensor) -> sg.Tensor:
        return sg.view_as_real(GRADIENTS[name](sg.view_as_complex(a), sg.view_as_complex(b)))

    pairs = [sg.tensor(random.normal(size=(2, 3, 2))).requires_grad_() for _ in range(2)]
    assert sg.autograd.gradcheck(call, pairs)
    assert sg.autograd.gradgradcheck(call, pairs)


def test_a_gradient_is_complex_and_finite_at_0(device: sg.Device) -> None:
    z = sg.tensor([0.0, 3 + 4j], dtype=sg.complex64, device=device).requires_grad_()
    (z.abs().sum() + z.angle().sum() * 0).backward()
    np.testing.assert_allclose(z.grad.numpy(), [0, 0.6 + 0.8j], rtol=1e-6)
    assert z.detach().requires_grad is False and z.requires_grad


def test_pytorch_has_the_same_gradients() -> None:
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(x, requires_grad=True) for x in (Z, W)]
    ours = [put(x).requires_grad_() for x in (Z, W)]
    for library, (z, w) in ((torch, theirs), (sg, ours)):
        ((z * w).abs().sum() + (z / w).real.sum() + (z @ library.conj(w).T).angle().sum()).backward()
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_rotary_embeddings_of_llama(device: sg.Device) -> None:
    """As its program writes them, against the rotation of each pair."""
    x = random.normal(size=(2, 5, 3, 8)).astype(np.float32)
    angles = np.outer(np.arange(5), 10000.0 ** (-np.arange(4) / 4)).astype(np.float32)
    turns = sg.polar(sg.ones(5, 4, device=device), sg.tensor(angles, device=device))
    z = sg.view_as_complex(sg.tensor(x, device=device).float().reshape(2, 5, 3, -1, 2))
    got = sg.view_as_real(z * turns.view(1, 5, 1, 4)).flatten(3)
    pairs = x.reshape(2, 5, 3, 4, 2)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = pairs[..., 0], pairs[..., 1]
    want = np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)
    np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda z: sg.softmax(z, 0), TypeError, r"softmax: complex tensors are not supported; use the parts .real"),
        (lambda z: sg.ones(3, 4).maximum(z), TypeError, "maximum: complex tensors are not supported"),
        (lambda z: sg.arange(3, dtype=sg.cfloat), TypeError, "arange: complex tensors are not supported"),
        (lambda z: z.softmax(0), AttributeError, "ComplexTensor: there is no softmax; use the parts"),
        (lambda z: z.to(sg.float32), TypeError, r"complex numbers do not become real ones; use .real"),
        (lambda z: sg.complex(z.real, z.imag.double()), TypeError, "parts are float32 and float64"),
        (lambda z: sg.complex(z.real.long(), z.imag.long()), TypeError, "both must be float32, or both float64"),
        (lambda z: sg.view_as_complex(z.real), ValueError, r"shape \[3, 4\]; its last size must be 2"),
        (lambda z: sg.view_as_real(z.real), TypeError, "view_as_real: input is a Tensor"),
        (lambda z: sg.imag(z.real), TypeError, "has no imaginary part"),
        (
            lambda z: sg.einsum("...j,ij,ij->i", z, z, z),
            TypeError,
            r"einsum: 3 operands with '\.\.\.', some of them complex",
        ),
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong(put(Z))


def test_a_class_that_stands_for_a_tensor_is_asked() -> None:
    class Named:
        @classmethod
        def __spirograd_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
            return function.__name__, len(args), sorted(kwargs)

    n, x = Named(), sg.ones(2)
    assert sg.exp(n) == ("exp", 1, [])
    assert sg.add(x, n, alpha=2) == ("add", 2, ["alpha"])
    assert x.add(n) == ("add", 2, [])
    assert sg.cat([x, n]) == ("cat", 1, []) and sg.where(x > 0, x, other=n)[2] == ["other"]
    assert sg.zeros(2, dtype=n) == ("zeros", 1, ["dtype"])
