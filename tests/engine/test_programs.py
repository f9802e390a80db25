"""Short programs whose operations end in one kernel: views folded, folds beside writes in place.

tests/fuzz/programs.py draws such programs at random; what it found is here, a family a test.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg

Op = Callable[[sg.Tensor], object]

FOLDS: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(),
    "amax": lambda x: x.amax(),
    "prod": lambda x: x.prod(),
    "var": lambda x: x.var(),
    "std": lambda x: x.std(),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(-1),
    "argmax": lambda x: x.argmax(),
    "cumsum": lambda x: x.cumsum(-1),
    "copy": lambda x: x.clone(),
}
WRITES: dict[str, Op] = {
    "mul_": lambda x: x.mul_(2.0),
    "add_ of itself": lambda x: x.add_(x),
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(sg.full_like(x, 7.0)),
    "a part": lambda x: x[:1].fill_(9.0),
    "less its mean": lambda x: x.sub_(x.mean()),
    "its softmax": lambda x: x.copy_(x.softmax(-1)),
}


@pytest.mark.parametrize("shape", [(3,), (7, 5), (40_000,)], ids=str)
@pytest.mark.parametrize("write", WRITES)
def test_what_is_computed_before_a_write_has_the_values_of_before(
    write: str, shape: tuple[int, ...], device: sg.Device
) -> None:
    start = np.random.default_rng(0).integers(1, 9, shape) / 4
    folds = {name: fold for name, fold in FOLDS.items() if name != "prod" or start.size < 100}
    alone = [[name] for name in folds] if device.type != "software" else []  # one kernel each, which takes time there
    for names in [*alone, list(folds)]:
        x = sg.tensor(start, dtype=sg.float32, device=device) * 1
        before = [folds[name](x) for name in names]
        WRITES[write](x)
        for name, got in zip(names, before, strict=True):
            want = folds[name](sg.tensor(start, dtype=sg.float64)).numpy()
            np.testing.assert_allclose(got.numpy(), want, rtol=3e-5, err_msg=name)


VIEWS: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "flip": lambda x: x.flip(0),
    "flip of all": lambda x: x.flip(0, 1),
    "part": lambda x: x[1:, 2:],
    "steps": lambda x: x[1::2, ::3],
    "row": lambda x: x[2],
    "column": lambda x: x[:, 3],
    "places": lambda x: x[:, [0, 2]][1],
    "places of a part": lambda x: x[1:, [3, 0]][:, 1:],
    "turned": lambda x: x.t()[2:],
    "rolled": lambda x: x.roll(1, 0)[1:],
    "diagonal": lambda x: x.diagonal(1),
    "windows": lambda x: x.unfold(1, 3, 2)[:, 1],
}


@pytest.mark.parametrize("dims", [None, 0, -1], ids=str)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("made", ["stored", "pending"])
def test_a_view_is_folded_over_its_own_elements(view: str, dims: int | None, made: str, device: sg.Device) -> None:
    array = np.arange(1.0, 43.0, dtype=np.float32).reshape(6, 7)
    want = VIEWS[view](sg.tensor(array)).numpy().astype(np.float64)
    x = sg.tensor(array, device=device)
    if made == "pending":
        x, want = x * 2, want * 2
    got = VIEWS[view](x)
    np.testing.assert_array_equal(got.sum().item() if dims is None else got.sum(dims).numpy(), want.sum(dims))
    np.testing.assert_array_equal(
        VIEWS[view](x + 0).amax(dims if dims is not None else tuple(range(want.ndim))).numpy(), want.max(dims)
    )


def test_a_fold_of_a_flip_reads_each_element_once(device: sg.Device) -> None:
    assert (sg.tensor([1.0, 2.0, 3.0], device=device) * 2).flip(0).sum().item() == 12


def test_a_sum_is_that_of_before_the_write(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0, 3.0], device=device)
    s = x.sum()
    x.mul_(2.0)
    assert s.item() == 6


STALE: dict[str, Callable[[sg.Tensor, sg.Tensor], sg.Tensor | None]] = {
    "all of it": lambda x, view: x.copy_(view),
    "a part": lambda x, view: x[1:].copy_(view[1:]),
    "an operand": lambda x, view: x * view,
    "joined": lambda x, view: sg.cat([x, view]),
    "chosen": lambda x, view: sg.where(x > 0, x, view),
    "product": lambda x, view: x @ view.t(),
}


@pytest.mark.parametrize("use", STALE)
def test_a_view_that_was_written_through_has_its_gradient_wherever_it_is_read(use: str, device: sg.Device) -> None:
    """The history of such a view is made when somebody asks for it, which may be while another node is being made."""

    def f(a: sg.Tensor) -> sg.Tensor:
        x = a * 1
        view = x[:, :]
        view.mul_(3.0)
        y = STALE[use](x, view)
        return ((x if y is None else y) ** 2).sum()

    assert sg.autograd.gradcheck(f, [sg.tensor([[0.5, 1.0], [2.0, 0.25]], dtype=sg.float64, requires_grad=True)])
    a = sg.tensor([[0.5, 1.0], [2.0, 0.25]], device=device, requires_grad=True)
    f(a).backward()
    b = a.detach().cpu().double().requires_grad_()
    f(b).backward()
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize("use", ["an operand", "joined", "chosen", "product"])
def test_a_hook_of_a_view_that_was_written_through_sees_its_whole_gradient(use: str, device: sg.Device) -> None:
    x = sg.tensor([[0.5, 1.0], [2.0, 0.25]], device=device, requires_grad=True) * 1
    view = x[:, :]
    view.mul_(3.0)
    y = STALE[use](x, view)
    seen: list[sg.Tensor] = []
    view.register_hook(seen.append)
    view.retain_grad()
    (y.sum() + (view * 2).sum()).backward()
    assert [g.tolist() for g in seen] == [view.grad.tolist()]


def test_an_operator_in_place_on_all_of_a_tensor_keeps_its_gradient(device: sg.Device) -> None:
    a = sg.ones(2, 3, device=device, requires_grad=True)
    x = a * 1
    x[:, :] *= sg.full((2, 3), 2.0, device=device)
    assert sg.autograd.grad(x.sum(), [a])[0].tolist() == [[2.0] * 3] * 2
