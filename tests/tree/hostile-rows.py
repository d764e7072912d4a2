#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every public function has a row in tests/check/libs/hostile*.cpp. One TAP case per function.

Usage: hostile-rows.py SOURCE_ROOT
"""

import pathlib
import re
import sys

PUBLIC = re.compile(r'^GST_DRM_API\s+(?!G_DECLARE)[^;(]*?(\w+)\s*\(', re.M)
# what GObject makes by itself
BY_GOBJECT = {'gst_drm_allocator_get_type', 'gst_drm_buffer_pool_get_type'}


def main():
    root = pathlib.Path(sys.argv[1])
    names = {name for header in (root / 'gst-libs/gst/drm').glob('*.h')
             for name in PUBLIC.findall(header.read_text(encoding='utf-8'))} - BY_GOBJECT
    rows = {name for source in (root / 'tests/check/libs').glob('hostile*.cpp')
            for name in re.findall(r'^    \{"(gst_\w+)",', source.read_text(encoding='utf-8'), re.M)}
    for number, name in enumerate(sorted(names | rows), 1):
        why = '' if name in names & rows else ' has no row' if name in names else ' is no public function'
        print(f'{"not ok" if why else "ok"} {number} - {name}{why}')
    print(f'1..{len(names | rows)}')
    return 0 if names == rows and len(names) > 70 else 1


if __name__ == '__main__':
    sys.exit(main())
