# Sourced by the other tools: messages, the machine's package mirror, a private apt root.
# Nothing here changes the system: packages are downloaded with apt's signature checks and unpacked with dpkg -x.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tool=$(basename "$0" .sh)
say() { printf '[%s %3ds] %s\n' "$tool" "$SECONDS" "$*"; }
die() {
  echo "$tool: $*" >&2
  exit 1
}

# hash_of PATH... : one hash over names, sizes and times of the files below; fast, for "did anything change?".
hash_of() {
  (cd "$root" && find "$@" -type f -not -name '*.pyc' -printf '%p %s %T@\n' 2>/dev/null | LC_ALL=C sort | sha256sum | cut -c1-32)
}

need_space() { # need_space FOLDER MEGABYTES
  local free
  free=$(df -Pm "$1" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$2" ] || die "disk full: $1 has $free MB free, $2 MB are needed; free some space"
}

# The Debian mirror that this machine's own apt sources name; DEPS_MIRROR overrides.
debian_mirror() {
  if [ -n "${DEPS_MIRROR:-}" ]; then
    echo "$DEPS_MIRROR"
    return
  fi
  cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE 's/^URIs:[[:space:]]*([^ ]+).*/\1/p; s/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^ ]+)[[:space:]].*/\2/p' |
    grep -E '/debian/?$' | head -1 || true
}

# apt_reason LOG: why apt failed, in one line.
apt_reason() {
  if grep -qiE 'temporary failure|could not resolve|could not connect|unreachable|timed out' "$1"; then
    echo "offline"
  elif grep -qi 'no space left' "$1"; then
    echo "disk full"
  else
    grep -E '^[EW]: ' "$1" | head -1 || tail -1 "$1"
  fi
}

# apt_root DIR SUITE...: a private apt root. SUITE 'own' stands for the machine's own sources.
# A suite may be preceded by 'src:' to have its source packages too. DEPS_ARCH=arm64: that architecture's packages.
apt_root() {
  local dir=$1 suite mirror
  shift
  mkdir -p "$dir"/state/lists/partial "$dir"/cache/archives/partial "$dir/parts" "$dir/prefs"
  : >"$dir/state/status"
  for suite in "$@"; do
    if [ "$suite" = own ]; then
      cp /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list "$dir/parts/" 2>/dev/null || true
      [ ! -s /etc/apt/sources.list ] || cp /etc/apt/sources.list "$dir/parts/own.list"
      continue
    fi
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || die "no Debian mirror among this machine's apt sources; set DEPS_MIRROR=URL and install debian-archive-keyring"
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || die "no Debian keys; apt-get install debian-archive-keyring"
    printf 'Types: deb%s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
      "$(case $suite in src:*) echo ' deb-src' ;; esac)" "$mirror" "${suite#src:}" >"$dir/parts/zz-${suite#src:}.sources"
  done
  cat >"$dir/apt.conf" <<EOF
Dir::State "$dir/state"; Dir::State::status "$dir/state/status"; Dir::Cache "$dir/cache";
Dir::Etc::SourceList "/dev/null"; Dir::Etc::SourceParts "$dir/parts";
Dir::Etc::Preferences "/dev/null"; Dir::Etc::PreferencesParts "$dir/prefs";
APT::Sandbox::User "root"; APT::Architecture "${DEPS_ARCH:-$(dpkg --print-architecture)}"; APT::Install-Recommends "false";
Acquire::Languages "none"; Acquire::Retries "3"; Acquire::http::Timeout "30"; Acquire::https::Timeout "30";
Binary::apt-get::APT::Keep-Downloaded-Packages "true"; APT::Keep-Downloaded-Packages "true";
DPkg::Post-Invoke {}; APT::Update::Post-Invoke {}; APT::Update::Error-Mode "any";
EOF
  APT_CONFIG=$dir/apt.conf apt-get -qq update >"$dir/log" 2>&1 || die "the package index of '$*' could not be read: $(apt_reason "$dir/log"); mend that and run again"
}

# apt_unpack DIR OUT PACKAGE...: these packages alone, unpacked into OUT, their versions appended to OUT.versions.
apt_unpack() {
  local dir=$1 out=$2 deb
  shift 2
  mkdir -p "$out" "$dir/debs"
  rm -f "$dir"/debs/*.deb
  (cd "$dir/debs" && APT_CONFIG=$dir/apt.conf apt-get -qq download "$@") >"$dir/log" 2>&1 || die "download failed: $(apt_reason "$dir/log"); mend that and run again"
  for deb in "$dir"/debs/*.deb; do
    dpkg -x "$deb" "$out"
    dpkg-deb -W --showformat '${Package} ${Version}\n' "$deb" >>"$out.versions"
  done
}

# apt_closure DIR OUT [APT-OPTION...] PACKAGE...: the packages and all they need (from nothing), unpacked into OUT.
apt_closure() {
  local dir=$1 out=$2 deb
  shift 2
  mkdir -p "$out"
  APT_CONFIG=$dir/apt.conf apt-get -y -qq --download-only install "$@" >"$dir/log" 2>&1 || die "download failed: $(apt_reason "$dir/log"); mend that and run again"
  for deb in "$dir"/cache/archives/*.deb; do
    dpkg -x "$deb" "$out"
    dpkg-deb -W --showformat '${Package} ${Version}\n' "$deb" >>"$out.versions"
  done
}
