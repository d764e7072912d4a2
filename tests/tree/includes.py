#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which headers each room of the tree may include, itself or through the headers that it includes. TAP, a case per rule.

A file that reaches out of its room fails here, before anybody has to notice it in a review.
Usage: includes.py SOURCE_ROOT
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)

GLIB = r'(glib|gio|gobject|gmodule)(/|\.h|-)|glib\.h'
GST = r'gst/'
DEVICE = r'(xf86drm|gbm\.h|EGL/|GLES|va/|axruntime|opencv2/|onnx/|onnxruntime)'
DRM_HEADERS = r'drm_fourcc\.h'
ELEMENTS = r'gst/(gst|base/|video/gstvideosink|gstelement|gstpad)'

# The rooms of gst/kms/engine from the bottom up: each may use those before it.
KMS_ENGINE = ('card', 'output', 'commit', 'display')

# A plugin has files in its rooms only.
STRAY = r'gst/[^/]+/[^/]+\.(c|cpp|h|hpp)'

# path pattern, what it must not include, what it may all the same
RULES = [
    (r'gst-libs/gst/drm/core/.*', rf'{GLIB}|{GST}|gstdrm|{DEVICE}|libdrm/|\.\./|alloc/', r'$^'),
    (r'gst-libs/gst/drm/alloc/.*', rf'{GLIB}|{GST}|gstdrm', r'$^'),
    (r'gst-libs/gst/drm/[^/]*\.h', rf'core/|alloc/|{DEVICE}|.*\.hpp$', DRM_HEADERS),
    (r'gst-libs/gst/drm/gstdrm[^/]*\.cpp', rf'{DEVICE}', DRM_HEADERS),
    # the element kit: elements of every plugin, so no plugin and no device API
    (r'gst-libs/gst/drm/element/.*', rf'{DEVICE}|sys/ioctl\.h|alloc/|.*/alloc/|engine/|gst/(dmabuf|kms|va|egl|metis|tracers)/',
     DRM_HEADERS),
    # the library is below the kit
    (r'gst-libs/gst/drm/gstdrm[^/]*', r'element/|gst/drm/element/', r'$^'),
    # the GStreamer side of a plugin: no device API
    (r'gst/[^/]+/element/.*', rf'{DEVICE}|sys/ioctl\.h', DRM_HEADERS),
    # engines: device work, nothing of elements
    (r'gst/[^/]+/engine/.*', rf'{ELEMENTS}|element/|gst/drm/element/', r'$^'),
    # elements and engines of one plugin do not know those of another
    (r'gst/[^/]+/.*', r'\.\./|gst/(dmabuf|kms|va|egl|metis|tracers)/', r'$^'),
    (STRAY, r'.*', r'$^'),
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


def violations(tree, path, forbidden, allowed):
    follows = any(re.match(start, path) for start in TRANSITIVE)
    for header, way in tree.reached(path):
        if way and not follows:
            break
        if way and header.startswith('../'):  # checked where it is written
            continue
        if re.match(forbidden, header) and not re.match(allowed, header):
            yield header + (f' (through {", ".join(way)})' if way else '')


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(f for top in ('gst-libs', 'gst') for f in (root / top).rglob('*')
                   if f.suffix in ('.c', '.h', '.cpp', '.hpp'))
    tree = Tree({file.relative_to(root).as_posix(): file.read_text(encoding='utf-8') for file in files})
    failed = False
    for number, (room, forbidden, allowed) in enumerate(RULES, 1):
        paths = [path for path in tree.texts if re.fullmatch(room, path)]
        bad = [f'{path} must not include {header}' for path in paths for header in violations(tree, path, forbidden, allowed)]
        if not paths and room != STRAY:
            bad.append('there is no such file')
        failed |= bool(bad)
        print(f'{"not ok" if bad else "ok"} {number} - {room}', *(f'# {line}' for line in bad), sep='\n')
    print(f'1..{len(RULES)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
