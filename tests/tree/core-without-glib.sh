#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The C++ core reads no header of GLib, GStreamer or libdrm's programs, and links without them. TAP.
# Usage: core-without-glib.sh CORE_DIR ARCHIVE COMPILER...
set -uo pipefail
core=$1 archive=$2
shift 2
compiler=("$@")

flags=$(pkg-config --cflags libdrm) || { echo '1..0 # SKIP no pkg-config for libdrm'; exit 77; }
read -ra flags <<<"$flags"
source "$(dirname "$(readlink -f "$0")")/../support/tap.sh"

# with no include path but libdrm's
no_glib_header() {
  "${compiler[@]}" -std=c++20 -D_GNU_SOURCE "${flags[@]}" -M "$core"/*.cpp >"$work/headers" || return
  ! tr -s ' \\' '\n' <"$work/headers" | grep -vF -- "$core/" | grep -E '/(glib|gio|gobject|gstreamer|gst)[-/.0-9]'
}

links_alone() {
  "${compiler[@]}" -shared -Wl,--no-undefined -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -o "$work/core.so" &&
    ! nm -D --undefined-only "$work/core.so" | grep -E ' _?(g|gst)_[a-z]' &&
    ! readelf -d "$work/core.so" | grep -E 'NEEDED.*(glib|gobject|gst|drm)'
}

check 'no header of GLib or GStreamer was read' no_glib_header
check 'it links with the C and C++ libraries alone' links_alone
echo "1..$count"
exit "$failed"
