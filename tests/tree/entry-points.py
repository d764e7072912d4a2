#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No C++ exception leaves a C function: the entry points and callbacks of library and plugins say so. One TAP case per
function.

Public functions carry GST_DRM_NOEXCEPT in their header and noexcept in their source; so does every function whose
address is given away: to a class structure, to GLib or GStreamer. G_DEFINE_TYPE declares NAME_init, NAME_class_init
and NAME_get_type itself, without it.
noexcept alone ends the process where something throws. Whether a body can throw nobody can tell from its text, so those
of more than one statement that catch nothing are no failures, but comments of the output: a review looks at them.
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
CHECK = re.compile(r'\bg_return_(?:val_)?if_fail\s*\([^;]*;')
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


def uncaught(text):
    """The noexcept functions of a source that have more than one statement and catch nothing."""
    text = COMMENT.sub('', text)
    for match in DEFINITION.finditer(text):
        body = CHECK.sub('', text[match.end():text.find('\n}\n', match.end())])
        if 'noexcept' in match[3] and 'try' not in match[3] and 'catch (...)' not in body and body.count(';') > 1:
            yield match[1].split('::')[-1]


# (text, the functions that have to be found, those among them that lack it)
SAMPLES = [
    ('GST_DRM_API\ngint gst_a(void) GST_DRM_NOEXCEPT;\n', ['gst_a'], []),
    ('GST_DRM_API\ngint gst_a(gint b,\n          gint c);\n', ['gst_a'], ['gst_a']),
    ('GST_DRM_API\nG_DECLARE_FINAL_TYPE(A, a, B, C, D)\n', [], []),
    ('static void f(gpointer) noexcept\n{\n}\nvoid g(K *klass)\n{\n  klass->slot = f;\n}\n', ['f'], []),
    ('static void f(gpointer)\n{\n}\nvoid g(K *klass)\n{\n  A_CLASS(klass)->slot = ns::f;\n}\n', ['f'], ['f']),
    ('T *f(G *a, int (*b)(int)) noexcept\ntry {\n} catch (...) {\n}\nvoid g()\n{\n  gst_meta_register(f);\n}\n', ['f'], []),
    ('T *f(G *a)\ntry {\n} catch (...) {\n}\nvoid g()\n{\n  gst_pad_add_probe(pad, f, nullptr);\n}\n', ['f'], ['f']),
    ('void g()\n{\n  gst_mini_object_set_qdata(a, b, [](gpointer p) noexcept { h(p); });\n}\n',
     ['function 1 without a name'], []),
    ('void g()\n{\n  gst_mini_object_set_qdata(a, b, [](gpointer p) { h(p); });\n}\n',
     ['function 1 without a name'], ['function 1 without a name']),
    ('static void f(int) noexcept\n{\n}\nvoid g()\n{\n  context.page_flip = f;\n}\n', ['f'], []),
    ('static void f(int)\n{\n}\nvoid g(K *klass)\n{\n  klass->suggest = f;\n}\n', [], []),
    ('void f(int)\n{\n}\nP *C::p()\n{\n}\nvoid g()\n{\n  g_signal_connect(p, "a", F(f), p2);\n}\n', ['f'], ['f']),
    ('static void f(I *i)\n{\n}\nG_DEFINE_TYPE_WITH_CODE(A, a, B, G_IMPLEMENT_INTERFACE(C, f))\n', ['f'], ['f']),
    ('static void f(I *i) noexcept\n{\n}\nG_DEFINE_TYPE_WITH_CODE(A, a, B, G_IMPLEMENT_INTERFACE(C, n::f))\n', ['f'], []),
    ('static S *f(T *t)\n{\n}\nvoid g()\n{\n  g_signal_new_class_handler("a", F(f), 0);\n}\n', ['f'], ['f']),
    ('G_DEFINE_TYPE(A, a, B)\nstatic void a_init(A *a)\n{\n}\nvoid g(K *klass)\n{\n  klass->slot = a_init;\n}\n', [], []),
    ('static int a_init(A *a)\n{\n}\nvoid g()\n{\n  gst_meta_register(a_init);\n}\n', ['a_init'], ['a_init']),
    ('void f() {}\nvoid g(S *s)\n{\n  s->count = 0;\n  f();\n}\n', [], []),
]

# (text, the functions that the comments name)
UNCAUGHT = [
    ('void f() noexcept\n{\n  a();\n  b();\n}\n', ['f']),
    ('void f() noexcept\n{\n  g_return_if_fail(x);\n  b();\n}\n', []),
    ('void f() noexcept\ntry {\n  a();\n  b();\n} catch (...) {\n}\n', []),
    ('void f() noexcept\n{\n  try {\n    a();\n    b();\n  } catch (...) {\n  }\n}\n', []),
    ('void f()\n{\n  a();\n  b();\n}\n', []),
]


def main():
    root = pathlib.Path(sys.argv[1])
    number = 0
    failed = False
    for text, names, lacking in SAMPLES:
        number += 1
        found = list(entry_points({'sample': text}))
        right = [f[1] for f in found] == names and [f[1] for f in found if not f[2]] == lacking
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - rule: {names or "nothing"} in {text!r}'
              + ('' if right else f' (found {found})'))
    for text, names in UNCAUGHT:
        number += 1
        right = list(uncaught(text)) == names
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - catches nothing: {names or "nothing"} in {text!r}')
    found = []
    for room in ROOMS:
        texts = {f.relative_to(root).as_posix(): f.read_text(encoding='utf-8')
                 for f in sorted((root / room).glob('**/*' if room.startswith('gst/') else '*')) if f.suffix in ('.h', '.hpp', '.cpp')}
        found += list(entry_points(texts))
    for path, name, right in found:
        number += 1
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - {path}: {name}' + ('' if right else ' is not noexcept'))
    entries = {(path, name) for path, name, _ in found}
    for path in sorted({path for path, _ in entries if path.endswith('.cpp')}):
        for name in uncaught((root / path).read_text(encoding='utf-8')):
            if (path, name) in entries:
                print(f'# {path}: {name} catches nothing')
    print(f'1..{number}')
    # fewer than there are means that the patterns above stopped to match
    return 1 if failed or len(found) < 250 else 0


if __name__ == '__main__':
    sys.exit(main())
