#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `./run tests` knows of meson's tests: which there are, what they need, and what came of them.

  testing.py select BUILD WORD...   writes BUILD/selected.json, the tests of these suites or names (a shell's patterns; with
                                    no word every test), and prints the files to build for them
  testing.py missing BUILD          prints which of these files are not there
  testing.py names BUILD            prints the tests
  testing.py again BUILD            prints those that had a case that failed
  testing.py report BUILD...        adds up the cases; the last line is the total

Every case is counted, not every program: TAP lines and GoogleTest's lines are what the runners themselves printed; a
program of meson's protocol 'exitcode' is one case. A case that ran in several builds counts once, as the worst that came
of it. These are failures, too:
  - a program that failed or died without a failed case of its own
  - a TAP program without a plan, or with another number of cases than it planned
  - a GoogleTest program that did not report all of the cases that it began with
  - a program that ran no case and gives no reason (TAP: '1..0 # SKIP reason'; else a line on stderr)
  - a selected program that did not run
  - fewer cases in a suite than --expected FILE asks for
A case that failed is run again alone, twice. One that passes both times is unsteady: it is printed with its output and
with the load of the machine, and counts as passed as long as there are no more than two of them.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import re
import sys

TAP_LINE = re.compile(r'^(not )?ok\b\s*\d*\s*(?:-\s*)?(.*?)(?:\s+#\s*(skip|todo)\b\s*(.*))?$', re.I)
TAP_PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*skip\w*:?\s*(.*))?$', re.I)
# libcheck: the source's path, the group, the function, and what came of it
CHECK_NAME = re.compile(r'^(?:\S*/)?(\S+:\S+:\S+?): (.*)$')
# what meson itself adds to stderr
MESONS_WORDS = re.compile(r'^\(test program exited with status code -?\d+\)$')
GTEST_START = re.compile(r'\[=+\] Running (\d+) tests? from ')
GTEST_END = re.compile(r'\[=+\] (\d+) tests? from .* ran\.')
GTEST_RUN = re.compile(r'^\[ RUN      \] (\S+)')
GTEST_CASE = re.compile(r'^\[ {0,2}(      OK|FAILED|SKIPPED) {1,2}\] ([^\s,]+)(?:, where .*)? \(\d+ ms\)$')
PASSED, UNSTEADY, SKIPPED, FAILED = 'passed', 'unsteady', 'skipped', 'failed'  # from good to bad
WORST = [PASSED, UNSTEADY, SKIPPED, FAILED].index
SKIP_STATUS = 77
DONE = ('OK', 'SKIP', 'EXPECTEDFAIL')
LAST_WORDS = 30
MOST_UNSTEADY = 2
TABLE_HEADER = """\
# Cases per suite and build that `./run tests --all` has to reach; fewer is a failure. Changed together with the tests, by
# ./run tests --all --update-counts.
"""


