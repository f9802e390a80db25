#!/usr/bin/env bash
# tools/format.sh: formats everything in place (C++ by clang-format, Python by ruff) and repairs what ruff can.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
find cpp tests/cpp docs/examples \( -name '*.hpp' -o -name '*.cpp' \) -print0 2>/dev/null | xargs -0 -r .venv/bin/clang-format -i
.venv/bin/ruff check --fix .
.venv/bin/ruff format .
