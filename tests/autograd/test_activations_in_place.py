"""An activation in place computes what it computes apart, with the same kernels: nothing is copied."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

LAYERS: dict[str, Callable[[bool], nn.Module]] = {
    "ReLU": lambda inplace: nn.ReLU(inplace),
    "ReLU6": lambda inplace: nn.ReLU6(inplace),
    "LeakyReLU": lambda inplace: nn.LeakyReLU(0.1, inplace),
    "ELU": lambda inplace: nn.ELU(0.7, inplace),
    "SELU": lambda inplace: nn.SELU(inplace),
    "SiLU": lambda inplace: nn.SiLU(inplace),
    "Mish": lambda inplace: nn.Mish(inplace),
    "Hardswish": lambda inplace: nn.Hardswish(inplace),
    "Hardsigmoid": lambda inplace: nn.Hardsigmoid(inplace),
    "Threshold": lambda inplace: nn.Threshold(0.1, 20.0, inplace),
}


def kernels(*tensors: sg.Tensor) -> list[str]:
    """Of what is pending on the device, which is run."""
    names = [step.name for step in tensors[0].plan()]
    for t in tensors:
        t.realize()
    return names


@pytest.mark.parametrize("name", LAYERS)
def test_training_runs_the_same_kernels(name: str, device: sg.Device) -> None:
    x = sg.randn(2, 3, 6, 6, device=device)
    results = []
    for inplace in (False, True):
        sg.manual_seed(1)
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), LAYERS[name](inplace), nn.Conv2d(4, 2, 3)).to(device)
        sg.synchronize(device)
        y = net(x)
        y.square().sum().backward()
        gradients = [p.grad for p in net.parameters() if p.grad is not None]
        ran = kernels(y, *gradients)
        results.append((ran, [t.cpu().numpy() for t in (y.detach(), *gradients)]))
    (ran, wanted), (ran_in_place, got) = results
    assert ran_in_place == ran
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_chain_is_one_kernel(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device).realize()
    y = x * 3
    y.add_(1).mul_(2).relu_()
    y += 1
    assert len(y.plan()) == 1
    assert y.tolist() == [1.0, 15.0]


def test_other_names_of_the_value_see_the_write_and_snapshots_do_not(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device).realize()
    y = x * 3
    view, old = y.view(2, 1), y.clone()
    before = y + 0
    y.relu_()
    assert view.tolist() == [[0.0], [6.0]]
    assert old.tolist() == before.tolist() == [-3.0, 6.0]
    y.neg_()
    assert view.tolist() == [[-0.0], [-6.0]]
    view.fill_(5)
    assert y.tolist() == [5.0, 5.0] and old.tolist() == [-3.0, 6.0]


def test_a_value_that_two_tensors_took_is_written_apart(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device).realize()
    y = x * 3
    z = y + 1
    y.copy_(z)
    y.mul_(2)
    assert (y.tolist(), z.tolist()) == ([-4.0, 14.0], [-2.0, 7.0])
    y = x * 3
    z = y + 1
    y.copy_(z)
    z.mul_(2)
    assert (y.tolist(), z.tolist()) == ([-2.0, 7.0], [-4.0, 14.0])
    y[0] = 9.0
    assert (y.tolist(), z.tolist()) == ([9.0, 7.0], [-4.0, 14.0])


def test_a_value_is_taken_once(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device).realize()
    y = x * 3
    z = y + 1
    y.copy_(z)
    new = y * 2
    y.copy_(new)
    assert len(z.plan()) == 1
    z.copy_(new)  # which y has: an assignment
    assert [step.name for step in z.plan()][-1].endswith("assign")
    assert y.tolist() == z.tolist() == new.tolist() == [-4.0, 14.0]


def test_gradients_of_what_was_written_over(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0, 0.5], device=device, requires_grad=True)
    y = x * 3
    y.div_(2).exp_()
    y.sum().backward()
    np.testing.assert_allclose(y.tolist(), np.exp([-1.5, 3.0, 0.75]), rtol=1e-5)
    np.testing.assert_allclose(x.grad.tolist(), 1.5 * np.exp([-1.5, 3.0, 0.75]), rtol=1e-5)
    y = x * 3
    read = y.sin()  # its gradient needs the old value
    y.relu_()
    with pytest.raises(RuntimeError, match="in place"):
        (y * read).sum().backward()


def test_a_bad_index_in_the_value_leaves_the_old_one(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device).realize()
    y = x * 3
    y.add_(x[sg.tensor([0, 5], device=device)])
    with pytest.raises(IndexError, match="index 5"):
        y.tolist()
    assert y.tolist() == [3.0, 6.0]


def test_a_step_that_is_recorded_writes_in_place(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device)

    @sg.compile
    def step(t: sg.Tensor) -> sg.Tensor:
        y = t * 2
        y.relu_()
        y.add_(1)
        return y

    for k in (1.0, 2.0, 3.0):
        assert step(x * k).tolist() == [1.0, 4 * k + 1]
