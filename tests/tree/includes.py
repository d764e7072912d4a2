#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which headers each room of the tree may include, itself or through the headers that it includes. TAP, a case per
rule's sample and per file.

A file that reaches out of its room fails here, before anybody has to notice it in a review.
Usage: includes.py SOURCE_ROOT
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)

GLIB = r'(glib|gio|gobject|gmodule)(/|\.h|-)|glib\.h'
GST = r'gst/'
DEVICE = r'(xf86drm|gbm\.h|EGL/|GLES|va/|axruntime|opencv2/)'
DRM_HEADERS = r'drm_fourcc\.h'
ELEMENTS = r'gst/(gst|base/|video/gstvideosink|gstelement|gstpad)'

# The rooms of gst/kms/engine from the bottom up: each may use those before it.
KMS_ENGINE = ('card', 'output', 'commit', 'display')

# path pattern, what it must not include, what it may all the same
RULES = [
    (r'gst-libs/gst/drm/core/.*', rf'{GLIB}|{GST}|gstdrm|{DEVICE}|libdrm/|\.\./|alloc/', r'$^'),
    (r'gst-libs/gst/drm/alloc/.*', rf'{GLIB}|{GST}|gstdrm', r'$^'),
    (r'gst-libs/gst/drm/[^/]*\.h', rf'core/|alloc/|{DEVICE}|.*\.hpp$', DRM_HEADERS),
    (r'gst-libs/gst/drm/gstdrm[^/]*\.cpp', rf'{DEVICE}', DRM_HEADERS),
    # the element kit: elements of every plugin, so no plugin and no device API
    (r'gst-libs/gst/drm/element/.*', rf'{DEVICE}|sys/ioctl\.h|alloc/|.*/alloc/|engine/|gst/(dmabuf|kms|va|egl|metis|ipc)/',
     DRM_HEADERS),
    # the library is below the kit
    (r'gst-libs/gst/drm/gstdrm[^/]*', r'element/|gst/drm/element/', r'$^'),
    # the GStreamer side of a plugin: no device API
    (r'gst/[^/]+/element/.*', rf'{DEVICE}|sys/ioctl\.h', DRM_HEADERS),
    # engines: device work, nothing of elements
    (r'gst/[^/]+/engine/.*', rf'{ELEMENTS}|element/|gst/drm/element/', r'$^'),
    # elements and engines of one plugin do not know those of another
    (r'gst/[^/]+/.*', r'\.\./|gst/(dmabuf|kms|va|egl|metis|ipc)/', r'$^'),
    # a plugin has files in its rooms only
    (r'gst/[^/]+/[^/]+\.(c|cpp|h|hpp)', r'.*', r'$^'),
] + [
    (rf'gst/kms/engine/{room}/.*', rf'engine/({"|".join(KMS_ENGINE[number + 1:])})/', r'$^')
    for number, room in enumerate(KMS_ENGINE[:-1])
]
# These hold for what a file's headers include as well, and theirs.
TRANSITIVE = (r'gst-libs/gst/drm/core/', r'gst-libs/gst/drm/alloc/', r'gst/[^/]+/engine/')


class Tree:
    """The text of files by path, and where an #include leads."""

    def __init__(self, texts):
        self.texts = texts

    def includes(self, path):
        return INCLUDE.findall(self.texts.get(path, ''))

    def find(self, path, header):
        """The file of the tree that `header` in `path` means, or None: somebody else's."""
        folder = path.rpartition('/')[0]
        plugin = '/'.join(path.split('/')[:2])
        for base in (folder, plugin, 'gst-libs/gst/drm', 'gst-libs', ''):
            found = f'{base}/{header}'.lstrip('/')
            if found in self.texts:
                return found
        return None

    def reached(self, path):
        """(header as written, the files that lead to it), breadth first."""
        queue, seen = [(path, ())], {path}
        while queue:
            file, way = queue.pop(0)
            for header in self.includes(file):
                yield header, way
                found = self.find(file, header)
                if found and found not in seen:
                    seen.add(found)
                    queue.append((found, way + (found,)))


def violations(tree, path, rules=None):
    for pattern, forbidden, allowed in rules or RULES:
        if not re.fullmatch(pattern, path):
            continue
        follows = any(re.match(start, path) for start in TRANSITIVE)
        for header, way in tree.reached(path):
            if way and not follows:
                break
            if way and header.startswith('../'):  # checked where it is written
                continue
            if re.match(forbidden, header) and not re.match(allowed, header):
                yield header + (f' (through {", ".join(way)})' if way else '')


