#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The C++ core compiles and links without GLib: each source with no include path but libdrm's, then all of them
# into a library with no undefined symbol left but those of the C and C++ libraries. TAP.
# Usage: core-without-glib.sh CORE_DIR COMPILER...
set -uo pipefail
core=$1
shift
compiler=("$@")

# ccache may write other paths (base_dir) into the lists of headers that are read here
export CCACHE_DISABLE=1

flags=$(pkg-config --cflags libdrm) || { echo '1..0 # SKIP no pkg-config for libdrm'; exit 77; }
read -ra flags <<<"$flags"
source "$(dirname "$(readlink -f "$0")")/../support/tap.sh"

compile() {
  "${compiler[@]}" -std=c++20 -D_GNU_SOURCE -fPIC -Wall -Wextra -Werror "${flags[@]}" -MD -MF "$work/$1.d" \
    -c "$core/$1.cpp" -o "$work/$1.o"
}

no_glib_header() {
  ! cat "$work"/*.d | tr -s ' \\' '\n' | grep -vF -- "$core/" | grep -E '/(glib|gio|gobject|gstreamer|gst)[-/.0-9]'
}

link_all() {
  "${compiler[@]}" -shared -Wl,--no-undefined -o "$work/core.so" "$work"/*.o
}

no_glib_symbol() {
  ! nm -D --undefined-only "$work/core.so" | grep -E ' _?(g|gst)_[a-z]'
}

needs_no_glib() {
  ! readelf -d "$work/core.so" | grep -E 'NEEDED.*(glib|gobject|gst|drm)'
}

for source in "$core"/*.cpp; do
  name=$(basename "$source" .cpp)
  check "$name compiles" compile "$name"
done
check 'no header of GLib or GStreamer was read' no_glib_header
check 'all of it links' link_all
check 'no symbol of GLib or GStreamer is undefined' no_glib_symbol
check 'no library of GLib, GStreamer or libdrm is needed' needs_no_glib
echo "1..$count"
exit "$failed"
