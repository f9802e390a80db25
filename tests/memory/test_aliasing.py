"""Which results are on the memory of their input: copies never are, also where there is nothing to do; views always.

What PyTorch does decides. A view is another tensor, also where it shows all of its input in the same shape: it has a
history of its own, and none under no_grad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import spirograd as sg
from spirograd.nn import functional as F

Op = Callable[[Any], Any]
NOTHING = sg.zeros(0, dtype=sg.int64)

COPIES: dict[str, Op] = {
    "clone": lambda x: x.clone(),
    "tensor": lambda x: sg.tensor(x),
    "new_tensor": lambda x: x.new_tensor(x),
    "to copy": lambda x: x.to(x.dtype, copy=True),
    "pad nothing": lambda x: F.pad(x, (0, 0)),
    "pad cuts": lambda x: F.pad(x, (-1, -1)),
    "pad cuts, replicate": lambda x: F.pad(x, (-1, 0), mode="replicate"),
    "pad nothing, circular": lambda x: F.pad(x[None], (0, 0), mode="circular"),
    "flip nothing": lambda x: x.flip(()),
    "flip one": lambda x: x[:1].flip(0),
    "roll 0": lambda x: x.roll(0),
    "roll 0 along 0": lambda x: x.roll(0, 0),
    "roll round": lambda x: x.roll(2, 0),
    "rot90 0": lambda x: x.rot90(0),
    "rot90 4": lambda x: x.rot90(4),
    "repeat 1": lambda x: x.repeat(1, 1),
    "tile 1": lambda x: x.tile(1),
    "repeat_interleave 1": lambda x: x.repeat_interleave(1, 0),
    "cat of one": lambda x: sg.cat([x]),
    "cat with nothing": lambda x: sg.cat([x, sg.zeros(0, dtype=x.dtype)]),
    "stack of one": lambda x: sg.stack([x]),
    "vstack of one": lambda x: sg.vstack([x]),
    "hstack of one": lambda x: sg.hstack([x]),
    "dstack of one": lambda x: sg.dstack([x]),
    "block_diag of one": lambda x: sg.block_diag(x),
    "kron with 1": lambda x: sg.kron(x, sg.ones(1, 1, dtype=x.dtype)),
    "diag of a matrix": lambda x: x.diag(),
    "tril of all": lambda x: x.tril(10),
    "triu of all": lambda x: x.triu(-10),
    "diff 0 times": lambda x: x.diff(0),
    "power 1": lambda x: x**1,
    "plus 0": lambda x: x + 0,
    "round": lambda x: x.round(),
    "abs": lambda x: x.abs(),
    "clamp": lambda x: x.clamp(max=1000),
    "nan_to_num": lambda x: x.nan_to_num(),
    "where of itself": lambda x: sg.where(x == x, x, x),
    "masked_fill nothing": lambda x: x.masked_fill(x != x, 0),
    "ravel of columns": lambda x: x.T.ravel(),
    "contiguous of columns": lambda x: x.T.contiguous(),
    "mask of all": lambda x: x[x == x],
    "list of all rows": lambda x: x[[0, 1]],
    "index_select": lambda x: x.index_select(0, sg.arange(2)),
    "take": lambda x: x.take(sg.arange(6)),
    "gather 0-d": lambda x: x[0, 0].gather(0, sg.tensor(0)),
    "index_add nothing": lambda x: x.index_add(0, NOTHING, sg.zeros(0, 3, dtype=x.dtype)),
    "index_copy nothing": lambda x: x.index_copy(0, NOTHING, sg.zeros(0, 3, dtype=x.dtype)),
    "index_fill nothing": lambda x: x.index_fill(0, NOTHING, 0),
    "index_put nothing": lambda x: x.index_put((NOTHING,), sg.zeros(0, 3, dtype=x.dtype)),
    "sum of one row": lambda x: x[:1].sum(0),
    "sum 0-d": lambda x: x[0, 0].sum(0),
    "amax of one row": lambda x: x[:1].amax(0),
    "max 0-d": lambda x: x[0, 0].max(0)[0],
    "sort 0-d": lambda x: x[0, 0].sort()[0],
    "sort of one row": lambda x: x[:1].sort(0)[0],
    "topk 0-d": lambda x: x[0, 0].topk(1)[0],
    "kthvalue 0-d": lambda x: x[0, 0].kthvalue(1)[0],
    "median 0-d": lambda x: x[0, 0].median(0)[0],
    "median of one row": lambda x: x[:1].median(0)[0],
    "cumsum 0-d": lambda x: x[0, 0].cumsum(0),
    "cummax of one row": lambda x: x[:1].cummax(0)[0],
    "chain_matmul of one": lambda x: sg.chain_matmul(x),
    "matrix_power 1": lambda x: sg.linalg.matrix_power(x[:, :2], 1),
    "interpolate to the size": lambda x: F.interpolate(x[None, None], size=(2, 3)),
    "pixel_shuffle 1": lambda x: F.pixel_shuffle(x[None, None], 1),
    "pixel_shuffle of one pixel": lambda x: F.pixel_shuffle(x.flatten()[:4].reshape(4, 1, 1), 2),
    "pixel_unshuffle 1": lambda x: F.pixel_unshuffle(x[None, None], 1),
    "channel_shuffle 1": lambda x: F.channel_shuffle(x[None], 1),
    "unfold 1": lambda x: F.unfold(x[None, None], 1),
    "fold 1": lambda x: F.fold(x.reshape(1, 1, 6), (2, 3), 1),
    "max_pool2d 1": lambda x: F.max_pool2d(x[None, None], 1),
}
COPIES_OF_FLOATS: dict[str, Op] = {
    "interpolate to the size, bilinear": lambda x: F.interpolate(x[None, None], size=(2, 3), mode="bilinear"),
    "interpolate to the size, area": lambda x: F.interpolate(x[None, None], size=(2, 3), mode="area"),
    "avg_pool2d 1": lambda x: F.avg_pool2d(x[None, None], 1),
    "adaptive_avg_pool2d to the size": lambda x: F.adaptive_avg_pool2d(x[None, None], (2, 3)),
    "logsumexp 0-d": lambda x: x[0, 0].logsumexp(0),
    "mean 0-d": lambda x: x[0, 0].mean(0),
    "quantile 0-d": lambda x: x[0, 0].quantile(0.5),
}
VIEWS: dict[str, Op] = {
    "x[:]": lambda x: x[:],
    "x[...]": lambda x: x[...],
    "x[()]": lambda x: x[()],
    "x[:, :]": lambda x: x[:, :],
    "x[None]": lambda x: x[None],
    "a row": lambda x: x[0],
    "reshape": lambda x: x.reshape(2, 3),
    "reshape to one dimension": lambda x: x.reshape(-1),
    "view": lambda x: x.view(2, 3),
    "view_as": lambda x: x.view_as(x),
    "flatten nothing": lambda x: x.flatten(0, 0),
    "unflatten nothing": lambda x: x.unflatten(0, (2,)),
    "ravel": lambda x: x.ravel(),
    "squeeze nothing": lambda x: x.squeeze(),
    "squeeze nothing along 0": lambda x: x.squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "expand to the shape": lambda x: x.expand(2, 3),
    "expand_as": lambda x: x.expand_as(x),
    "broadcast_to": lambda x: sg.broadcast_to(x, (2, 3)),
    "narrow to all": lambda x: x.narrow(0, 0, 2),
    "select": lambda x: x.select(0, 1),
    "permute nothing": lambda x: x.permute(0, 1),
    "transpose nothing": lambda x: x.transpose(0, 0),
    "moveaxis nothing": lambda x: x.moveaxis(0, 0),
    "t of a vector": lambda x: x[0].t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(0, 2, 1),
    "as_strided": lambda x: x.as_strided((2, 3), (3, 1)),
    "chunk 1": lambda x: x.chunk(1)[0],
    "split to all": lambda x: x.split(2)[0],
    "tensor_split 1": lambda x: x.tensor_split(1)[0],
    "unbind": lambda x: x.unbind()[0],
}
SAME: dict[str, Op] = {
    "contiguous": lambda x: x.contiguous(),
    "to": lambda x: x.to(x.dtype),
    "cpu": lambda x: x.to(x.device),
    "atleast_2d": lambda x: sg.atleast_2d(x),
    "as_tensor": lambda x: sg.as_tensor(x),
    "positive": lambda x: +x,
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
}


def shares(op: Op, dtype: sg.dtype) -> bool:
    """Whether a write to the result is one to the input."""
    x = sg.arange(1, 7, dtype=dtype).reshape(2, 3)
    before = x.tolist()
    result = op(x)
    assert result.numel() > 0
    result.fill_(77)
    return bool(x.tolist() != before)


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", [sg.float32, sg.int64], ids=str)
def test_a_copy_is_never_on_the_memory_of_its_input(name: str, dtype: sg.dtype) -> None:
    assert not shares(COPIES[name], dtype)


@pytest.mark.parametrize("name", COPIES_OF_FLOATS)
def test_a_copy_of_floats_is_never_on_the_memory_of_its_input(name: str) -> None:
    assert not shares(COPIES_OF_FLOATS[name], sg.float32)


@pytest.mark.parametrize("name", [*VIEWS, *SAME])
def test_a_view_is_on_the_memory_of_its_input(name: str) -> None:
    assert shares({**VIEWS, **SAME}[name], sg.float32)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_another_tensor(name: str) -> None:
    x = sg.arange(6.0).reshape(2, 3).detach()
    VIEWS[name](x).requires_grad_()
    assert not x.requires_grad
    x.requires_grad_()
    assert x.is_leaf and not VIEWS[name](x).is_leaf


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_made_under_no_grad_has_no_history(name: str) -> None:
    leaf = sg.arange(6.0).reshape(2, 3).detach().requires_grad_()
    for x in (leaf, leaf * 2):
        with sg.no_grad():
            y = VIEWS[name](x)
        assert not y.requires_grad and y.is_leaf and y.grad_fn is None
        assert not (y * 2).requires_grad


def test_what_a_write_of_the_base_is_to_a_view_made_under_no_grad_is_asked() -> None:
    leaf = sg.ones(3, requires_grad=True)
    x = leaf * 2
    with sg.no_grad():
        y = x[1:]
        x.add_(1)
    assert not y.requires_grad and y.tolist() == [3, 3]
    x.mul_(2)
    with pytest.raises(sg.Error, match=r"view: .* made under no_grad\(\), and its base was written since"):
        y * 2
    assert not y.requires_grad and y.is_leaf and y.grad_fn is None  # to look at is not to compute with
    assert repr(y) == "tensor([6., 6.])" and y.tolist() == [6, 6] and y.numpy().tolist() == [6, 6]
    with sg.no_grad():
        assert (y * 2).tolist() == [12, 12]
    assert y.detach().tolist() == [6, 6]


def test_a_view_made_under_no_grad_is_not_written_as_part_of_gradients() -> None:
    leaf = sg.ones(3, requires_grad=True)
    x = leaf * 2
    with sg.no_grad():
        y, z = x[1:], x[1:][:1]
    for target in (y, z, y[1:]):
        with pytest.raises(sg.Error, match=r"the target is a view made under no_grad\(\)"):
            target.mul_(leaf[0])
    assert x.tolist() == [2, 2, 2] and x._version == 0
    with sg.no_grad():
        y.mul_(3)
    assert x.tolist() == [2, 6, 6]


@pytest.mark.parametrize("name", [*COPIES, *COPIES_OF_FLOATS])
def test_a_copy_made_under_no_grad_is_written_as_part_of_gradients(name: str) -> None:
    x, p = sg.arange(1.0, 7.0).reshape(2, 3), sg.tensor(2.0, requires_grad=True)
    with sg.no_grad():
        h = {**COPIES, **COPIES_OF_FLOATS}[name](x)
    before = h.sum().item()
    h += p
    h *= p
    h.sum().backward()
    assert p.grad is not None and p.grad.item() == pytest.approx(before + 4 * h.numel())


def test_a_view_made_under_no_grad_of_what_is_gone_is_a_tensor_of_its_own(device: sg.Device) -> None:
    p = sg.tensor(2.0, device=device, requires_grad=True)
    with sg.no_grad():
        row = sg.ones(2, 3, device=device)[1]
    part = row[1:]
    part.mul_(p)
    assert row.tolist() == [1, 2, 2] and row.requires_grad
    row.sum().backward()
    assert p.grad is not None and p.grad.item() == 2
