#!/usr/bin/env bash
# tools/run.sh: set up, train the MNIST example, then a short benchmark of every device found.
# Arguments go to the example.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
tools/setup.sh
say "training"
.venv/bin/python -m spirograd.examples.mnist "$@"
say "benchmark"
.venv/bin/python benchmarks/benchmark_gpu.py --quick
