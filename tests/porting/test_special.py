"""The special functions of PyTorch's names in float64, to more digits than PyTorch has for some of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CODE = """
import numpy as np
from scipy import special
import spirograd.torch
spirograd.torch.install()
import torch
x = np.concatenate([np.linspace(0.01, 40, 997), [1e-8, 2, 4.999, 5, 200]])
signed = np.concatenate([-x, x])
def check(name, reference, points, bound=2e-14):
    ours = getattr(torch.special, name)(torch.from_numpy(points)).numpy()
    error = np.abs(ours - reference(points)) / np.maximum(np.abs(reference(points)), 0.1)
    assert error.max() < bound, (name, points[error.argmax()], error.max())
for name in ("j0", "j1"):
    check("bessel_" + name, getattr(special, name), signed)
for name in ("y0", "y1"):
    check("bessel_" + name, getattr(special, name), x)
for name in ("k0", "k1"):
    check("modified_bessel_" + name, getattr(special, name), x)
    check("scaled_modified_bessel_" + name, getattr(special, name + "e"), x)
check("airy_ai", lambda v: special.airy(v)[0], signed, 2e-13)
print("done")
"""


def test_bessel_functions(run_python: Callable[..., str]) -> None:
    pytest.importorskip("scipy")
    assert run_python(CODE) == "done\n"
