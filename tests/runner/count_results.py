#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What scripts/count-results.py makes of rows of meson's log. TAP, a case per row of the tables below."""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import tap_rows  # noqa: E402

COUNT = pathlib.Path(__file__).resolve().parents[2] / 'scripts' / 'count-results.py'
GTEST = '[==========] Running {0} tests from 1 test suite.\n{1}[==========] {0} tests from 1 test suite ran. (1 ms total)\n'
GTEST_GOOD = GTEST.format(3, '') + '[  PASSED  ] 3 tests.\n'
GTEST_MIXED = (GTEST.format(3, '') + '[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.skips\n'
               '[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.fails, where GetParam() = 3\n')

# What the row is about, meson's protocol, its result and exit status, stdout, stderr, then what has to come of it:
# passed, failed, skipped, and words of the output.
ROWS = [
    ('TAP with its plan', 'tap', 'OK', 0, 'ok 1 - a\nok 2 - b\n1..2\n', '', (2, 0, 0), ''),
    ('TAP with its plan first', 'tap', 'OK', 0, '1..2\nok 1 - a\nok 2 - b\n', '', (2, 0, 0), ''),
    ('a failed case', 'tap', 'FAIL', 1, 'ok 1 - a\nnot ok 2 - b\n1..2\n', '', (1, 1, 0), 'b'),
    ('a skipped case', 'tap', 'OK', 0, 'ok 1 - a\nok 2 - b # SKIP no vkms\n1..2\n', '', (1, 0, 1), 'no vkms'),
    ('no plan', 'tap', 'OK', 0, 'ok 1 - a\nok 2 - b\n', '', (2, 1, 0), 'no plan'),
    ('TAP that ended half-way', 'tap', 'OK', 0, '1..3\nok 1 - a\n', '', (1, 1, 0), '3 cases planned, 1 reported'),
    ('more than planned', 'tap', 'OK', 0, '1..1\nok 1 - a\nok 2 - b\n', '', (2, 1, 0), '1 cases planned, 2 reported'),
    ('two plans', 'tap', 'OK', 0, '1..1\nok 1 - a\n1..1\n', '', (1, 1, 0), '2 plans'),
    ('a bail-out', 'tap', 'ERROR', 0, '1..1\nok 1 - a\nBail out! no display\n', '', (1, 1, 0), 'no display'),
    ('1..0 without a word', 'tap', 'SKIP', 0, '1..0\n', '', (0, 1, 0), 'a selector that matches nothing'),
    ('1..0 with its reason', 'tap', 'SKIP', 0, '1..0 # SKIP no kernel\n', '', (0, 0, 1), 'no kernel'),
    ('a silent TAP program', 'tap', 'OK', 0, '', '', (0, 1, 0), 'silent'),
    ('a silent TAP program with a warning', 'tap', 'SKIP', 0, '', 'warning\n', (0, 1, 0), 'silent'),
    ('a skip on stderr', 'tap', 'ERROR', 77, '', 'warning\nskipped: no kernel\n', (0, 0, 1), 'skipped: no kernel'),
    ('a skip without a word', 'tap', 'ERROR', 77, '', '', (0, 1, 0), 'no reason'),
    ('a crash after its last case', 'tap', 'FAIL', -11, 'ok 1 - a\n1..1\n', '', (1, 1, 0), 'exit status -11'),
    ('a hang after its last case', 'tap', 'ERROR', 124, 'ok 1 - a\n1..1\n', 'box: R: spins\nbox: time limit\n', (1, 1, 0),
     '\n  | box: R: spins\n  | box: time limit\n'),
    ('the end of a long log', 'exitcode', 'FAIL', 1, '', ''.join(f'{i}\n' for i in range(40)), (0, 1, 0),
     'program wrote at its end:\n  | 10\n'),
    ('a time limit', 'tap', 'TIMEOUT', -15, 'ok 1 - a\n', '', (1, 1, 0), 'no plan'),
    ('GoogleTest', 'gtest', 'OK', 0, GTEST_GOOD, '', (3, 0, 0), ''),
    ('GoogleTest in colours of results', 'gtest', 'FAIL', 1, GTEST_MIXED, '', (1, 1, 1), 'A.fails'),
    ('a silent GoogleTest program', 'gtest', 'OK', 0, '', '', (0, 1, 0), 'silent'),
    ('GoogleTest that ended half-way', 'gtest', 'OK', 0, '[==========] Running 3 tests from 1 test suite.\n[ RUN      ] A.a\n', '',
     (0, 1, 0), '3 cases begun, 0 done'),
    ('GoogleTest without a summary', 'gtest', 'OK', 0, GTEST.format(3, ''), '', (0, 1, 0), '3 cases begun, 0 reported'),
    ('GoogleTest with a filter for nothing', 'gtest', 'OK', 0, GTEST.format(0, '') + '[  PASSED  ] 0 tests.\n', '',
     (0, 1, 0), 'a selector that matches nothing'),
    ('GoogleTest that crashed at exit', 'gtest', 'FAIL', -6, GTEST_GOOD, '', (3, 1, 0), 'exit status -6'),
    ('a plain program', 'exitcode', 'OK', 0, 'hello\n', '', (1, 0, 0), ''),
    ('a plain program that failed', 'exitcode', 'FAIL', 3, '', '', (0, 1, 0), 'exit status 3'),
    ('a plain program that skips', 'exitcode', 'SKIP', 77, '', 'no GPU\n', (0, 0, 1), 'no GPU'),
    ('a failure that is wanted', 'exitcode', 'EXPECTEDFAIL', 1, '', '', (1, 0, 0), ''),
    ('a failure that did not come', 'exitcode', 'UNEXPECTEDPASS', 0, '', '', (0, 1, 0), 'UNEXPECTEDPASS'),
]


