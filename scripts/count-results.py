#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adds up test results from meson's own logs (meson-logs/testlog.json), and says what is missing.

Every case is counted, not every program: TAP lines and GoogleTest's lines are what the runners
themselves printed; a program of meson's protocol 'exitcode' counts once, by its exit status. Which
programs there are and what each has to print comes from meson-info/intro-tests.json of the same
build directory. These are failures, each counted as one:
  - a program that failed or died without a failed case of its own
  - a TAP program without a plan, or with another number of cases than it planned
  - a GoogleTest program that did not report all of the cases that it began with
  - a program that ran no case and gives no reason (TAP: '1..0 # SKIP reason'; else a line on stderr)
  - a program of the build that did not run
  - fewer cases in a suite than --expected FILE asks for

Prints the end of what each program that failed wrote to stderr (of meson's own report the beginning of
a long log may be lost), then, so that the end of a log has them, every failure and skip with its reason,
then 'tests: P passed, F failed, S skipped'.
Exits 1 where something failed, nothing ran, or (with --no-skips) a case was skipped.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import expected_cases  # noqa: E402

TAP_LINE = re.compile(r'^(not )?ok\b\s*\d*\s*(?:-\s*)?(.*?)(?:\s+#\s*(skip|todo)\b\s*(.*))?$', re.I)
TAP_PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*skip\w*:?\s*(.*))?$', re.I)
GTEST_START = re.compile(r'\[=+\] Running (\d+) tests? from ')
GTEST_END = re.compile(r'\[=+\] (\d+) tests? from .* ran\.')
GTEST_CASE = re.compile(r'^\[\s+(FAILED|SKIPPED)\s*\] ([^\s,]+)(?:, where .*)?$')
GTEST_TOTAL = re.compile(r'^\[\s+(PASSED|FAILED|SKIPPED)\s*\] (\d+) tests?[.,]')
GOOD, SKIPPED, BAD = 'passed', 'skipped', 'failed'
SKIP_STATUS = 77
DONE = ('OK', 'SKIP', 'EXPECTEDFAIL')
LAST_WORDS = 30


class Program:
    """What one row of the log comes to."""

    def __init__(self):
        self.cases = []        # (kind, name), as the runner printed them
        self.troubles = []     # each is one failure more
        self.skipped = None    # the reason, where the whole program was
        self.last_words = []   # of a program that failed

    def skip(self, reason):
        if reason:
            self.skipped = reason
        else:
            self.troubles.append('ran no case, and gives no reason: nothing there, or a selector that matches nothing')


def read_tap(text, program):
    plans = []
    for line in text.splitlines():
        if plan := TAP_PLAN.match(line):
            plans.append(plan)
        if line.startswith('Bail out!'):
            program.troubles.append(line)
        match = TAP_LINE.match(line)
        if not match:
            continue
        failed, name, directive, why = match.groups()
        if directive and directive.lower() == 'skip':
            program.cases.append((SKIPPED, f'{name}: {why}'))
        else:
            program.cases.append((BAD if failed else GOOD, name))
    if len(plans) != 1:
        many = 'no plan: it was silent, or ended before its end' if not plans else f'{len(plans)} plans'
        program.troubles.append(f'TAP with {many} ({len(program.cases)} cases seen)')
        return
    planned, why = int(plans[0].group(1)), plans[0].group(2)
    if planned != len(program.cases):
        program.troubles.append(f'{planned} cases planned, {len(program.cases)} reported')
    elif not planned:
        program.skip(why)


def read_gtest(text, program):
    totals, starts, ends = collections.Counter(), [], []
    named = collections.defaultdict(set)
    for line in text.splitlines():
        if match := GTEST_START.search(line):
            starts.append(int(match.group(1)))
        if match := GTEST_END.search(line):
            ends.append(int(match.group(1)))
        if match := GTEST_TOTAL.match(line):
            totals[match.group(1)] = int(match.group(2))
        if match := GTEST_CASE.match(line):
            named[match.group(1)].add(match.group(2))
    program.cases += [(GOOD, '')] * totals['PASSED']
    for kind, result in (('FAILED', BAD), ('SKIPPED', SKIPPED)):
        names = sorted(named[kind])
        names += ['?'] * (totals[kind] - len(names))
        program.cases += [(result, name) for name in names]
    if len(starts) != 1 or starts != ends:
        begun = f'{starts[0]} cases begun' if starts else 'it was silent'
        program.troubles.append(f'GoogleTest did not come to its end: {begun}, {sum(ends)} done')
    elif starts[0] != len(program.cases):
        program.troubles.append(f'{starts[0]} cases begun, {len(program.cases)} reported')
    elif not starts[0]:
        program.skip(None)


