#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: box-registry.sh FILE COMMAND...
# Fills GStreamer's registry FILE by COMMAND. Where the box has not been built (status 77), an empty file.
set -eu
mkdir -p "$(dirname "$1")"
export GST_REGISTRY_1_0="$(readlink -f "$(dirname "$1")")/$(basename "$1")"
rm -f "$1"
shift
status=0
"$@" || status=$?
[ "$status" = 77 ] || exit "$status"
: >"$GST_REGISTRY_1_0"
