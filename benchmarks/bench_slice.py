"""Every figure that spirograd promises, measured, with the libraries it is compared to beside it.

    python benchmarks/bench_slice.py                          # every row, every device, every library installed
    python benchmarks/bench_slice.py --rows step64,matmul --device gpu --anchors torch
    python benchmarks/bench_slice.py --list

Writes benchmarks/results/slice-DATE.json. Close other programs first; compiled PyTorch needs a C++ compiler.
"""

from __future__ import annotations

import sys

from harness import program
from rows.slice import host, ops, train  # noqa: F401  each enters its rows

if __name__ == "__main__":
    sys.exit(program.run("slice", "Every figure that spirograd promises.", ("torch", "compile", "jax")))
