"""The operations, family by family, with PyTorch, JAX and NumPy beside them and the ratio that each should reach.

    python benchmarks/bench_ops.py                            # every row, every device, every library installed
    python benchmarks/bench_ops.py --rows softmax,sort --device gpu --anchors torch
    python benchmarks/bench_ops.py --list

Writes benchmarks/results/ops-DATE.json. Close other programs first; compiled PyTorch needs a C++ compiler.
"""

from __future__ import annotations

import sys

import ops_attention  # noqa: F401  each enters its rows
import ops_engine  # noqa: F401
import ops_index  # noqa: F401
import ops_pointwise  # noqa: F401
import ops_recurrent  # noqa: F401
import ops_reduce  # noqa: F401
import program

if __name__ == "__main__":
    sys.exit(program.run("ops", "The operations, family by family.", ("torch", "compile", "jax", "numpy")))
