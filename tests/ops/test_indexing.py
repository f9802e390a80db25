"""x[...] and x[...] = v with everything that NumPy takes, against NumPy; gradients; what waits for a count."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spirograd as sg
from reference.table import Array

SHAPE = (2, 3, 4, 5)
MASK = np.random.default_rng(0).random((3, 4)) < 0.4
X = np.arange(120, dtype=np.float32).reshape(SHAPE)
KEYS: list[Any] = [
    [0, 1],
    ([0, 1], [2, 0]),
    (slice(None), [2, 0]),
    (slice(None), [2, 0], slice(1, 3), [0, 1]),
    (..., [0, -1]),
    (None, [1]),
    np.array([1, 0]),
    np.array([[0, 1], [1, 1]]),
    ([[0], [1]], [0, 1, 2]),
    [[0, 1], [1, 0]],
    np.array([1, 0, 1], np.uint8),
    ([1, 0], slice(None), None, [1, 2]),
    X > 50,
    (slice(None), MASK),
    (1, MASK),
    (slice(None), MASK, 2),
    (..., np.array([True, False, True, False, True])),
    (np.array([True, False]), ..., [4, 0]),
    [],
    (slice(None), []),
    np.zeros(SHAPE, bool),
    (slice(None), np.zeros((3, 4), bool)),
    True,
    False,
    (slice(None), np.int64(1)),
]


def name_of(key: Any) -> str:
    return f"{key}"[:40].replace("\n", "") + f" {zlib.crc32(str(key).encode()) % 1000}"


def for_numpy(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(for_numpy(k) for k in key)
    return np.array(key, int) if isinstance(key, list) else key


def for_spirograd(key: Any, device: sg.Device) -> Any:
    """Arrays as tensors of the device; lists stay."""
    if isinstance(key, tuple):
        return tuple(for_spirograd(k, device) for k in key)
    return sg.tensor(key, device=device) if isinstance(key, np.ndarray) else key


def check_key(x: Array, key: Any, device: sg.Device) -> None:
    want, ours = x[for_numpy(key)], for_spirograd(key, device)
    got = sg.tensor(x, device=device)[ours]
    assert got.shape == want.shape
    assert np.array_equal(got.numpy(), want)
    places = np.arange(x.size).reshape(x.shape)[for_numpy(key)]
    twice = np.unique(places).size < places.size  # of several values for one place, a GPU may write any
    for value in (np.float32(-1), -1 - np.arange(want.size, dtype=np.float32).reshape(want.shape)):
        if value.ndim and twice and device.kind == "gpu":
            continue
        written, t = x.copy(), sg.tensor(x, device=device)
        written[for_numpy(key)] = value
        t[ours] = float(value) if value.ndim == 0 else sg.tensor(value, device=device)
        assert np.array_equal(t.numpy(), written)


@pytest.mark.parametrize("key", KEYS, ids=name_of)
def test_reads_and_writes_what_numpy_does(key: Any, device: sg.Device) -> None:
    check_key(X, key, device)


@pytest.mark.parametrize("key", [k for k in KEYS if isinstance(k, np.ndarray)], ids=name_of)
def test_arrays_are_indices_too(key: Array, device: sg.Device) -> None:
    assert np.array_equal(sg.tensor(X, device=device)[key].numpy(), X[key])


@st.composite
def keys(draw: st.DrawFn) -> tuple[Array, Any]:
    """An array and a key: index arrays of one broadcast shape, masks, slices, None and Ellipsis, no integers: these
    are taken first here, and are indices among others in NumPy."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    masked = draw(st.booleans())
    key: list[Any] = []
    dim = 0
    while dim < len(shape):
        kind = draw(st.sampled_from(["slice", "index", "mask", "none", "stop"]))
        if kind == "none" and len(key) < 5:
            key.append(None)
            continue
        if kind == "stop":
            key.append(...)
            break
        if kind == "mask" and masked:
            dims = draw(st.integers(1, len(shape) - dim))
            size = shape[dim : dim + dims]
            key.append(np.array(draw(st.lists(st.booleans(), min_size=int(np.prod(size)), max_size=int(np.prod(size)))),
                                bool).reshape(size))  # fmt: skip
            dim += dims
            masked = False
            common = (1,) if common else ()
            continue
        if kind == "index" and shape[dim] > 0 and common:
            here = tuple(draw(st.sampled_from([1, n])) for n in common) if 0 not in common else common
            count = int(np.prod(here))
            values = draw(st.lists(st.integers(-shape[dim], shape[dim] - 1), min_size=count, max_size=count))
            key.append(np.array(values, int).reshape(here))
        else:
            start, stop = draw(st.integers(-4, 4)), draw(st.integers(-4, 4))
            key.append(slice(start, stop, draw(st.integers(1, 2))))
        dim += 1
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return x, tuple(key)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys())
def test_generated_keys(pair: tuple[Array, Any]) -> None:
    x, key = pair
    try:
        want = x[key]
    except IndexError:  # shapes that do not broadcast
        return
    got = sg.tensor(x)[for_spirograd(key, sg.Device.cpu())]
    assert got.shape == want.shape
    assert np.array_equal(got.numpy(), want)
    flat = [k for k in key if isinstance(k, np.ndarray) and k.dtype != bool]
    if any(len({*map(tuple, np.argwhere(k == k))}) != len(np.unique(k)) for k in flat):
        return  # an index that occurs twice: either value may stay
    written, t = x.copy(), sg.tensor(x)
    value = -1 - np.arange(want.size, dtype=np.float32).reshape(want.shape)
    written[key] = value
    t[for_spirograd(key, sg.Device.cpu())] = sg.tensor(value)
    assert np.array_equal(t.numpy(), written)


