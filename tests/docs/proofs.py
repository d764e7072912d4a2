#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests that tables of docs/ name as proofs exist and are run: `source: case`, the name of a file in tests/
without its suffix, and of a case in it (GST_START_TEST or TEST of gtest). A meson.build names the file, and a case of
GstCheck is in a suite.

usage: proofs.py SOURCE_DIR
"""
import pathlib
import re
import sys

NAMED = re.compile(r'`([a-z][a-z0-9_]*): ([a-z][a-z0-9_]*)`')
ADDED = re.compile(r'\btcase_add_\w*test\w*\(\s*\w+,\s*(\w+)')
# Some sources are found by the names of their tests.
BUILT = re.compile(r"'(?:[\w./-]+/)?([\w-]+)(?:\.cpp)?'")
# Literals are matched so that slashes within them begin no comment.
COMMENT_OR_LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
CASES = re.compile(r'\b(?:GST_START_TEST\((\w+)|TEST(?:_F|_P)?\(\s*\w+,\s*(\w+))')


def run_cases(text):
    """of a source"""
    code = COMMENT_OR_LITERAL.sub(' ', text)
    added = set(ADDED.findall(code))
    for check, gtest in CASES.findall(code):
        if check in added or gtest and not gtest.startswith('DISABLED_'):
            yield check or gtest


def cases_of(tests):
    """stem of a source that is built -> the cases in it that are run"""
    built = {name.replace('-', '_') for path in tests.rglob('meson.build') for name in BUILT.findall(path.read_text(encoding='utf-8'))}
    found = {}
    for path in sorted(tests.rglob('*.cpp')):
        if path.stem in built:
            found.setdefault(path.stem, set()).update(run_cases(path.read_text(encoding='utf-8')))
    return found


SAMPLES = (
    ('GST_START_TEST(one) tcase_add_test(tc, one);', {'one'}),
    ('GST_START_TEST(one) tcase_add_loop_test(tc, one, 0, 3);', {'one'}),
    ('GST_START_TEST(one) // tcase_add_test(tc, one);', set()),
    ('GST_START_TEST(one) tcase_add_test(tc, other);', set()),
    ('/* TEST(Suite, one) */ TEST_F(Suite, other) TEST_P(Suite, third)', {'other', 'third'}),
    ('"/*" GST_START_TEST(one) tcase_add_test(tc, one); "*/"', {'one'}),
    ('TEST(Suite, DISABLED_one)', set()),
)


def main():
    root = pathlib.Path(sys.argv[1])
    cases = cases_of(root / 'tests')
    count = failed = 0
    for text, expected in SAMPLES:
        count += 1
        good = set(run_cases(text)) == expected
        failed += not good
        print(f'{"ok" if good else "not ok"} {count} - sample: {text}')
    for page in sorted((root / 'docs').rglob('*.md')):
        for source, case in NAMED.findall(page.read_text(encoding='utf-8')):
            count += 1
            known = case in cases.get(source, ())
            failed += not known
            print(f'{"ok" if known else "not ok"} {count} - {page.relative_to(root)}: {source}: {case}')
    count += 1
    nothing = count == len(SAMPLES) + 1
    print(f'{"not ok" if nothing else "ok"} {count} - proofs are found at all')
    print(f'1..{count}')
    return 1 if failed or nothing else 0


sys.exit(main())
