#!/usr/bin/env bash
# tools/windows_tests.sh [PYTEST-ARGUMENT...]
#
# The tests on Windows, by Wine, with the wheel in dist (ARCH=windows tools/wheel.sh) and this checkout's Python files:
#   tools/windows_tests.sh -n 2 -m "not gpu and not slow" tests
#   tools/windows_tests.sh -m gpu tests/memory          # on lavapipe
# The environment is build/windows_tests, made again when the wheel is another one.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
there=$root/.deps/windows
[ -x "$there/wine" ] || die "there is no .deps/windows; run tools/windows.sh first"
wheels=(dist/spirograd-*-win_amd64.whl)
[ -e "${wheels[0]}" ] || die "there is no wheel for Windows in dist; run ARCH=windows tools/wheel.sh first"
folder=$root/build/windows_tests
site=$folder/Lib/site-packages
# NumPy is the newest that Wine 10 starts. Not for Windows, or not without its compiler: pygraphviz, MPICH.
names=(numpy==2.1.3 colorama 'pytest>=9.1' pytest-xdist hypothesis micrograd==0.1.0 pillow onnx onnxruntime gguf safetensors
  sentencepiece ml_dtypes einops matplotlib scikit-learn tokenizers pyarrow)
stamp=$(sha256sum "${wheels[0]}" tools/windows_tests.sh | sha256sum | cut -c1-32)
if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$folder"
  "$there/wine" "$there/python/python.exe" -m venv "$folder" >/dev/null 2>&1 || die "python -m venv failed in Wine"
  version=$(basename "$(echo "$there"/python/libs/python3??.lib)" .lib)
  .venv/bin/python -m pip install -q --no-compile --target "$site" --only-binary :all: --platform win_amd64 \
    --python-version "3.${version#python3}" "${wheels[0]}" "${names[@]}" || die "pip cannot install what the tests need"
  # Complex numbers call what Wine's C library lacks: they are given a library that has it.
  grep -rlZ --include='*.pyd' --include='*.dll' api-ms-win-crt-math-l1-1-0.dll "$site" |
    LC_ALL=C xargs -0 sed -i 's/api-ms-win-crt-math-l1-1-0\.dll/npy-ms-win-crt-math-l1-1-0.dll/'
  echo "$stamp" >"$folder/stamp"
fi
(cd python/spirograd && find . -name '*.py' -print0 | xargs -0 cp -p --parents -t "$site/spirograd")
# As in the lane gpu of tools/test.sh.
export SPIROGRAD_ALLOW_CPU_VULKAN=1 GALLIVM_PERF=nopt LP_NATIVE_VECTOR_WIDTH=128
export SPIROGRAD_CACHE=${SPIROGRAD_CACHE:-$folder/cache}
exec "$there/wine" "$folder/Scripts/python.exe" -m pytest -q -p no:cacheprovider "$@"
