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


ROW = re.compile(r'^    \{"(gst_\w+)",', re.M)


def compared(headers, sources):
    """(name, what is wrong with it) of each function and each row."""
    names = {name for text in headers for name in PUBLIC.findall(text)} - BY_GOBJECT
    rows = {name for text in sources for name in ROW.findall(text)}
    for name in sorted(names | rows):
        yield name, '' if name in names & rows else ' has no row' if name in names else ' is no public function'


# (header, source, the names that are wrong)
SAMPLES = [
    ('GST_DRM_API\ngint gst_a(gint b);\n', '    {"gst_a", f},\n', []),
    ('GST_DRM_API\ngint gst_a(gint b);\n', '', ['gst_a']),
    ('', '    {"gst_a", f},\n', ['gst_a']),
    ('GST_DRM_API\nG_DECLARE_FINAL_TYPE(A, a, B, C, D)\n', '', []),
    ('GST_DRM_API\nconst gchar *\ngst_a(void);\ngint gst_b(void);\n', '', ['gst_a']),
]


def main():
    root = pathlib.Path(sys.argv[1])
    failed = False
    for number, (header, source, wrong) in enumerate(SAMPLES, 1):
        right = [name for name, why in compared([header], [source]) if why] == wrong
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - sample: {header!r} and {source!r}')
    cases = list(compared([f.read_text(encoding='utf-8') for f in (root / 'gst-libs/gst/drm').glob('*.h')],
                          [f.read_text(encoding='utf-8') for f in (root / 'tests/check/libs').glob('hostile*.cpp')]))
    for number, (name, why) in enumerate(cases, len(SAMPLES) + 1):
        failed |= bool(why)
        print(f'{"not ok" if why else "ok"} {number} - {name}{why}')
    print(f'1..{len(SAMPLES) + len(cases)}')
    return 1 if failed or len(cases) <= 70 else 0


if __name__ == '__main__':
    sys.exit(main())
