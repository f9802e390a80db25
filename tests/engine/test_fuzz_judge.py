"""What the fuzzer of whole programs takes for a wrong number: not what rounding to float32 may do."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))

from program import Backend, Program, run  # noqa: E402
from programs import is_wrong, reference  # noqa: E402

ROUNDED = {
    "a threshold": "v = (t.ones(2, dtype=t.int8) / 5).to(F)\nkeep(t.where(v > 0.2, 1.0, -1.0))",
    "equal values": "v = leaf(0, (5,))\nkeep(t.sign(t.exp(v) * t.exp(v) - t.exp(v * 2.0)))",
    "what is left of a difference": "v = leaf(0, (2, 3), True)\n"
    "g, = grad(t.softmax(v * 1.1, -1).sum(), [v])\nkeep(g * 1e6)",
    "saturation": "v = leaf(0, (4,), True)\ng, = grad(t.tanh(v * 3.0 + 12.0).sum(), [v])\nkeep(t.sign(g))",
    "the end of a domain": "v = leaf(0, (4,)).abs() + 0.3\nkeep((1.0 - t.exp(-v * 30.0)).log() * 1e7)",
    "an underflow": "keep(t.sign(t.exp(leaf(0, (4,)) - 110.0)))",
    "an overflow": "v = t.exp(leaf(0, (4,)) + 100.0)\nkeep(v / (v + 1.0))",
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_is_no_finding(name: str) -> None:
    program, base = Program(5, tuple(ROUNDED[name].split("\n"))), reference()
    want = run(program, base, 0)
    got = run(program, replace(base, double=False), 0)
    assert any(not np.allclose(g, w, rtol=1e-3, equal_nan=True) for g, w in zip(got, want, strict=True))
    assert not is_wrong(program, base, 0, got, want)


@pytest.mark.parametrize("share", [1e-3, -2e-2])
def test_another_number_is_a_finding(share: float) -> None:
    lines = (
        "v = leaf(0, (3, 4), True)",
        "w = t.nn.functional.layer_norm(t.softmax(v, -1) @ leaf(1, (4, 4)), (4,))",
        "keep(w, *grad((w * leaf(2, (3, 4))).sum(), [v]))",
    )
    program, base = Program(5, lines), reference()
    want = run(program, base, 0)
    assert is_wrong(program, base, 0, [w * (1 + share) for w in want], want)
    assert not is_wrong(program, base, 0, run(program, Backend("float32", torch, "cpu"), 0), want)
