"""A NaN or an infinity reaches what depends on it and nothing else: every op of the table, and layers, forward and
backward.

What depends on an element is found by changing it: outputs that differ for one of a few finite numbers there. What does
not depend on it stays finite, so a product with a zero of the op's own (a weight beside a window, a mask, padding) is a
mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.table import ROWS, Array, Row, Shape
from spirograd import nn

F = nn.functional
INF, NAN = float("inf"), float("nan")
SPECIAL = (NAN, INF, -INF)
FINITE = (9.5, -9.5, 0.3, -0.7)


@dataclass(frozen=True)
class Call:
    """A function of tensors, and the shapes of those that get special values."""

    name: str
    op: Callable[..., Any]
    shapes: Sequence[Shape]

    def inputs(self) -> list[Array]:
        random = np.random.default_rng(len(self.name))
        return [random.uniform(-3, 3, shape) for shape in self.shapes]


Values = list[Array]


def run(op: Callable[..., Any], inputs: Values, upstream: Array | None, device: sg.Device) -> tuple[Array, Values]:
    """The result, and the gradients of its product with `upstream`."""
    leaves = [sg.tensor(x.astype("float32"), device=device, requires_grad=upstream is not None) for x in inputs]
    y = op(*leaves)
    if upstream is None:
        return y.numpy(), []
    grads = sg.autograd.grad(y, leaves, sg.tensor(upstream.astype("float32"), device=device), allow_unused=True)
    zeros = [np.zeros(x.shape, "float32") for x in inputs]
    return y.detach().numpy(), [z if g is None else g.numpy() for z, g in zip(zeros, grads, strict=True)]


def different(a: Array, b: Array) -> Array:
    return ~((a == b) | (np.isnan(a) & np.isnan(b)))


def spread(got: Array, base: Array, depends: Array) -> list[tuple[int, ...]]:
    """Where `got` is not finite, though it does not depend on what was changed."""
    return [tuple(int(i) for i in at) for at in np.argwhere(~np.isfinite(got) & np.isfinite(base) & ~depends)]


def check(
    op: Callable[..., Any],
    inputs: Values,
    gradients: bool,
    seed: int,
    device: sg.Device,
    left_out: Sequence[int] = (),
) -> list[str]:
    """What a special value in an input, or in the gradient of the result, reached by mistake. Inputs that are left out
    get none, and their gradients are not looked at."""
    random = np.random.default_rng(seed)
    first, _ = run(op, inputs, None, device)
    if first.dtype.kind != "f" or first.size == 0:
        return []
    upstream = random.uniform(0.5, 2, first.shape) if gradients else None
    base = run(op, inputs, upstream, device)
    mistakes = []
    looked_at = [i for i in range(len(base[1])) if i not in left_out]
    for number, x in enumerate(inputs):
        if number in left_out:
            continue
        at = tuple(int(random.integers(n)) for n in x.shape)

        def with_value(value: float, number: int = number, at: tuple[int, ...] = at) -> tuple[Array, Values]:
            changed = [a.copy() for a in inputs]
            changed[number][at] = value
            return run(op, changed, upstream, device)

        others = [with_value(value) for value in FINITE]
        depends = np.any([different(y, base[0]) for y, _ in others], 0)
        grads_depend = {i: np.asarray(np.any([different(g[i], base[1][i]) for _, g in others], 0)) for i in looked_at}
        if gradients:
            grads_depend[number][at] = True
        for value in SPECIAL:
            y, grads = with_value(value)
            what = f"{value} at {list(at)} of input {number}"
            if bad := spread(y, base[0], depends):
                mistakes.append(f"{what} reaches {len(bad)} of {y.size}, such as {bad[:3]}")
            for i in looked_at:
                if bad := spread(grads[i], base[1][i], grads_depend[i]):
                    mistakes.append(f"{what} reaches {len(bad)} of the gradient of input {i}, such as {bad[:3]}")
    if upstream is not None:
        at = tuple(int(random.integers(n)) for n in first.shape)
        one = np.zeros(first.shape)
        one[at] = 1
        read = [g != 0 for g in run(op, inputs, one, device)[1]]
        for value in SPECIAL:
            changed = upstream.copy()
            changed[at] = value
            grads = run(op, inputs, changed, device)[1]
            for i in looked_at:
                if bad := spread(grads[i], base[1][i], read[i]):
                    mistakes.append(
                        f"{value} at {list(at)} of the result's gradient reaches {len(bad)} of the gradient of input "
                        f"{i}, such as {bad[:3]}"
                    )
    return mistakes


def resized(shape: Shape, **options: Any) -> Call:
    return Call(f"interpolate:{options}", lambda x: F.interpolate(x, **options), [shape])


def weights(x: sg.Tensor, shape: Shape) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(1).normal(size=shape), dtype=x.dtype, device=x.device)


def strided(name: str, image: Shape, weight: Shape, **options: Any) -> Call:
    """A transposed convolution, or the convolution of its result's size whose gradient by the image it is."""

    def of_image(x: sg.Tensor) -> sg.Tensor:
        return F.conv_transpose2d(x, weights(x, weight), **options)

    if name == "conv_transpose2d":
        return Call(f"{name}:{weight},{options}", of_image, [image])
    seen = tuple(of_image(sg.zeros(image)).shape)
    return Call(f"{name}:{weight},{options}", lambda x: F.conv2d(x, weights(x, weight), **options), [seen])