def log_row(result, status, stdout, stderr, name='p:s / program'):
    return json.dumps({'name': name, 'result': result, 'returncode': status, 'stdout': stdout, 'stderr': stderr})


def run(lines, protocols, arguments=(), table=None):
    """Puts up a build directory 'world' with the suites s and t; returns status, output and the table after it."""
    with tempfile.TemporaryDirectory() as scratch:
        build = pathlib.Path(scratch) / 'world'
        log = build / 'meson-logs' / 'testlog.json'
        for directory in (log.parent, build / 'meson-info'):
            directory.mkdir(parents=True)
        log.write_text(''.join(f'{line}\n' for line in lines))
        tests = [{'suite': [f'p:{suite}'], 'name': name, 'protocol': protocol} for suite, name, protocol in protocols]
        (build / 'meson-info' / 'intro-tests.json').write_text(json.dumps(tests))
        expected = pathlib.Path(scratch) / 'expected.txt'
        if table is not None:
            expected.write_text(table)
            arguments = ['--expected', expected, *arguments]
        done = subprocess.run([sys.executable, COUNT, *arguments, log], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout, expected.read_text() if expected.exists() else None


def judge(status, output, counts, words):
    passed, failed, skipped = counts
    wanted = f'tests: {passed} passed, {failed} failed, {skipped} skipped'
    if wanted not in output:
        return f'wanted {wanted!r}, got:\n{output}'
    if words not in output:
        return f'no {words!r} in:\n{output}'
    if (status != 0) != bool(failed or not passed):
        return f'exit status {status} with:\n{output}'
    return None


def one_program(row):
    _, protocol, result, status, stdout, stderr, counts, words = row
    # of the other suite, so that the log names both, one program that passes
    other = log_row('OK', 0, '', '', 'p:t / other')
    got, output, _ = run([log_row(result, status, stdout, stderr), other],
                         [('s', 'program', protocol), ('t', 'other', 'exitcode')])
    return judge(got, output, (counts[0] + 1, *counts[1:]), words)


BOTH = [('s', 'program', 'exitcode'), ('t', 'other', 'exitcode')]
BOTH_RAN = [log_row('OK', 0, '', ''), log_row('OK', 0, '', '', 'p:t / other')]
HALF_A_LINE = BOTH_RAN[1][:20]

# What the row is about, the log's lines, the arguments, the table, then what has to come of it: passed, failed,
# skipped, and words of the output.
RUNS = [
    ('a program that did not run', BOTH_RAN[:1], [], None, (1, 1, 0), 'failed: world: t: other: did not run'),
    ('a run of some programs', BOTH_RAN[:1], ['--partial'], 'suite world\ns 9\n', (1, 0, 0), ''),
    ('a log that was cut off', [BOTH_RAN[0], HALF_A_LINE], [], None, (1, 2, 0), 'the log ends within a line'),
    ('an empty log', [], [], None, (0, 2, 0), 'did not run'),
    ('what did not get through', BOTH_RAN, ['--broken', 'world: meson test, status 137'], None, (2, 1, 0), 'status 137'),
    ('a failure is not counted twice', BOTH_RAN[:1], ['--broken', 'world: meson test, status 1'], None, (1, 1, 0), 'did not run'),
    ('a build that is not there', BOTH_RAN, ['/nonexistent/build/meson-logs/testlog.json'], None, (2, 1, 0), 'no results'),
    ('the numbers are reached', BOTH_RAN, [], 'suite world\ns 1\nt 1\n', (2, 0, 0), ''),
    ('a number is not reached', BOTH_RAN, [], 'suite world\ns 2\nt 1\n', (2, 1, 0), 's: 1 cases, expected.txt asks for 2'),
    ('a suite is gone', BOTH_RAN, [], 'suite world\ns 1\nt 1\nu 3\n', (2, 1, 0), 'u: 0 cases, expected.txt asks for 3'),
    ('more than the number is said', BOTH_RAN, [], 'suite world\ns 1\nt 0\n', (2, 0, 0), 'note: world: t: 1 cases'),
    ('a suite of another build', BOTH_RAN, [], 'suite other world\ns 9 1\nt 9 1\nu 9 -\n', (2, 0, 0), ''),
    ('no numbers at all', BOTH_RAN, [], '# a comment\n', (2, 1, 0), 'expected.txt has no numbers'),
    ('a build without numbers', BOTH_RAN, [], 'suite other\ns 9\n', (2, 0, 0), 'has no numbers for this build'),
]


def failures_come_last():
    failed = log_row('FAIL', 1, '', 'no device\n')
    _, output, _ = run([failed, BOTH_RAN[1]], BOTH, ['--broken', 'world: meson test, status 1'], 'suite world\ns 0\nt 0\n')
    wanted = ['  | no device', 'note: world: t: 1 cases, expected.txt has 0: ./run tests --update-counts',
              'failed: world: s: program: FAIL, exit status 1', 'did not get through: world: meson test, status 1',
              'tests: 1 passed, 1 failed, 0 skipped']
    return None if output.splitlines()[-len(wanted):] == wanted else output


def one_run(row):
    _, lines, arguments, table, counts, words = row
    status, output, _ = run(lines, BOTH, arguments, table)
    return judge(status, output, counts, words)


def skips_are_errors():
    skipped = log_row('SKIP', 77, '', 'no GPU\n')
    status, output, _ = run([skipped, BOTH_RAN[1]], BOTH, ['--no-skips'])
    return None if status else output


def update_writes():
    status, output, table = run(BOTH_RAN, BOTH, ['--update'], 'suite other world\ns 9 7\n')
    rows = [line.split() for line in table.splitlines() if not line.startswith('#')]
    wanted = [['suite', 'other', 'world'], ['s', '9', '1'], ['t', '-', '1']]
    return None if status == 0 and rows == wanted else f'{output}\n{table}'


def update_keeps_after_a_failure():
    before = 'suite world\ns 7\n'
    status, output, table = run(BOTH_RAN[:1], BOTH, ['--update'], before)
    return None if status and table == before else f'{output}\n{table}'


def main():
    rows = [(row[0], functools.partial(one_program, row)) for row in ROWS]
    rows += [(row[0], functools.partial(one_run, row)) for row in RUNS]
    rows += [('what failed stands at the end', failures_come_last)]
    rows += [('a skip is an error for who says so', skips_are_errors), ('the table is written', update_writes),
             ('no table after a failure', update_keeps_after_a_failure)]
    return tap_rows.run(rows)


if __name__ == '__main__':
    sys.exit(main())
