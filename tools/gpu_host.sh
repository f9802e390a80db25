#!/usr/bin/env bash
# tools/gpu_host.sh [COMMAND ARGS...]: builds and runs on a GPU machine without a network, from .carry/ (made by
# tools/gpu_host_pack.sh). COMMAND sees the package, the driver and the data; without one, the GPU tests and the
# benchmark run. Writes only to build/: nothing is installed on the machine, a second call builds what changed.
#   SPIROGRAD_VALIDATION=core   under the validation layer, where it was packed
#   PYTHON=python3   the Python to build for; the packages it has (NumPy, PyTorch) stay visible
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
[ -d .carry/wheels ] || die "no .carry here; run tools/gpu_host_pack.sh where there is a network"
python=$(command -v "${PYTHON:-python3}") || die "no python3; set PYTHON"
command -v g++ >/dev/null || die "no C++ compiler (g++)"
out=$root/build/gpu_host
mkdir -p "$out"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONNOUSERSITE=1 PIP_ROOT_USER_ACTION=ignore

# ---- the driver
icd=${VK_DRIVER_FILES:-}
if [ -z "$icd" ]; then
  icd=$(find /usr/local/nvidia /etc/vulkan /usr/share/vulkan -name 'nvidia_icd*.json' 2>/dev/null | head -1 || true)
  [ -n "$icd" ] || icd=$(find / -xdev -name 'nvidia_icd*.json' -not -path '/proc/*' 2>/dev/null | head -1 || true)
  if [ -z "$icd" ]; then
    icd=$out/nvidia_icd.json
    echo '{"file_format_version": "1.0.1", "ICD": {"library_path": "libGLX_nvidia.so.0", "api_version": "1.4.312"}}' >"$icd"
  fi
fi
export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
driver=$(find /usr/local/nvidia /usr/lib /usr/lib64 -name 'libGLX_nvidia.so.0' 2>/dev/null | head -1 || true)
loader_path=$root/.carry/lib${driver:+:$(dirname "$driver")}
export LD_LIBRARY_PATH=$loader_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -n "${SPIROGRAD_VALIDATION:-}" ] && [ -e .carry/layers.tar.xz ]; then
  tar -C "$out" -xJf .carry/layers.tar.xz
  export VK_LAYER_PATH=$out/layers
fi
[ ! -d .carry/data ] || export SPIROGRAD_DATA=$root/.carry/data

# ---- the build
site=$out/site
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PATH=$site/bin:$PATH
if [ ! -e "$out/wheels.stamp" ] || [ "$(cat "$out/wheels.stamp")" != "$(ls .carry/wheels)" ]; then
  rm -rf "$site"
  "$python" -m pip install -q --no-index --find-links .carry/wheels --target "$site" \
    scikit-build-core pybind11 ninja pytest pytest-xdist >"$out/pip.log" 2>&1 || {
    tail -5 "$out/pip.log" >&2
    die "the wheels do not fit $("$python" --version); pack again with GPU_HOST_PYTHON"
  }
  for wheel in .carry/wheels/mpi4py-*.whl; do
    [ ! -e "$wheel" ] || "$python" -m pip install -q --no-index --no-deps --target "$site" "$wheel"
  done
  # MPICH's libraries and programs are data of its wheel, which pip leaves out of a target folder.
  for wheel in .carry/wheels/mpich-*.whl; do
    [ -e "$wheel" ] || continue
    rm -rf "$out/mpich" && "$python" -m zipfile -e "$wheel" "$out/mpich"
    mv "$out"/mpich/*.data/data/* "$out/mpich/" && chmod +x "$out"/mpich/bin/*
  done
  "$python" -c 'import numpy' 2>/dev/null || die "$python has no NumPy"
  ls .carry/wheels >"$out/wheels.stamp"
fi
if [ -d "$out/mpich" ]; then
  # The libraries packed, not those of the machine.
  export PATH=$out/mpich/bin:$PATH LD_LIBRARY_PATH=$out/mpich/lib:$out/mpich/lib/mpich:$LD_LIBRARY_PATH
  export MPI4PY_LIBMPI=$out/mpich/lib/libmpi.so.12
fi
chmod +x .carry/vulkan/bin/*
stamp=$(hash_of cpp shaders python CMakeLists.txt pyproject.toml)
if [ "$(cat "$out/package.stamp" 2>/dev/null)" != "$stamp" ]; then
  CMAKE_PREFIX_PATH=$root/.carry/vulkan CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) \
    "$python" -m pip install --no-build-isolation --no-index --no-deps --upgrade --target "$site" -v . >"$out/build.log" 2>&1 || {
    grep -E 'error|Error' "$out/build.log" | head -20 >&2
    die "the build failed; the log is $out/build.log"
  }
  echo "$stamp" >"$out/package.stamp"
fi
say "built for $("$python" --version), driver $VK_DRIVER_FILES"

if [ $# -gt 0 ]; then
  "$@"
else
  "$python" -m pytest -q -m gpu tests
  "$python" benchmarks/benchmark_gpu.py
fi
