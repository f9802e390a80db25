#!/usr/bin/env bash
# tools/test.sh [LANE...]: sets up, then runs every test lane (or those named) and prints a table.
# A lane is a function lane_NAME below and a row in `lanes`: name, budget in seconds, what it does. A lane that
# outlives its budget is killed and has failed. Logs: build/test/LANE.log.
set -uo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"

# The budgets are for 2 cores from nothing; setup and all lanes together stay below 25 minutes.
lanes=(
  "style 120 clang-format, ruff, mypy, shell syntax"
  "layout 30 include matrix and file rules"
  "cpp 420 Catch2 tests (GPU ones on software Vulkan) and the C++ examples"
  "cpu 240 pytest on the CPU"
  "gpu 360 pytest of the GPU tests (software Vulkan)"
  "docs 90 doctests of the package"
)
setup_budget=600
py=$root/.venv/bin/python
jobs=$(nproc)

lane_style() {
  local ok=0
  find cpp tests/cpp docs/examples \( -name '*.hpp' -o -name '*.cpp' \) -print0 2>/dev/null |
    xargs -0 -r .venv/bin/clang-format --dry-run -Werror || ok=1
  .venv/bin/ruff check . || ok=1
  .venv/bin/ruff format --check . || ok=1
  .venv/bin/mypy || ok=1
  local script
  for script in tools/*.sh .ci/run; do bash -n "$script" || ok=1; done
  return $ok
}

lane_layout() { "$py" -m pytest -q --noconftest tests/test_layout.py; }

cpp_build() {
  local catch=()
  if [ ! -e .deps/catch2/VERSIONS ] && [ -n "$(debian_mirror)" ]; then tools/catch2.sh || return 1; fi
  [ ! -e .deps/catch2/VERSIONS ] || catch=(-DCatch2_DIR="$root/.deps/catch2/lib/cmake/Catch2")
  PATH=$root/.venv/bin:$PATH cmake -S . -B build/cpp -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPIROGRAD_TESTS=ON \
    -DSPIROGRAD_PYTHON=OFF -DPython_EXECUTABLE="$py" "${catch[@]}" &&
    PATH=$root/.venv/bin:$PATH cmake --build build/cpp -j "$jobs"
}

# An inline function of a unit built with -mavx512f that other units share would be run on machines without AVX-512.
cpp_isa_symbols() {
  local isa object leaked=0
  for isa in avx2 avx512; do
    for object in build/cpp/CMakeFiles/sg_device_cpu_$isa.dir/cpp/device/cpu/*.o; do
      [ -e "$object" ] || continue
      if nm -C --defined-only "$object" | grep -E ' [WVu] ' | grep -vE "::$isa::|DW\.ref\.__gxx_personality_v0"; then
        echo "blocks_isa.cpp ($isa) shares the symbols above with other units; keep them in namespace $isa"
        leaked=1
      fi
    done
  done
  return $leaked
}

lane_cpp() {
  cpp_build && cpp_isa_symbols || return 1
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  local ok=0
  [ ! -x build/cpp/spirograd_tests ] || build/cpp/spirograd_tests || ok=1
  (cd build/cpp && "$root/.venv/bin/ctest" --output-on-failure -R '^example_') || ok=1
  return $ok
}

lane_cpu() { "$py" -m pytest -q -n "$jobs" --dist loadfile -m "not gpu" tests; }

software_vulkan() {
  [ -e .deps/lavapipe-host/VERSIONS ] || tools/lavapipe.sh --host || return 1
  . .deps/lavapipe-host/env.sh
  export SPIROGRAD_ALLOW_CPU_VULKAN=1
}

lane_gpu() {
  # TEST_GPU=real: on this machine's own Vulkan device.
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  "$py" -m pytest -q -n "$jobs" --dist loadfile -m gpu tests
}

lane_docs() { "$py" -m pytest -q --doctest-modules --pyargs spirograd; }

# ---- the runner --------------------------------------------------------------------------------------------------
if [ "${1:-}" = --lane ]; then
  "lane_$2"
  exit
fi

count() { # count WORD LOG: the sum of "N WORD" over pytest's and Catch2's summary lines
  sed -E 's/\x1b\[[0-9;]*m//g' "$2" | grep -E '^(=*[[:space:]]*)?[0-9]+ [a-z]+.* in [0-9.]+s|^test cases:|^All tests passed' |
    sed -E 's/^All tests passed \(.* in ([0-9]+) test cases?\)/\1 passed/; s/\|/,/g' |
    grep -oE "[0-9]+ $1" | awk '{n += $1} END {print n + 0}'
}

mkdir -p build/test
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-} PYTHONHASHSEED=0
[ -n "$OMP_NUM_THREADS" ] || unset OMP_NUM_THREADS
export SPIROGRAD_CACHE=${SPIROGRAD_CACHE:-$root/build/test/cache}
wanted=" $* "
total_passed=0 total_failed=0 rows=()
record() { # record NAME STATUS SECONDS BUDGET LOG
  local name=$1 status=$2 seconds=$3 budget=$4 log=$5 passed failed skipped word=ok
  passed=$(count passed "$log")
  failed=$(($(count failed "$log") + $(count errors? "$log")))
  skipped=$(count skipped "$log")
  if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
  if [ "$status" = 0 ] && [ "$passed" = 0 ] && [ "$skipped" = 0 ]; then passed=1; fi
  [ "$status" = 0 ] || word=FAILED
  [ "$status" != 124 ] && [ "$status" != 137 ] || word="TIMEOUT"
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  rows+=("$(printf '%-10s %-8s %7d %7d %8d %5ds / %ds' "$name" "$word" "$passed" "$failed" "$skipped" "$seconds" "$budget")")
}

begin=$SECONDS
timeout -k 10 "$setup_budget" tools/setup.sh 2>&1 | tee build/test/setup.log
status=${PIPESTATUS[0]}
if [ "$status" != 0 ]; then
  echo "0 passed, 1 failed"
  exit 1
fi
rows+=("$(printf '%-10s %-8s %7s %7s %8s %5ds / %ds' setup ok - - - $((SECONDS - begin)) "$setup_budget")")
known=" "
for row in "${lanes[@]}"; do
  read -r name budget what <<<"$row"
  known+="$name "
  [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || continue
  say "lane $name: $what"
  begin=$SECONDS
  timeout -k 10 "$budget" bash tools/test.sh --lane "$name" >"build/test/$name.log" 2>&1
  status=$?
  record "$name" "$status" $((SECONDS - begin)) "$budget" "build/test/$name.log"
  [ "$status" = 0 ] || tail -40 "build/test/$name.log"
done
for name in "$@"; do [[ $known == *" $name "* ]] || die "no lane $name; there are$known"; done

printf '\n%-10s %-8s %7s %7s %8s %s\n' lane result passed failed skipped "time / budget"
printf '%s\n' "${rows[@]}"
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ]
