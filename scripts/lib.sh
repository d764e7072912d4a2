# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Helpers that the scripts share. Sourced, never run:  source "$(dirname "$0")/lib.sh"

this_script=$(readlink -f -- "$0")
source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cache_dir=${GST_DRM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gst-drm}
# Debian's own programs before anything a user has put in front of them (pyenv, /usr/local wrappers
# of other projects): the Python bindings of GStreamer belong to /usr/bin/python3.
sane_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# show_help: the comment at the head of the script that sources this, "usage:" lines included.
show_help() {
  sed -n '/^#!/d; /SPDX-License/d; /^[^#]/q; s/^# \{0,1\}//p' "$this_script"
}

# help_wanted ARGUMENT: shows the help and ends the script where its first argument asks for it.
help_wanted() {
  [[ ${1:-} != --help && ${1:-} != -h ]] || { show_help; exit 0; }
}

# say TEXT: progress, on stderr, with the seconds since the script began.
say() {
  printf '%s: [%4ds] %s\n' "${0##*/}" "$SECONDS" "$*" >&2
}

# die TEXT [STATUS]
die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-1}"
}

need_root() {
  [[ $(id -u) == 0 ]] || die "$1 needs root: run it with sudo"
}

need_tools() {
  local tool missing=()
  for tool in "$@"; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [[ ${#missing[@]} == 0 ]] || die "missing ${missing[*]}: run ./run setup first"
}

# need_disk DIR MEGABYTES PURPOSE
need_disk() {
  local free
  free=$(($(df -Pk -- "$1" | awk 'NR == 2 { print $4 }') / 1024))
  ((free >= $2)) ||
    die "$3 needs $2 MB in $1, which has $free MB left: free some, or set GST_DRM_CACHE to a larger disk"
}

# lock FILE WHAT: held until the script ends; says so when it has to wait.
lock() {
  local fd
  mkdir -p -- "$(dirname -- "$1")"
  exec {fd}>>"$1"
  flock -n "$fd" && return
  say "waiting for another process that is $2"
  flock "$fd"
}

# logged LOG WHAT COMMAND...: runs a long command quietly, with a sign of life each half minute; its
# output is shown only when it fails.
logged() {
  local log=$1 what=$2 pid status=0 next=$((SECONDS + 30))
  shift 2
  say "$what"
  "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.3
    ((SECONDS < next)) || { say "$what (still at it)"; next=$((SECONDS + 30)); }
  done
  wait "$pid" || status=$?
  [[ $status == 0 ]] && return
  tail -n 30 -- "$log" >&2
  say "failed with status $status: $what"
  return "$status"
}

# The first Debian mirror that this machine's apt uses. Printed, never stored.
debian_mirror() {
  local mirror
  mirror=$(apt-get indextargets --no-release-info --format '$(REPO_URI) $(COMPONENT) $(CREATED_BY)' |
    awk '$1 ~ /\/debian\/?$/ && $2 == "main" && $3 == "Packages" { print $1; exit }')
  [[ $mirror ]] || die "apt on this machine knows no Debian mirror: add one to /etc/apt/sources.list.d"
  printf '%s\n' "$mirror"
}

debian_keyring() {
  local file
  for file in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
    [[ -r $file ]] && { printf '%s\n' "$file"; return; }
  done
  die "no Debian key ring: install the package debian-archive-keyring"
}

# The name of the world that this process sees as /.
current_world() {
  if [[ -r /etc/gst-drm-world ]]; then cat /etc/gst-drm-world; else echo debian12; fi
}

# packages WORLD [SECTION]...: the names of scripts/packages.txt for a world; every section but fuzz when none
# is named: only ./run fuzz needs that one.
packages() {
  local world=$1
  shift
  awk -v world="$world" -v sections=" $* " '
    /^#/ || NF == 0 { next }
    /^\[/ { gsub(/[][]/, ""); wanted = sections ~ /^ *$/ ? $1 != "fuzz" : index(sections, " " $1 " "); next }
    !wanted { next }
    index($1, ":") { split($1, part, ":"); if (part[1] == world) print part[2]; next }
    { print $1 }' "$source_dir/scripts/packages.txt"
}
