#!/usr/bin/env bash
# tools/wheel.sh [FOLDER]   (default dist)
#
# Wheels of this checkout for Linux that run with glibc 2.28 and newer, checked and tried, into FOLDER. Needs the
# environment of tools/setup.sh, whose objects it takes.
#   PYTHONS="python3.10 python3.11"   for these Pythons, with their headers; default: that of .venv
#   ARCH=arm64                        across, from x86-64, for the Python of tools/arm64.sh; qemu tries it
#   ARCH=windows                      across, for Windows on x86-64 and the Python of tools/windows.sh; Wine tries it
#   TWICE=1                           builds each again from nothing, in another folder, and compares the bytes
#   SMOKE=0                           does not try them
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
out=$(realpath -m "${1:-dist}")
py=$root/.venv/bin/python
[ -e .venv/package.stamp ] || die "run tools/setup.sh first"
platform=manylinux_2_28_x86_64 binutils= options=() other=() most_bytes=$((6 * 1024 * 1024))
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)
export SOURCE_DATE_EPOCH PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=$root/.venv/bin:$PATH
# Across: `suffix` is that of the other Python's modules, and `other` the platform that the wheel is for, which is that of
# the Python that builds it unless told another one.
case ${ARCH:-amd64} in
  amd64) options=(-C cmake.define.SPIROGRAD_GLIBC=2.28) ;;
  arm64)
    there=$root/.deps/arm64
    [ -x "$there/python" ] || die "there is no .deps/arm64; run tools/arm64.sh first"
    suffix=$("$there/python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
    # auditwheel knows the platforms of its own machine by name; of another one it finds the oldest.
    platform=auto binutils=aarch64-linux-gnu- other=(_PYTHON_HOST_PLATFORM=linux-aarch64)
    options=(-C cmake.define.SPIROGRAD_GLIBC=2.28 -C cmake.define.CMAKE_TOOLCHAIN_FILE="$root/cpp/cmake/linux-arm64.cmake"
      -C cmake.define.SPIROGRAD_PYTHON_INCLUDE="$(echo "$there"/root/usr/include/python3.*)"
      -C cmake.define.SPIROGRAD_PYTHON_SUFFIX="$suffix")
    export CMAKE_PREFIX_PATH=$there/vulkan
    ;;
  windows)
    there=$root/.deps/windows
    [ -x "$there/wine" ] || die "there is no .deps/windows; run tools/windows.sh first"
    library=$(echo "$there"/python/libs/python3??.lib)
    suffix=.$(basename "$library" .lib | sed 's/python/cp/')-win_amd64.pyd
    platform= other=(_PYTHON_HOST_PLATFORM=win-amd64)
    # Headers are for every system, and glslang's library in .deps/vulkan is not.
    options=(-C cmake.define.CMAKE_TOOLCHAIN_FILE="$root/cpp/cmake/zig-windows.cmake" -C cmake.define.SG_ZIG="$there/zig/zig"
      -C cmake.define.SPIROGRAD_PYTHON_INCLUDE="$there/python/include" -C cmake.define.SPIROGRAD_PYTHON_SUFFIX="$suffix"
      -C cmake.define.SPIROGRAD_PYTHON_LIBRARY="$library" -C cmake.define.CMAKE_DISABLE_FIND_PACKAGE_glslang=ON
      -C cmake.define.FETCHCONTENT_SOURCE_DIR_GLSLANG="$there/glslang"
      -C cmake.define.SG_GLSLANG_VALIDATOR="$root/.deps/vulkan/bin/glslangValidator")
    export CMAKE_PREFIX_PATH=$root/.deps/vulkan
    ;;
  *) die "ARCH=$ARCH is not known; amd64, arm64 and windows are" ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# build PYTHON FOLDER [OPTION...]: one repaired wheel in FOLDER
