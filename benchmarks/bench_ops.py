"""The operations, family by family, with PyTorch, JAX and NumPy beside them and the ratio that each should reach.

    python benchmarks/bench_ops.py                            # every row, every device, every library installed
    python benchmarks/bench_ops.py --rows softmax,sort --device gpu --anchors torch
    python benchmarks/bench_ops.py --list

Writes benchmarks/results/ops-DATE.json. Close other programs first; compiled PyTorch needs a C++ compiler.
"""

from __future__ import annotations

import sys

from harness import program
from rows.ops import attention, engine, index, pointwise, recurrent, reduce  # noqa: F401  each enters its rows

if __name__ == "__main__":
    sys.exit(program.run("ops", "The operations, family by family.", ("torch", "compile", "jax", "numpy")))
