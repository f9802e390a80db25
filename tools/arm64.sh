#!/usr/bin/env bash
# tools/arm64.sh [DIR]   (default .deps/arm64)
#
# What a build for Linux on arm64 needs on another machine, and what tries it there; nothing is installed:
#   vulkan/   the build dependencies of tools/deps.sh, for arm64
#   root/     Debian 12's Python and what it needs (ARM64_SUITE=trixie: Debian 13's)
#   python    this Python, run by qemu
# ARCH=arm64 tools/wheel.sh uses them.
set -euo pipefail
. "$(dirname "$0")/common.sh"
dir=$(realpath -m "${1:-$root/.deps/arm64}")
packages=()
command -v aarch64-linux-gnu-g++ >/dev/null || packages+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64-static >/dev/null || packages+=(qemu-user-static)
[ ${#packages[@]} = 0 ] || die "missing: ${packages[*]}; as root: apt-get install ${packages[*]}"
export DEPS_ARCH=arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir"
need_space "$dir" 500
[ -e "$dir/vulkan/VERSIONS" ] || "$root/tools/deps.sh" "$dir/vulkan"
apt_root "$work/apt" "${ARM64_SUITE:-bookworm}"
apt_closure "$work/apt" "$work/root" python3 python3-venv libpython3-dev libstdc++6 # NumPy needs the last
rm -rf "$dir/root"
mv "$work/root" "$dir/root"
# Debian's pyconfig.h includes that of its architecture from a folder that a cross compiler does not search.
cp "$dir"/root/usr/include/aarch64-linux-gnu/python3.*/pyconfig.h "$dir"/root/usr/include/python3.*/
program=$(basename "$(readlink "$dir/root/usr/bin/python3")")
cat >"$dir/python" <<END
#!/bin/sh
# argv[0] is what Python takes for its own program: a link to this file in an environment finds that environment.
exec $(command -v qemu-aarch64-static) -L "$dir/root" -0 "\$0" "$dir/root/usr/bin/$program" "\$@"
END
chmod +x "$dir/python"
say "done: $dir ($(du -sh "$dir" | cut -f1)), $("$dir/python" --version), $(head -1 "$dir/vulkan/VERSIONS")"
