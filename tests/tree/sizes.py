#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No source file of the library and the plugins is longer than 400 lines, and no function longer than 60. TAP, a case
per planted sample and per file.

A function is what stands between a line that is an opening brace, alone or after `try`, and the closing brace of the
same indentation: clang-format puts the braces of functions, and of nothing else that is no type or namespace, there.
usage: sizes.py SOURCE_ROOT
"""

import pathlib
import re
import sys

FILE_LINES = 400
FUNCTION_LINES = 60

OPENS = re.compile(r'( *)(?:try )?\{')


def functions(text):
    """(line number, lines from brace to brace) of every function body."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        opens = OPENS.fullmatch(line)
        if opens:
            closes = re.compile(rf'{opens[1]}\}}.*')
            end = next((i for i in range(number + 1, len(lines)) if closes.fullmatch(lines[i])), len(lines))
            yield number + 1, end - number + 1


def too_long(text):
    lines = len(text.splitlines())
    if lines > FILE_LINES:
        yield f'{lines} lines'
    yield from (f'the function at line {at} has {size} lines' for at, size in functions(text) if size > FUNCTION_LINES)



# name, text, whether it is too long
SAMPLES = (
    ('a file of 400 lines', 'int i;\n' * FILE_LINES, False),
    ('a file of 401 lines', 'int i;\n' * (FILE_LINES + 1), True),
    ('a function of 60 lines', 'void f()\n{\n' + '  g();\n' * (FUNCTION_LINES - 2) + '}\n', False),
    ('a function of 61 lines', 'void f()\n{\n' + '  g();\n' * (FUNCTION_LINES - 1) + '}\n', True),
    ('a function that is a try block', 'void f()\ntry {\n' + '  g();\n' * (FUNCTION_LINES - 1) + '} catch (...) {\n}\n', True),
    ('a method in a class', 'class C {\n  void f()\n  {\n' + '    g();\n' * (FUNCTION_LINES - 1) + '  }\n};\n', True),
    ('a long class of short methods', 'class C {\n' + '  void f()\n  {\n    g();\n  }\n' * 30 + '};\n', False),
    ('a long namespace', 'namespace n {\n' + 'int i;\n' * 100 + '}\n', False),
)


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(f for top in ('gst-libs', 'gst') for f in (root / top).rglob('*') if f.suffix in ('.c', '.h', '.cpp', '.hpp'))
    failed = not files
    for number, (name, text, long) in enumerate(SAMPLES, 1):
        right = bool(list(too_long(text))) == long
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - sample: {name}')
    for number, file in enumerate(files, len(SAMPLES) + 1):
        problems = list(too_long(file.read_text(encoding='utf-8')))
        failed |= bool(problems)
        print(f'{"not ok" if problems else "ok"} {number} - {file.relative_to(root)}' + ''.join(f': {p}' for p in problems))
    print(f'1..{len(SAMPLES) + len(files)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
