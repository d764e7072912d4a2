# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of cases that each suite has to reach in each build (tests/expected-cases.txt).

A line per suite, a column per build directory; '-' where a build has no such suite. More cases than the
table has are let pass, and said: whoever adds tests adds them to the table (./run tests --update-counts).
"""

HEADER = """\
# Cases per suite and build that ./run tests has to reach; fewer is a failure. Changed together with the
# tests, by ./run tests --update-counts.
"""


def read(path):
    """build -> suite -> cases"""
    if not path.exists():
        return {}
    rows = [line.split() for line in path.read_text(encoding='utf-8').splitlines()
            if line.strip() and not line.startswith('#')]
    if not rows:
        return {}
    table = {build: {} for build in rows[0][1:]}
    for suite, *numbers in rows[1:]:
        for build, number in zip(rows[0][1:], numbers, strict=True):
            if number != '-':
                table[build][suite] = int(number)
    return table


def compare(path, counts):
    """Yields a sentence per suite with too few cases; prints those with more."""
    table = read(path)
    if not table:
        yield f'{path.name} has no numbers: ./run tests --update-counts'
    for build, suites in counts.items():
        if build not in table:
            print(f'note: {build}: {path.name} has no numbers for this build')
            continue
        for suite, wanted in table[build].items():
            got = suites.get(suite, 0)
            if got < wanted:
                yield f'{build}: {suite}: {got} cases, {path.name} asks for {wanted}'
        more = {suite: got for suite, got in suites.items() if got > table[build].get(suite, 0)}
        for suite, got in more.items():
            print(f'note: {build}: {suite}: {got} cases, {path.name} has {table[build].get(suite, 0)}: '
                  './run tests --update-counts')


def write(path, counts):
    table = {**read(path), **counts}
    builds = sorted(table)
    suites = sorted({suite for cases in table.values() for suite in cases})
    rows = [['suite', *builds]]
    rows += [[suite, *(str(table[build].get(suite, '-')) for build in builds)] for suite in suites]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ['  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    path.write_text(HEADER + '\n'.join(lines) + '\n', encoding='utf-8')
