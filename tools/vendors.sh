#!/usr/bin/env bash
# The Vulkan drivers of several makers, for compiling kernels without their hardware; nothing is installed.
#
#   tools/vendors.sh [DIR]   default .deps/vendors: Mesa's drivers for AMD (radeon), Intel, NVIDIA (nouveau), Qualcomm
#                            (freedreno) and Apple (asahi), the shims that pretend their devices, the C library that they
#                            need, and the kernel's headers for tests/cpp/fake_intel. The lane `vendors` of tools/test.sh
#                            uses them.
set -euo pipefail
. "$(dirname "$0")/common.sh"
dir=$(realpath -m "${1:-$root/.deps/vendors}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(dpkg --print-architecture)" = amd64 ] || die "only x86-64 is supported"
mkdir -p "$(dirname "$dir")"
need_space "$(dirname "$dir")" 1200
apt_root "$work/apt" "${DEPS_SUITE:-forky}"
apt_closure "$work/apt" "$work/x" mesa-vulkan-drivers mesa-drm-shim libvulkan1
apt_unpack "$work/apt" "$work/headers" libdrm-dev
say "packages unpacked"
lib=$work/x/usr/lib/x86_64-linux-gnu
new=$work/dir
mkdir -p "$new/lib"
files=(libvulkan.so.1)
for name in radeon intel nouveau freedreno asahi; do files+=("libvulkan_$name.so"); done
for name in amdgpu nouveau freedreno asahi; do files+=("lib${name}_noop_drm_shim.so"); done
for f in "${files[@]}"; do
  "$lib/ld-linux-x86-64.so.2" --library-path "$lib" --list "$lib/$f" | awk '$3 ~ /^\// {print $3}' | xargs -r -n1 basename
  echo "$f"
done | sort -u >"$work/libs"
for f in $(cat "$work/libs") ld-linux-x86-64.so.2 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1; do
  [ ! -e "$lib/$f" ] || cp -L "$lib/$f" "$new/lib/$f"
done
cp -r "$work/headers/usr/include/libdrm" "$new/include"
[ ! -d "$work/x/usr/share/libdrm" ] || cp -r "$work/x/usr/share/libdrm" "$new/libdrm"
grep -E '^(mesa-vulkan-drivers|mesa-drm-shim|libvulkan1|libc6|libllvm[0-9]*) ' "$work/x.versions" | sort >"$new/VERSIONS"
rm -rf "$dir"
mv "$new" "$dir"
say "done: $dir ($(du -sh "$dir" | cut -f1)), $(grep mesa-vulkan "$dir/VERSIONS")"
