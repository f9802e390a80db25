#!/usr/bin/env bash
# tools/test.sh [LANE...]: sets up, then runs every test lane (or those named) and prints a table.
# A lane is a function lane_NAME below and a row in `lanes`: name, budget in seconds, what it does. The budget is for a
# quiet machine: a lane that needs more is marked so in the table, and has not failed. What takes five times as long
# hangs: it is ended, and has failed. Logs: build/test/LANE.log.
# The lanes core, sync, gpuav, vendors, sanitize and tsan look for mistakes with a tool; each holds mistakes made on purpose
# ("canaries"), and fails when the tool does not report one.
set -uo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"

# Together with setup the budgets make 69 minutes, for 2 cores from nothing.
lanes=(
  "style 60 clang-format, ruff, mypy, shell syntax, workflows, commit messages, retired words"
  "layout 20 the tables of docs/ARCHITECTURE.md: who includes and imports whom; file rules"
  "cpp 240 Catch2 tests (GPU ones on software Vulkan) and the C++ examples"
  "cpu 300 pytest on the CPU"
  "gpu 780 pytest of the GPU tests (software Vulkan)"
  "wheel 120 the wheel: made from the objects of setup, checked, tried in an empty environment"
  "docs 120 doctests of the package, the pages and the API's without a warning, outputs of the notebooks"
  "core 260 GPU tests under the validation layer"
  "sync 90 barriers under synchronization validation, each kernel replaced by a proxy"
  "gpuav 110 addresses under GPU-assisted validation"
  "limits 180 kernels on devices with faked limits, under the validation layer"
  "vendors 120 kernels through the compilers of eight devices of other makers: which spill; nothing runs"
  "sanitize 480 Catch2 tests under the address, leak and undefined-behaviour sanitizers"
  "tsan 300 Catch2 tests of threads under the thread sanitizer"
  "packages_few 180 eight packages around PyTorch, installed for themselves: imports all, trains with two under run"
  "fuzz 360 changed files, calls with anything, random programs on the CPU and software Vulkan"
)
# Run only when they are named.
long_lanes=(
  "vendors_all 3000 pipelines of all GPU tests through the compilers of eight devices of other makers"
  "links 300 the addresses that the pages link to (needs a network)"
  "asan 300 tests of the Python module on the CPU under the address and undefined-behaviour sanitizers"
  "slow 1500 tests marked slow, on the CPU and (software Vulkan) the GPU"
  "pairs 900 tests of operations, layers and Values on software Vulkan, with addresses that are pairs of words"
  "poison 2000 pytest on the CPU and the GPU (software Vulkan) with memory full of NaN and guard pages"
  "opinfo 3600 PyTorch's table of operators (installs its wheel for CPUs), on the CPU and (software Vulkan) the GPU"
  "packages 1200 ten packages around PyTorch, installed for themselves: trains with each under run, losses are PyTorch's"
  "asan_all 3000 the lane asan with all tests of the CPU"
  "breaks 6000 one break of the product for each row of docs/reliability.md, which the row's tests must notice"
)
setup_budget=400
py=$root/.venv/bin/python
jobs=$(nproc)
# A worker that dies, or is ended because its test hangs, is not replaced: it would run that test again.
spread=(-n "$jobs" --max-worker-restart 0)

