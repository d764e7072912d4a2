#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The comment beside the definition of every public function says what the function does, in a sentence beside its
parameters and what it returns, and names error codes where the function has a GError. TAP, a case per function.

usage: doc-comments.py DIRECTORY-OF-THE-LIBRARY
"""

import pathlib
import re
import sys

FUNCTION = re.compile(r'^GST_DRM_API\n(?!G_DECLARE)[^;(]*?\b(\w+)\(([^;]*)\)', re.M)
COMMENT = re.compile(r'^/\*\*\n \* (gst_\w+):[^\n]*\n(.*?)^ \*/', re.M | re.S)
CODES = re.compile(r'%GST_DRM_ERROR_[A-Z]+|errors of\s+gst_drm_\w+\(\)')


def sentences(body):
    """The paragraphs of a comment that are no parameter, no `Returns:` and no `Since:`."""
    lines = [line.removeprefix(' *').removeprefix(' ') for line in body.splitlines()]
    paragraphs = '\n'.join(lines).split('\n\n')
    return [text for text in (paragraph.strip() for paragraph in paragraphs)
            if text and not re.match(r'@\w+:|Returns:|Since:', text)]


def problem(arguments, body):
    if body is None:
        return 'no comment beside its definition'
    said = sentences(body)
    if not said:
        return 'no sentence says what it does'
    if not re.match(r'[A-Z%@#`]', said[0]) or not re.search(r'[.:](\s|$)', said[0]):
        return f'"{said[0]}" is no sentence'
    if 'GError' in arguments and not CODES.search(re.sub(r'\n \*\s*', ' ', body)):
        return 'it has a GError, and no code of GST_DRM_ERROR is named'
    return None


# (comment, arguments, is it good): the rule itself.
SAMPLES = [
    (' * @a: one\n *\n * Makes a set.\n *\n * Returns: a set\n *\n * Since: 0.1\n', 'int a', True),
    (' * @a: one\n *\n * Returns: a set\n *\n * Since: 0.1\n', 'int a', False),
    (' * @a: one\n *\n * makes a set\n *\n * Returns: a set\n', 'int a', False),
    (' *\n * Makes a set.\n *\n * Returns: %FALSE\n', 'GError **error', False),
    (' *\n * Makes a set.\n *\n * Returns: %FALSE with %GST_DRM_ERROR_SYNC\n', 'GError **error', True),
    (' *\n * Makes a set.\n *\n * Returns: %NULL with the errors of\n * gst_drm_allocator_new()\n', 'GError **error', True),
    (None, 'int a', False),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    comments = {}
    for source in sorted(folder.glob('gstdrm*.cpp')):
        comments.update(COMMENT.findall(source.read_text(encoding='utf-8')))
    functions = {name: arguments for header in sorted(folder.glob('*.h'))
                 for name, arguments in FUNCTION.findall(header.read_text(encoding='utf-8'))
                 if not name.endswith('_get_type')}
    cases = [(f'rule: sample {number}', None if good == (problem(arguments, body) is None) else 'judged wrongly')
             for number, (body, arguments, good) in enumerate(SAMPLES, 1)]
    cases += [(name, problem(arguments, comments.get(name))) for name, arguments in functions.items()]
    for number, (name, why) in enumerate(cases, 1):
        print(f'{"not ok" if why else "ok"} {number} - {name}')
        if why:
            print(f'# {why}')
    print(f'1..{len(cases)}')
    return 1 if any(why for _, why in cases) or len(functions) < 60 else 0


if __name__ == '__main__':
    sys.exit(main())
