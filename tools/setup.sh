#!/usr/bin/env bash
# tools/setup.sh: everything from a fresh checkout to an installed package in .venv. Run it again at any time: what is
# up to date is left alone.
#   1. system packages that are missing (compiler, Python headers, venv), with apt, as root or through sudo
#   2. .deps/vulkan, the Vulkan build dependencies (tools/deps.sh)
#   3. .venv with the requirements of pyproject.toml
#   4. the package, built and installed into .venv
# A download mostly waits, and a compiler never does: what the build does not need is installed while it runs.
#   PYTHON=python3.12     another Python
#   SETUP_APT=0           install no system packages
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$root"
export PIP_DISABLE_PIP_VERSION_CHECK=1

# ---- Python and disk
python=${PYTHON:-python3}
command -v "$python" >/dev/null || die "no $python; install Python >= 3.10 or name one with PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  die "$("$python" --version 2>&1) is too old, Python >= 3.10 is needed; name another one with PYTHON=..."
need_space "$root" 1500

# ---- 1. system packages
compiler_ok() {
  local cxx=${CXX:-g++} major
  command -v "$cxx" >/dev/null || return 1
  major=$("$cxx" -dumpversion | cut -d. -f1)
  case $("$cxx" --version | head -1) in
    *clang*) [ "$major" -ge 15 ] ;;
    *) [ "$major" -ge 12 ] ;;
  esac
}
missing=()
if ! compiler_ok; then
  [ -z "${CXX:-}" ] || die "CXX=$CXX is not there or too old; GCC >= 12 or Clang >= 15 is needed"
  missing+=(g++)
