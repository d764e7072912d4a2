#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names of the standard library and of GStreamer that the library and the plugins must not use, each with what to use in its place.
TAP, a case per planted sample and per file. Comments may name them.
usage: forbidden-names.py SOURCE_ROOT
"""

import pathlib
import re
import sys

# name, files that may use it all the same, what to use in its place
RULES = (
    # It has a mutex of its own, so that each wake-up costs up to two more futex calls.
    (r'\bcondition_variable_any\b', r'gst-libs/gst/drm/core/ordered_mutex\.hpp',
     'std::condition_variable_any: use OrderedCondition (core/ordered_mutex.hpp) or std::condition_variable'),
    # Each of them posts an error without the details that every error of these elements has (docs/errors.md).
    (r'\b(?:GST_ELEMENT_(?:FLOW_)?ERROR(?:_WITH_DETAILS)?|gst_element_message_full\w*|gst_message_new_error\w*)\b',
     r'gst-libs/gst/drm/(?:element/errors\.cpp|gstdrm-guard-private\.hpp)',
     'an error without details: use post_failure() or post_error() (element/errors.hpp)'),
    # They answer -1 for no fence, and for a fence without a descriptor left: then the device may still be at it.
    (r'\bgst_drm_(?:sync|tensor)_meta_dup_(?:acquire|release)_fence\b', r'gst-libs/gst/drm/(?:element/acquire_fence\.cpp|gstdrm[^/]*)',
     'a fence that may be missing for two reasons: use dup_acquire_fence() or dup_release_fence() (element/acquire_fence.hpp)'),
)

# Literals are matched so that the slashes within them begin no comment.
COMMENT_OR_LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def violations(path, text):
    code = COMMENT_OR_LITERAL.sub(lambda match: match[0] if match[0].startswith('"') else ' ', text)
    for name, allowed, instead in RULES:
        if re.search(name, code) and not re.fullmatch(allowed, path):
            yield instead


# name, path, text, whether it is forbidden
SAMPLES = (
    ('a member', 'gst/kms/engine/commit/planted.hpp', 'std::condition_variable_any changed_;', True),
    ('a using-declaration', 'gst-libs/gst/drm/core/planted.hpp', 'using std::condition_variable_any;', True),
    ('a use behind a literal with slashes', 'gst/va/engine/planted.cpp',
     'open("//dev"); std::condition_variable_any changed;', True),
    ('a use between comments', 'gst/va/engine/planted.cpp', '/* a */ std::condition_variable_any changed; // b', True),
    ('the condition of a std::mutex', 'gst/va/engine/planted.cpp', 'std::condition_variable changed;', False),
    ('the condition of an OrderedMutex', 'gst/va/engine/planted.cpp', 'gstdrm::OrderedCondition changed;', False),
    ('a comment to the end of the line', 'gst/va/engine/planted.cpp', '// no std::condition_variable_any\nint i;', False),
    ('a comment of two lines', 'gst/va/engine/planted.cpp', '/* no\n std::condition_variable_any */ int i;', False),
    ('an error without details', 'gst/va/element/planted.cpp', 'GST_ELEMENT_ERROR(e, STREAM, FORMAT, ("a"), (nullptr));', True),
    ('an error with details of its own', 'gst/va/element/planted.cpp',
     'GST_ELEMENT_ERROR_WITH_DETAILS(e, STREAM, FORMAT, ("a"), (nullptr), ("b", G_TYPE_INT, 1, nullptr));', True),
    ('an error by the function behind the macro', 'gst-libs/gst/drm/element/planted.cpp',
     'gst_element_message_full(e, GST_MESSAGE_ERROR, d, 1, a, b, f, g, 2);', True),
    ('an error as a message', 'gst/kms/element/planted.cpp', 'post(gst_message_new_error(o, error, nullptr));', True),
    ('a warning', 'gst/va/element/planted.cpp', 'GST_ELEMENT_WARNING(e, STREAM, FORMAT, ("a"), (nullptr));', False),
    ('an error of the kit', 'gst/va/element/planted.cpp', 'post_failure(element, failure);', False),
    ('the macro in a comment', 'gst/va/element/planted.cpp', '// GST_ELEMENT_ERROR() of gstelement.h', False),
    ('the kit', 'gst-libs/gst/drm/element/errors.cpp', 'gst_element_message_full_with_details(e);', False),
    ('a fence as a bare descriptor', 'gst/va/element/planted.cpp', 'UniqueFd fence(gst_drm_sync_meta_dup_acquire_fence(meta));', True),
    ('a fence of tensors', 'gst-libs/gst/drm/element/planted.cpp', 'if (gst_drm_tensor_meta_dup_acquire_fence(meta) < 0)', True),
    ('a fence or an error', 'gst/va/element/planted.cpp', 'const auto fence = dup_acquire_fence(buffer);', False),
    ('the file of OrderedCondition', 'gst-libs/gst/drm/core/ordered_mutex.hpp', 'std::condition_variable_any changed_;',
     False),
)


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(f for top in ('gst-libs', 'gst') for f in (root / top).rglob('*') if f.suffix in ('.c', '.h', '.cpp', '.hpp'))
    failed = not files
    for number, (name, path, text, forbidden) in enumerate(SAMPLES, 1):
        right = bool(list(violations(path, text))) == forbidden
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - sample: {name}')
    for number, file in enumerate(files, len(SAMPLES) + 1):
        path = file.relative_to(root).as_posix()
        bad = list(violations(path, file.read_text(encoding='utf-8')))
        failed |= bool(bad)
        print(f'{"not ok" if bad else "ok"} {number} - {path}' + ''.join(f': {b}' for b in bad))
    print(f'1..{len(SAMPLES) + len(files)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
