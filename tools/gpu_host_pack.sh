#!/usr/bin/env bash
# tools/gpu_host_pack.sh: packs into .carry/ what tools/gpu_host.sh needs on a GPU machine without a network
# (x86-64, glibc >= 2.39, g++ >= 13, its own CMake): carry the checkout and .carry/ there, then run tools/gpu_host.sh.
#   GPU_HOST_PYTHON=3.12   the Python of that machine
#   GPU_HOST_MPI=1         also pack MPI, for several GPUs (NCCL is expected there)
#   SPIROGRAD_DATA=DIR     also pack these data files (as .carry/data)
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
limit_mb=60
[ -e .deps/vulkan/VERSIONS ] || die "no .deps/vulkan; run tools/deps.sh first"
python=.venv/bin/python
[ -x $python ] || python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
new=$work/carry
mkdir -p "$new/vulkan/bin" "$new/lib" "$new/wheels"

# The prefix: headers, static libraries, and the shader compiler itself (not wrapped: that machine's libc is new enough).
cp -r .deps/vulkan/include .deps/vulkan/VERSIONS "$new/vulkan/"
mkdir "$new/vulkan/lib"
cp -r .deps/vulkan/lib/cmake .deps/vulkan/lib/*.a "$new/vulkan/lib/"
validator=.deps/vulkan/libexec/glslangValidator
[ -e $validator ] || validator=.deps/vulkan/bin/glslangValidator
cp -L $validator "$new/vulkan/bin/glslangValidator"

# The Vulkan loader, and the GLVND libraries without which NVIDIA's driver refuses to make an instance.
apt_root "$work/apt" own
apt_unpack "$work/apt" "$work/x" libvulkan1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2
find "$work/x" -name 'lib*.so.*' -type l -exec cp -L {} "$new/lib/" \;
# A newer loader where there is one: older ones refuse the extension by which the validation layer is set up.
[ ! -e .deps/vulkan/lib/loader/libvulkan.so.1 ] || cp .deps/vulkan/lib/loader/libvulkan.so.1 "$new/lib/libvulkan.so.1"

# The validation layer, for SPIROGRAD_VALIDATION=core on that machine (tools/lavapipe.sh --layers brings it here).
if [ -e .deps/lavapipe/lib/libVkLayer_khronos_validation.so ]; then
  mkdir "$work/layers"
  cp .deps/lavapipe/lib/libVkLayer_khronos_validation.so "$work/layers/"
  sed 's#"library_path": *"[^"]*"#"library_path": "./libVkLayer_khronos_validation.so"#' \
    .deps/lavapipe/VkLayer_khronos_validation.json >"$work/layers/VkLayer_khronos_validation.json"
  tar -C "$work" -cJf "$new/layers.tar.xz" layers
fi

# Wheels for that machine's Python. NumPy and CMake are expected there.
version=${GPU_HOST_PYTHON:-3.12}
$python -m pip download -q --disable-pip-version-check -d "$new/wheels" --only-binary=:all: --python-version "$version" \
  --implementation cp --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 \
  --platform manylinux2014_x86_64 --platform manylinux_2_12_x86_64 --platform manylinux2010_x86_64 --platform any \
  'scikit-build-core>=0.11' 'pybind11>=3.0,<4' ninja 'pytest>=9.1' 'pytest-xdist>=3.5' ${GPU_HOST_MPI:+'mpi4py>=4' 'mpich>=4'} >"$work/log" 2>&1 || {
  tail -3 "$work/log" >&2
  die "the wheels could not be downloaded: offline?"
}
if [ -n "${SPIROGRAD_DATA:-}" ]; then
  [ -d "$SPIROGRAD_DATA" ] || die "SPIROGRAD_DATA=$SPIROGRAD_DATA is not a folder"
  cp -rL "$SPIROGRAD_DATA" "$new/data"
fi
size=$(du -sm "$new" | cut -f1)
[ "$size" -lt $limit_mb ] || die "$size MB packed, $limit_mb MB is the limit; pack less data (SPIROGRAD_DATA)"
rm -rf .carry
mv "$new" .carry
chmod -R u+w .carry
say "done: .carry, $size MB"
