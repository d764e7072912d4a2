#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which headers each part of the tree may include. One TAP case per file.

A room of the tree that reaches out of its row fails here, before anybody has to notice it in a review.
Usage: includes.py SOURCE_ROOT
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)

GLIB = r'(glib|gio|gobject|gmodule)(/|\.h|-)|glib\.h'
GST = r'gst/'
DEVICE = r'(xf86drm|gbm|EGL/|GLES|va/|axruntime)'
DRM_HEADERS = r'drm_fourcc\.h'

# path pattern, what it must not include, what it may all the same
ROOMS = [
    (r'gst-libs/gst/drm/core/.*', rf'{GLIB}|{GST}|gstdrm|{DEVICE}|libdrm/|\.\./', r'$^'),
    (r'gst-libs/gst/drm/alloc/.*', rf'{GLIB}|{GST}|gstdrm', r'$^'),
    (r'gst-libs/gst/drm/[^/]*\.h', rf'core/|alloc/|{DEVICE}|.*\.hpp$', DRM_HEADERS),
    (r'gst-libs/gst/drm/gstdrm[^/]*\.cpp', rf'{DEVICE}', DRM_HEADERS),
    (r'gst/[^/]+/gst[^/]*\.(cpp|hpp|h)', rf'{DEVICE}|sys/ioctl\.h', DRM_HEADERS),
    # engines: device work, nothing of elements
    (r'gst/[^/]+/(?!gst|plugin)[^/]*\.(cpp|hpp)', r'gst/(gst|base/|video/gstvideosink|gstelement|gstpad)', r'$^'),
    # elements and engines of one plugin do not know those of another
    (r'gst/[^/]+/.*', r'\.\./|gst/(dmabuf|kms|va|egl|metis|ipc)/', r'$^'),
]


def violations(path, text):
    for pattern, forbidden, allowed in ROOMS:
        if not re.fullmatch(pattern, path):
            continue
        for header in INCLUDE.findall(text):
            if re.match(forbidden, header) and not re.match(allowed, header):
                yield header


# (path, header, may it): the rules themselves, so that a rule that matches nothing is noticed
SAMPLES = [
    ('gst-libs/gst/drm/core/format.cpp', 'drm_fourcc.h', True),
    ('gst-libs/gst/drm/core/format.cpp', 'format.hpp', True),
    ('gst-libs/gst/drm/core/format.cpp', 'linux/sync_file.h', True),
    ('gst-libs/gst/drm/core/format.cpp', 'glib.h', False),
    ('gst-libs/gst/drm/core/format.cpp', 'gst/gst.h', False),
    ('gst-libs/gst/drm/core/format.cpp', 'gstdrm-private.hpp', False),
    ('gst-libs/gst/drm/core/format.cpp', 'xf86drm.h', False),
    ('gst-libs/gst/drm/alloc/gbm.cpp', 'gbm.h', True),
    ('gst-libs/gst/drm/alloc/gbm.cpp', 'gst/gst.h', False),
    ('gst-libs/gst/drm/gstdrmformat.h', 'gst/video/video.h', True),
    ('gst-libs/gst/drm/gstdrmformat.h', 'core/format.hpp', False),
    ('gst-libs/gst/drm/gstdrmformat.h', 'xf86drm.h', False),
    ('gst-libs/gst/drm/gstdrmformat.cpp', 'core/format.hpp', True),
    ('gst-libs/gst/drm/gstdrmformat.cpp', 'xf86drmMode.h', False),
    ('gst/kms/gstkmsdmabufsink.cpp', 'gst/video/gstvideosink.h', True),
    ('gst/kms/gstkmsdmabufsink.cpp', 'xf86drmMode.h', False),
    ('gst/kms/kms_device.cpp', 'xf86drmMode.h', True),
    ('gst/kms/kms_device.cpp', 'gst/gst.h', False),
    ('gst/kms/kms_device.cpp', '../dmabuf/uploader.hpp', False),
    ('gst/kms/plugin.cpp', 'gst/gst.h', True),
]


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(f for top in ('gst-libs', 'gst') for f in (root / top).rglob('*')
                   if f.suffix in ('.c', '.h', '.cpp', '.hpp'))
    failed = not files
    for number, (path, header, may) in enumerate(SAMPLES, 1):
        right = may != bool(list(violations(path, f'#include "{header}"')))
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - rule: {path} {"may" if may else "must not"} include {header}')
    for number, file in enumerate(files, len(SAMPLES) + 1):
        path = file.relative_to(root).as_posix()
        bad = list(violations(path, file.read_text(encoding='utf-8')))
        failed |= bool(bad)
        print(f'{"not ok" if bad else "ok"} {number} - {path}' + (f' must not include {", ".join(bad)}' if bad else ''))
    print(f'1..{len(SAMPLES) + len(files)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