lane_style() {
  local ok=0
  find cpp tests/cpp docs/examples \( -name '*.hpp' -o -name '*.cpp' \) -print0 2>/dev/null |
    xargs -0 -r .venv/bin/clang-format --dry-run -Werror || ok=1
  .venv/bin/ruff check . || ok=1
  .venv/bin/ruff format --check . || ok=1
  # NumPy's types are written for the Python that it is installed for.
  local python
  python=$("$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  .venv/bin/mypy --python-version "$python" || ok=1
  .venv/bin/mypy --python-version "$python" tools/*.py || ok=1
  "$py" tools/check_commits.py || ok=1
  "$py" tools/check_words.py || ok=1
  local script
  for script in tools/*.sh .ci/run; do bash -n "$script" || ok=1; done
  .venv/bin/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml || ok=1
  .venv/bin/zizmor -q --offline --min-severity medium .github/workflows || ok=1
  return $ok
}

lane_layout() { "$py" -m pytest -q --noconftest tests/test_layout.py; }

# The folder in which setup built the package: the C++ tests take its objects.
build=build/$("$py" -c 'import sys, sysconfig
print("cp%d%d-" % sys.version_info[:2] * 2 + sysconfig.get_platform().replace("-", "_").replace(".", "_"))' 2>/dev/null)

catch2() { [ -e .deps/catch2/VERSIONS ] || [ -z "$(debian_mirror)" ] || tools/catch2.sh; }

# cmake_build FOLDER TARGET CMAKE-OPTION...
cmake_build() {
  local folder=$1 target=$2 catch=()
  shift 2
  catch2 || return 1
  [ ! -e .deps/catch2/VERSIONS ] || catch=(-DCatch2_DIR="$root/.deps/catch2/lib/cmake/Catch2")
  PATH=$root/.venv/bin:$PATH cmake -S . -B "$folder" -G Ninja -DSPIROGRAD_TESTS=ON "${catch[@]}" "$@" &&
    PATH=$root/.venv/bin:$PATH cmake --build "$folder" --target "$target" -j "$jobs"
}
tests_build() { cmake_build "$build" "${1:-spirograd_tests}"; }

# An inline function of a unit built with -mavx512f that other units share would be run on machines without AVX-512.
cpp_isa_symbols() {
  local isa object leaked=0
  [ -e "$build/CMakeFiles/sg_device_cpu_baseline.dir" ] || { echo "no objects in $build"; return 1; }
  for isa in avx2 avx512; do
    for object in "$build/CMakeFiles/sg_device_cpu_$isa.dir"/cpp/device/cpu/*.o; do
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
  tests_build all && cpp_isa_symbols || return 1
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  local ok=0
  "$build/spirograd_tests" || ok=1
  (cd "$build" && "$root/.venv/bin/ctest" --output-on-failure -R '^example_') || ok=1
  return $ok
}

lane_cpu() { "$py" -m pytest -q "${spread[@]}" --dist loadfile -m "not gpu and not slow" tests; }

# Where nothing is cached, this driver's compiler takes nine tenths of the time: without its optimisation, and with
# vectors of 128 bits (subgroups of 4 threads), it takes little more than half. The lanes under the validation layer have subgroups of 8.
software_vulkan() {
  [ -e .deps/lavapipe-host/VERSIONS ] || tools/lavapipe.sh --host || return 1
  . .deps/lavapipe-host/env.sh
  export SPIROGRAD_ALLOW_CPU_VULKAN=1 GALLIVM_PERF=nopt LP_NATIVE_VECTOR_WIDTH=128
}

lane_gpu() {
  # TEST_GPU=real: on this machine's own Vulkan device.
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  "$py" -m pytest -q "${spread[@]}" --dist worksteal -m "gpu and not slow" tests
}

lane_wheel() { tools/wheel.sh build/test/dist; }

lane_docs() {
  PYTHONPATH=tests/docs "$py" -m pytest -q -p doctest_families --doctest-modules --pyargs spirograd || return 1
  software_vulkan || return 1  # the notebooks' outputs are of this driver
  "$py" -W ignore tools/notebooks.py || return 1
  .venv/bin/sphinx-build -W -n --keep-going -q -j "$jobs" -b html docs build/docs && echo "pages: build/docs/index.html"
}

# Needs a network. The pages are built as in the lane docs.
lane_links() {
  .venv/bin/sphinx-build -q -j "$jobs" -b linkcheck docs build/links
}

# ---- under the validation layer ------------------------------------------------------------------------------------
# The newest driver and layer need a C library of their own: a Python beside .venv/bin/python starts under it, and
# so do its children.
validation() { # validation MODE [COMMAND [TARGET]]: what the functions below need; Python runs the command first
  [ -e .deps/lavapipe/VERSIONS ] || tools/lavapipe.sh --layers || return 1
  local dir=$root/.deps/lavapipe
  cat >.venv/bin/python-layers <<EOF
#!/bin/sh
. "$dir/env.sh"
${2:-}
exec "$dir/lib/ld-linux-x86-64.so.2" --argv0 "\$0" --library-path "$dir/lib:/usr/lib/x86_64-linux-gnu" \\
  "\$(readlink -f "$root/.venv/bin/python")" "\$@"
EOF
  chmod +x .venv/bin/python-layers
  unset SPIROGRAD_VULKAN_LIB
  export SPIROGRAD_VALIDATION=$1 SPIROGRAD_ALLOW_CPU_VULKAN=1 GALLIVM_PERF=nopt
  tests_build ${3:+"$3"}
}

# A canary is skipped where the layer is missing or in another mode; a run of skipped tests alone is no success.
canary() { # canary TEST: this one test sees its mistake reported
  .deps/lavapipe/run "$build/spirograd_tests" "$1" && return
  echo "the mistake of '$1' was not reported: this lane proves nothing"
  return 1
}

catch_gpu() { .deps/lavapipe/run "$build/spirograd_tests" "[gpu]${1:-}"; }

layers_pytest() { # pytest; the layer says nothing, not even what a test swallows
  local log=build/test/layer-$SPIROGRAD_VALIDATION.log status
  SPIROGRAD_DEBUG=1 .venv/bin/python-layers -m pytest -q "${spread[@]}" --capture=sys -m gpu "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  if grep -q '\[spirograd\] validation: ' "$log"; then
    echo "the layer reported a mistake, see above"
    return 1
  fi
  return "$status"
}

lane_core() {
  validation core || return 1
  local ok=0
  canary "faults: validation reports a deliberate mistake" || ok=1
  catch_gpu || ok=1
  layers_pytest tests/engine/test_{counters,rules,barriers,fuzz,validation,compile,resubmission}.py \
    tests/api/test_python_api.py tests/autograd/test_grad.py tests/ops/test_{random,glsl_kernel}.py || ok=1
  layers_pytest tests/ops/test_ops.py -k "float32 and not float64" || ok=1
  # This driver has matrix units for float16, which that of the lane gpu lacks.
  if ! .venv/bin/python-layers -c 'import spirograd as sg; print(sg.Device.gpu().features["float16 products"])' |
    grep cm1 >/dev/null; then
    echo "the driver has no matrix units: this lane proves nothing about their kernels"
    ok=1
  fi
  layers_pytest tests/ops/test_{half_products,convolution_halves,attention_halves,matmul_precision}.py || ok=1
  return $ok
}

lane_sync() {
  export SPIROGRAD_PROXY=1
  validation sync || return 1
  local ok=0
  canary "gpu: the synchronization lane sees a missing barrier" || ok=1
  catch_gpu || ok=1
  layers_pytest tests/engine/test_barriers.py || ok=1
  return $ok
}

lane_gpuav() {
  validation gpu || return 1
  export SPIROGRAD_MATRIX=none  # the layer counts strides between vectors in their components, and calls them unaligned
  local ok=0
  canary "gpu: the GPU-assisted lane sees an address that nobody owns" || ok=1
  # This layer aborts at exit when a process leaves two devices open, as those tests do that open one of their own.
  catch_gpu '~[faults]~[record]~[rows]' || ok=1
  layers_pytest tests/engine/test_barriers.py -k nothing_is_reported || ok=1
  return $ok
}

# A driver of the tests (tests/cpp/fake_driver) stands before lavapipe and gives other limits; the layer above it sees
# whatever does not keep to them.
with_limits() { # with_limits NAME LIMITS TEST...
  say "limits: $1"
  FAKE_DRIVER_LIMITS=$2 layers_pytest -m "gpu and not slow" tests/faults/test_lacking_features.py "${@:3}"
}

lane_limits() {
  local fake=$root/build/test/fake_driver.json
  validation core "export VK_DRIVER_FILES=$fake VK_ICD_FILENAMES=$fake FAKE_DRIVER_REAL=$root/.deps/lavapipe/lib/libvulkan_lvp.so" \
    fake_driver || return 1
  printf '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.4.305", "library_path": "%s"}}\n' \
    "$root/$build/libfake_driver.so" >"$fake"
  # Kernels for real devices are long straight code: beside other work a sort took the software driver over a minute.
  export SPIROGRAD_TIMEOUT=300
  local ok=0 small=maxComputeSharedMemorySize=16384 threads
  threads=maxComputeWorkGroupInvocations=128,maxComputeWorkGroupSize=128
  local said
  said=$(FAKE_DRIVER_LIMITS=$threads .venv/bin/python-layers -c 'import spirograd as sg
sg.randn(8, device="gpu").sort()[0].tolist()' 2>&1)
  if [[ $said != *"this op needs 256"* ]]; then
    echo "the faked limits have no effect: this lane proves nothing"
    ok=1
  fi
  with_limits "128 threads, 16 KiB of shared memory" "$threads,$small" \
    tests/nn/test_layers.py tests/ops/test_{long_products,half_products,pooling}.py || ok=1
  threads=maxComputeWorkGroupInvocations=256,maxComputeWorkGroupSize=256
  with_limits "256 threads, 16 KiB of shared memory, buffers of 64 MiB, an integrated device" \
    "$threads,$small,maxStorageBufferRange=67108864,maxBufferSize=67108864,deviceType=1" \
    tests/ops/test_{sort,attention_options}.py \
    tests/ops/test_matmul_precision.py::test_halves_are_written_only_where_a_kernel_reads_them || ok=1
  with_limits "a discrete device without float64, 16-bit storage and control of subgroups" \
    "shaderFloat64=0,storageBuffer16BitAccess=0,shaderInt16=0,subgroupSizeControl=0,computeFullSubgroups=0,deviceType=2" \
    tests/nn/test_layers.py tests/ops/test_convolution.py || ok=1
  export FAKE_DRIVER_LOG=$root/build/test/limits.pipelines
  rm -f "$FAKE_DRIVER_LOG"
  with_limits "subgroups of 8 to 16 threads" "maxSubgroupSize=16,deviceType=2" \
    tests/ops/test_half_products.py || ok=1
  unset FAKE_DRIVER_LOG
  with_limits "a device without bytes" "storageBuffer8BitAccess=0,shaderInt8=0" tests/ops/test_long_products.py || ok=1
  # lavapipe's subgroups have 32 bits of its vectors a thread.
  LP_NATIVE_VECTOR_WIDTH=128 with_limits "subgroups of 4" deviceType=2 tests/ops/test_folds.py || ok=1
  LP_NATIVE_VECTOR_WIDTH=512 with_limits "subgroups of 16" deviceType=2 tests/ops/test_folds.py tests/ops/test_sort.py ||
    ok=1
  return $ok
}

# ---- other makers' compilers ----------------------------------------------------------------------------------------
# The drivers think that they have a device, and the fake driver completes what is submitted: kernels are compiled, and
# nothing runs. What tests say about results means nothing then, so the log of the fake driver is read instead.
vendor_drivers() {
  [ -e .deps/vendors/include ] || tools/vendors.sh || return 1
  tests_build fake_driver || return 1
  g++ -std=c++20 -O1 -shared -fPIC -I .deps/vendors/include tests/cpp/fake_intel/render_node.cpp \
    -o "$build/libfake_intel.so" -ldl || return 1
  unset SPIROGRAD_VULKAN_LIB
}

vendors=(navi31 vega20 gfx1201 dg2 polaris10 ampere adreno740 m1)
vendor_python() { # vendor_python DEVICE: makes .venv/bin/python-DEVICE, under which this device is there
  local dir=$root/.deps/vendors log=$root/build/test/vendors-$1 driver shim variable preload
  case $1 in
    ampere) driver=nouveau shim=nouveau variable=NOUVEAU_CHIPSET=172 ;;
    adreno740) driver=freedreno shim=freedreno variable=FD_GPU_ID=740 ;;
    m1) driver=asahi shim=asahi variable=ASAHI=1 ;;
    dg2) driver=intel shim=amdgpu variable=FAKE_INTEL=0x56a0 ;;
    *) driver=radeon shim=amdgpu variable=AMDGPU_GPU_ID=$1 ;;
  esac
  preload=$dir/lib/lib${shim}_noop_drm_shim.so
  [ "$driver" != intel ] || preload="$root/$build/libfake_intel.so:$preload"
  printf '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.4.305", "library_path": "%s"}}\n' \
    "$root/$build/libfake_driver.so" >"$log.json"
  cat >".venv/bin/python-$1" <<EOF
#!/bin/sh
export $variable VK_DRIVER_FILES="$log.json" VK_ICD_FILENAMES="$log.json" SPIROGRAD_CACHE=0
export FAKE_DRIVER_REAL="$dir/lib/libvulkan_$driver.so" FAKE_DRIVER_SUBMISSIONS=skip FAKE_DRIVER_LOG="$log.pipelines"
exec "$dir/lib/ld-linux-x86-64.so.2" --argv0 "\$0" --preload "$preload" \
  --library-path "$dir/lib:/usr/lib/x86_64-linux-gnu" "\$(readlink -f "$py")" "\$@"
EOF
  chmod +x ".venv/bin/python-$1"
}

# The programs of tools/kernels_by_vendor.py: none refused, and none spills that did not in docs/kernels_by_vendor.md.
# VENDORS="navi31 m1" names devices; VENDORS_WRITE=1 writes their tables.
lane_vendors() {
  vendor_drivers || return 1
  local ok=0 device
  for device in ${VENDORS:-${vendors[*]}}; do
    vendor_python "$device"
    .venv/bin/python-"$device" tools/kernels_by_vendor.py "$device" ${VENDORS_WRITE:+--write} || ok=1
  done
  vendor_python vega20
  if SPIROGRAD_TILES=nvidia .venv/bin/python-vega20 tools/kernels_by_vendor.py vega20 >build/test/canary-vendors.log 2>&1 ||
    ! grep -q '^spills ' build/test/canary-vendors.log; then
    echo "vega20 does not spill with another maker's tiles: this lane proves nothing"
    ok=1
  fi
  return $ok
}

compile_for() { # compile_for DEVICE LEAST TEST...: at least so many pipelines, none refused
  local log=$root/build/test/vendors-$1 made refused
  rm -f "$log.pipelines"
  vendor_python "$1"
  ".venv/bin/python-$1" -m pytest -q "${spread[@]}" --tb=line -m "gpu and not slow" "${@:3}" >"$log.log" 2>&1
  made=$(grep -c '^pipeline 0 ' "$log.pipelines" 2>/dev/null)
  refused=$(grep -c '^pipeline [^0]' "$log.pipelines" 2>/dev/null)
  echo "$1: ${made:-0} pipelines compiled, ${refused:-0} refused"
  if grep -E "worker '.*' crashed|KernelCompileError" "$log.log"; then return 1; fi
  [ "${made:-0}" -ge "$2" ] && [ "${refused:-0}" = 0 ]
}

lane_vendors_all() {
  local ok=0 device
  lane_vendors || ok=1
  for device in "${vendors[@]}"; do compile_for "$device" 2000 tests || ok=1; done
  return $ok
}

# ---- under the sanitizers ------------------------------------------------------------------------------------------
sanitizer_canary() { # sanitizer_canary FOLDER TAG WORDS: the test with this tag ends the program with these words
  local log=build/test/$2.log
  if "$1/spirograd_tests" "[$2]" >"$log" 2>&1 || ! grep -qE "$3" "$log"; then
    echo "the mistake of [$2] was not reported ($3): this lane proves nothing"
    return 1
  fi
  grep -m1 -E "$3" "$log"
}

sanitize_build() { # sanitize_build TARGET
  # Debug keeps the assertions; the CPU kernels' -O3 is for the other configurations. Each unit reads what it includes
  # itself: a missing #include of the standard library stops this build.
  cmake_build build/sanitize "$1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DSPIROGRAD_SANITIZE=ON \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DPython_EXECUTABLE="$py"
}

lane_sanitize() {
  sanitize_build spirograd_tests || return 1
  software_vulkan || return 1
  export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$root/tests/cpp/leaks.supp UBSAN_OPTIONS=print_stacktrace=1
  local ok=0
  sanitizer_canary build/sanitize canary-address 'AddressSanitizer: heap-buffer-overflow' || ok=1
  sanitizer_canary build/sanitize canary-leak 'LeakSanitizer: detected memory leaks' || ok=1
  sanitizer_canary build/sanitize canary-overflow 'runtime error: signed integer overflow' || ok=1
  sanitizer_canary build/sanitize canary-shift 'runtime error: shift exponent' || ok=1
  # The software driver may take over a minute to compile a chain of 1,000 operations beside other work.
  SPIROGRAD_TIMEOUT=300 build/sanitize/spirograd_tests || ok=1
  return $ok
}

under_asan() { # under_asan PYTEST-ARGUMENT...: with the package of build/sanitize
  sanitize_build _core || return 1
  local site=$root/build/sanitize/site log=$root/build/test/canary-python.log
  rm -rf "$site"
  mkdir -p "$site" && cp -r python/spirograd "$site" && cp build/sanitize/_core.*.so "$site/spirograd" || return 1
  export PYTHONPATH=$site PYTHONMALLOC=malloc UBSAN_OPTIONS=print_stacktrace=1 SPIROGRAD_THREADS=2
  # CPython itself keeps memory until the end. A test that asks for more than there is gets an error, as elsewhere.
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0
  # Both: alone, the first would not find what throws C++ exceptions.
  LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
  export LD_PRELOAD
  if "$py" -c 'import spirograd; spirograd._core._overrun(16)' >"$log" 2>&1 || ! grep -q 'heap-buffer-overflow' "$log"; then
    tail -5 "$log"
    echo "the mistake of _overrun was not reported: this lane proves nothing"
    return 1
  fi
  "$py" -m pytest -q "${spread[@]}" --dist loadfile -m "not gpu and not slow" "$@"
}

# A program with more rights does not take LD_PRELOAD.
more_rights=tests/files/test_file_faults.py::test_variables_of_the_caller_do_not_steer_a_process_with_more_rights

lane_asan() {
  under_asan --deselect "$more_rights" tests/files tests/data/test_{datasets,text}.py \
    tests/ops/test_{indexing,shapes,corners,dtypes,creation,sort}.py \
    tests/autograd/test_{gradients_of_slices,autograd_in_place}.py tests/api/test_interop.py \
    tests/memory/test_shared.py tests/faults/test_errors.py tests/engine/test_compile.py
}

lane_asan_all() {
  under_asan --deselect "$more_rights" tests
}

# Without a GPU: software drivers have threads of their own, which the tool does not see into.
lane_tsan() {
  cmake_build build/tsan spirograd_tests -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
    -DSPIROGRAD_SANITIZE_THREADS=ON -DSPIROGRAD_GPU=OFF -DSPIROGRAD_PYTHON=OFF -DPython_EXECUTABLE="$py" || return 1
  export SPIROGRAD_THREADS=4
  local ok=0
  sanitizer_canary build/tsan canary-race 'ThreadSanitizer: data race' || ok=1
  build/tsan/spirograd_tests "threads*,cpu threads: every*,cpu threads: nested*,cpu memory*" || ok=1
  return $ok
}

# ---- slow ones, and random ones ------------------------------------------------------------------------------------
lane_slow() {
  local ok=0
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  "$py" -m pytest -q -m slow tests || ok=1
  return $ok
}

# The table is recorded by PyTorch in an environment of its own; what is compared runs without it.
# OPINFO_TABLE=FILE: what opinfo_record.py wrote elsewhere; nothing is installed then.
lane_opinfo() {
  local ok=0 folder=build/test/opinfo
  local torch=$folder/venv/bin/python table=${OPINFO_TABLE:-$folder/table.json.xz}
  mkdir -p "$folder"
  if [ -z "${OPINFO_TABLE:-}" ]; then
    if ! "$torch" -c 'import torch, expecttest' 2>/dev/null; then
      "$py" -m venv --clear "$folder/venv" && "$torch" -m pip install -q "torch==2.13.0+cpu" numpy expecttest \
        --extra-index-url https://download.pytorch.org/whl/cpu ||
        { echo "PyTorch was not installed: OPINFO_TABLE=FILE takes a recorded table"; return 1; }
    fi
    "$torch" tests/oracle/opinfo_record.py "$table" >"$folder/record.log" || return 1
  fi
  "$py" tests/oracle/opinfo.py "$table" --exact || ok=1
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  "$py" tests/oracle/opinfo.py tests/golden/opinfo.json.xz --device cuda || ok=1
  return $ok
}

# The packages of a list of tests/packages in a folder of their own: they need no PyTorch, and the tests not them.
packages_of() {
  local list=tests/packages/$1.txt site=build/test/packages-$1
  cat tests/packages/few.txt "$list" | cmp -s - "$site/lists" && return
  rm -rf "$site"
  "$py" -m pip install -q --no-deps --only-binary :all: --target "$site" -r "$list" ||
    { echo "the packages of $list were not installed: they come from an index"; return 1; }
  cat tests/packages/few.txt "$list" >"$site/lists"
}

lane_packages_few() {
  packages_of few || return 1
  PYTHONPATH=$root/build/test/packages-few "$py" -W ignore -m spirograd run -c "import accelerate, lightning, peft, timm
import torch_geometric, torchaudio, torchmetrics, transformers" || return 1
  "$py" tests/packages/run.py "$root/build/test/packages-few" lightning_trainer transformers_bert
}

lane_packages() {
  packages_of all && "$py" tests/packages/run.py "$root/build/test/packages-all"
}

lane_pairs() {
  software_vulkan || return 1
  SPIROGRAD_ADDRESSES=pairs "$py" -m pytest -q "${spread[@]}" --dist worksteal -m "gpu and not slow" \
    tests/ops tests/nn tests/scalar tests/engine/test_addresses.py
}

lane_poison() {
  export SPIROGRAD_POISON=1
  local ok=0
  # The page on GPUs counts bytes, which are others here.
  "$py" -m pytest -q "${spread[@]}" --dist loadfile -m "not gpu and not slow" \
    --deselect "tests/docs/test_docs.py::test_code_runs[docs/gpu.md]" tests || ok=1
  lane_gpu || ok=1
  return $ok
}

# BREAKS="3 7 12": these rows alone; BREAKS_REST=1: those that the last run has not proven.
lane_breaks() {
  catch2 || return 1
  [ "${TEST_GPU:-software}" = real ] || software_vulkan || return 1
  local rows=()
  read -ra rows <<<"${BREAKS:-}"
  "$py" tests/breaks/run.py ${BREAKS:+--only "${rows[@]}"} ${BREAKS_REST:+--rest}
}

# found LOG WORDS COMMAND...: the command finds a mistake made on purpose, and says so in these words
found() {
  local log=build/test/$1 words=$2
  shift 2
  if "$@" >"$log" 2>&1 || ! grep -q "$words" "$log"; then
    tail -5 "$log"
    echo "the mistake of 'canary' was not found ($words): this lane proves nothing"
    return 1
  fi
}

lane_fuzz() {
  local ok=0
  SPIROGRAD_CACHE=0 found canary-files.log canary "$py" tests/fuzz/files.py --only canary --count 1000 || ok=1
  SPIROGRAD_CACHE=0 "$py" tests/fuzz/files.py --count 30000 || ok=1
  found canary-calls.log canary "$py" tests/fuzz/calls.py --only canary || ok=1
  "$py" tests/fuzz/calls.py --count 200 || ok=1
  software_vulkan || return 1
  found canary-programs.log "every mistake of a canary was found" \
    "$py" tests/fuzz/programs.py --devices canary --count 400 --jobs "$jobs" || ok=1
  "$py" tests/fuzz/programs.py --devices cpu,gpu --count 300 --jobs "$jobs" || ok=1
  return $ok
}

# ---- the runner --------------------------------------------------------------------------------------------------
mkdir -p build/test
if [ "${1:-}" = --lane ]; then
  "lane_$2"
  exit
fi

count() { # count WORD LOG: the sum of "N WORD" over pytest's and Catch2's summary lines
  sed -E 's/\x1b\[[0-9;]*m//g' "$2" | grep -E '^(=*[[:space:]]*)?[0-9]+ [a-z]+.* in [0-9.]+s|^test cases:|^All tests passed' |
    sed -E 's/^All tests passed \(.* in ([0-9]+) test cases?\)/\1 passed/; s/\|/,/g' |
    grep -oE "[0-9]+ $1" | awk '{n += $1} END {print n + 0}'
}

export OMP_NUM_THREADS=${OMP_NUM_THREADS:-} PYTHONHASHSEED=0 SPIROGRAD_BOUNDS=1
[ -n "$OMP_NUM_THREADS" ] || unset OMP_NUM_THREADS
export SPIROGRAD_CACHE=${SPIROGRAD_CACHE:-$root/build/test/cache}
wanted=" ${*:-${lanes[*]%% *}} "
total_passed=0 total_failed=0 rows=()
record() { # record NAME STATUS SECONDS BUDGET LOG
  local name=$1 status=$2 seconds=$3 budget=$4 log=$5 passed failed skipped word=ok
  passed=$(count passed "$log")
  failed=$(($(count failed "$log") + $(count errors? "$log")))
  skipped=$(count skipped "$log")
  if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
  if [ "$status" = 0 ] && [ "$passed" = 0 ] && [ "$skipped" = 0 ]; then passed=1; fi
  [ "$status" = 0 ] && [ "$failed" = 0 ] || word=FAILED
  [ "$status" != 124 ] && [ "$status" != 137 ] || word=HANGS
  [ "$word" != ok ] || [ "$seconds" -le "$budget" ] || word=late
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  rows+=("$(printf '%-10s %-8s %7d %7d %8d %5ds / %ds' "$name" "$word" "$passed" "$failed" "$skipped" "$seconds" "$budget")")
}

# bounded BUDGET COMMAND...: what outlives five budgets (under CI, which gives 90 minutes for all, the rest of 85) gets
# SIGABRT, at which pytest prints where each thread is, and Catch2 the test that runs.
bounded() {
  local limit=$((5 * $1)) left=$((5100 - SECONDS))
  shift
  [ "${CI:-}" != true ] || [ "$left" -gt "$limit" ] || limit=$((left > 1 ? left : 1))
  (ulimit -c 0 && exec timeout -s ABRT -k 20 "$limit" "$@")
}

running() { # running LOG: the tests at which pytest was ended; Catch2's report is the end of the log itself
  grep -oE 'File "[^"]*", line [0-9]+ in test_[A-Za-z0-9_]+' "$1" | sort -u | sed 's/^/hangs: /'
}

begin=$SECONDS
bounded "$setup_budget" tools/setup.sh 2>&1 | tee build/test/setup.log
status=${PIPESTATUS[0]}
if [ "$status" != 0 ]; then
  echo "0 passed, 1 failed"
  exit 1
fi
rows+=("$(printf '%-10s %-8s %7s %7s %8s %5ds / %ds' setup ok - - - $((SECONDS - begin)) "$setup_budget")")
known=" "
for row in "${lanes[@]}" "${long_lanes[@]}"; do
  read -r name budget what <<<"$row"
  known+="$name "
  [[ $wanted == *" $name "* ]] || continue
  say "lane $name: $what"
  begin=$SECONDS
  bounded "$budget" bash tools/test.sh --lane "$name" >"build/test/$name.log" 2>&1
  status=$?
  record "$name" "$status" $((SECONDS - begin)) "$budget" "build/test/$name.log"
  [ "$status" = 0 ] || tail -40 "build/test/$name.log"
  if [ "$status" = 124 ] || [ "$status" = 137 ]; then running "build/test/$name.log"; fi
done
for name in "$@"; do [[ $known == *" $name "* ]] || die "no lane $name; there are$known"; done

printf '\n%-10s %-8s %7s %7s %8s %s\n' lane result passed failed skipped "time / budget"
printf '%s\n' "${rows[@]}"
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ]
