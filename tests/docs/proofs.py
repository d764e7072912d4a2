#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests that tables of docs/ name as proofs exist: `source: case`, the name of a file in tests/
without its suffix, and of a case in it (GST_START_TEST or TEST of gtest).

usage: proofs.py SOURCE_DIR
"""
import pathlib
import re
import sys

NAMED = re.compile(r'`([a-z][a-z0-9_]*): ([a-z][a-z0-9_]*)`')
CASES = re.compile(r'\b(?:GST_START_TEST\((\w+)|TEST(?:_F|_P)?\(\s*\w+,\s*(\w+))')


def cases_of(tests):
    """stem of a source -> the cases in it"""
    found = {}
    for path in sorted(tests.rglob('*.cpp')):
        names = {name for pair in CASES.findall(path.read_text(encoding='utf-8')) for name in pair if name}
        found.setdefault(path.stem, set()).update(names)
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    cases = cases_of(root / 'tests')
    count = failed = 0
    for page in sorted((root / 'docs').rglob('*.md')):
        for source, case in NAMED.findall(page.read_text(encoding='utf-8')):
            count += 1
            known = case in cases.get(source, ())
            failed += not known
            print(f'{"ok" if known else "not ok"} {count} - {page.relative_to(root)}: {source}: {case}')
    count += 1
    print(f'{"ok" if count > 1 else "not ok"} {count} - proofs are found at all')
    print(f'1..{count}')
    return 1 if failed or count == 1 else 0


sys.exit(main())
