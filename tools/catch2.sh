#!/usr/bin/env bash
# tools/catch2.sh [PREFIX]   (default .deps/catch2): Catch2 3 as a static library, for the C++ tests.
# From this system's own packages, unpacked and not installed; Debian 12 has version 3 in its backports only.
set -euo pipefail
. "$(dirname "$0")/common.sh"
prefix=$(realpath -m "${1:-$root/.deps/catch2}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. /etc/os-release
mkdir -p "$(dirname "$prefix")"
if [ "${VERSION_CODENAME:-}" = bookworm ]; then apt_root "$work/apt" bookworm-backports; else apt_root "$work/apt" own; fi
# Older packagings have the library in `catch2` itself.
package=catch2
if APT_CONFIG=$work/apt/apt.conf apt-cache show libcatch2-dev >/dev/null 2>&1; then package=libcatch2-dev; fi
apt_unpack "$work/apt" "$work/x" $package
rm -rf "$prefix"
mkdir -p "$prefix/lib/cmake"
cp -r "$work/x/usr/include" "$prefix/"
lib=$(dirname "$(find "$work/x/usr/lib" -name libCatch2.a)")
cp -r "$lib"/libCatch2*.a "$prefix/lib/"
# The package's own CMake files find their prefix from where they lie: they keep their depth below it.
triplet=$(basename "$lib")
cp -r "$(dirname "$(find "$work/x/usr" -name Catch2Config.cmake)")" "$prefix/lib/cmake/Catch2"
sed -i "s#/lib/$triplet/#/lib/#g" "$prefix"/lib/cmake/Catch2/*.cmake
cp "$work/x.versions" "$prefix/VERSIONS"
say "done: $prefix, $(cat "$prefix/VERSIONS")"