# (path, header, may it, header that stands between): the rules themselves, so that a rule that matches nothing is
# noticed. Of each rule there is at least one planted violation.
SAMPLES = [
    ('gst-libs/gst/drm/core/format.cpp', 'drm_fourcc.h', True, None),
    ('gst-libs/gst/drm/core/format.cpp', 'format.hpp', True, None),
    ('gst-libs/gst/drm/core/format.cpp', 'linux/sync_file.h', True, None),
    ('gst-libs/gst/drm/core/format.cpp', 'glib.h', False, None),
    ('gst-libs/gst/drm/core/format.cpp', 'gst/gst.h', False, None),
    ('gst-libs/gst/drm/core/format.cpp', 'gst/gst.h', False, 'gst-libs/gst/drm/core/planted.hpp'),
    ('gst-libs/gst/drm/core/format.cpp', 'gstdrm-private.hpp', False, None),
    ('gst-libs/gst/drm/core/format.cpp', 'xf86drm.h', False, None),
    ('gst-libs/gst/drm/core/format.cpp', 'alloc/dumb.hpp', False, None),
    ('gst-libs/gst/drm/alloc/gbm.cpp', 'gbm.h', True, None),
    ('gst-libs/gst/drm/alloc/gbm.cpp', 'gst/gst.h', False, None),
    ('gst-libs/gst/drm/alloc/gbm.cpp', 'gst/gst.h', False, 'gst-libs/gst/drm/core/planted.hpp'),
    ('gst-libs/gst/drm/gstdrmformat.h', 'gst/video/video.h', True, None),
    ('gst-libs/gst/drm/gstdrmformat.h', 'core/format.hpp', False, None),
    ('gst-libs/gst/drm/gstdrmformat.h', 'xf86drm.h', False, None),
    ('gst-libs/gst/drm/gstdrmformat.cpp', 'core/format.hpp', True, None),
    ('gst-libs/gst/drm/gstdrmformat.cpp', 'xf86drmMode.h', False, None),
    ('gst-libs/gst/drm/gstdrmformat.cpp', 'gst/drm/element/stats.hpp', False, None),
    ('gst-libs/gst/drm/gstdrmformat.cpp', 'element/stats.hpp', False, None),
    ('gst-libs/gst/drm/element/stats.cpp', 'gst/gst.h', True, None),
    ('gst-libs/gst/drm/element/stats.cpp', 'gst/drm/gstdrmzerocopy.h', True, None),
    ('gst-libs/gst/drm/element/stats.cpp', 'xf86drm.h', False, None),
    ('gst-libs/gst/drm/element/stats.cpp', 'alloc/dumb.hpp', False, None),
    ('gst-libs/gst/drm/element/stats.cpp', 'engine/display/kms_display.hpp', False, None),
    ('gst/kms/element/gstkmsdmabufsink.cpp', 'gst/video/gstvideosink.h', True, None),
    ('gst/kms/element/gstkmsdmabufsink.cpp', 'gst/drm/element/stats.hpp', True, None),
    ('gst/kms/element/gstkmsdmabufsink.cpp', 'engine/display/kms_display.hpp', True, None),
    ('gst/kms/element/gstkmsdmabufsink.cpp', 'xf86drmMode.h', False, None),
    ('gst/kms/element/plugin.cpp', 'gst/gst.h', True, None),
    ('gst/kms/engine/card/kms_device.cpp', 'xf86drmMode.h', True, None),
    ('gst/kms/engine/card/kms_device.cpp', 'gst/gst.h', False, None),
    ('gst/kms/engine/card/kms_device.cpp', 'gst/gst.h', False, 'gst/kms/engine/card/planted.hpp'),
    ('gst/kms/engine/card/kms_device.cpp', 'element/gstkmsdmabufsink.hpp', False, None),
    ('gst/kms/engine/card/kms_device.cpp', 'gst/drm/element/stats.hpp', False, None),
    ('gst/kms/engine/card/kms_device.cpp', '../dmabuf/uploader.hpp', False, None),
    ('gst/kms/engine/card/kms_device.cpp', '../core/result.hpp', True, 'gst-libs/gst/drm/alloc/planted.hpp'),
    ('gst/kms/engine/card/kms_device.cpp', 'gst/va/engine/va_display.hpp', False, None),
    ('gst/kms/engine/card/kms_device.cpp', 'engine/output/kms_output.hpp', False, None),
    ('gst/kms/engine/card/kms_device.cpp', 'engine/display/kms_display.hpp', False, 'gst/kms/engine/card/planted.hpp'),
    ('gst/kms/engine/output/kms_output.cpp', 'engine/card/kms_device.hpp', True, None),
    ('gst/kms/engine/output/kms_output.cpp', 'engine/commit/kms_scanout.hpp', False, None),
    ('gst/kms/engine/commit/kms_scanout.cpp', 'engine/display/kms_display.hpp', False, None),
    ('gst/kms/engine/display/kms_display.cpp', 'engine/commit/kms_scanout.hpp', True, None),
    ('gst/va/engine/va_display.cpp', 'gst/base/gstbasesrc.h', False, None),
    ('gst/metis/engine/cpu/cpu_backend.cpp', 'opencv2/dnn.hpp', True, None),
    ('gst/metis/element/gstmetisdmabufinfer.cpp', 'opencv2/dnn.hpp', False, None),
    ('gst/kms/kms_stray.cpp', 'string', False, None),
]


def sample(path, header, way):
    texts = {path: f'#include "{way or header}"'}
    if way:
        texts = {path: f'#include "{way.rpartition("/")[2] if way.rpartition("/")[0] == path.rpartition("/")[0] else way}"',
                 way: f'#include <{header}>'}
    return Tree(texts)


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(f for top in ('gst-libs', 'gst') for f in (root / top).rglob('*')
                   if f.suffix in ('.c', '.h', '.cpp', '.hpp'))
    tree = Tree({file.relative_to(root).as_posix(): file.read_text(encoding='utf-8') for file in files})
    failed = not files
    for number, (path, header, may, way) in enumerate(SAMPLES, 1):
        right = may != bool(list(violations(sample(path, header, way), path)))
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - rule: {path} {"may" if may else "must not"} include {header}'
              + (f' through {way}' if way else ''))
    for number, rule in enumerate(RULES, len(SAMPLES) + 1):
        right = any(not may and list(violations(sample(path, header, way), path, [rule])) for path, header, may, way in SAMPLES)
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - a violation is planted for {rule[0]}')
    for number, path in enumerate(tree.texts, len(SAMPLES) + len(RULES) + 1):
        bad = list(violations(tree, path))
        failed |= bool(bad)
        print(f'{"not ok" if bad else "ok"} {number} - {path}' + (f' must not include {", ".join(bad)}' if bad else ''))
    print(f'1..{len(SAMPLES) + len(RULES) + len(files)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
