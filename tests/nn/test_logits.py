"""linear_cross_entropy in slices of rows: its values, its gradients, and the memory that it saves."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg

F = sg.nn.functional
ROWS, FEATURES, CLASSES = 650, 16, 6500  # three slices, the last one shorter
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(ROWS, FEATURES))
W = RANDOM.normal(size=(CLASSES, FEATURES)) * 0.3
B = RANDOM.normal(size=CLASSES)
T = RANDOM.integers(0, CLASSES, ROWS)
T[::7] = -100


def expected(reduction: str, smoothing: float, bias: bool) -> tuple[float, list[np.ndarray]]:
    """The loss, and its gradients by x, w and b, in float64."""
    logits = X @ W.T + (B if bias else 0)
    logits -= logits.max(1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    valid = T != -100
    wanted = np.full((ROWS, CLASSES), smoothing / CLASSES)
    wanted[np.arange(ROWS)[valid], T[valid]] += 1 - smoothing
    wanted[~valid] = 0
    scale = 1 / valid.sum() if reduction == "mean" else 1.0
    d = (np.exp(log_p) * valid[:, None] - wanted) * scale
    return float(-(wanted * log_p).sum() * scale), [d @ W, d.T @ X, d.sum(0)]


def tensors(device: sg.Device, dtype: sg.dtype = sg.float32) -> tuple[list[sg.Tensor], sg.Tensor]:
    made = [sg.tensor(a, device=device).to(dtype).requires_grad_() for a in (X, W, B)]
    return made, sg.tensor(T, device=device)


def close(a: sg.Tensor | None, b: np.ndarray, tolerance: float = 1e-5) -> None:
    assert a is not None
    assert np.abs(a.to(sg.float32).numpy() - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize(
    ("reduction", "smoothing", "bias"), [("mean", 0.0, False), ("mean", 0.1, True), ("sum", 0.0, True)]
)
def test_values_and_gradients_are_those_of_float64(
    device: sg.Device, reduction: str, smoothing: float, bias: bool
) -> None:
    (x, w, b), t = tensors(device)
    loss = F.linear_cross_entropy(
        x, w, t, linear_bias=b if bias else None, reduction=reduction, label_smoothing=smoothing
    )
    assert loss.grad_fn is not None and "inear_cross_entropy" in loss.grad_fn.name()
    value, gradients = expected(reduction, smoothing, bias)
    (3 * loss).backward()
    assert loss.item() == pytest.approx(value, rel=1e-5)
    for parameter, gradient in zip((x, w, b) if bias else (x, w), gradients, strict=False):
        close(parameter.grad, 3 * gradient)


def test_it_is_the_same_each_time_and_read_or_not(device: sg.Device) -> None:
    def once(read: bool) -> list[bytes]:
        (x, w, b), t = tensors(device)
        loss = F.linear_cross_entropy(x, w, t, linear_bias=b)
        if read:
            loss.item()
        loss.backward()
        return [v.detach().numpy().tobytes() for v in (loss, x.grad, w.grad, b.grad) if v is not None]

    first = once(False)
    assert len(first) == 4 and first == once(False) == once(True)


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (False, False)])
def test_only_wanted_gradients_are_made(wanted: tuple[bool, bool]) -> None:
    (x, w, _), t = tensors(sg.Device("cpu"))
    value, gradients = expected("mean", 0.0, False)
    x.requires_grad_(wanted[0]), w.requires_grad_(wanted[1])
    loss = F.linear_cross_entropy(x, w, t)
    launches = [step for step in loss.plan() if "matmul" in step.name]
    assert len(launches) == 3 or any(wanted)
    assert loss.item() == pytest.approx(value, rel=1e-5)
    if any(wanted):
        loss.backward()
    for parameter, wants, gradient in zip((x, w), wanted, gradients, strict=False):
        assert (parameter.grad is not None) == wants
        if wants:
            close(parameter.grad, gradient)


def test_gradients_have_gradients() -> None:
    results, device = [], sg.Device("cpu")
    for sliced in (True, False):
        (x, w, b), t = tensors(device)
        loss = F.linear_cross_entropy(x, w, t, linear_bias=b) if sliced else F.cross_entropy(F.linear(x, w, b), t)
        by_x, by_w = sg.autograd.grad(loss, [x, w], create_graph=True)
        (by_x.square().sum() + by_w.square().sum()).backward()
        results.append([v.detach().numpy() for v in (by_x, by_w, x.grad, w.grad, b.grad) if v is not None])
    for a, b in zip(*results, strict=True):
        assert np.abs(a - b).max() <= 2e-5 * np.abs(b).max()


def test_a_graph_that_is_kept_goes_back_twice_and_a_freed_one_does_not(device: sg.Device) -> None:
    (x, w, _), t = tensors(device)
    loss = F.linear_cross_entropy(x, w, t)
    loss.backward(retain_graph=True)
    once = w.grad.clone().numpy() if w.grad is not None else None
    loss.backward()
    assert w.grad is not None and once is not None
    np.testing.assert_array_equal(w.grad.numpy(), 2 * once)
    with pytest.raises(sg.Error, match="freed by an earlier backward"):
        loss.backward()


@pytest.mark.parametrize("dtype", [sg.float16, sg.bfloat16])
def test_half_types(device: sg.Device, dtype: sg.dtype) -> None:
    value, gradients = expected("mean", 0.0, True)
    (x, w, b), t = tensors(device, dtype)
    loss = F.linear_cross_entropy(x, w, t, linear_bias=b)
    loss.backward()
    assert loss.dtype == dtype and loss.item() == pytest.approx(value, rel=0.02)
    for parameter, gradient in zip((x, w, b), gradients, strict=True):
        assert parameter.grad is not None and parameter.grad.dtype == dtype
        close(parameter.grad, gradient, 0.1)


def test_autocast_gives_a_float32_loss(device: sg.Device) -> None:
    (x, w, b), t = tensors(device)
    with sg.autocast(device_type=device.kind, dtype=sg.bfloat16):
        loss = F.linear_cross_entropy(x, w, t, linear_bias=b)
        plain = F.cross_entropy(F.linear(x, w, b), t)
    assert loss.dtype == plain.dtype == sg.float32
    assert loss.item() == pytest.approx(plain.item(), rel=1e-5)
    loss.backward()
    assert w.grad is not None and w.grad.dtype == sg.float32
    close(w.grad, expected("mean", 0.0, True)[1][1], 0.05)


def test_a_class_out_of_range_is_reported(device: sg.Device) -> None:
    (x, w, _), t = tensors(device)
    t[ROWS - 1] = CLASSES
    with pytest.raises(IndexError, match=f"cross_entropy.*{CLASSES}"):
        F.linear_cross_entropy(x, w, t).item()


def test_all_logits_are_never_there(device: sg.Device) -> None:
    rows, features, classes = 1536, 16, 4096

    def peak(sliced: bool) -> int:
        x = sg.randn(rows, features, device=device).requires_grad_()
        w = sg.randn(classes, features, device=device).requires_grad_()
        t = sg.randint(0, classes, (rows,), device=device)
        opt = sg.optim.SGD([x, w], lr=0.1)
        for _ in range(2):
            sg.synchronize(device)
            sg._core._reset_peak(device)
            loss = F.linear_cross_entropy(x, w, t) if sliced else F.cross_entropy(F.linear(x, w), t)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sg.synchronize(device)
        stats = sg._core._device_stats(device)
        return int(stats["bytes_peak"] - stats["bytes_live"])

    logits = 4 * rows * classes
    assert peak(False) >= logits
    assert peak(True) <= 0.6 * logits