class Program:
    """What one row of meson's log comes to."""

    def __init__(self, row, protocol):
        self.cases = []        # (kind, name), as the runner printed them
        self.words = {}        # name of a failed case -> what was printed of it
        self.troubles = []     # each is a failure more, and no case
        self.skipped = None    # the reason, where the whole program was
        self.last_words = []   # of stderr, where it failed
        self.ended = row.get('starttime', 0) + row.get('duration', 0)
        text, result = row.get('stdout') or '', row['result']
        errors = [line for line in (row.get('stderr') or '').splitlines() if line and not MESONS_WORDS.match(line)]
        if row.get('returncode') == SKIP_STATUS and not text.strip():
            self.skip(errors[-1] if errors else '')
            return
        if protocol == 'tap':
            self.read_tap(text)
        elif protocol == 'gtest':
            self.read_gtest(text)
        elif result in DONE:
            self.cases.append((PASSED, ''))
        if result not in DONE:
            self.last_words = errors[-LAST_WORDS:]
            if not self.troubles and all(kind != FAILED for kind, _ in self.cases):
                self.troubles.append(f'{result}, exit status {row.get("returncode")}')

    def skip(self, reason):
        if reason:
            self.skipped = reason
        else:
            self.troubles.append('ran no case, and gives no reason: nothing there, or a selector that matches nothing')

    def read_tap(self, text):
        plans, failed_case = [], None
        for line in text.splitlines():
            if plan := TAP_PLAN.match(line):
                plans.append(plan)
            if line.startswith('Bail out!'):
                self.troubles.append(line)
            match = TAP_LINE.match(line)
            if not match:
                if failed_case is not None and line.startswith('#'):
                    self.words[failed_case].append(line)
                continue
            failed, name, directive, why = match.groups()
            failed_case = None
            if check := CHECK_NAME.match(name):
                name = check[1]
            if directive and directive.lower() == 'skip':
                self.cases.append((SKIPPED, f'{name}: {why}'))
            else:
                self.cases.append((FAILED if failed else PASSED, name))
            if failed:
                failed_case = name
                self.words.setdefault(name, []).append(line)
        if len(plans) != 1:
            many = 'no plan: it was silent, or ended before its end' if not plans else f'{len(plans)} plans'
            self.troubles.append(f'TAP with {many} ({len(self.cases)} cases seen)')
            return
        planned, why = int(plans[0].group(1)), plans[0].group(2)
        if planned != len(self.cases):
            self.troubles.append(f'{planned} cases planned, {len(self.cases)} reported')
        elif not planned:
            self.skip(why)

    def read_gtest(self, text):
        starts, ends, printed = [], [], []
        for line in text.splitlines():
            if match := GTEST_START.search(line):
                starts.append(int(match[1]))
            if match := GTEST_END.search(line):
                ends.append(int(match[1]))
            if GTEST_RUN.match(line):
                printed = []
            printed.append(line)
            if match := GTEST_CASE.match(line):
                kind = {'OK': PASSED, 'FAILED': FAILED, 'SKIPPED': SKIPPED}[match[1].strip()]
                self.cases.append((kind, match[2]))
                if kind == FAILED:
                    self.words[match[2]] = printed[-LAST_WORDS:]
        if len(starts) != 1 or starts != ends:
            begun = f'{starts[0]} cases begun' if starts else 'it was silent'
            self.troubles.append(f'GoogleTest did not come to its end: {begun}, {sum(ends)} done')
        elif starts[0] != len(self.cases):
            self.troubles.append(f'{starts[0]} cases begun, {len(self.cases)} reported')
        elif not starts[0]:
            self.skip('')

    def failed(self):
        return {name for kind, name in self.cases if kind == FAILED}


