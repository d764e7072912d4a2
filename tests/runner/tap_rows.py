# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the rows of a table of tests as TAP."""

import sys


def run(rows):
    """rows: (name, function that returns None, or what is wrong). Returns the exit status."""
    failed = 0
    for number, (name, test) in enumerate(rows, 1):
        wrong = test()
        failed += wrong is not None
        print(f'{"ok" if wrong is None else "not ok"} {number} - {name}', flush=True)
        if wrong is not None:
            print(''.join(f'# {line}\n' for line in str(wrong).splitlines()), end='')
    print(f'1..{len(rows)}')
    return 1 if failed or not rows else 0


if __name__ == '__main__':
    sys.exit('a module of the tests here')
