"""The scalar engine beside micrograd, Python's floats and PyTorch.

    python benchmarks/bench_value.py                          # every row, every device, every library installed
    python benchmarks/bench_value.py --rows mlp,moons --device cpu --anchors micrograd
    python benchmarks/bench_value.py --list

Writes benchmarks/results/value-DATE.json. Close other programs first. `pip install micrograd` brings the original.
"""

from __future__ import annotations

import sys

from harness import program
from rows import value  # noqa: F401  enters its rows

if __name__ == "__main__":
    about = "The scalar engine beside micrograd, Python's floats and PyTorch."
    sys.exit(program.run("value", about, ("micrograd", "floats", "torch")))
