"""Every figure that spirograd promises, measured, with the libraries it is compared to beside it.

    python benchmarks/bench_slice.py                          # every row, every device, every library installed
    python benchmarks/bench_slice.py --rows step64,matmul --device gpu --anchors torch
    python benchmarks/bench_slice.py --list

Writes benchmarks/results/slice-DATE.json. Close other programs first; compiled PyTorch needs a C++ compiler.
"""

from __future__ import annotations

import sys

import program
import slice_host  # noqa: F401  each enters its rows
import slice_ops  # noqa: F401
import slice_train  # noqa: F401

if __name__ == "__main__":
    sys.exit(program.run("slice", "Every figure that spirograd promises.", ("torch", "compile", "jax")))
