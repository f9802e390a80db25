#!/usr/bin/env bash
# tools/deps.sh [PREFIX]   (default .deps/vulkan)
#
# Puts the Vulkan build dependencies under PREFIX without touching the system:
#   include/  Vulkan headers, volk (volk.h + volk.c), VMA, glslang
#   lib/      libglslang.a, libglslang-default-resource-limits.a, cmake/glslang, loader/libvulkan.so.1
#   bin/      glslangValidator, spirv-val, spirv-dis
#   share/    licences of what was taken
# They are Debian packages of one suite, checked by apt (signature, then SHA-256) and unpacked.
#
#   DEPS_SUITE=forky     suite (forky: glslang 16; trixie: glslang 15.1, no bfloat16)
#   DEPS_MIRROR=URL      Debian mirror; default: the one in this machine's apt sources
#   DEPS_ARCH=arm64      for a cross build (tools/arm64.sh): the libraries are of that architecture, and are tried by qemu
#   DEPS_FROM_SOURCE=1   build glslang from the suite's source package instead of using its static library
set -euo pipefail
. "$(dirname "$0")/common.sh"
prefix=$(realpath -m "${1:-$root/.deps/vulkan}")
suite=${DEPS_SUITE:-forky}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$(dirname "$prefix")"
need_space "$(dirname "$prefix")" 300
own=$(dpkg --print-architecture) arch=${DEPS_ARCH:-$(dpkg --print-architecture)}
cross= run=
if [ "$arch" != "$own" ]; then
  [ "$arch" = arm64 ] || die "DEPS_ARCH=$arch is not known; arm64 is"
  cross=aarch64-linux-gnu- run="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
  [ -e "$root/.deps/vulkan/VERSIONS" ] || die "the programs of .deps/vulkan are needed; run tools/deps.sh first"
fi
cxx=${CXX:-${cross}g++}
command -v "$cxx" >/dev/null || die "no C++ compiler $cxx; apt-get install g++, or name one with CXX=..."

say "package index of $suite"
apt_root "$work/apt" "$([ "${DEPS_FROM_SOURCE:-0}" = 1 ] && echo src:)$suite"
glibc=$(ldd --version | sed -nE '1s/.* ([0-9]+\.[0-9]+)$/\1/p')
runtime=()
[ -n "$cross" ] || [ "$(printf '2.38\n%s\n' "$glibc" | sort -V | head -1)" = 2.38 ] || runtime=(libc6 libstdc++6 libgcc-s1)
apt_unpack "$work/apt" "$work/x" libvulkan-dev libvulkan1 libvulkan-volk-dev libvulkan-memory-allocator-dev \
  glslang-dev glslang-tools spirv-tools "${runtime[@]}"
say "packages unpacked"

