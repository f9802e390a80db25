"""torch.quasirandom under spirograd: SciPy's sequence in PyTorch's words."""

from __future__ import annotations

import pytest

SOBOL = """
from torch.quasirandom import SobolEngine
engine = SobolEngine(5)
assert engine.draw(3).tolist() == [[0.0] * 5, [0.5] * 5, [0.75, 0.25, 0.25, 0.25, 0.75]]  # PyTorch's
assert engine.draw(2, dtype=torch.float64).dtype == torch.float64 and engine.num_generated == 5
engine.fast_forward(3)
assert engine.reset().draw_base2(2)[3].tolist() == [0.25, 0.75, 0.75, 0.75, 0.25]
try:
    engine.draw_base2(3)
except ValueError as error:
    assert "are 12, no power of 2; use draw(8)" in str(error)
else:
    raise AssertionError
x = SobolEngine(40, scramble=True, seed=3).draw(256)
assert ((x > 0) & (x < 1)).all() and (x.mean(0) - 0.5).abs().max() < 0.01
assert torch.equal(x, SobolEngine(40, scramble=True, seed=3).draw(256))
torch.manual_seed(1)
assert not torch.equal(x, SobolEngine(40, scramble=True).draw(256))
out = torch.empty(0)
assert SobolEngine(2, scramble=True, seed=0).draw(2, out=out) is out and out.shape == (2, 2)
"""


def test_sobols_sequence_is_pytorchs(run_python) -> None:
    pytest.importorskip("scipy")
    run_python("import spirograd.torch\nspirograd.torch.install()\nimport torch\n" + SOBOL)


def test_without_scipy_the_error_says_so(run_python) -> None:
    start = "import sys\nsys.modules['scipy'] = None\nimport spirograd.torch\nspirograd.torch.install()\nimport torch\n"
    code = "try:\n    torch.quasirandom.SobolEngine(2)\nexcept ImportError as error:\n    print(error)"
    assert "SciPy is not installed" in run_python(start + code)