def read_program(row, protocol):
    program = Program()
    text, result = row.get('stdout') or '', row['result']
    last_words = ((row.get('stderr') or '').strip().splitlines() or [''])[-1]
    if row.get('returncode') == SKIP_STATUS and not text.strip():
        program.skip(last_words)
        return program
    if protocol in ('tap', 'gtest'):
        {'tap': read_tap, 'gtest': read_gtest}[protocol](text, program)
    elif result in DONE:
        program.cases.append((GOOD, ''))
    if result not in DONE:
        program.last_words = (row.get('stderr') or '').splitlines()[-LAST_WORDS:]
    if result not in DONE and not program.troubles and all(kind != BAD for kind, _ in program.cases):
        program.troubles.append(f'{result}, exit status {row.get("returncode")}')
    return program


class Build:
    """A build directory: its list of tests and its log."""

    def __init__(self, log):
        self.log, self.name = log, log.parent.parent.name
        info = log.parent.parent / 'meson-info' / 'intro-tests.json'
        tests = json.loads(info.read_text(encoding='utf-8'))
        # the log names the suite only where there are several
        several = len({suite for test in tests for suite in test['suite']}) > 1
        self.tests = {}  # name in the log -> suite, name, protocol
        for test in tests:
            project, _, suite = test['suite'][0].partition(':')
            in_log = f'{project}:{suite} / {test["name"]}' if several else test['name']
            self.tests[in_log] = suite, test['name'], test['protocol']

    def programs(self):
        """Yields (name in the log, Program) of each row of the log."""
        text = self.log.read_text(encoding='utf-8') if self.log.exists() else ''
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # whoever wrote the log was killed over it
                program = Program()
                program.troubles.append('the log ends within a line')
                yield '', program
                continue
            protocol = self.tests[row['name']][2] if row['name'] in self.tests else 'exitcode'
            yield row['name'], read_program(row, protocol)


class Report:
    def __init__(self):
        self.totals = collections.Counter()
        self.counts = {}  # build -> suite -> cases
        self.lines = []   # what failed or was skipped

    def line(self, kind, *where):
        self.totals[kind] += 1
        if kind != GOOD:
            self.lines.append(f'{kind}: {": ".join(where)}')

    def add(self, build, partial):
        seen, counts = set(), collections.Counter()
        for in_log, program in build.programs():
            seen.add(in_log)
            suite, name, _ = build.tests.get(in_log, ('', in_log or 'log', ''))
            counts[suite] += len(program.cases)
            for kind, case in program.cases:
                self.line(kind, build.name, suite, name, case)
            for trouble in program.troubles:
                self.line(BAD, build.name, suite, name, trouble)
            if program.last_words:
                print(f'{build.name}: {suite}: {name} wrote at its end:', *program.last_words, sep='\n  | ')
            if program.skipped:
                self.line(SKIPPED, build.name, suite, name, program.skipped)
        for in_log in [] if partial else sorted(set(build.tests) - seen):
            self.line(BAD, build.name, *build.tests[in_log][:2], 'did not run')
        self.counts[build.name] = {suite: cases for suite, cases in counts.items() if suite}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--no-skips', action='store_true', help='a skipped case is an error')
    parser.add_argument('--partial', action='store_true',
                        help='not every test was to run: nothing is missing, and --expected is not looked at')
    parser.add_argument('--expected', type=pathlib.Path, metavar='FILE', help='table of cases per suite and build')
    parser.add_argument('--update', action='store_true', help='write the numbers of these logs to --expected instead')
    parser.add_argument('--broken', action='append', default=[], metavar='TEXT',
                        help='what did not get through, whatever its log says')
    parser.add_argument('logs', nargs='*', type=pathlib.Path, help='testlog.json files, in their build directories')
    args = parser.parse_args()
    if args.update and (args.partial or not args.expected):
        parser.error('--update needs --expected FILE, and whole runs')

    report = Report()
    for log in args.logs:
        try:
            report.add(Build(log), args.partial)
        except OSError as error:
            report.line(BAD, log.parent.parent.name, f'no results: {error}')
    if args.expected and not args.partial and not args.update:
        for trouble in expected_cases.compare(args.expected, report.counts):
            report.line(BAD, trouble)
    totals = report.totals
    for line in report.lines:
        print(line)
    for broken in args.broken:
        print(f'did not get through: {broken}')
    if not totals[BAD]:  # else meson's status is of failures that are counted already
        totals[BAD] = len(args.broken)
    print(f'tests: {totals[GOOD]} passed, {totals[BAD]} failed, {totals[SKIPPED]} skipped')
    bad = totals[BAD] or not totals[GOOD] or (args.no_skips and totals[SKIPPED])
    if args.update:
        if bad:
            print(f'{args.expected} stays as it is: only numbers of a run without failures are written', file=sys.stderr)
        else:
            expected_cases.write(args.expected, report.counts)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
