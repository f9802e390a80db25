"""Drawing by scores: what may come, how often, and that a seed decides it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spirograd as sg
from spirograd.utils.sampling import sample_logits

SCORES = [1.0, 3.0, 2.0, -1.0, float("-inf"), 2.5]


def shares(draws: int = 4000, **options: float) -> np.ndarray:
    rows = sg.tensor([SCORES]).expand(draws, len(SCORES))
    drawn = sample_logits(rows, **options, generator=sg.Generator().manual_seed(1))  # type: ignore[arg-type]
    return np.bincount(drawn.numpy(), minlength=len(SCORES)) / draws


def softmax(scores: list[float]) -> np.ndarray:
    e = np.exp(np.array(scores))
    return np.asarray(e / e.sum())


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_shares_are_those_of_the_softmax(temperature: float) -> None:
    wanted = softmax([s / temperature for s in SCORES])
    assert np.abs(shares(temperature=temperature) - wanted).max() < 0.03


def test_top_k_leaves_the_k_likeliest() -> None:
    found = shares(top_k=2)
    assert np.flatnonzero(found).tolist() == [1, 5]
    assert abs(found[1] - 1 / (1 + math.exp(-0.5))) < 0.03
    assert np.abs(shares(top_k=100) - softmax(SCORES)).max() < 0.03


def test_top_k_of_equal_scores_leaves_k() -> None:
    drawn = sample_logits(sg.zeros(500, 7), top_k=3)
    assert sorted(set(drawn.tolist())) == [0, 1, 2]


def test_top_p_leaves_the_fewest_that_reach_it() -> None:
    inside = softmax(SCORES)
    most, next_one = inside[1], inside[5]
    for p, classes in ((most - 0.01, [1]), (most + 0.01, [1, 5]), (most + next_one + 0.01, [1, 2, 5])):
        assert np.flatnonzero(shares(top_p=p)).tolist() == classes
    assert np.flatnonzero(shares(top_p=1e-9)).tolist() == [1]
    assert np.abs(shares(top_p=1.0) - inside).max() < 0.03


def test_top_k_comes_before_top_p() -> None:
    assert np.flatnonzero(shares(top_k=2, top_p=0.999)).tolist() == [1, 5]


def test_no_temperature_takes_the_likeliest(device: sg.Device) -> None:
    assert sample_logits(sg.tensor([SCORES, SCORES[::-1]], device=device), temperature=0).tolist() == [1, 4]


def test_shapes_and_devices_are_kept(device: sg.Device) -> None:
    for options in ({}, {"top_k": 2}, {"top_p": 0.5}):
        drawn = sample_logits(sg.rand(2, 3, 5, device=device), **options)  # type: ignore[arg-type]
        assert drawn.shape == (2, 3) and drawn.dtype == sg.int64 and drawn.device == device
    assert sample_logits(sg.rand(5, device=device)).shape == ()


def test_a_seed_decides_on_every_device(device: sg.Device) -> None:
    def draw(place: sg.Device) -> list[int]:
        g = sg.Generator(place).manual_seed(4)
        scores = sg.tensor(np.linspace(-2, 2, 1000).reshape(100, 10), dtype=sg.float32, device=place)
        return list(sample_logits(scores, top_k=9, top_p=0.95, generator=g).tolist())

    assert draw(device) == draw(sg.Device.cpu()) and len(set(draw(device))) > 3


def test_half_types_are_drawn_from() -> None:
    assert sample_logits(sg.tensor([0.0, 50.0], dtype=sg.bfloat16)).item() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1.0}, "temperature is -1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_p": 0.0}, "top_p is 0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
    ],
)
def test_wrong_settings_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample_logits(sg.zeros(3), **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="have no classes"):
        sample_logits(sg.zeros(2, 0))