class Build:
    """A build directory: its tests, those that were selected, and the logs of the runs."""

    def __init__(self, directory):
        self.directory, self.name = pathlib.Path(directory), pathlib.Path(directory).name
        tests = json.loads((self.directory / 'meson-info' / 'intro-tests.json').read_text(encoding='utf-8'))
        # the log names the suite only where there are several
        several = len({suite for test in tests for suite in test['suite']}) > 1
        self.tests = {}  # name in the log -> test of meson, with its suites without the project's name
        for test in tests:
            test['suites'] = [suite.rpartition(':')[2] for suite in test['suite']]
            project = test['suite'][0].partition(':')[0]
            in_log = f'{project}:{"+".join(test["suites"])} / {test["name"]}' if several else test['name']
            self.tests[in_log] = test
        self.list = self.directory / 'selected.json'
        self.selected = json.loads(self.list.read_text(encoding='utf-8')) if self.list.exists() else list(self.tests)

    def select(self, words):
        """Keeps the names in the log; exits where a word names nothing."""
        twice = [name for name, many in collections.Counter(t['name'] for t in self.tests.values()).items() if many > 1]
        if twice:
            sys.exit(f'tests: meson cannot tell apart what has one name in two suites: {", ".join(twice)}')
        wanted = set()
        for word in words or ['*']:
            found = [in_log for in_log, test in self.tests.items()
                     if word in test['suites'] or fnmatch.fnmatchcase(test['name'], word)]
            if not found:
                names = sorted({test['name'] for test in self.tests.values()} | {s for t in self.tests.values() for s in t['suites']})
                near = [name for name in names if word.strip('*')[:4] in name]
                sys.exit(f'tests: {self.name} has no suite or test "{word}"; ' +
                         (f'near it: {", ".join(near)}' if near else f'suites: {", ".join(sorted({t["suites"][0] for t in self.tests.values()}))}'))
            wanted.update(found)
        # what has a priority prepares the others; meson runs tests that are named in the order of their names
        self.selected = sorted((in_log for in_log, test in self.tests.items() if in_log in wanted or test['priority'] > 0),
                               key=lambda in_log: -self.tests[in_log]['priority'])
        self.list.write_text(json.dumps(self.selected), encoding='utf-8')

    def needed(self):
        """The files that the selected tests run or load, relative to the build directory: targets of ninja."""
        targets = json.loads((self.directory / 'meson-info' / 'intro-targets.json').read_text(encoding='utf-8'))
        files = {target['id']: target['filename'] for target in targets}
        top = f'{self.directory.resolve()}/'
        found = {}
        for in_log in self.selected:
            for target in self.tests[in_log]['depends']:
                found.update(dict.fromkeys(file.removeprefix(top) for file in files[target]))
        return list(found)

    def missing(self):
        for in_log in self.selected:
            program = self.tests[in_log]['cmd'][0]
            if not os.access(program, os.X_OK):
                yield f'{in_log}: {program} is missing'
        for file in self.needed():
            if not (self.directory / file).exists():
                yield f'{file} is missing'

    def rows(self, log):
        """(name in the log, Program) of each row."""
        path = self.directory / 'meson-logs' / f'{log}.json'
        for line in path.read_text(encoding='utf-8').splitlines() if path.exists() else []:
            try:
                row = json.loads(line)
            except ValueError:  # whoever wrote the log was killed over it
                row = {'name': '', 'result': 'the log ends within a line'}
            name = row['name']
            newer = re.fullmatch(r'(.*) - ([^:]*):(.*)', name)  # as meson 1.12 writes it
            if name not in self.tests and newer:
                name = f'{newer[2]}:{newer[1]} / {newer[3]}'
            test = self.tests.get(name)
            yield name, Program(row, test['protocol'] if test else 'exitcode')

    def to_repeat(self):
        """Programs of which a case failed, and that came to their end: one that died or hung is red as it is."""
        return [in_log for in_log, program in self.rows('testlog')
                if program.failed() and not program.troubles and in_log in self.tests]

    def load(self, seconds):
        """The machine's load, as the log of scripts/tests has it (seconds, load), about then."""
        path = self.directory / 'meson-logs' / 'load.txt'
        lines = [line.split() for line in path.read_text(encoding='utf-8').splitlines()] if path.exists() else []
        known = [(abs(float(line[0]) - seconds), line[1]) for line in lines if len(line) > 1]
        return min(known)[1] if known else 'unknown'


class Report:
    def __init__(self):
        self.results = {}                                            # case -> the worst that came of it
        self.counts = collections.defaultdict(collections.Counter)   # build -> suite -> cases
        self.lines = []                                              # what failed or was skipped
        self.unsteady = []                                           # (where, lines)

    def add(self, build, suite, program, case, kind, where):
        key = (suite, program, case)
        if suite == 'leaks' and program.partition('-')[0] in ('libs', 'elements'):
            key = (*program.split('-', 1), case)  # the same program, looked at in another way
        old = self.results.get(key, PASSED)
        self.results[key] = max(kind, old, key=WORST)
        if kind in (FAILED, SKIPPED):
            self.lines.append(f'{kind}: {build.name}: {suite}: {program}: {where}')

    def read(self, build):
        again = collections.defaultdict(list)
        for log in ('again1', 'again2'):
            for in_log, program in build.rows(log):
                again[in_log].append(program)
        seen = set()
        for in_log, program in build.rows('testlog'):
            seen.add(in_log)
            test = build.tests.get(in_log, {'suites': [''], 'name': in_log or 'log'})
            suite, name = test['suites'][0], test['name']
            repeated = again[in_log]
            nth = collections.Counter()
            self.counts[build.name][suite] += len(program.cases)
            for kind, case in program.cases:
                nth[case] += 1
                if kind == FAILED and len(repeated) == 2 and all(case not in p.failed() and not p.troubles for p in repeated):
                    kind = UNSTEADY
                    self.unsteady.append((f'{build.name}: {suite}: {name}: {case}', [
                        f'load {build.load(program.ended)}; alone {" and ".join(build.load(p.ended) for p in repeated)}',
                        *program.words.get(case, []), *program.last_words]))
                why = program.words.get(case, [''])[0] if test.get('protocol') == 'tap' else case
                self.add(build, suite, name, (case, nth[case]), kind, re.sub(r'^not ok \d+ - (\S*/)?', '', why) if kind == FAILED else case)
            for trouble in program.troubles:
                self.add(build, suite, name, trouble, FAILED, trouble)
            if program.skipped:
                self.add(build, suite, name, '', SKIPPED, program.skipped)
            if program.last_words and (program.failed() or program.troubles):
                print(f'{build.name}: {suite}: {name} wrote at its end:', *program.last_words, sep='\n  | ')
        for in_log in build.selected:
            if in_log not in seen:
                test = build.tests[in_log]
                self.add(build, test['suites'][0], test['name'], 'did not run', FAILED, 'did not run')

    def compare(self, path):
        table = read_table(path)
        for build, suites in self.counts.items():
            for suite, wanted in table.get(build, {}).items():
                if suites[suite] < wanted:
                    self.results[build, suite, 'number'] = FAILED
                    self.lines.append(f'{FAILED}: {build}: {suite}: {suites[suite]} cases, {path.name} asks for {wanted}')
            for suite, got in suites.items():
                known = table.get(build, {}).get(suite, 0)
                if suite and got > known:
                    print(f'note: {build}: {suite}: {got} cases, {path.name} has {known}: ./run tests --all --update-counts')

    def total(self, broken):
        for where, lines in self.unsteady:
            print(f'unsteady: {where}', *lines, sep='\n  | ')
        print(*self.lines, sep='\n', end='\n' if self.lines else '')
        totals = collections.Counter(self.results.values())
        if totals[UNSTEADY] > MOST_UNSTEADY:
            print(f'{totals[UNSTEADY]} cases are unsteady: more than {MOST_UNSTEADY} are failures')
            totals[FAILED] += totals.pop(UNSTEADY)
        for what in broken:
            print(f'did not get through: {what}')
        if not totals[FAILED]:  # else meson's status is of failures that are counted already
            totals[FAILED] = len(broken)
        passed = totals[PASSED] + totals[UNSTEADY]
        print(f'tests: {passed} passed, {totals[FAILED]} failed, {totals[SKIPPED]} skipped')
        return bool(totals[FAILED] or not passed), totals[SKIPPED]


