#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every function of an installed header has one line above it that says what it does. TAP.

usage: header-lines.py DIRECTORY-OF-HEADERS
"""

import pathlib
import re
import sys

COLUMNS = 100
FUNCTION = re.compile(r'^(.*)\nGST_DRM_API\n[^;(]*?\b(\w+)\(', re.M)
LINE = re.compile(r'/\* [A-Z].*\. \*/')


def judged(text):
    """(name, the line above, is it good) of each declaration of a header."""
    # Every use of the macro is a function that the pattern above finds.
    found = FUNCTION.findall(text)
    uses = len(re.findall(r'^GST_DRM_API$', text, re.M))
    for above, name in [*found, *[('', 'a declaration of another form')] * (uses - len(found))]:
        yield name, above, bool(LINE.fullmatch(above)) and len(above) <= COLUMNS


# (text, is it good)
SAMPLES = [
    ('/* Makes a set. */\nGST_DRM_API\nint gst_a(int b);\n', True),
    ('\nGST_DRM_API\nint gst_a(int b);\n', False),
    ('/* makes a set. */\nGST_DRM_API\nint gst_a(int b);\n', False),
    ('/* Makes a set */\nGST_DRM_API\nint gst_a(int b);\n', False),
    ('/* ' + 'M' * COLUMNS + '. */\nGST_DRM_API\nint gst_a(int b);\n', False),
    ('/* Makes a set. */\nGST_DRM_API\nint gst_a;\n', False),
]


def main():
    number = failures = 0
    for text, right in SAMPLES:
        number += 1
        judgement = all(good for _, _, good in judged(text))
        failures += judgement != right
        print(f'{"" if judgement == right else "not "}ok {number} - sample: {text!r}')
    for header in sorted(pathlib.Path(sys.argv[1]).glob('*.h')):
        text = header.read_text(encoding='utf-8')
        if header.name.endswith('-private.h'):
            continue
        for name, above, good in judged(text):
            number += 1
            failures += not good
            print(f'{"" if good else "not "}ok {number} - {header.name}: {name}')
            if not good:
                print(f'# above it: "{above}"')
    print(f'1..{number}')
    return 1 if failures or number == len(SAMPLES) else 0


if __name__ == '__main__':
    sys.exit(main())
