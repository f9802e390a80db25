#!/usr/bin/env bash
# Software Vulkan (lavapipe) for tests, in a folder of its own; nothing is installed.
#
#   tools/lavapipe.sh --host [DIR]     default .deps/lavapipe-host: the driver and the loader for this system's own C
#                                      library. `. DIR/env.sh` and any program (with its children) finds them.
#   tools/lavapipe.sh --layers [DIR]   default .deps/lavapipe: the newest driver, loader and validation layer together
#                                      with the C library they need. `DIR/run PROGRAM ARGS` starts PROGRAM under it.
set -euo pipefail
. "$(dirname "$0")/common.sh"
mode=${1:---host}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(dpkg --print-architecture)" = amd64 ] || die "only x86-64 is supported; install mesa-vulkan-drivers by hand"
. /etc/os-release

manifest() { # manifest JSON LIBRARY: the same manifest with an absolute library path
  sed -E 's#"library_path": *"[^"]*"#"library_path": "'"$2"'"#' "$1"
}
env_file() {
  cat >"$1/env.sh" <<EOF
export VK_DRIVER_FILES="$dir/lvp_icd.json" VK_ICD_FILENAMES="$dir/lvp_icd.json" VK_LAYER_PATH="$dir"
EOF
}

case $mode in
  --host)
    dir=$(realpath -m "${2:-$root/.deps/lavapipe-host}")
    mkdir -p "$(dirname "$dir")"
    need_space "$(dirname "$dir")" 900
    case ${VERSION_CODENAME:-} in
      # Debian 12's own lavapipe is 22.3 and lacks Vulkan 1.3 features that spirograd needs.
      bookworm) apt_root "$work/apt" own bookworm-backports && from=(-t bookworm-backports) ;;
      *) apt_root "$work/apt" own && from=() ;;
    esac
    apt_closure "$work/apt" "$work/x" "${from[@]}" mesa-vulkan-drivers libvulkan1 patchelf
    say "packages unpacked"
    new=$work/dir
    mkdir -p "$new/lib"
    lib=$work/x/usr/lib/x86_64-linux-gnu
    patchelf=$work/x/usr/bin/patchelf
    # What ldd finds in the unpacked tree, except the C and C++ libraries, which are the system's.
    for f in libvulkan_lvp.so libvulkan.so.1; do
      LD_LIBRARY_PATH=$lib ldd "$lib/$f" | awk '$3 ~ /^\// {print $1}'
      echo $f
    done | sort -u | grep -vE '^(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so' >"$work/libs"
    while read -r f; do
      found=$(find "$work/x" -name "$f" -path '*/lib/*' | head -1)
      [ -n "$found" ] || continue
      cp -L "$found" "$new/lib/$f"
      LD_LIBRARY_PATH=$lib "$patchelf" --force-rpath --set-rpath '$ORIGIN' "$new/lib/$f"
    done <"$work/libs"
    manifest "$(find "$work/x/usr/share/vulkan/icd.d" -name 'lvp_icd*.json' | head -1)" "$dir/lib/libvulkan_lvp.so" >"$new/lvp_icd.json"
    env_file "$new"
    echo "export SPIROGRAD_VULKAN_LIB=\"$dir/lib/libvulkan.so.1\"" >>"$new/env.sh"
    ;;
  --layers)
    dir=$(realpath -m "${2:-$root/.deps/lavapipe}")
    mkdir -p "$(dirname "$dir")"
    need_space "$(dirname "$dir")" 1200
    apt_root "$work/apt" "${DEPS_SUITE:-forky}"
    apt_closure "$work/apt" "$work/x" mesa-vulkan-drivers vulkan-validationlayers libvulkan1
    say "packages unpacked"
    new=$work/dir
    mkdir -p "$new/lib"
    lib=$work/x/usr/lib/x86_64-linux-gnu
    for f in libvulkan_lvp.so libvulkan.so.1 libVkLayer_khronos_validation.so; do
      "$lib/ld-linux-x86-64.so.2" --library-path "$lib" --list "$lib/$f" | awk '$3 ~ /^\// {print $1}'
      echo $f
    done | sort -u >"$work/libs"
    for f in $(cat "$work/libs") ld-linux-x86-64.so.2 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 libresolv.so.2 \
      libnss_files.so.2 libnss_dns.so.2; do
      [ ! -e "$lib/$f" ] || cp -L "$lib/$f" "$new/lib/$f"
    done
    manifest "$(find "$work/x/usr/share/vulkan/icd.d" -name 'lvp_icd*.json' | head -1)" "$dir/lib/libvulkan_lvp.so" >"$new/lvp_icd.json"
    manifest "$work/x/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json" \
      "$dir/lib/libVkLayer_khronos_validation.so" >"$new/VkLayer_khronos_validation.json"
    env_file "$new"
    cat >"$new/run" <<EOF
#!/bin/sh
# run PROGRAM ARGS... : PROGRAM under this folder's C library and lavapipe (its children leave it again)
. "$dir/env.sh"
p=\$(command -v "\$1"); shift
exec "$dir/lib/ld-linux-x86-64.so.2" --argv0 "\$p" --library-path "$dir/lib:/usr/lib/x86_64-linux-gnu" "\$(readlink -f "\$p")" "\$@"
EOF
    chmod +x "$new/run"
    ;;
  *) die "unknown option $mode; use --host or --layers" ;;
esac
grep -E '^(mesa-vulkan-drivers|libvulkan1|vulkan-validationlayers|libc6|libllvm[0-9]*) ' "$work/x.versions" | sort >"$new/VERSIONS"
rm -rf "$dir"
mv "$new" "$dir"
say "done: $dir ($(du -sh "$dir" | cut -f1)), $(grep mesa "$dir/VERSIONS")"
