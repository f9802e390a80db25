"""spirograd.func and autograd.functional: known values, nesting, and PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import _core, func
from spirograd.autograd import functional


def f64(values: Any) -> sg.Tensor:
    return sg.tensor(values, dtype=sg.float64)


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-9, atol=1e-12)


def test_grad_and_value(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device)
    value, g = func.value_and_grad(lambda v: (v * v * v).sum())(x)
    assert value.item() == 9 and g.tolist() == [3, 12]
    assert not g.requires_grad and not value.requires_grad and x.grad is None
    g, value = func.grad_and_value(lambda v: (v * v).sum())(x)
    assert value.item() == 5 and g.tolist() == [2, 4]


def test_argnums_aux_and_trees() -> None:
    def f(p: dict[str, sg.Tensor], x: sg.Tensor, n: int) -> Any:
        y = p["w"] * x * n + p["b"]
        return y.sum(), {"y": y}

    p = {"w": f64([1.0, 2.0]), "b": f64([0.0, 0.0])}
    x = f64([3.0, 4.0])
    (gp, gx), aux = func.grad(f, argnums=(0, -2), has_aux=True)(p, x, 2)
    assert gp["w"].tolist() == [6, 8] and gp["b"].tolist() == [1, 1] and gx.tolist() == [2, 4]
    assert aux["y"].tolist() == [6, 16] and not aux["y"].requires_grad
    with pytest.raises(ValueError, match="argnums is 3"):
        func.grad(f, argnums=3)(p, x, 2)
    with pytest.raises(TypeError, match="is a int"):
        func.grad(f, argnums=2)(p, x, 2)
    with pytest.raises(ValueError, match="one element"):
        func.grad(lambda v: v * 2)(x)


def test_grad_nests() -> None:
    x = f64(0.7)
    third = func.grad(func.grad(func.grad(lambda v: v.sin() * v)))
    close(third(x), -3 * np.sin(0.7) - 0.7 * np.cos(0.7))
    # Differentiating by an outer variable inside an inner function.
    mixed = func.grad(lambda a: func.grad(lambda b: a * a * b * b)(a * 3))
    close(mixed(x), 2 * 3 * 3 * 0.7**2)


def test_what_a_function_closes_over_keeps_its_gradient() -> None:
    w = f64([2.0, 3.0]).requires_grad_()
    g = func.grad(lambda v: (w * v * v).sum())(f64([1.0, 2.0]))
    assert g.requires_grad
    g.sum().backward()
    assert w.grad.tolist() == [2, 4]
    x = f64([1.0, 2.0]).requires_grad_()
    func.grad(lambda v: (v * v * v).sum())(x).sum().backward()
    assert x.grad.tolist() == [6, 12]


def test_gradients_where_there_is_no_path() -> None:
    x = f64([1.0, 2.0])
    assert func.grad(lambda v: (sg.ones(2) * 3).sum())(x).tolist() == [0, 0]
    assert func.jacrev(lambda v: v.detach() * 2)(x).tolist() == [[0, 0], [0, 0]]
    assert func.jvp(lambda v: v * 0 + 1, (x,), (x,))[1].tolist() == [0, 0]
    with sg.no_grad():
        assert func.grad(lambda v: (v * v).sum())(x).tolist() == [2, 4]


def pair(a: Any, b: Any) -> Any:
    return a * b.sum(), (a * a).sum() * b


def test_products_with_jacobians() -> None:
    a, b = f64([1.0, 2.0]), f64([3.0, 4.0, 5.0])
    (p, q), pull = func.vjp(pair, a, b)
    assert p.tolist() == [12, 24] and q.tolist() == [15, 20, 25] and not p.requires_grad
    ga, gb = pull((f64([1.0, 0.0]), f64([0.0, 0.0, 1.0])))
    assert ga.tolist() == [12 + 2 * 5, 2 * 2 * 5] and gb.tolist() == [1, 1, 1 + 5]
    pull((f64([1.0, 0.0]), f64([0.0, 0.0, 1.0])))  # may be called again
    (p, q), (dp, dq) = func.jvp(pair, (a, b), (f64([1.0, 0.0]), f64([0.0, 1.0, 0.0])))
    assert dp.tolist() == [12 + 1, 2] and dq.tolist() == [6, 8 + 5, 10]
    with pytest.raises(ValueError, match="shapes of the primals"):
        func.jvp(pair, (a, b), (a, a))


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_jacobians(jacobian: Callable[..., Any]) -> None:
    a, b = f64([1.0, 2.0]), f64([3.0, 4.0, 5.0])
    (pa, pb), (qa, qb) = jacobian(pair, argnums=(0, 1))(a, b)
    close(pa, 12 * np.eye(2))
    close(pb, [[1, 1, 1], [2, 2, 2]])
    close(qa, np.outer([3, 4, 5], [2, 4]))
    close(qb, 5 * np.eye(3))
    matrix, aux = jacobian(lambda v: (v.reshape(2, 1).T, v), has_aux=True)(a)
    assert tuple(matrix.shape) == (1, 2, 2) and aux.tolist() == [1, 2]
    assert jacobian(lambda x: x**3)(f64(2.0)).item() == 12  # neither has dimensions


def test_hessians() -> None:
    x = f64([1.0, 2.0])

    def f(v: sg.Tensor) -> sg.Tensor:
        return (v[0] * v[0] * v[1]).exp()

    e = np.exp(2)
    want = [[(4 + 16) * e, (2 + 4 * 2 / 2) * e], [(2 + 4 * 2 / 2) * e, e]]
    close(func.hessian(f)(x), want)
    close(functional.hessian(f, x), want)
    close(functional.hessian(f, x, outer_jacobian_strategy="forward-mode"), want)
    close(functional.hvp(f, x, f64([1.0, 0.0]))[1], want[0])
    close(functional.vhp(f, x, f64([0.0, 1.0]))[1], want[1])


def test_vmap(device: sg.Device) -> None:
    a = sg.arange(6.0, device=device).reshape(2, 3)
    b = sg.arange(12.0, device=device).reshape(3, 4)
    mv = func.vmap(lambda row: row @ b)
    np.testing.assert_allclose(mv(a).numpy(), a.numpy() @ b.numpy())
    both = func.vmap(lambda x, y: (x * y, x.sum()), in_dims=(0, None), out_dims=(1, 0))
    product, total = both(a, a[0])
    assert product.shape == (3, 2) and total.tolist() == [3, 12]
    columns = func.vmap(func.vmap(lambda v: v * 2), in_dims=1, out_dims=1)
    assert columns(a).tolist() == (a * 2).tolist()
    each = func.vmap(func.grad(lambda w, x: (w * x).sum().tanh()), in_dims=(None, 0))(b[0, :3], a)
    assert each.shape == (2, 3)
    assert func.vmap(lambda x, n: x * n, in_dims=(0, None))(a, 3.0).tolist() == (a * 3).tolist()
    assert func.vmap(lambda d: d["x"] + d["y"], in_dims=({"x": 0, "y": None},))({"x": a, "y": a[0]}).shape == (2, 3)


def test_vmap_has_gradients() -> None:
    x = f64([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    func.vmap(lambda row: (row * row).sum())(x).sum().backward()
    assert x.grad.tolist() == [[2, 4], [6, 8]]


def test_vmap_and_random_numbers() -> None:
    x = sg.zeros(3)
    with pytest.raises(sg.Error, match="randomness='different'"):
        func.vmap(lambda v: v + sg.rand(1))(x)
    same = func.vmap(lambda v: v + sg.rand(()), randomness="same")(x).tolist()
    different = func.vmap(lambda v: v + sg.rand(()), randomness="different")(x).tolist()
    assert len(set(same)) == 1 and len(set(different)) == 3


def test_vmap_counts_random_numbers_of_its_own_thread() -> None:
    def beside_another(v: sg.Tensor) -> sg.Tensor:
        other = threading.Thread(target=sg.rand, args=(1,))
        other.start()
        other.join()
        return v * 2

    x = sg.ones(3)
    assert func.vmap(beside_another)(x).tolist() == [2.0, 2.0, 2.0]
    state = sg.get_rng_state().tolist()
    with pytest.raises(sg.Error, match="draws random numbers"):
        func.vmap(lambda v: beside_another(v) + sg.rand(()))(x)
    assert sg.get_rng_state().tolist() == [state[0], state[1] + 1]  # of the other thread


def test_vmap_gives_a_thread_its_generator_back() -> None:
    own = sg.Generator().manual_seed(5)
    _core._generator_of_thread(own)
    try:
        func.vmap(lambda v: v * 2)(sg.ones(3))
        assert sg.initial_seed() == 5
    finally:
        assert _core._generator_of_thread(None) is own


def test_vmap_explains() -> None:
    a = sg.ones(2, 3)
    for call, words in (
        (lambda: func.vmap(lambda x: x, in_dims=None)(a), "no argument has examples"),
        (lambda: func.vmap(lambda x, y: x, in_dims=0)(a, a.T), r"numbers of examples differ, \[2, 3\]"),
        (lambda: func.vmap(lambda x: x, in_dims=2)(a), "in_dims has 2"),
        (lambda: func.vmap(lambda x: x, randomness="no"), "randomness is 'no'"),
        (lambda: func.vmap(lambda x, y: x, in_dims=(0,))(a, a), "1 dims for 2 values"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_functional_products() -> None:
    a, b = f64([1.0, 2.0]), f64([3.0, 4.0, 5.0])
    (pa, pb), (qa, qb) = functional.jacobian(pair, (a, b))
    close(pa, 12 * np.eye(2))
    close(pb, [[1, 1, 1], [2, 2, 2]])
    close(qb, 5 * np.eye(3))
    forward = functional.jacobian(pair, (a, b), vectorize=True, strategy="forward-mode")
    assert [[m.tolist() for m in row] for row in forward] == [[pa.tolist(), pb.tolist()], [qa.tolist(), qb.tolist()]]
    output, (ga, _) = functional.vjp(pair, (a, b), (f64([1.0, 0.0]), f64([0.0, 0.0, 1.0])))
    assert output[0].tolist() == [12, 24] and ga.tolist() == [22, 20]
    assert functional.jvp(lambda v: v * v, a, f64([1.0, 1.0]))[1].tolist() == [2, 4]
    x = a.clone().requires_grad_()
    functional.jacobian(lambda v: v * v * v, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6, 12]
    with pytest.raises(ValueError, match="v is needed"):
        functional.vjp(lambda v: v, a)
    with pytest.raises(ValueError, match="use 'reverse-mode' or 'forward-mode'"):
        functional.jacobian(pair, (a, b), strategy="sideways")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * x).sum(),
        lambda x: (x.relu() ** 2).sum(),
        lambda x: (x.abs() * x).sum(),
        lambda x: x.relu().sum(),
        lambda x: sg.nn.functional.smooth_l1_loss(x, sg.zeros_like(x)),
        lambda x: x.amax() ** 2,
        lambda x: (sg.nn.functional.max_pool1d(x[None], 2) ** 2).sum(),
        lambda x: (x.masked_fill(x < 0, 0) ** 2).sum(),
    ],
    ids=["square", "relu", "abs", "linear", "smooth", "amax", "pool", "masked"],
)
def test_changes_along_directions_have_a_derivative_of_zero(f: Any, device: sg.Device) -> None:
    """As in PyTorch, where the point requires a gradient; where it does not, there is no graph."""
    x = sg.tensor([-1.2, 2.0, 0.5], device=device, requires_grad=True)
    for function in (func.hessian(f), func.jacfwd(func.jacfwd(f)), lambda x: func.jvp(func.grad(f), (x,), (x,))[1]):
        h = function(x)
        (g,) = sg.autograd.grad(h.sum(), x, allow_unused=True) if h.requires_grad else (None,)
        assert g is not None and np.isfinite(g.numpy()).all()
        assert not function(x.detach()).requires_grad
    assert sg.autograd.grad(func.hessian(f)(x).sum(), x)[0].tolist() == [0, 0, 0]
    assert not func.jacfwd(lambda x: sg.ones(3))(x).requires_grad


def test_agrees_with_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def run(lib: Any) -> list[Any]:
        x = lib.tensor([[0.3, -0.7], [1.1, 0.2]], dtype=lib.float64)
        y = lib.tensor([0.5, 2.0], dtype=lib.float64)

        def f(a: Any, b: Any) -> Any:
            return (a @ b).tanh() * b

        fn, old = lib.func, lib.autograd.functional
        out = [*fn.jacrev(f, argnums=(0, 1))(x, y), *fn.jacfwd(f, argnums=(0, 1))(x, y)]
        out += [fn.hessian(lambda b: f(x, b).sum())(y), fn.vjp(f, x, y)[1](y)[0], fn.jvp(f, (x, y), (x, y))[1]]
        out += [fn.vmap(f, in_dims=(None, 0))(x, x), fn.vmap(fn.grad(lambda b: (b * b).sum()))(x)]
        out += [old.hessian(lambda a, b: f(a, b).sum(), (x, y))[0][1], old.jacobian(f, (x, y))[0]]
        return [t.detach().tolist() for t in out]

    for ours, theirs in zip(run(sg), run(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_a_module_is_called_with_other_parameters() -> None:
    net = sg.nn.Sequential(sg.nn.Linear(2, 3), sg.nn.BatchNorm1d(3)).double()
    net.free = [sg.nn.Parameter(sg.ones(1))]
    net.tied = net[0]
    x, before = sg.tensor(np.random.default_rng(0).normal(size=(4, 2))), dict(net.named_parameters())
    other = {name: (p.detach() * 2).requires_grad_() for name, p in before.items()}
    twin = sg.nn.Sequential(sg.nn.Linear(2, 3), sg.nn.BatchNorm1d(3)).double()
    twin.load_state_dict({k: v * 2 if k in other else v for k, v in net[:2].state_dict().items()})
    got = func.functional_call(net[:2], [{k: v for k, v in other.items() if k[0] in "01"}, {}], (x,))
    np.testing.assert_array_equal(got.detach().numpy(), twin(x).detach().numpy())
    got.square().sum().backward()
    assert other["0.weight"].grad is not None and all(p.grad is None for p in before.values())
    grads = func.grad(lambda p: func.functional_call(net[0], p, x).sum())({"weight": other["0.weight"].detach()})
    np.testing.assert_allclose(grads["weight"].numpy(), np.tile(x.numpy().sum(0), (3, 1)))

    class Lists(sg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [sg.nn.Parameter(sg.ones(1)), {"deep": sg.nn.Parameter(sg.ones(1))}]
            self.again = self.parts[0]

        def forward(self, x: sg.Tensor, *, scale: float = 1.0) -> sg.Tensor:
            return x * self.parts[0] * self.parts[1]["deep"] * self.again * scale

    module, three = Lists(), sg.full((1,), 3.0)
    assert (
        func.functional_call(module, {"again": three, "parts.1.deep": three}, sg.ones(1), {"scale": 2.0}).item() == 54
    )
    assert module(sg.ones(1)).item() == 1, "its own are back"
    with pytest.raises(KeyError, match="Lists has no"):
        func.functional_call(module, {"weight": three}, sg.ones(1))
    with pytest.raises(KeyError, match="are missing"):
        func.functional_call(module, {"again": three}, sg.ones(1), strict=True)
    with pytest.raises(TypeError):
        func.functional_call(module, {"again": three})
    assert module(sg.ones(1)).item() == 1, "also after an error"


def test_stacked_modules_are_called_by_vmap() -> None:
    nets = [sg.nn.Sequential(sg.nn.Linear(2, 3), sg.nn.BatchNorm1d(3)).eval() for _ in range(3)]
    nets[1][0].bias.requires_grad_(False)
    parameters, buffers = func.stack_module_state(nets)
    assert parameters["0.weight"].shape == (3, 3, 2) and buffers["1.running_mean"].shape == (3, 3)
    assert parameters["0.weight"].requires_grad and not parameters["0.bias"].requires_grad
    x = sg.randn(4, 2)
    call = func.vmap(lambda p, b: func.functional_call(nets[0], (p, b), (x,)))
    np.testing.assert_allclose(
        call(parameters, buffers).detach().numpy(), np.stack([net(x).detach().numpy() for net in nets]), rtol=1e-5
    )
    with pytest.raises(ValueError, match="modules of kinds"):
        func.stack_module_state([nets[0], sg.nn.Linear(2, 3)])
    with pytest.raises(ValueError, match="modules of kinds"):
        func.stack_module_state([])