def test_integers_select_before_tensors_index(device: sg.Device) -> None:
    t = sg.tensor(X, device=device)
    i = sg.tensor([1, 0], device=device)
    assert t[0, :, i].shape == (3, 2, 5)  # as PyTorch; NumPy puts the index in front
    assert np.array_equal(t[0, :, i].numpy(), X[0][:, [1, 0]])
    assert t[sg.tensor(1, device=device), sg.tensor(-1, device=device)].shape == (4, 5)


def test_writes_in_place_are_seen_through_views_and_broadcast(device: sg.Device) -> None:
    x = sg.zeros(3, 4, device=device)
    row = x[1]
    x[[0, 1], 2] = 5.0
    assert row.tolist() == [0, 0, 5, 0]
    row[[0, 3]] = sg.tensor([7.0], device=device)
    assert x[1].tolist() == [7, 0, 5, 7]
    x.T[sg.tensor([True, False, False, True], device=device)] = sg.tensor([1.0, 2.0, 3.0], device=device)
    assert x.tolist() == [[1, 0, 5, 1], [2, 0, 5, 2], [3, 0, 0, 3]]
    n = sg.zeros(3, dtype=sg.int32, device=device)
    n[sg.tensor([True, True, False], device=device)] = 2.9
    assert n.tolist() == [2, 2, 0] and n.dtype == sg.int32


def test_masked_writes_of_one_value_do_not_wait(device: sg.Device) -> None:
    x, mask = sg.zeros(4, 3, device=device), sg.tensor([True, False, True, False], device=device)
    x.numpy(), mask.numpy()
    before = sg.stats()
    x[mask] = sg.tensor([1.0, 2.0, 3.0], device=device)
    x[mask] = 4.0
    after = sg.stats()
    assert after["plan_hits"] + after["plan_misses"] == before["plan_hits"] + before["plan_misses"]
    assert x[:, 0].tolist() == [4, 0, 4, 0]