build() {
  local python=$1 folder=$2
  shift 2
  rm -rf "$work/raw"
  env "${other[@]}" "$python" -m pip wheel -q --no-build-isolation --no-deps -w "$work/raw" "${options[@]}" "$@" . \
    >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; die "the build failed"; }
  if [ -z "$platform" ]; then
    mkdir -p "$folder"
    mv "$work"/raw/*.whl "$folder/"
    return
  fi
  auditwheel repair -z 9 --plat "$platform" --only-plat -w "$folder" "$work"/raw/*.whl >"$work/log" 2>&1 ||
    { tail -5 "$work/log" >&2; die "auditwheel refused the wheel"; }
}

# An environment of this Python with the build requirements; that of .venv is there already.
environment() {
  local python=$1 folder
  if [ "$("$python" -c 'import sys; print(sys.version_info[:3])')" = "$("$py" -c 'import sys; print(sys.version_info[:3])')" ]; then
    echo "$py"
    return
  fi
  folder=$root/build/wheel/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  [ -x "$folder/bin/pip" ] || "$python" -m venv "$folder" || die "python -m venv failed for $python"
  "$folder/bin/python" -m pip install -q "pip>=23.1" "scikit-build-core>=1.1" "pybind11>=3.0,<4" >&2
  echo "$folder/bin/python"
}

check() {
  local wheel=$1 bytes module undefined
  bytes=$(stat -c %s "$wheel")
  [ -z "$platform" ] || [[ $wheel =~ manylinux_2_(1[0-9]|2[0-8])_ ]] || die "$wheel is not for glibc 2.28 or older"
  [ "$bytes" -le "$most_bytes" ] || die "$wheel has $bytes bytes, more than $most_bytes"
  twine check --strict "$wheel" >"$work/log" || { cat "$work/log" >&2; die "twine refused $wheel"; }
  check-wheel-contents "$wheel" >"$work/log" || { cat "$work/log" >&2; die "check-wheel-contents refused $wheel"; }
  rm -rf "$work/x"
  "$py" -m zipfile -e "$wheel" "$work/x"
  # auditwheel looks at versions. A name without one is looked up at the first call, where an old system may lack it.
  if [ -n "$platform" ]; then
    module=$(find "$work/x/spirograd" -name '_core.*.so')
    undefined=$("${binutils}nm" -D --undefined-only "$module") || die "nm cannot read the module of $wheel"
    if awk '$1 == "U" {print $2}' <<<"$undefined" | grep -vE '@|^_?Py'; then
      die "the names above are bound to no version of glibc: add them to cpp/cmake/older_glibc.c"
    fi
  fi
  "$py" tools/check_sbom.py "$work"/x/spirograd-*.dist-info/sboms/spirograd.cdx.json ||
    die "the bill of materials of $wheel is wrong"
  [ "$(ls "$work"/x/spirograd-*.dist-info/licenses/licenses | wc -l)" = "$(ls licenses | wc -l)" ] ||
    die "$wheel lacks licences"
}

# pip runs here, for there; Wine 10 lacks functions that newer NumPys call.
smoke_windows() {
  rm -rf "$work/clean"
  "$there/wine" "$there/python/python.exe" -m venv "$work/clean" >"$work/log" 2>&1 ||
    die "python -m venv failed in Wine: $(tail -1 "$work/log")"
  "$py" -m pip install -q --no-deps --no-compile --target "$work/clean/Lib/site-packages" --only-binary :all: \
    --platform win_amd64 --python-version "${suffix:3:1}.${suffix:4:2}" "$1" numpy==2.1.3 || die "$1 cannot be installed"
  SPIROGRAD_CACHE="$work/cache" "$there/wine" "$work/clean/Scripts/python.exe" -I "$root/tools/smoke.py" ||
    die "$1 does not work"
}

# In an environment with NumPy alone, and no compiler on PATH.
smoke() {
  local python=$1 wheel=$2
  if [ "${ARCH:-}" = windows ]; then
    smoke_windows "$wheel"
    return
  fi
  [ "${ARCH:-}" != arm64 ] || python=$there/python
  rm -rf "$work/clean"
  "$python" -m venv "$work/clean"
  "$work/clean/bin/pip" install -q "$wheel" || die "$wheel cannot be installed"
  (cd "$work" && env -i HOME="$work" PATH="$work/clean/bin" SPIROGRAD_CACHE="$work/cache" \
    python -I "$root/tools/smoke.py") || die "$wheel does not work"
}

for python in ${PYTHONS:-$py}; do
  of=$(environment "$python")
  rm -rf "$work/one" "$work/two"
  [ -z "${suffix:-}" ] || [[ $suffix =~ [a-z-]$("$of" -c 'import sys; print("%d%d" % sys.version_info[:2])')- ]] ||
    die "$("$of" --version) builds for the same Python, and $there has $suffix; name another one with PYTHONS"
  build "$of" "$work/one"
  wheel=$(echo "$work"/one/*.whl)
  say "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
  check "$wheel"
  if [ "${TWICE:-0}" = 1 ]; then
    build "$of" "$work/two" -C build-dir="$work/again"
    cmp "$wheel" "$work/two/$(basename "$wheel")" || die "two builds differ"
    say "a second build has the same bytes"
  fi
  [ "${SMOKE:-1}" = 0 ] || smoke "$of" "$wheel"
  mv "$wheel" "$out/"
  # Of the module, what this environment's build folder knows: its objects are those of the wheel that is linked there.
  if [ -z "${suffix:-}" ] && [ "$of" = "$py" ]; then
    "$py" tools/wheel_parts.py "$out/$(basename "$wheel")" build/cp3* | tee "$out/parts.md"
  fi
done
say "done: $out"
