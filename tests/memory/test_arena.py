"""Memory of temporaries: it counts as cached, and goes with the cache."""

from __future__ import annotations

import pytest

import spirograd as sg


def test_temporaries_leave_nothing_live_and_go_with_the_cache(device: sg.Device) -> None:
    x = sg.ones(300, 300, device=device)
    sg.synchronize()
    before = sg.stats()["bytes_live"]
    ((x @ x).softmax(1) @ x).sum().item()  # has products that only this run needs
    assert sg.stats()["bytes_live"] == before
    sg.empty_cache()
    assert sg.stats()["bytes_cached"] == 0
    assert ((x @ x) @ x).sum().item() == pytest.approx(300**4)  # they are there again when they are needed
