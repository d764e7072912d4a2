#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adds up test results from meson's own logs (meson-logs/testlog.json).

Every case is counted, not every program: TAP lines and GoogleTest's closing lines are what the
runners themselves printed; a program of neither kind counts once, by its exit status. A program
that failed or died without a failed case of its own counts as one failure, so that a crash after
"ok 3" is never lost.

Prints failures and skips with their reasons, then 'tests: P passed, F failed, S skipped'.
Exits 1 where a case failed, nothing ran, or (with --no-skips) a case was skipped.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

TAP_LINE = re.compile(r'^(not )?ok\b\s*\d*\s*(?:-\s*)?(.*?)(?:\s+#\s*(skip|todo)\b\s*(.*))?$', re.I)
GTEST_CASE = re.compile(r'^\[\s+(FAILED|SKIPPED)\s*\] ([^\s,]+)(?:, where .*)?$')
GTEST_TOTAL = re.compile(r'^\[\s+(PASSED|FAILED|SKIPPED)\s*\] (\d+) tests?[.,]')
GOOD, SKIPPED, BAD = 'passed', 'skipped', 'failed'


def tap_cases(text):
    if not re.search(r'^1\.\.\d+', text, re.M):
        return None
    cases = []
    for line in text.splitlines():
        match = TAP_LINE.match(line)
        if not match or not (line.startswith('ok') or line.startswith('not ok')):
            continue
        failed, name, directive, why = match.groups()
        if directive and directive.lower() == 'skip':
            cases.append((SKIPPED, f'{name}: {why}'))
        else:
            cases.append((BAD if failed else GOOD, name))
    whole = re.search(r'^1\.\.0\s*#\s*skip\w*\s*(.*)$', text, re.M | re.I)
    if whole and not cases:
        cases.append((SKIPPED, whole.group(1)))
    return cases


def gtest_cases(text):
    totals = {}
    named = collections.defaultdict(set)
    for line in text.splitlines():
        match = GTEST_TOTAL.match(line)
        if match:
            totals[match.group(1)] = int(match.group(2))
        match = GTEST_CASE.match(line)
        if match:
            named[match.group(1)].add(match.group(2))
    if not totals:
        return None
    cases = [(GOOD, '')] * totals.get('PASSED', 0)
    for kind, result in (('FAILED', BAD), ('SKIPPED', SKIPPED)):
        names = sorted(named[kind])
        names += ['?'] * (totals.get(kind, 0) - len(names))
        cases += [(result, name) for name in names]
    return cases


def cases_of(test):
    text = test.get('stdout', '') or ''
    result = test['result']
    cases = tap_cases(text)
    if cases is None:
        cases = gtest_cases(text)
    if cases is None or (not cases and result in ('OK', 'SKIP')):
        why = (test.get('stderr') or '').strip().splitlines()[-1:] or ['no reason given']
        if result == 'SKIP':
            return [(SKIPPED, why[0])]
        return [(GOOD, '')] if result == 'OK' else [(BAD, result)]
    if result not in ('OK', 'SKIP', 'EXPECTEDFAIL') and not any(kind == BAD for kind, _ in cases):
        cases.append((BAD, f'{result}, exit status {test.get("returncode")}'))
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--no-skips', action='store_true', help='a skipped case is an error')
    parser.add_argument('logs', nargs='*', type=pathlib.Path, help='testlog.json files')
    args = parser.parse_args()

    totals = collections.Counter()
    for log in args.logs:
        world = log.parent.parent.name
        for line in log.read_text(encoding='utf-8').splitlines():
            test = json.loads(line)
            for kind, name in cases_of(test):
                totals[kind] += 1
                if kind != GOOD:
                    print(f'{kind}: {world}: {test["name"]}: {name}')
    print(f'tests: {totals[GOOD]} passed, {totals[BAD]} failed, {totals[SKIPPED]} skipped')
    bad = totals[BAD] or not totals[GOOD] or (args.no_skips and totals[SKIPPED])
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