fi
header=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"] + "/Python.h")')
version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
[ -e "$header" ] || missing+=("$version-dev")
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("$version-venv")
command -v ar >/dev/null || missing+=(binutils)
if [ ! -e .deps/vulkan/VERSIONS ] && command -v apt-get >/dev/null &&
  [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then missing+=(debian-archive-keyring); fi
if [ ${#missing[@]} -gt 0 ]; then
  [ "${SETUP_APT:-1}" = 1 ] && command -v apt-get >/dev/null || die "missing: ${missing[*]}; install them and run again"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "missing: ${missing[*]}; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  log=$(mktemp)
  { "${as_root[@]}" apt-get -qq update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || {
    die "apt-get could not install ${missing[*]}: $(apt_reason "$log"); install them by hand"
  }
  rm -f "$log"
  compiler_ok || die "no C++ compiler: GCC >= 12 or Clang >= 15 is needed; name one with CXX=..."
fi

# ---- 2. Vulkan build dependencies
mkdir -p build
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT # what still runs beside it
deps=
if [ ! -e .deps/vulkan/VERSIONS ]; then
  if ! command -v dpkg >/dev/null || [ -z "$(debian_mirror)" ]; then
    say "no Debian mirror here: CMake fetches the pinned sources instead"
  else
    say "fetching .deps/vulkan (log: build/deps.log)"
    tools/deps.sh >build/deps.log 2>&1 &
    deps=$!
  fi
fi

# ---- 3. the virtual environment
requirements() { # requirements build | others
  .venv/bin/python - "$1" <<'EOF'
import sys
try:
    import tomllib
except ModuleNotFoundError:
    from pip._vendor import tomli as tomllib
with open("pyproject.toml", "rb") as file:
    data = tomllib.load(file)
names = [*data["build-system"]["requires"], *data["project"]["dependencies"], "ninja", "cmake>=3.25"]
if sys.argv[1] == "others":
    extras = data["project"]["optional-dependencies"]
    names += [name for extra in ("test", "docs", "lint", "examples", "wheel") for name in extras[extra]]
print(*names, sep="\n")
EOF
}
install() { # install build | others
  requirements "$1" >"build/requirements-$1.txt"
  # Python compiles a module when it is first imported: most never are.
  .venv/bin/pip install --no-compile --no-warn-conflicts -r "build/requirements-$1.txt" >"build/pip-$1.log" 2>&1
}
offline_or_log() { # the one line after a failed pip
  if grep -qiE 'no space left' "$1"; then die "disk full while $2; free some space"; fi
  if grep -qiE 'name resolution|name or service|connection|timed out|unreachable|no matching distribution' "$1"; then
    die "offline, or the package index lacks something, while $2; connect or set PIP_FIND_LINKS to a folder of wheels"
  fi
  die "$2 failed: $(grep -E '^ERROR' "$1" | head -1); the log is $1"
}
if [ -x .venv/bin/python ] && ! .venv/bin/python -c "import sys; sys.exit(not '$("$python" -c 'import sys; print(sys.version.split()[0])')' == sys.version.split()[0])"; then
  say "another Python: making .venv anew"
  rm -rf .venv
fi
if [ ! -x .venv/bin/pip ]; then
  rm -rf .venv
  "$python" -m venv .venv || die "python -m venv failed; apt-get install $version-venv"
  # The pip of an older Python takes twice as long to read an index.
  .venv/bin/pip install --retries 0 --upgrade pip >build/pip-upgrade.log 2>&1 ||
    say "pip was not upgraded (log: build/pip-upgrade.log)"
fi
wanted=$(sha256sum pyproject.toml tools/setup.sh | sha256sum | cut -c1-32)
others=
if [ "$(cat .venv/requirements.stamp 2>/dev/null)" != "$wanted" ]; then
  say "installing requirements"
  install build || offline_or_log build/pip-build.log "installing build requirements"
  install others &
  others=$!
fi
[ -z "$deps" ] || wait "$deps" || die "$(tail -1 build/deps.log | sed 's/^deps: //')"

# ---- 4. the package
# The tested module is that of the wheels, where this system can link it: with GCC, and a glibc before 2.38.
portable=()
glibc=$(ldd --version 2>/dev/null | sed -nE '1s/.*(GLIBC|GNU libc).* ([0-9]+\.[0-9]+)$/\2/p')
if [ "$(uname -m)" = x86_64 ] && [ -n "$glibc" ] && [ "$(printf '2.38\n%s\n' "$glibc" | sort -V | head -1)" != 2.38 ] &&
  [ -e "$("${CXX:-g++}" -print-file-name=libstdc++.a)" ] && ! "${CXX:-g++}" --version | grep -q clang; then
  portable=(-C cmake.define.SPIROGRAD_GLIBC=2.28)
fi
compiler="${CXX:-g++} $("${CXX:-g++}" -dumpfullversion -dumpversion)"
was=$(cat build/compiler 2>/dev/null || true)
if [ "$was" != "$compiler" ]; then
  [ -z "$was" ] || rm -rf build/cp*-cp* # a build folder belongs to one compiler
  echo "$compiler" >build/compiler
fi
stamp=$(hash_of cpp shaders python CMakeLists.txt pyproject.toml LICENSE licenses .deps/vulkan/VERSIONS build/compiler)
if [ "$(cat .venv/package.stamp 2>/dev/null)" != "$stamp" ]; then
  say "building (log: build/build.log)"
  rm -f .venv/package.stamp
  PATH=$root/.venv/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} \
    .venv/bin/pip install --no-build-isolation --no-deps --force-reinstall "${portable[@]}" -v . >build/build.log 2>&1 || {
    grep -E 'error|Error' build/build.log | head -20 >&2
    # What CMake found missing may be there next time.
    if grep -q 'CMake configuration failed' build/build.log; then rm -f build/cp*-cp*/CMakeCache.txt; fi
    if grep -qiE 'no space left' build/build.log; then die "disk full while building; free some space"; fi
    die "the build failed; the log is build/build.log"
  }
  echo "$stamp" >.venv/package.stamp
fi
if [ -n "$others" ]; then
  wait "$others" || offline_or_log build/pip-others.log "installing test requirements"
  echo "$wanted" >.venv/requirements.stamp
fi
ready=$(.venv/bin/python -c 'import spirograd; print("spirograd", spirograd.__version__)' 2>&1) ||
  die "the package is built and cannot be imported: $(tail -1 <<<"$ready")"
say "ready: $(tail -1 <<<"$ready") in .venv"
