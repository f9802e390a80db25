"""Attention of half types: sums in float32, results rounded once, by whichever path the device has to matrix units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.attention import agree, arrays, attention_and_gradients

attention = sg._core._attention
Array = np.ndarray[Any, Any]
WIDER = [(72, 128), (128, 64), (200, 256)]
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def compare(inputs: list[Array], dtype: str, device: sg.Device, mask: Array | None = None, **options: Any) -> None:
    kind = getattr(sg, dtype)
    halves = [sg.tensor(x.astype("f4"), device=device).to(kind) for x in inputs]
    exact = [x.float().numpy().astype("f8") for x in halves]
    q, k, v = (x.requires_grad_() for x in halves[:3])
    out = attention(
        q, k, v, 0.3, options.get("causal", False), None if mask is None else sg.tensor(mask, device=device)
    )
    out.backward(halves[3])
    assert out.dtype == q.grad.dtype == k.grad.dtype == v.grad.dtype == kind
    got = [x.detach().float().numpy() for x in (out, q.grad, k.grad, v.grad)]
    agree(got, attention_and_gradients(*exact, 0.3, mask=mask, **options), 4 * UNIT[dtype])


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("d", "e"), [(8, 8), (24, 40), (7, 8), (8, 3)])
def test_sizes_of_heads(d: int, e: int, causal: bool, dtype: str, device: sg.Device) -> None:
    compare(arrays(33, 50, d, e, 2, 1), dtype, device, causal=causal)


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize(("d", "e"), [(64, 64), *(pytest.param(*x, marks=pytest.mark.slow) for x in WIDER)])
def test_wide_heads(d: int, e: int, dtype: str, device: sg.Device) -> None:
    compare(arrays(140, 70, d, e, 2, 1), dtype, device)
    compare(arrays(140, 140, d, e, 1, 1), dtype, device, causal=True)


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize(("queries", "keys"), [(15, 16), (16, 17), (17, 15), (31, 33), (65, 64), (1, 300)])
def test_sizes_at_the_edges_of_tiles(queries: int, keys: int, dtype: str, device: sg.Device) -> None:
    compare(arrays(queries, keys, 8, 8, 2, 1), dtype, device)
    compare(arrays(queries, keys, 8, 8, 2, 1), dtype, device, causal=True)


@pytest.mark.parametrize("dtype", UNIT)
def test_masks(dtype: str, device: sg.Device) -> None:
    random = np.random.default_rng(4)
    taking_part = random.random((2, 1, 33, 50)) < 0.7
    taking_part[:, :, 5] = False
    compare(arrays(33, 50), dtype, device, taking_part)
    compare(arrays(33, 50), dtype, device, random.standard_normal((33, 50)).astype("f4"))


@pytest.mark.parametrize("dtype", UNIT)
def test_views_that_units_cannot_load_are_copied(dtype: str, device: sg.Device) -> None:
    kind = getattr(sg, dtype)
    whole = sg.tensor(np.random.default_rng(0).standard_normal((2, 40, 4 * 8 + 3)).astype("f4"), device=device).to(kind)
    for x in (whole[..., 3:11], whole[..., :32].unflatten(-1, (4, 8)).transpose(1, 2), whole[:, 1:, 8:16]):
        exact = x.float().numpy().astype("f8")
        exact = exact if x.ndim == 4 else exact[:, None]
        want = attention_and_gradients(exact, exact, exact, exact, 0.3)[0]
        got = attention(x, x, x, 0.3, False).float().numpy().reshape(want.shape)
        np.testing.assert_allclose(got, want, atol=4 * UNIT[dtype])


@pytest.mark.parametrize("dtype", UNIT)
def test_dropout_draws_as_in_float32(dtype: str, device: sg.Device) -> None:
    def kept(kind: Any) -> Array:
        sg.manual_seed(5)
        zeros = [sg.zeros(1, 2, n, 8, device=device, dtype=kind) for n in (33, 40)]
        units = sg.eye(40, device=device).to(kind).expand(1, 2, 40, 40)
        return np.asarray(attention(*zeros, units, 1.0, False, None, 0.3).float().numpy() > 0)

    np.testing.assert_array_equal(kept(getattr(sg, dtype)), kept(sg.float32))


@pytest.mark.parametrize("dtype", UNIT)
def test_dropout_is_the_same_forward_and_backward(dtype: str, device: sg.Device) -> None:
    """The result is linear in the values: with the same draw, its gradient is the same sum."""
    kind = getattr(sg, dtype)
    q, k, v, g = (sg.tensor(x.astype("f4"), device=device).to(kind) for x in arrays(33, 50))
    v.requires_grad_()
    sg.manual_seed(5)
    out = attention(q, k, v, 0.3, False, None, 0.5)
    out.backward(g)
    one, other = (out.detach().float() * g.float()).sum().item(), (v.detach().float() * v.grad.float()).sum().item()
    assert abs(one - other) < 8 * UNIT[dtype] * (out.detach().float() * g.float()).abs().sum().item()


EACH_PATH = """
import numpy as np, spirograd as sg
from reference.attention import arrays, attention_and_gradients
for dtype in ("float16", "bfloat16"):
    kind, worst = getattr(sg, dtype), 0.0
    for causal in (False, True):
        halves = [sg.tensor(x.astype("f4"), device="gpu").to(kind) for x in arrays(33, 50, 16, 8, 2, 1)]
        exact = [x.float().numpy().astype("f8") for x in halves]
        q, k, v = (x.requires_grad_() for x in halves[:3])
        out = sg._core._attention(q, k, v, 0.3, causal)
        source = out.plan()[-1].source
        out.backward(halves[3])
        for a, b in zip((out, q.grad, k.grad, v.grad), attention_and_gradients(*exact, 0.3, causal=causal)):
            worst = max(worst, np.abs(a.detach().float().numpy() - b).max() / max(1, np.abs(b).max()))
    taken = [p for p in ("cm1", "cm2") if f"attention_{p}.glsl" in source]
    print(dtype, worst, *taken, sg.Device.gpu().features[dtype + " products"].split()[-1])
"""


@pytest.mark.gpu
@pytest.mark.parametrize("path", ["none", "cm1", "cm2"])
def test_each_path_to_the_matrix_units_attends(path: str, run_python: Callable[..., str]) -> None:
    """A device takes the best path that it has for products, at most this one."""
    for line in run_python(EACH_PATH, SPIROGRAD_MATRIX=path).splitlines():
        dtype, worst, *taken, of_products = line.split()
        assert float(worst) < 4 * UNIT[dtype], line
        assert taken == ([] if of_products == "arithmetic" else [of_products]), line