def test_gradients_of_reads_and_writes() -> None:
    x, v = (sg.tensor(np.random.default_rng(1).random(s), requires_grad=True) for s in ((3, 4), (2, 4)))
    i = sg.tensor([2, 0])
    mask = sg.tensor(np.arange(12).reshape(3, 4) % 3 == 0)
    reads = [lambda x: x[i], lambda x: x[:, [1, 1]], lambda x: x[mask], lambda x: x.masked_select(mask) ** 2]
    for read in reads:
        assert sg.autograd.gradcheck(read, (x,))
        assert sg.autograd.gradgradcheck(read, (x,))

    def write(key: Any) -> Any:
        def f(x: sg.Tensor, v: sg.Tensor) -> sg.Tensor:
            y = x * 1
            y[key] = v[:, : y[key].shape[-1]] if y[key].ndim > 1 else v[0, 0]
            return y * y

        return f

    for key in (i, mask, (slice(0, 2), [0, 3]), slice(0, 2)):
        assert sg.autograd.gradcheck(write(key), (x, v))


def test_gradients_of_masked_reads_on_every_device(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    (x[x > 1.5] ** 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 4, 6]
    y = x * 1
    y[sg.tensor([True, False, False], device=device)] = 0.0
    assert sg.autograd.grad(y.sum(), x)[0].tolist() == [0, 1, 1]


def test_nonzero_argwhere_where(device: sg.Device) -> None:
    x = np.array([[0, 1, 2], [np.nan, 0, -3]], np.float32)
    t = sg.tensor(x, device=device)
    assert np.array_equal(t.nonzero().numpy(), np.argwhere(x))
    assert np.array_equal(sg.argwhere(t).numpy(), np.argwhere(x))
    for ours, theirs in zip(t.nonzero(as_tuple=True), np.nonzero(x), strict=True):
        assert np.array_equal(ours.numpy(), theirs)
    assert [i.tolist() for i in sg.where(t == 0)] == [[0, 1], [0, 1]]
    assert sg.tensor(5, device=device).nonzero().shape == (1, 0)
    assert sg.zeros(0, 2, device=device).nonzero().shape == (0, 2)
    assert sg.zeros(3, device=device).nonzero().shape == (0, 1)
    big = np.arange(9000) % 7 == 3
    assert np.array_equal(sg.tensor(big, device=device).nonzero()[:, 0].numpy(), np.flatnonzero(big))


def test_in_place_forms_write_what_the_functions_make(device: sg.Device) -> None:
    base, i = sg.arange(12, device=device).reshape(3, 4).float(), sg.tensor([2, 0], device=device)
    src = sg.ones(2, 4, device=device) * 9
    at = i.reshape(2, 1).expand(2, 4)
    mask = base > 6
    forms: list[tuple[str, tuple[Any, ...]]] = [
        ("scatter", (0, at, src)), ("index_copy", (0, i, src)), ("index_fill", (1, i, 5.0)),
        ("masked_fill", (mask, 3.0)), ("masked_scatter", (mask, sg.arange(12, device=device).float())),
        ("index_put", ((i, sg.tensor([1, 1], device=device)), sg.tensor([5.0, 6.0], device=device))),
    ]  # fmt: skip
    forms += [("scatter_reduce", (0, at, src, "prod"))]
    forms += [("scatter_add", (0, at, src)), ("index_add", (0, i, src)), ("index_put", ((i,), src, True))]
    for name, arguments in forms:
        x = base.clone()
        result = getattr(x, name + "_")(*arguments)
        assert result is x, name
        assert np.array_equal(x.numpy(), getattr(base, name)(*arguments).numpy()), name


# How many values arrive at an element, what they are with and without the element 2.
MEETING: list[tuple[str, list[float], list[float], list[float]]] = [
    ("sum", [3, 3], [2, 8], [2, 6]),
    ("prod", [3, 3], [2, 18], [2, 9]),
    ("mean", [3, 4], [2, 3], [2, 3.5]),
    ("amax", [1, 1.5], [2, 2], [2, 1.5]),
    ("amin", [3, 4], [2, 2], [2, 3]),
]


@pytest.mark.parametrize(("reduce", "values", "with_self", "without"), MEETING)
def test_scatter_reduce_counts_the_element_itself_or_not(
    reduce: str, values: list[float], with_self: list[float], without: list[float], device: sg.Device
) -> None:
    x, index = sg.full((2,), 2.0, device=device), sg.tensor([1, 1], device=device)
    src = sg.tensor(values, device=device)
    assert x.scatter_reduce(0, index, src, reduce).tolist() == with_self
    assert x.scatter_reduce(0, index, src, reduce, include_self=False).tolist() == without


def test_gradients_of_scatter_reduce_at_equal_values_and_zeros(device: sg.Device) -> None:
    def gradients(x: list[float], src: list[float], reduce: str, include_self: bool) -> tuple[Any, Any]:
        a = sg.tensor(x, dtype=sg.float32, device=device, requires_grad=True)
        b = sg.tensor(src, dtype=sg.float32, device=device, requires_grad=True)
        index = sg.tensor([0] * len(src), device=device)
        a.scatter_reduce(0, index, b, reduce, include_self=include_self).sum().backward()
        assert a.grad is not None and b.grad is not None
        return a.grad.tolist(), b.grad.tolist()

    assert gradients([3, 1], [3, 3, 2, 3], "amax", True) == ([0.25, 1], [0.25, 0.25, 0, 0.25])
    assert gradients([3, 1], [3, 3, 2, 4], "amin", False) == ([0, 1], [0, 0, 1, 0])
    assert gradients([4, 1], [2, 0, 3], "prod", True) == ([0, 1], [0, 24, 0])
    assert gradients([4, 1], [0, 0, 3], "prod", False) == ([0, 1], [0, 0, 0])
    assert gradients([0, 1], [2, 5], "prod", True) == ([10, 1], [0, 0])
    assert gradients([4, 1], [2, 3], "mean", False) == ([0, 1], [0.5, 0.5])


def test_scatter_reduce_of_many_values_is_the_same_in_every_run(device: sg.Device) -> None:
    """Many a thread's worth of equal numbers; NaN wins; integers wrap."""
    random = np.random.default_rng(5)
    at = random.integers(0, 40, 5000)
    values = random.normal(size=5000).astype(np.float32)
    index, src, x = (sg.tensor(v, device=device) for v in (at, values, np.zeros(41, np.float32)))
    want = np.zeros(41, np.float32)
    np.maximum.at(want, at, values)
    assert np.array_equal(x.scatter_reduce(0, index, src, "amax").numpy(), want)
    products = [x.scatter_reduce(0, index, 1 + src / 8, "prod", include_self=False).numpy() for _ in range(2)]
    want64 = np.ones(41)
    np.multiply.at(want64, at, 1 + values.astype(np.float64) / 8)
    want64[40] = 0
    np.testing.assert_allclose(products[0], want64, rtol=1e-4)
    assert np.array_equal(products[0], products[1])
    with_nan = sg.where(sg.arange(5000, device=device) == 17, float("nan"), src)
    low = x.scatter_reduce(0, index, with_nan, "amin").numpy()
    assert np.flatnonzero(np.isnan(low)).tolist() == [at[17]]
    big = sg.full((300,), 2, dtype=sg.int32, device=device)
    none = sg.zeros(300, dtype=sg.int64, device=device)
    assert sg.ones(1, dtype=sg.int32, device=device).scatter_reduce(0, none, big, "prod").tolist() == [0]


@pytest.mark.parametrize("width", [1, 3, 16, 41, 300])
def test_index_add_adds_in_the_order_of_the_values(width: int) -> None:
    rng = np.random.default_rng(width)
    x, values = (rng.normal(size=(n, width)).astype("float32") for n in (7, 50))
    rows, sums = rng.integers(0, 7, 50), np.zeros_like(x)
    np.add.at(sums, rows, values)
    got = sg.tensor(x).index_add(0, sg.tensor(rows), sg.tensor(values))
    assert np.array_equal(got.numpy(), x + sums)
    # Nothing is multiplied by 1.
    assert [step.name for step in sg.tensor(x).index_add(0, sg.tensor(rows), sg.tensor(values)).plan()] == [
        "index_add",
        "add_rows",
        "add",
    ]


def test_mistakes_in_scatter_reduce(device: sg.Device) -> None:
    x, index = sg.zeros(2, device=device), sg.tensor([0, 2], device=device)
    with pytest.raises(ValueError, match="scatter_reduce: reduce is 'max'; use sum, prod, mean, amax or amin"):
        x.scatter_reduce(0, index, sg.ones(2, device=device), "max")
    with pytest.raises(IndexError, match=r"scatter_reduce: index 2 out of range \[0, 2\)"):
        x.scatter_reduce(0, index, sg.ones(2, device=device), "amax").numpy()


def test_masked_scatter_takes_in_order_and_complains_when_there_is_not_enough(device: sg.Device) -> None:
    x, mask = sg.zeros(2, 2, device=device), sg.tensor([[True, False], [True, True]], device=device)
    assert x.masked_scatter(mask, sg.tensor([1.0, 2, 3, 4], device=device)).tolist() == [[1, 0], [2, 3]]
    with pytest.raises(IndexError, match="masked_scatter"):
        x.masked_scatter(mask, sg.tensor([1.0], device=device)).numpy()


def test_a_fold_of_no_elements_reports_no_index(device: sg.Device) -> None:
    """Where the index would be, other memory holds what is in no range."""
    i = sg.full((5, 9), 777, dtype=sg.int64, device=device)
    table = sg.ones(4, 2, device=device, requires_grad=True)
    y = sg.embedding(i[:, :0], table).sum(1)
    assert y.tolist() == [[0, 0]] * 5
    y.sum().backward()
    assert table.grad is not None and table.grad.tolist() == [[0, 0]] * 4
    assert sg.embedding(i[:, :0], table).prod(1).tolist() == [[1, 1]] * 5
    assert sg.ones(5, 0, device=device).index_select(1, i[0, :0]).sum(1).tolist() == [0] * 5
    assert sg.nn.functional.one_hot(i[:0, 0], 4).sum(0).tolist() == [0] * 4
    assert (table.take(i[:0]) > 0).all(0, keepdim=True).tolist() == [[True] * 9]
    assert (table.take(i[:0]) > 0).any(0).tolist() == [False] * 9
    with pytest.raises(IndexError, match="index 777 out of range"):
        sg.embedding(i, table).sum(1).tolist()


def test_errors_at_the_line(device: sg.Device) -> None:
    x = sg.zeros(3, 4, device=device)
    with pytest.raises(IndexError, match=r"a mask of shape \[2\] at dimension 0 of \[3, 4\]"):
        x[sg.tensor([True, False], device=device)]
    with pytest.raises(IndexError, match="an index of float32"):
        x[sg.tensor([1.0, 2.0], device=device)]
    with pytest.raises(ValueError, match="getitem"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match="3 indices"):
        x[[0], [0], [0]]
    with pytest.raises(TypeError, match="an index of type str"):
        x["a"]
    with pytest.raises(IndexError, match=r"getitem: index 3 out of range \[0, 3\)"):
        x[[0, 3]].numpy()


def test_writes_that_choose_nothing_change_nothing_and_have_gradients(device: sg.Device) -> None:
    for shape, key in (((1, 0, 3), ([0], np.zeros((0, 3), bool))), ((2, 3), (np.zeros(2, bool), False)), ((2, 0), 0)):
        x = sg.ones(*shape, device=device, requires_grad=True)
        v = sg.tensor(5.0, device=device, requires_grad=True)
        y = x * 2
        y[for_spirograd(key, device)] = v
        (y.sum() + v * 0).backward()
        assert np.array_equal(y.detach().numpy(), np.full(shape, 2, np.float32))
        assert v.grad is not None and v.grad.item() == 0


def test_an_index_that_a_fold_makes_is_checked_only_in_rows_that_exist(device: sg.Device) -> None:
    best = sg.tensor(np.arange(15.0).reshape(5, 3) % 4, device=device).argmax(1)
    assert sg.tensor([1.0, 2.0, 3.0], device=device).index_select(0, best).tolist() == [3.0, 1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize("size", [5, 26, 300])
def test_where_the_largest_of_chosen_rows_is(device: sg.Device, size: int) -> None:
    """What says where an element is, is needed by a later pass over the row than the one that reads it."""
    x = sg.randn(16, size, device=device)
    rows = sg.tensor([3, 0, 9], device=device)
    assert x[rows].argmax(1).tolist() == x.numpy()[[3, 0, 9]].argmax(1).tolist()
    assert x[rows][1].argmin().item() == x.numpy()[0].argmin()


WRITES: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "index_copy_": (
        lambda x, at, v: x.index_copy_(1, at, v[:, :2]),
        lambda x, at, v: x.__setitem__((slice(None), at), v[:, :2]),
    ),
    "index_fill_": (
        lambda x, at, v: x.index_fill_(0, at, 7.0),
        lambda x, at, v: x.__setitem__(at, 7),
    ),
    "scatter_": (
        lambda x, at, v: x.scatter_(1, at.expand(3, 2), v),
        lambda x, at, v: np.put_along_axis(x[:3], np.broadcast_to(at, (3, 2)), v[:3, :2], 1),
    ),
    "scatter_, a number": (
        lambda x, at, v: x.scatter_(0, at.unsqueeze(0), 2.5),
        lambda x, at, v: np.put_along_axis(x[:, :2], at[None], 2.5, 0),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_slices_are_written_where_they_are(name: str, device: sg.Device) -> None:
    ours, theirs = WRITES[name]
    random = np.random.default_rng(0)
    base, values, at = random.normal(size=(9, 8)).astype(np.float32), random.normal(size=(4, 3)), np.array([3, 1])
    views: list[Callable[[Any], Any]] = [lambda x: x[:4, :5], lambda x: x.T[1:5, ::2][:, :4], lambda x: x[::2, 1:6][:4]]
    for view in views:
        want, got = base.copy(), sg.tensor(base, device=device).realize()
        theirs(view(want), at, values)
        before = view(got) * 1
        x = view(got)
        ours(x, sg.tensor(at, device=device), sg.tensor(values, dtype=sg.float32, device=device))
        np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-6)
        np.testing.assert_array_equal(before.cpu().numpy(), view(base))
    x = sg.tensor(base, device=device).realize()
    at_, values_ = sg.tensor(at, device=device).realize(), sg.ones(9, 3, device=device).realize()
    ours(x, at_, values_)
    assert len(x.plan()) <= 2  # the indices are checked before anything is written; the rest is not copied
    with pytest.raises(IndexError, match="out of range"):
        ours(x, at_ + 20, values_)
        x.tolist()


def test_a_write_into_slices_is_part_of_gradients() -> None:
    def call(x: sg.Tensor, v: sg.Tensor) -> sg.Tensor:
        y = x * 2
        y.index_copy_(0, sg.tensor([2, 0]), v)
        y[:, 1:].scatter_(1, sg.tensor([[1], [0]]), v[:, 1:2])
        return y.index_fill_(1, sg.tensor([0]), 1.0).square()

    x, v = (sg.randn(n, 3, dtype=sg.float64).requires_grad_() for n in (4, 2))
    assert sg.autograd.gradcheck(call, [x, v])


def test_an_index_without_elements_has_any_rank(device: sg.Device) -> None:
    x = sg.ones(5, device=device, requires_grad=True)
    y = x.gather(0, sg.zeros(2, 0, dtype=sg.int64, device=device))
    assert y.shape == (2, 0)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0] * 5