def classes(x: sg.Tensor, values: Any) -> sg.Tensor:
    return sg.tensor(values, device=x.device)


def sampled(mode: str, padding_mode: str) -> Call:
    """With places outside of the image, but at the border, where a neighbour of weight 0 is read, as in PyTorch."""
    spread = 0.4 if padding_mode == "zeros" else 0.2
    return Call(
        f"grid_sample:{mode},{padding_mode}",
        lambda x, grid: F.grid_sample(x, grid * spread, mode, padding_mode, False),
        [(2, 2, 4, 5), (2, 3, 2, 2)],
    )


LAYERS = [
    *(sampled(mode, outside) for mode in ("bilinear", "nearest", "bicubic") for outside in ("zeros", "border")),
    *(sampled(mode, "reflection") for mode in ("bilinear", "nearest", "bicubic")),
    Call("grid_sample:volume", lambda x, grid: F.grid_sample(x, grid * 0.4), [(1, 2, 3, 4, 3), (1, 2, 2, 2, 3)]),
    Call("affine_grid", lambda theta: F.affine_grid(theta, (2, 1, 2, 4)), [(2, 2, 3)]),
    *(
        Call(
            name,
            lambda x, name=name: getattr(F, name)(x, classes(x, [[3, 0, -1, 1], [1, 2, 0, -1]]), reduction="none"),
            [(2, 4)],
        )
        for name in ("multilabel_margin_loss",)
    ),
    *(
        Call(
            name,
            lambda x, name=name: getattr(F, name)(x, classes(x, [2, 0, 1]), reduction="none"),
            [(3, 4)],
        )
        for name in ("cross_entropy", "nll_loss")
    ),
    Call(
        "cross_entropy:smoothed",
        lambda x: F.cross_entropy(x, classes(x, [2, 0, 1]), reduction="none", label_smoothing=0.1),
        [(3, 4)],
    ),
    Call("multi_margin_loss", lambda x: F.multi_margin_loss(x, classes(x, [2, 0, 1]), reduction="none"), [(3, 4)]),
    *(
        Call(name, lambda x, y, name=name: getattr(F, name)(x, y, reduction="none"), [(3, 4), (3, 4)])
        for name in (
            "mse_loss",
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "binary_cross_entropy_with_logits",
            "kl_div",
            "poisson_nll_loss",
            "soft_margin_loss",
        )
    ),
    Call("nll_loss:ignored", lambda x: F.nll_loss(x, classes(x, [2, -100, 1]), reduction="none"), [(3, 4)]),
    Call("hinge_embedding_loss", lambda x: F.hinge_embedding_loss(x, classes(x, [1, -1, -1, 1]), 1.0, "none"), [(4,)]),
    Call("triplet_margin_loss", lambda a, b, c: F.triplet_margin_loss(a, b, c, 20.0, reduction="none"), [(3, 4)] * 3),
    Call("cosine_similarity", lambda a, b: F.cosine_similarity(a, b), [(3, 4)] * 2),
    Call("pairwise_distance", lambda a, b: F.pairwise_distance(a, b), [(3, 4)] * 2),
    Call("layer_norm", lambda x: F.layer_norm(x, (4,)), [(3, 4)]),
    Call("group_norm", lambda x: F.group_norm(x, 2), [(2, 4, 3)]),
    Call("instance_norm", lambda x: F.instance_norm(x), [(2, 3, 5)]),
    Call("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), [(2, 3, 5)]),
    Call("local_response_norm", lambda x: F.local_response_norm(x, 3, alpha=1.0), [(2, 5, 4)]),
    Call("max_pool3d", lambda x: F.max_pool3d(x, 2, 1, 1), [(1, 2, 3, 4, 3)]),
    Call("max_pool2d:gaps", lambda x: F.max_pool2d(x, 2, 2, 1, 2), [(1, 2, 6, 7)]),
    Call("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), [(1, 2, 6, 7)]),
    Call("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 1, 1), [(1, 2, 3, 4, 3)]),
    Call("lp_pool2d", lambda x: F.lp_pool2d(x, 2, 2), [(1, 2, 6, 7)]),
    Call(
        "max_unpool2d",
        lambda x: F.max_unpool2d(x, F.max_pool2d(weights(x, (1, 2, 4, 6)), 2, return_indices=True)[1], 2),
        [(1, 2, 2, 3)],
    ),
    Call("unfold", lambda x: F.unfold(x, 2, padding=1), [(1, 2, 4, 5)]),
    Call("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [(1, 4, 2, 3)]),
    Call("bilinear", lambda x, y: F.bilinear(x, y, weights(x, (2, 3, 4))), [(2, 3), (2, 4)]),
    Call("embedding", lambda w: F.embedding(classes(w, [[1, 2], [0, 2]]), w, padding_idx=2), [(4, 3)]),
    *(
        Call(
            f"embedding_bag:{mode}",
            lambda w, mode=mode: F.embedding_bag(classes(w, [[1, 2], [0, 2]]), w, mode=mode, padding_idx=2),
            [(4, 3)],
        )
        for mode in ("sum", "mean", "max")
    ),
    Call("glu", lambda x: F.glu(x), [(3, 4)]),
    Call("rfft", lambda x: sg.fft.rfft(x).abs(), [(2, 6)]),
    resized((1, 2, 7), mode="linear", size=12),
    resized((1, 2, 7), mode="linear", size=12, align_corners=True),
    resized((1, 2, 7), mode="linear", scale_factor=0.6),
    resized((1, 2, 5, 6), mode="bilinear", scale_factor=2),
    resized((1, 2, 5, 6), mode="bilinear", size=(5, 9)),
    resized((1, 2, 5, 6), mode="bicubic", size=(11, 13)),
    resized((1, 2, 8, 9), mode="bicubic", size=(3, 4)),
    resized((1, 2, 9, 8), mode="bilinear", size=(4, 3), antialias=True),
    resized((1, 2, 9, 8), mode="bicubic", size=(4, 3), antialias=True),
    resized((1, 2, 4, 5, 6), mode="trilinear", size=(7, 4, 9)),
    resized((1, 2, 7, 9), mode="area", size=(3, 4)),
    resized((1, 2, 7, 9), mode="nearest", size=(10, 4)),
    Call("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 4), [(2, 3, 9)]),
    Call("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), [(2, 7, 8)]),
    Call("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), [(1, 2, 5, 7, 6)]),
    Call("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5)), [(2, 7, 8)]),
    # Kernels that the stride divides or not, or that are shorter; with padding; dilated; several groups.
    *(
        strided(name, image, weight, **options)
        for image, weight, options in (
            ((1, 2, 4, 5), (2, 3, 4, 4), {"stride": 2, "padding": 1}),
            ((1, 2, 4, 5), (2, 1, 3, 3), {"stride": 2, "padding": 1}),
            ((1, 2, 5, 6), (2, 2, 4, 2), {"stride": 2, "padding": (3, 1)}),
            ((1, 2, 4, 5), (2, 3, 3, 2), {"stride": (2, 1)}),
            ((1, 2, 4, 3), (2, 1, 5, 1), {"stride": (3, 2), "padding": (2, 0)}),
            ((1, 2, 5, 4), (2, 2, 3, 3), {"stride": 2, "dilation": (1, 2)}),
            ((1, 4, 5, 4), (4, 2, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
        )
        for name in ("conv_transpose2d", "conv2d")
    ),
    Call("fold", lambda x: F.fold(x, (5, 7), (3, 2), padding=1), [(1, 12, 40)]),
    Call("fold:steps", lambda x: F.fold(x, (7, 8), (3, 2), (1, 2), 1, (2, 3)), [(1, 12, 12)]),
    Call("conv_transpose3d", lambda x: F.conv_transpose3d(x, weights(x, (2, 1, 3, 2, 2)), stride=2), [(1, 2, 2, 3, 2)]),
]


@pytest.mark.parametrize("call", LAYERS, ids=lambda call: call.name)
def test_layers(call: Call, device: sg.Device) -> None:
    for seed in range(4):
        assert check(call.op, call.inputs(), True, seed, device) == []


def sample(row: Row) -> Sequence[Shape]:
    """The largest of a row's samples that is small."""
    sizes = [sum(int(np.prod(s)) for s in shapes) for shapes in row.shapes]
    return row.shapes[
        max(range(len(sizes)), key=lambda i: (0 < sizes[i] <= 400, sizes[i] if sizes[i] <= 400 else -sizes[i]))
    ]


# Inputs that are left out, by op, and why.
LEFT_OUT: dict[str, tuple[Sequence[int], str]] = {
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
        ((1,), "weights are multiplied by the zeros around an image, as in PyTorch but for some sizes"),
    ),
    "clamp": ((0, 1, 2), "any of the three gives NaN, also where a bound decides"),
}


@pytest.mark.parametrize("row", [row for row in ROWS if "float32" in row.dtypes], ids=lambda row: row.name)
def test_rows(row: Row, device: sg.Device) -> None:
    inputs = [a.astype("float64") for a in row.inputs(sample(row), "float32")]
    left_out, _ = LEFT_OUT.get(row.name.split(":")[0], ((), ""))
    for seed in range(2):
        assert check(row.op, inputs, row.differentiable, seed, device, left_out) == []


# The gradients by an image of few channels: one product on a GPU, of patches or, of halves, of shifted rows.
STRIDED = [call for call in LAYERS if "stride" in call.name]


@pytest.mark.gpu
@pytest.mark.needs("float16")
@pytest.mark.parametrize("call", STRIDED, ids=lambda call: call.name)
def test_shifted_rows(call: Call, gpu: sg.Device) -> None:
    before = sg._core._convolutions_ignore_sizes(True)
    try:
        assert check(lambda x: call.op(x.half()), call.inputs(), True, 1, gpu) == []
    finally:
        sg._core._convolutions_ignore_sizes(before)


# PyTorch's, of places [x, 0.1] in the image 1 .. 16; it crashes for some that are NaN.
NOWHERE = {
    ("bilinear", "zeros"): [NAN, NAN, NAN, 0.0],
    ("bilinear", "border"): [NAN, 10.8, 7.8, 10.8],
    ("nearest", "zeros"): [0.0, 0.0, 0.0, 0.0],
    ("nearest", "border"): [9.0, 12.0, 9.0, 12.0],
    ("nearest", "reflection"): [9.0, 9.0, 9.0, 9.0],
    ("bicubic", "zeros"): [NAN, NAN, NAN, 0.0],
}


@pytest.mark.parametrize(("mode", "padding_mode"), NOWHERE)
def test_places_that_are_nowhere(mode: str, padding_mode: str, device: sg.Device) -> None:
    x = sg.arange(1.0, 17.0, device=device).reshape(1, 1, 4, 4).clone().requires_grad_()
    grid = sg.tensor([[NAN, 0.1], [INF, 0.1], [-INF, 0.1], [1e30, 0.1]], device=device).reshape(1, 1, 4, 2)
    y = F.grid_sample(x, grid, mode, padding_mode, False)
    np.testing.assert_allclose(y.detach().numpy().ravel(), NOWHERE[mode, padding_mode], rtol=1e-6)
    y.nan_to_num().sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_entropy_of_extreme_logits(dtype: str) -> None:
    for logits in ([65504.0, -65504.0, 0.0], [-INF, 0.0, 0.0], [0.0, 30000.0, -30000.0]):
        x = sg.tensor(logits, dtype=getattr(sg, dtype), requires_grad=True)
        entropy = sg.distributions.Categorical(logits=x, validate_args=False).entropy()
        assert entropy.item() == pytest.approx(np.log(2) if logits[0] == -INF else 0, abs=0.01)
        entropy.backward()
        assert np.isfinite(x.grad.float().numpy()).all()


def test_a_class_that_is_masked_out_costs_nothing(device: sg.Device) -> None:
    x = sg.tensor([[0.1, -INF, 0.4, 0.8]], device=device, requires_grad=True)
    loss = F.multilabel_margin_loss(x, sg.tensor([[3, 0, -1, 1]], device=device))
    assert loss.item() == pytest.approx(((1 - 0.1 + 0.4) + (1 - 0.8 + 0.4)) / 4)
    loss.backward()
    assert x.grad.tolist() == [[-0.25, 0.0, 0.5, -0.25]]