new=$work/prefix
mkdir -p "$new"/{include/vulkan,lib/cmake/glslang,lib/loader,bin,share/licenses}
usr=$work/x/usr
libs=$(dirname "$(find "$usr/lib" -name libglslang.a)")
(cd "$usr/include" && cp -rL vk_video volk.h volk.c vk_mem_alloc.h glslang "$new/include/" && cp vulkan/*.h "$new/include/vulkan/")
for package in libvulkan-dev libvulkan-volk-dev libvulkan-memory-allocator-dev glslang-dev; do
  cp -L "$usr/share/doc/$package/copyright" "$new/share/licenses/$package.txt"
done
cp -L "$(find "$usr/lib" -name libvulkan.so.1)" "$new/lib/loader/libvulkan.so.1" # for hosts with glibc >= 2.38 and no loader

for program in glslangValidator spirv-val spirv-dis; do
  if [ -n "$cross" ]; then
    printf '#!/bin/sh\nexec "%s/.deps/vulkan/bin/%s" "$@"\n' "$root" "$program" >"$new/bin/$program"
    chmod +x "$new/bin/$program"
    continue
  fi
  if [ ${#runtime[@]} = 0 ]; then
    cp -L "$usr/bin/$program" "$new/bin/$program"
    continue
  fi
  # The suite's programs need a newer glibc than this system's: they get their own dynamic loader and libraries.
  mkdir -p "$new/libexec/rt"
  for lib in libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1; do
    cp -L "$(find "$work/x" -name "$lib" | head -1)" "$new/libexec/rt/$lib"
  done
  cp -L "$(find "$work/x" -name 'ld-linux-*.so.?' | head -1)" "$new/libexec/rt/ld.so"
  cp -L "$usr/bin/$program" "$new/libexec/$program"
  cat >"$new/bin/$program" <<'EOF'
#!/bin/sh
d=$(dirname "$(readlink -f "$0")")/../libexec
exec "$d/rt/ld.so" --library-path "$d/rt" "$d/$(basename "$0")" "$@"
EOF
  chmod +x "$new/bin/$program"
done

# Debian's archive is position-independent but built with SPIRV-Tools and a newer glibc. The one object that calls
# SPIRV-Tools goes out (the optimizer is never switched on), stubs and a few C library names come in.
repack() {
  local a=$work/repack
  mkdir -p "$a"
  cp "$libs/libglslang.a" "$libs/libglslang-default-resource-limits.a" "$new/lib/"
  (cd "$a" && "${cross}ar" x "$libs/libglslang.a" GlslangToSpv.cpp.o)
  "${cross}nm" -u "$a/GlslangToSpv.cpp.o" | awk '$2 ~ /SpirvTools/ {print "void " $2 "(void) { __builtin_trap(); }"}' >"$a/spvtools_stub.c"
  cat >"$a/newer_libs.cpp" <<'EOF'
#include <cstdlib>
#include <iostream>  // a static std::ios_base::Init, which libstdc++ < 13 wants in some object
#define WEAK __attribute__((weak, visibility("hidden")))
#define SHIM(ret, name, params, args)                              \
  extern "C" WEAK ret shim_##name params __asm__("__isoc23_" #name); \
  ret shim_##name params { return std::name args; }
SHIM(long, strtol, (const char* s, char** e, int b), (s, e, b))
SHIM(unsigned long, strtoul, (const char* s, char** e, int b), (s, e, b))
SHIM(long long, strtoll, (const char* s, char** e, int b), (s, e, b))
SHIM(unsigned long long, strtoull, (const char* s, char** e, int b), (s, e, b))
extern "C" WEAK void shim_ios_init() __asm__("_ZSt21ios_base_library_initv");
void shim_ios_init() {}
EOF
  (cd "$a" && "$cxx" -O2 -fPIC -x c -c spvtools_stub.c &&
    "$cxx" -w -std=c++17 -O2 -fPIC -U_GNU_SOURCE -D_DEFAULT_SOURCE -c newer_libs.cpp &&
    "${cross}ar" d "$new/lib/libglslang.a" SpvTools.cpp.o &&
    "${cross}ar" rs "$new/lib/libglslang.a" spvtools_stub.o newer_libs.o 2>/dev/null)
}

from_source() { # 1 to 3 minutes on 2 cores
  local s=$1
  command -v cmake >/dev/null && command -v ninja >/dev/null || die "building glslang needs cmake and ninja on PATH"
  apt_root "$work/apt-src" "src:$s"
  mkdir -p "$work/src/tree"
  (cd "$work/src" && APT_CONFIG=$work/apt-src/apt.conf apt-get -qq source --download-only glslang &&
    tar xf glslang_*.orig.tar.* -C tree --strip-components=1)
  cmake -S "$work/src/tree" -B "$work/src/b" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_PREFIX="$work/src/i" -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DENABLE_OPT=OFF \
    -DENABLE_HLSL=OFF -DGLSLANG_TESTS=OFF -DBUILD_EXTERNAL=OFF >"$work/log"
  { cmake --build "$work/src/b" && cmake --install "$work/src/b" --strip; } >>"$work/log" || {
    tail -20 "$work/log"
    return 1
  }
  rm -rf "$new/include/glslang" "$new/bin/glslangValidator"
  cp -r "$work/src/i/include/glslang" "$new/include/"
  cp "$work"/src/i/lib/libglslang.a "$work"/src/i/lib/libglslang-default-resource-limits.a "$new/lib/"
  cp -L "$work/src/i/bin/glslangValidator" "$new/bin/"
  echo "glslang $(sed -nE 's/^Version: //p' "$work"/src/*.dsc) (built from source)" >>"$work/x.versions"
}

cat >"$new/lib/cmake/glslang/glslang-config.cmake" <<'EOF'
# Written by tools/deps.sh.
get_filename_component(_p "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET glslang::glslang)
  find_package(Threads REQUIRED)
  add_library(glslang::glslang STATIC IMPORTED)
  set_target_properties(glslang::glslang PROPERTIES IMPORTED_LOCATION "${_p}/lib/libglslang.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_p}/include" INTERFACE_LINK_LIBRARIES Threads::Threads)
  add_library(glslang::glslang-default-resource-limits STATIC IMPORTED)
  set_target_properties(glslang::glslang-default-resource-limits PROPERTIES
    IMPORTED_LOCATION "${_p}/lib/libglslang-default-resource-limits.a" INTERFACE_LINK_LIBRARIES glslang::glslang)
  add_executable(glslang::glslangValidator IMPORTED)
  set_target_properties(glslang::glslangValidator PROPERTIES IMPORTED_LOCATION "${_p}/bin/glslangValidator")
endif()
EOF
cat >"$work/t.cpp" <<'EOF'
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <cstdio>
#include <vector>
static size_t words(const char* source) {
  glslang::TShader s(EShLangCompute);
  s.setStrings(&source, 1);
  s.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  s.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_3);
  s.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_6);
  auto m = EShMessages(EShMsgSpvRules | EShMsgVulkanRules);
  if (!s.parse(GetDefaultResources(), 450, false, m)) return 0;
  glslang::TProgram p;
  p.addShader(&s);
  if (!p.link(m)) return 0;
  std::vector<unsigned> v;
  glslang::SpvOptions o;
  o.disableOptimizer = true;
  glslang::GlslangToSpv(*p.getIntermediate(EShLangCompute), v, &o);
  return v.size();
}
#define HEAD "#version 450\n#extension "
#define BODY " : require\nlayout(local_size_x=0x20) in; layout(set=0,binding=0) buffer B { float b[]; }; void main() "
int main() {
  glslang::InitializeProcess();
  size_t a = words(HEAD "GL_KHR_cooperative_matrix" BODY "{ b[gl_GlobalInvocationID.x] *= 2.5e0; }");
  size_t b = words(HEAD "GL_EXT_bfloat16" BODY "{ b[0] = float(bfloat16_t(b[0])); }");
  size_t c = words("#version 450\nlayout(local_size_x=32) in; void main() { x = 1; }");
  glslang::FinalizeProcess();
  std::printf("bfloat16 %s\n", b ? "yes" : "no");
  return a > 20 && c == 0 ? 0 : 1;
}
EOF
try() { # links and runs as a program, and links into a shared library
  local link=(-L"$new/lib" -lglslang-default-resource-limits -lglslang -lpthread)
  "$cxx" -std=c++20 -O1 -I"$new/include" "$work/t.cpp" -o "$work/t" "${link[@]}" &&
    "$cxx" -std=c++20 -shared -fPIC -I"$new/include" "$work/t.cpp" -o "$work/t.so" -Wl,-z,defs "${link[@]}" &&
    $run "$work/t" >"$work/t.out"
}
if [ "${DEPS_FROM_SOURCE:-0}" = 1 ]; then
  from_source "$suite"
  try || die "glslang built from source does not run here"
elif ! { repack && try; }; then
  [ -z "$cross" ] || die "the static library of $suite for $arch does not link here; DEPS_SUITE names another suite"
  say "the static library of $suite does not link here: building trixie's source (no bfloat16)"
  from_source trixie
  try || die "glslang built from source does not run here"
fi
"$new/bin/glslangValidator" --version >/dev/null || die "glslangValidator does not run here"
{
  grep -Ev '^(libc6|libstdc\+\+6|libgcc-s1) ' "$work/x.versions" | sort
  cat "$work/t.out"
} >"$new/VERSIONS"
rm -rf "$prefix"
mv "$new" "$prefix"
say "done: $prefix ($(du -sh "$prefix" | cut -f1)), $(grep glslang-dev "$prefix/VERSIONS"), $(cat "$work/t.out")"
