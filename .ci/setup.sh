# Sourced by tests/run, examples/run and bench/run: packages, jobs, builds.

here() { cd "$(dirname "${BASH_SOURCE[1]}")/.." && pwd; }

say() { printf '\033[1m== %s\033[0m\n' "$*"; }

# The given Debian packages that are not installed.
missing_packages() {
  local p
  for p in "$@"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" == installed ]] || printf '%s ' "$p"
  done
}

# Installs Debian packages if we may: as root, or with a sudo that does not ask. Prints nothing on success.
install_packages() {
  local sudo=() log
  if [[ $EUID -ne 0 ]]; then
    sudo -n true 2>/dev/null || return 1
    sudo=(sudo -n)
  fi
  log=$(mktemp)
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  if ! "${apt[@]}" install -y "$@" >"$log" 2>&1 && ! { "${apt[@]}" update && "${apt[@]}" install -y "$@"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# Makes sure of Debian packages, or says what to do and ends.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    command -v meson >/dev/null && return  # not Debian: Meson will say what it does not find
    echo "Please install what these Debian packages contain: $*" >&2
    exit 1
  fi
  local missing
  missing=$(missing_packages "$@")
  [[ -z $missing ]] && return
  say "installing $missing"
  # shellcheck disable=SC2086
  install_packages $missing && return
  echo "Please install what is missing and run this again:" >&2
  echo "    sudo apt-get install -y $missing" >&2
  exit 1
}

# The same for packages that we can do without: says what is left out and goes on.
want_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing
  missing=$(missing_packages "$@")
  [[ -z $missing ]] && return
  say "installing $missing"
  # shellcheck disable=SC2086
  install_packages $missing || echo "left out: $missing (sudo apt-get install -y $missing)"
}

# Compilers at a time: one per core, and 6 GiB of memory for each.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ {print int($2 / 6291456)}' /proc/meminfo)
  ((memory < 1)) && memory=1
  echo $((cores < memory ? cores : memory))
}

# configure FOLDER OPTION...: sets up or re-configures a build folder; the output shows only on failure.
configure() {
  local folder=$1 log
  shift
  log=$(mktemp)
  if [[ -f $folder/build.ninja ]]; then
    meson configure "$folder" "$@" >"$log" 2>&1 && rm -f "$log" && return
    rm -rf "$folder"
  fi
  if ! meson setup "$folder" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# use_ccache: compilers called as "$cached COMPILER" take what they compiled before, in any folder, from ccache where it is installed.
use_ccache() {
  cached=
  command -v ccache >/dev/null || return 0
  cached=ccache
  mkdir -p build
  # What -march=native stands for, which ccache does not ask.
  grep -m 1 -E '^(flags|Features)' /proc/cpuinfo >build/processor
  export CCACHE_BASEDIR=$PWD CCACHE_EXTRAFILES=$PWD/build/processor CCACHE_MAXSIZE=4G
  # A precompiled header is known by the text that it was made of (tests/meson.build), as its bytes differ each time.
  export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=true
  export CCACHE_NOHASHDIR=true  # the folder in debugging information may be another
  export CCACHE_DEPEND=true  # GCC 12 crashes where it preprocesses with -fpch-deps
}
