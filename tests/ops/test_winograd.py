"""Convolutions with kernels of 3 x 3 by minimal filtering: how exact they are, and what they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.convolution import computed, exact

pytestmark = pytest.mark.gpu

# Image, outputs, padding: whole blocks and rows that end in half of one, one block, fewer results than a block, tiles
# of 32 outputs and of 32 blocks one less and one more, steps of eight channels likewise, blocks of several images in a
# tile and in a step, zeros on both sides wider than a kernel reaches, none.
CASES: list[tuple[tuple[int, int, int, int], int, int | tuple[int, int]]] = [
    ((2, 8, 8, 8), 32, 1),
    ((2, 16, 9, 11), 31, 1),
    ((3, 7, 7, 7), 33, 1),
    ((1, 9, 3, 3), 1, 0),
    ((1, 1, 4, 3), 5, 0),
    ((5, 33, 2, 1), 3, 1),
    ((1, 3, 5, 4), 40, (0, 2)),
    ((2, 31, 6, 5), 65, (3, 4)),
    ((1, 1, 1, 40), 1, 1),
    ((7, 2, 3, 2), 2, 1),
    ((40, 5, 14, 14), 4, 1),
]


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    before = sg._core._convolutions_ignore_sizes(True)
    yield
    sg._core._convolutions_ignore_sizes(before)


def made(shape: tuple[int, ...], seed: int) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolutions_and_gradients_are_exact(case: Any, gpu: sg.Device) -> None:
    image, outputs, padding = case
    x, w = made(image, 1), made((outputs, image[1], 3, 3), 2)
    g = made(tuple(sg.conv2d(x, w, padding=padding).shape), 3)
    got = computed(x, w, g, sg.float32, gpu, padding=padding)
    want = computed(x, w, g, sg.float64, "cpu", padding=padding)
    room = computed(x.abs(), w.abs(), g.abs(), sg.float64, "cpu", padding=padding)
    for a, b, most in zip(got, want, room, strict=True):
        assert np.abs(a - b).max() <= 2.0**-20 * most.max()


def test_the_error_is_bound_by_the_largest_element_of_a_block(gpu: sg.Device) -> None:
    """docs/numerics.md: (channels + 8) 2^-20 of the sum over channels of that element times the kernel's magnitudes."""
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(2, 24, 16, 16)) * 10.0 ** rng.uniform(-6, 6, (2, 24, 16, 16))).astype(np.float32)
    w = (rng.normal(size=(8, 24, 3, 3)) * 10.0 ** rng.uniform(-3, 3, (8, 24, 3, 3))).astype(np.float32)
    got = exact(sg.conv2d(sg.tensor(x, device=gpu), sg.tensor(w, device=gpu), padding=1))
    want = exact(sg.conv2d(sg.tensor(x).double(), sg.tensor(w).double(), padding=1))
    largest = np.zeros((2, 24, 8, 8))
    padded = np.pad(np.abs(x).astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for i in range(4):
        for j in range(4):
            largest = np.maximum(largest, padded[:, :, i : i + 15 : 2, j : j + 15 : 2])
    bound = np.einsum("nchw,mc->nmhw", largest, np.abs(w).astype(np.float64).sum((2, 3)))
    assert (np.abs(got - want) <= (24 + 8) * 2.0**-20 * bound.repeat(2, 2).repeat(2, 3)).all()


def test_a_convolution_is_one_launch_behind_that_of_its_kernels(gpu: sg.Device) -> None:
    x, w = made((2, 16, 9, 11), 1).to(gpu).requires_grad_(), made((16, 16, 3, 3), 2).to(gpu).requires_grad_()
    y = sg.conv2d(x, w, padding=1)
    assert [step.name for step in y.plan()] == ["winograd_values", "winograd"]
    (gx,) = sg.autograd.grad(y, [x], y.detach().realize(), retain_graph=True)
    assert [step.name for step in gx.plan()] == ["winograd_values", "winograd"]
    gx.realize()
    (gw,) = sg.autograd.grad(y, [w], y.detach())
    assert [step.name for step in gw.plan()] == ["winograd_weights"]


def test_a_profile_counts_additions_and_multiplications_at_the_points(gpu: sg.Device) -> None:
    x, w = made((2, 8, 8, 8), 1).to(gpu), made((32, 8, 3, 3), 2).to(gpu)
    sg.synchronize()
    with sg.profiler.profile() as profile:
        y = sg.conv2d(x, w, padding=1).realize()
        sg.synchronize()
    assert [e.flops for e in profile.events() if e.on_gpu and e.name == "winograd"] == [2 * 16 * (2 * 4 * 4) * 32 * 8]
    assert y.shape == (2, 32, 8, 8)


@pytest.mark.parametrize(
    "options",
    [{"stride": 2}, {"dilation": 2}, {"groups": 2}, {"stride": (1, 2)}],
    ids=str,
)
def test_other_convolutions_go_another_way(options: dict[str, Any], gpu: sg.Device) -> None:
    x, w = made((1, 4, 9, 9), 1), made((4, 4 // options.get("groups", 1), 3, 3), 2)
    y = sg.conv2d(x.to(gpu), w.to(gpu), **options)
    assert "winograd" not in [step.name for step in y.plan()]
    np.testing.assert_allclose(exact(y), exact(sg.conv2d(x.double(), w.double(), **options)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["channels_last", "sliced", "turned", "reversed", "upside_down", "one_for_all"])
def test_images_and_kernels_may_lie_anywhere(layout: str, gpu: sg.Device) -> None:
    x, w = made((3, 8, 9, 9), 1).to(gpu), made((12, 8, 3, 3), 2).to(gpu)
    places = {
        "channels_last": lambda t: t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
        "sliced": lambda t: t[1:, 1:],
        "turned": lambda t: t.transpose(2, 3),
        "reversed": lambda t: t.flip(3),
        "upside_down": lambda t: t.flip((1, 2)),
        "one_for_all": lambda t: t[:1].expand(3, 8, t.shape[2], t.shape[3]),
    }
    view = places[layout]
    np.testing.assert_array_equal(
        exact(sg.conv2d(view(x), view(w), padding=1)), exact(sg.conv2d(view(x).clone(), view(w).clone(), padding=1))
    )


def test_an_image_of_one_channel_in_a_larger_one_is_read_alone(gpu: sg.Device) -> None:
    x, w = made((2, 6, 12, 12), 1), made((4, 2, 3, 3), 2)
    seen = exact(sg.conv2d(x.to(gpu)[:, 2:4, 3:9, 2:10], w.to(gpu)))
    want = exact(sg.conv2d(x.double()[:, 2:4, 3:9, 2:10], w.double()))
    np.testing.assert_allclose(seen, want, atol=1e-4)


@pytest.mark.parametrize("into", ["image", "weight", "gradient"])
@pytest.mark.parametrize("padding", [0, 1])
def test_what_is_not_finite_reaches_what_depends_on_it(into: str, padding: int, gpu: sg.Device) -> None:
    """In the middle, at edges and in corners, also of blocks that end outside; large numbers whose sums do not fit."""
    shapes = {"image": (3, 4, 9, 12), "weight": (35, 4, 3, 3)}
    shapes["gradient"] = (3, 35, 7 + 2 * padding, 10 + 2 * padding)
    tensors = {name: made(shape, 1) for name, shape in shapes.items()}
    last = [n - 1 for n in shapes[into]]
    places = [(0, 0, 0, 0), (1, 2, 1, 2), (2, 3, last[2], last[3]), (1, 1, 0, last[3]), (0, 2, 1, last[3])]
    for at, value in zip(places, (np.nan, np.inf, -np.inf, np.inf, 3e38), strict=True):
        tensors[into][at] = float(value)
    got = computed(*tensors.values(), sg.float32, gpu, padding=padding)
    want = computed(*tensors.values(), sg.float32, "cpu", padding=padding)
    assert sum(not np.isfinite(w).all() for w in want) == 2, "two of the three products see it"
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("places", [(1, 1), (7, 9)])
def test_kernels_that_lie_anywhere_meet_what_is_not_finite(places: tuple[int, int], gpu: sg.Device) -> None:
    x, w = made((2, 5, *places), 1), made((9, 40, 3, 3), 2)
    x[1, 2, 0, 0] = float("nan")
    view = w.transpose(0, 1).flip((0, 3))[:9, 2:7]
    got = exact(sg.conv2d(x.to(gpu), w.to(gpu).transpose(0, 1).flip((0, 3))[:9, 2:7], padding=1))
    np.testing.assert_allclose(got, exact(sg.conv2d(x, view, padding=1)), rtol=1e-4, atol=1e-4)


def test_transposed_convolutions_take_the_same_way(gpu: sg.Device) -> None:
    x, w = made((2, 6, 5, 6), 1), made((6, 9, 3, 3), 2)
    y = sg.conv_transpose2d(x.to(gpu), w.to(gpu), padding=1)
    assert "winograd" in [step.name for step in y.plan()]
    np.testing.assert_allclose(exact(y), exact(sg.conv_transpose2d(x.double(), w.double(), padding=1)), atol=1e-4)


def test_gradients_have_gradients(gpu: sg.Device) -> None:
    def second(x: sg.Tensor, w: sg.Tensor) -> list[Any]:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        gx, gw = sg.autograd.grad((sg.conv2d(x, w, padding=1) ** 2).sum(), [x, w], create_graph=True)
        return [exact(g) for g in sg.autograd.grad((gx * gx).sum() + gw.sum(), [x, w])]

    x, w = made((1, 3, 4, 5), 1), made((4, 3, 3, 3), 2)
    for a, b in zip(second(x.to(gpu), w.to(gpu)), second(x.double(), w.double()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * np.abs(b).max())


def test_more_workgroups_than_one_dimension_holds(gpu: sg.Device) -> None:
    if gpu.type == "software":
        pytest.skip("too much work for a software driver: run on a GPU")
    x, w = made((1, 1, 2050, 4100), 1), made((1, 1, 3, 3), 2)  # 65,536 tiles of 32 blocks and more
    got = sg.conv2d(x.to(gpu), w.to(gpu)).cpu().numpy()
    np.testing.assert_allclose(got, sg.conv2d(x, w).numpy(), atol=1e-4)


def test_a_network_trains_as_it_does_without(gpu: sg.Device) -> None:
    def losses(ignore: bool) -> list[float]:
        sg._core._convolutions_ignore_sizes(ignore)
        sg.manual_seed(1)
        net = sg.nn.Sequential(
            sg.nn.Conv2d(1, 8, 3, padding=1), sg.nn.BatchNorm2d(8), sg.nn.ReLU(), sg.nn.MaxPool2d(2),
            sg.nn.Conv2d(8, 8, 3), sg.nn.ReLU(), sg.nn.Flatten(), sg.nn.Linear(200, 4),
        ).to(gpu)  # fmt: skip
        optimizer = sg.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        x, y = made((16, 1, 14, 14), 1).to(gpu), sg.arange(16, device=gpu) % 4
        out = []
        for _ in range(8):
            loss = sg.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            out.append(loss.item())
        return out

    np.testing.assert_allclose(losses(True), losses(False), rtol=1e-3)