def read_table(path):
    """build -> suite -> cases"""
    text = path.read_text(encoding='utf-8') if path.exists() else ''
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith('#')]
    table = {build: {} for build in rows[0][1:]} if rows else {}
    for suite, *numbers in rows[1:]:
        for build, number in zip(table, numbers, strict=True):
            if number != '-':
                table[build][suite] = int(number)
    return table


def write_table(path, counts):
    builds = sorted(counts)
    suites = sorted({suite for cases in counts.values() for suite in cases})
    rows = [['suite', *builds]] + [[suite, *(str(counts[build].get(suite, '-')) for build in builds)] for suite in suites]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ['  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    path.write_text(TABLE_HEADER + '\n'.join(lines) + '\n', encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='command', required=True)
    select = commands.add_parser('select')
    select.add_argument('build')
    select.add_argument('words', nargs='*')
    for name in ('missing', 'names', 'again'):
        commands.add_parser(name).add_argument('build')
    report = commands.add_parser('report')
    report.add_argument('builds', nargs='*')
    report.add_argument('--no-skips', action='store_true', help='a skipped case is an error')
    report.add_argument('--expected', type=pathlib.Path, metavar='FILE', help='table of cases per suite and build')
    report.add_argument('--update', action='store_true', help='write the numbers of these logs to --expected instead')
    report.add_argument('--broken', action='append', default=[], metavar='TEXT', help='what did not get through')
    args = parser.parse_args()
    if args.command == 'report':
        result = Report()
        for directory in args.builds:
            result.read(Build(directory))
        if args.expected and not args.update:
            result.compare(args.expected)
        bad, skipped = result.total(args.broken)
        bad = bad or (args.no_skips and skipped)
        if args.update and not bad:
            write_table(args.expected, result.counts)
        elif args.update:
            print(f'{args.expected} stays as it is: only numbers of a run without failures are written', file=sys.stderr)
        return 1 if bad else 0
    build = Build(args.build)
    if args.command == 'select':
        build.select(args.words)
        print('\n'.join(build.needed()))
    elif args.command == 'missing':
        print('\n'.join(build.missing()))
    else:
        names = build.selected if args.command == 'names' else build.to_repeat()
        print('\n'.join(build.tests[in_log]['name'] for in_log in names))
    return 0


if __name__ == '__main__':
    sys.exit(main())
