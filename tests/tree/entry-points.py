#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No C++ exception leaves a C function: the entry points and callbacks of library and plugins say so. TAP, a case per
room.

Public functions carry GST_DRM_NOEXCEPT in their header and noexcept in their source; so does every function whose
address is given away: to a class structure, to GLib or GStreamer. G_DEFINE_TYPE declares NAME_init, NAME_class_init
and NAME_get_type itself, without it.
Usage: entry-points.py SOURCE_ROOT
"""

import pathlib
import re
import sys

ROOMS = ('gst-libs/gst/drm', 'gst-libs/gst/drm/element', 'gst/dmabuf', 'gst/kms', 'gst/va', 'gst/egl', 'gst/metis')

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
PUBLIC = re.compile(r'^GST_DRM_API\s+(?!G_DECLARE)([^;]*);', re.M)
DEFINITION = re.compile(r'^(?!return|else)(?:[A-Za-z_][\w:<>,]*[\s*&]+)*\*?([\w:]+)\(([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*)\)'
                        r'((?:\s*(?:noexcept|const|try))*)\s*\{', re.M)
# Not those of this tree's own classes that C++ alone calls, inside the try of whoever does: suggest.
# klass->slot = name;  GST_X_CLASS(klass)->slot = ns::name;  memory->mem_map = name;  context.handler = name;
SLOT = re.compile(r'(?:->|\bcontext\.)(?!suggest\b)\s*[\w.]+\s*=\s*(?:[a-z]\w*::)*([a-z]\w*)\s*;')
# functions of GLib and GStreamer that take a function
TAKERS = (r'g_once|gst_pad_add_probe|gst_pad_set_\w+_function|gst_meta_register|g_idle_add\w*|'
          r'gst_mini_object_set_qdata|g_object_set_(?:q?data)_full|g_boxed_type_register_static|g_thread_new|'
          r'gst_buffer_foreach_meta|gst_caps_(?:foreach|filter_and_map_in_place|map_in_place)|'
          r'gst_structure_(?:foreach|map_in_place|filter_and_map_in_place)|gst_mini_object_weak_ref|g_timeout_add\w*|'
          r'gst_clock_id_wait_async|g_destroy_notify|g_signal_new_class_handler|gst_element_foreach_\w*pad')
# whose first argument is an object
CONNECT = r'g_signal_connect\w*\s*\([^,;]*,'
TAKER = re.compile(rf'\b(?:{CONNECT}|(?:{TAKERS})\s*\()([^;]*);')
INTERFACE = re.compile(r'\bG_IMPLEMENT_INTERFACE\(\s*\w+,\s*(?:\w+::)*(\w+)')
LAMBDA = re.compile(r'\[[^\]\[]*\]\s*\([^()]*\)\s*((?:noexcept)?)\s*(?:->\s*[\w\s*&:]+)?\{')
MACRO = re.compile(r'^G_DEFINE_\w*TYPE\w*\(\s*\w+,\s*(\w+)', re.M)


def entry_points(texts):
    """(path, name, is it noexcept) of every C function and callback of these {path: text}."""
    texts = {path: COMMENT.sub('', text) for path, text in texts.items()}
    by_macro = {f'{name}_{what}' for text in texts.values() for name in MACRO.findall(text)
                for what in ('init', 'class_init', 'get_type')}
    public = set()
    for path, text in sorted(texts.items()):
        for declaration in PUBLIC.findall(text):
            match = re.search(r'(\w+)\s*\(', declaration)
            if match[1] in by_macro:
                continue
            public.add(match[1])
            yield path, match[1], declaration.rstrip().endswith('GST_DRM_NOEXCEPT')
    for path, text in sorted(texts.items()):
        defined = {}
        for match in DEFINITION.finditer(text):
            defined.setdefault(match[1].split('::')[-1], 'noexcept' in match[3])
        given = set(SLOT.findall(text)) | set(INTERFACE.findall(text))
        for arguments in TAKER.findall(text):
            given |= set(re.findall(r'\b(\w+)\b(?!\s*[(:])', arguments))
            for number, match in enumerate(LAMBDA.finditer(arguments), 1):
                yield path, f'function {number} without a name', match[1] == 'noexcept'
        for name in sorted(defined):
            if name in public or name in given - by_macro:
                yield path, name, defined[name]
    # callbacks that another file of the room defines
    given = {name for text in texts.values() for name in SLOT.findall(text)}
    for path, text in sorted(texts.items()):
        own = set(SLOT.findall(text))
        for match in DEFINITION.finditer(text):
            name = match[1].split('::')[-1]
            if name in given - own - public - by_macro:
                yield path, name, 'noexcept' in match[3]


def main():
    root = pathlib.Path(sys.argv[1])
    failed = False
    for number, room in enumerate(ROOMS, 1):
        texts = {f.relative_to(root).as_posix(): f.read_text(encoding='utf-8')
                 for f in sorted((root / room).glob('**/*' if room.startswith('gst/') else '*')) if f.suffix in ('.h', '.hpp', '.cpp')}
        found = list(entry_points(texts))
        bad = [f'{path}: {name} is not noexcept' for path, name, right in found if not right]
        if not found:
            bad.append('no function was found')
        failed |= bool(bad)
        print(f'{"not ok" if bad else "ok"} {number} - {room}: {len(found)} functions', *(f'# {line}' for line in bad), sep='\n')
    print(f'1..{len(ROOMS)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
