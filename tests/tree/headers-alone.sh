#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each public header compiles alone, as C11 and as C++17, without a warning. TAP.
# Usage: headers-alone.sh INCLUDE_DIR C_COMPILER CXX_COMPILER
set -uo pipefail
include=$1 cc=$2 cxx=$3

flags=$(pkg-config --cflags gstreamer-1.0 gstreamer-video-1.0 gstreamer-allocators-1.0) ||
  { echo '1..0 # SKIP no pkg-config for GStreamer'; exit 77; }
read -ra flags <<<"${flags//-I/-isystem }"
warnings=(-Wall -Wextra -Wpedantic -Werror)

number=0 failed=0
for header in "$include"/gst/drm/*.h; do
  name=$(basename "$header")
  [[ $name != *-private.h ]] || continue
  for language in c11 c++17; do
    number=$((number + 1))
    compiler=$cc kind=c
    [[ $language == c11 ]] || compiler=$cxx kind=c++
    # twice, for the include guard
    if log=$(printf '#include <gst/drm/%s>\n#include <gst/drm/%s>\nint main(void) { return 0; }\n' "$name" "$name" |
      $compiler -std="$language" -x "$kind" "${warnings[@]}" -I "$include" "${flags[@]}" -fsyntax-only - 2>&1); then
      echo "ok $number - $name as $language"
    else
      echo "not ok $number - $name as $language"
      sed 's/^/# /' <<<"$log"
      failed=1
    fi
  done
done
echo "1..$number"
exit "$failed"
