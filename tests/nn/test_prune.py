"""Pruning: what is masked, what is trained, and what remains."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn
from spirograd.nn.utils import prune


def layer(inputs: int, outputs: int) -> nn.Linear:
    """With weights of different sizes."""
    made = nn.Linear(inputs, outputs)
    with sg.no_grad():
        for p in made.parameters():
            p.copy_((sg.arange(p.numel()) * 1.7).sin().reshape(p.shape))
    return made


def zeros(x: sg.Tensor) -> int:
    return int((x == 0).sum())


def test_the_least_entries_go(device: sg.Device) -> None:
    net = layer(6, 5).to(device)
    size = np.abs(net.weight.detach().numpy())
    assert prune.l1_unstructured(net, "weight", amount=0.4) is net
    assert zeros(net.weight) == 12
    assert (np.sort(size.ravel())[12] <= size[net.weight_mask.numpy() == 1]).all()
    assert sorted(net.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    assert [name for name, _ in net.named_parameters()] == ["bias", "weight_orig"]


def test_a_pruned_weight_is_trained_around_its_zeros() -> None:
    net = prune.l1_unstructured(layer(6, 5), "weight", amount=0.4)
    optimizer = sg.optim.SGD(net.parameters(), lr=0.1)
    before = net.weight.detach().numpy()
    net(sg.ones(3, 6)).square().sum().backward()
    assert (net.weight_orig.grad.numpy()[net.weight_mask.numpy() == 0] == 0).all()
    optimizer.step()
    net(sg.ones(3, 6))
    after = net.weight.detach().numpy()
    assert zeros(net.weight) == 12 and not np.array_equal(before, after)
    prune.remove(net, "weight")
    assert isinstance(net.weight, nn.Parameter) and not prune.is_pruned(net)
    assert sorted(net.state_dict()) == ["bias", "weight"]
    np.testing.assert_array_equal(net.weight.detach().numpy(), after)
    with pytest.raises(ValueError, match="'weight' of Linear is not pruned"):
        prune.remove(net, "weight")


def test_masks_combine() -> None:
    net = layer(6, 5)
    prune.l1_unstructured(net, "weight", amount=5)
    prune.l1_unstructured(net, "weight", amount=0.4)  # of the 25 that are left
    assert zeros(net.weight_mask) == 15
    prune.ln_structured(net, "weight", amount=2, n=2, dim=0)
    assert sum(not row.any() for row in net.weight_mask.numpy()) == 2
    prune.remove(net, "weight")
    assert sorted(net.state_dict()) == ["bias", "weight"]


def test_channels_by_norm_and_by_chance() -> None:
    net = nn.Conv2d(3, 8, 3)
    prune.ln_structured(net, "weight", amount=0.5, n=1, dim=0)
    norms = np.abs(net.weight_orig.detach().numpy()).sum((1, 2, 3))
    assert set(np.flatnonzero(net.weight_mask.numpy()[:, 0, 0, 0])) == set(np.argsort(norms)[4:])
    prune.random_structured(net, "weight", amount=1, dim=1)
    assert zeros(net.weight_mask.amax((0, 2, 3))) == 1
    prune.random_unstructured(net, "bias", amount=3)
    assert zeros(net.bias_mask) == 3


def test_several_tensors_are_pruned_as_one() -> None:
    net = nn.Sequential(layer(6, 5), layer(5, 4))
    pairs = [(net[0], "weight"), (net[1], "weight")]
    both = np.sort(np.abs(np.concatenate([m.weight.detach().numpy().ravel() for m, _ in pairs])))
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.2)
    assert sum(zeros(m.weight) for m, _ in pairs) == 10
    left = np.concatenate([np.abs(m.weight.detach().numpy()).ravel() for m, _ in pairs])
    assert left[left > 0].min() == both[10]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.5)  # of the 40 that are left
    assert sum(zeros(m.weight) for m, _ in pairs) == 30
    assert prune.is_pruned(net)
    with pytest.raises(TypeError, match="structured method"):
        prune.global_unstructured(pairs, prune.LnStructured, amount=0.5, n=2)


def test_a_way_of_ones_own_and_a_given_mask() -> None:
    class EverySecond(prune.BasePruningMethod):
        def compute_mask(self, t: sg.Tensor, default_mask: sg.Tensor) -> sg.Tensor:
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    net = layer(6, 5)
    EverySecond.apply(net, "bias")
    assert net.bias_mask.tolist() == [0, 1, 0, 1, 0]
    prune.custom_from_mask(net, "weight", mask=sg.ones(5, 6).tril())
    assert zeros(net.weight_mask) == 15
    assert prune.identity(layer(2, 2), "weight").weight_mask.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(("amount", "message"), [(1.5, "amount is 1.5"), (-1, "amount is -1"), (31, "there are 30")])
def test_an_amount_that_cannot_be(amount: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prune.l1_unstructured(layer(6, 5), "weight", amount=amount)
