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


def main():
    number = failures = 0
    for header in sorted(pathlib.Path(sys.argv[1]).glob('*.h')):
        text = header.read_text(encoding='utf-8')
        if header.name.endswith('-private.h'):
            continue
        # Every use of the macro is a function that the pattern above finds.
        found = FUNCTION.findall(text)
        uses = len(re.findall(r'^GST_DRM_API$', text, re.M))
        for above, name in [*found, *[('', f'{header.name} has a declaration of another form')] * (uses - len(found))]:
            number += 1
            good = LINE.fullmatch(above) and len(above) <= COLUMNS
            failures += not good
            print(f'{"" if good else "not "}ok {number} - {name}')
            if not good:
                print(f'# above it: "{above}"')
    print(f'1..{number}')
    return 1 if failures or not number else 0


if __name__ == '__main__':
    sys.exit(main())
