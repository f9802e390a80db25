"""`import spirograd` that is interrupted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# Whoever looks for the module of this name, or for the N-th module, is interrupted once.
CODE = """
import sys
wanted, seen = {wanted!r}, []

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        seen.append(name)
        if wanted in (name, len(seen)):
            sys.meta_path.remove(self)
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
try:
    import spirograd as sg
    sg.nn, sg.optim, sg.serialization, sg.onnx, sg.datasets, sg.distributed
    print("whole", len(seen))
except KeyboardInterrupt as error:
    print("interrupted", error.__cause__)
"""


@pytest.mark.parametrize(
    "wanted", ["numpy", "numpy._core.multiarray", "spirograd._core", "spirograd.base", "spirograd.nn", 3, 60]
)
def test_ctrl_c_during_the_import_stays_ctrl_c(wanted: str | int, run_python: Callable[..., str]) -> None:
    assert run_python(CODE.format(wanted=wanted)).splitlines()[0] == "interrupted None"
