# Sourced by the scripts beside it: what they say, how long each step took, missing packages.

started_at=$SECONDS
step_name=""

say() { printf '%s: %s\n' "${0##*/}" "$*"; }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# step NAME COMMAND...: says what begins, runs it, says how long it took.
step() {
  step_name=$1
  shift
  say "$step_name ..."
  local began=$SECONDS
  "$@" || fail "$step_name failed ($((SECONDS - began)) s)"
  say "$step_name: done in $((SECONDS - began)) s"
}

total() { say "all of it took $((SECONDS - started_at)) s"; }

# packages_of SECTION...: names from the list.
packages_of() {
  local section line wanted
  while read -r line; do
    case "$line" in
      '' | '#'*) ;;
      *:) section=${line%:} ;;
      *) for wanted in "$@"; do [[ "$section" == "$wanted" ]] && printf '%s\n' "$line"; done ;;
    esac
  done <runtime/scripts/packages
  return 0
}

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" == installed ]]
}

# install_packages SECTION...: nothing where all are there.
install_packages() {
  local name missing=() as_root=()
  if ! command -v dpkg-query >/dev/null; then
    say "not Debian or Ubuntu: taking for granted what runtime/scripts/packages lists"
    return 0
  fi
  for name in $(packages_of "$@"); do is_installed "$name" || missing+=("$name"); done
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "packages: all installed"
    return 0
  fi
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "packages are missing and there is neither root nor sudo:" \
      "have somebody run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  command -v apt-get >/dev/null ||
    fail "packages are missing and there is no apt-get: install ${missing[*]}"
  say "installing with apt-get: ${missing[*]}"
  step "package lists" "${as_root[@]}" apt-get update -qq
  step "packages (about a minute)" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Paths below the checkout are cached as relative ones, so that another checkout finds them.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# Options that every configuration here shares.
configure_options() {
  if command -v ccache >/dev/null; then
    printf '%s\n' -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  if [[ -n "${BERTH_SHARED_DATA:-}" ]]; then
    printf '%s\n' "-DBERTH_SHARED_DATA=$(cd "$BERTH_SHARED_DATA" && pwd)"
  fi
}

# configure PRESET OPTION...
configure() {
  local options=()
  mapfile -t options < <(configure_options)
  cmake --preset "$1" "${options[@]}" "${@:2}" >"build/configure-$1.log" 2>&1 || {
    tail -n 30 "build/configure-$1.log"
    return 1
  }
  grep '^-- Berth:' "build/configure-$1.log" || true
}

jobs_here() { nproc; }
