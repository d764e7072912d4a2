#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ./run tests makes of real programs that die, are silent, are missing or end half-way.

Puts up a small project of two programs, one of GoogleTest and one of GstCheck, and takes it through run_in() and
report() of scripts/testing.sh, as ./run tests does with this project. TAP, a case per row of ROWS.
Usage: run_tests.py SOURCE_ROOT GTEST_PROGRAM CHECK_PROGRAM
"""

import functools
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import tap_rows  # noqa: E402

MESON_BUILD = """\
project('small')
test('gtest', find_program('gtest.sh'), suite: 'unit', protocol: 'gtest')
test('check', find_program('check.sh'), suite: 'libs', protocol: 'tap')
"""
# meson before 1.7 builds by default all that tests depend on: the command makes nothing
NOT_BUILT = MESON_BUILD.replace("protocol: 'gtest'", "protocol: 'gtest', depends: "
                                "custom_target('needed', output: 'needed.txt', command: ['true'])")
RUN = """\
source "$1/scripts/lib.sh"
source "$1/scripts/testing.sh"
report_args=(--expected "$PWD/expected.txt")
run_in "$(current_world)" small
report
"""
RIGHT = 'exec {program}'
HALF_WAY = 'GST_DRM_RUNNER=half-way exec {program}'
# the first run fails, those after it pass
ONCE = 'echo >>{program_runs}; (($(wc -l <{program_runs}) > 1)) || export GST_DRM_RUNNER={mode}; exec {program}'
ENOUGH = 'suite small\nunit 2\nlibs 2\n'

# What the row is about, what each of the two programs does, the table of cases, exit status, and words of the output.
ROWS = [
    ('both are right', RIGHT, RIGHT, ENOUGH, 0, 'tests: 4 passed, 0 failed, 0 skipped'),
    ('a case of GoogleTest fails', 'GST_DRM_RUNNER=fails exec {program}', RIGHT, ENOUGH, 1, 'failed: small: unit: gtest: Program.begins'),
    ('a case of GstCheck fails', RIGHT, 'GST_DRM_RUNNER=fails exec {program}', ENOUGH, 1, 'failed: small: libs: check: check_program.cpp:case:test_begins: Failure'),
    ('GoogleTest dies', 'kill -SEGV $$', RIGHT, ENOUGH, 1, 'failed: small: unit: gtest'),
    ('GoogleTest is silent', 'exit 0', RIGHT, ENOUGH, 1, 'gtest: GoogleTest did not come to its end: it was silent'),
    ('GoogleTest ends half-way', HALF_WAY, RIGHT, ENOUGH, 1, 'gtest: GoogleTest did not come to its end: 2 cases begun, 0 done'),
    ('GoogleTest runs one of two', 'exec {program} "$@" --gtest_filter=*begins', RIGHT, ENOUGH, 1, 'unit: 1 cases, expected.txt asks for 2'),
    ('GoogleTest runs none', 'exec {program} "$@" --gtest_filter=*begin', RIGHT, ENOUGH, 1, 'gtest: ran no case'),
    ('the program is missing', None, RIGHT, ENOUGH, 1, 'gtest.sh is missing'),
    ('meson is killed', 'kill -KILL $PPID', RIGHT, ENOUGH, 1, 'failed: small: unit: gtest: did not run'),
    ('GstCheck dies', RIGHT, 'kill -KILL $$', ENOUGH, 1, 'failed: small: libs: check'),
    ('GstCheck is silent', RIGHT, 'exit 0', ENOUGH, 1, 'check: TAP with no plan'),
    ('GstCheck ends half-way', RIGHT, 'CK_FORK=no ' + HALF_WAY, ENOUGH, 1, 'check: TAP with no plan'),
    ('GstCheck crashes after its last case', RIGHT, '{program}; kill -SEGV $$', ENOUGH, 1, 'failed: small: libs: check'),
    ('it skips without a word', RIGHT, 'exit 77', ENOUGH, 1, 'gives no reason'),
    ('it skips with its reason', RIGHT, 'echo no display >&2; exit 77', 'suite small\nunit 2\n', 0, 'tests: 2 passed, 0 failed, 1 skipped'),
    ('a typo in the selector', RIGHT, 'CK_RUN_CASE=caes exec {program}', ENOUGH, 1, 'check: ran no case'),
    ('no program at all', None, None, ENOUGH, 1, 'gtest.sh is missing; small:libs / check:'),
    ('a case is unsteady', ONCE.replace('{mode}', 'fails'), RIGHT, ENOUGH, 0, 'unsteady: small: unit: gtest: Program.begins\n  | load '),
    ('two cases are unsteady', RIGHT, ONCE.replace('{mode}', 'fails-twice'), ENOUGH, 0, 'tests: 4 passed, 0 failed, 0 skipped'),
    ('three cases are unsteady', ONCE.replace('{mode}', 'fails'), ONCE.replace('{mode}', 'fails-twice'), ENOUGH, 1,
     'tests: 1 passed, 3 failed, 0 skipped'),
    ('a case is unsteady and then dies', 'echo >>{program_runs}; (($(wc -l <{program_runs}) > 1)) && kill -KILL $$; '
     'GST_DRM_RUNNER=fails exec {program}', RIGHT, ENOUGH, 1, 'failed: small: unit: gtest: Program.begins'),
]


def put_program(path, text, program):
    path.unlink(missing_ok=True)
    runs = path.with_suffix('.runs')
    runs.unlink(missing_ok=True)
    if text is not None:
        path.write_text(f'#!/bin/bash\nexport CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent\n{text.format(program=shlex.quote(program), program_runs=shlex.quote(str(runs)))}\n', encoding='utf-8')
        path.chmod(0o755)


def run(project, root, programs, row):
    _, gtest, check, table, wanted, words = row
    put_program(project / 'gtest.sh', gtest, programs[0])
    put_program(project / 'check.sh', check, programs[1])
    (project / 'expected.txt').write_text(table, encoding='utf-8')
    done = subprocess.run(['bash', '-euo', 'pipefail', '-c', RUN, 'run_tests', root], cwd=project, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_environment())
    last = (done.stdout.splitlines() or [''])[-1]
    if done.returncode != wanted or words not in done.stdout or not last.startswith('tests: '):
        return f'status {done.returncode}, wanted {wanted} and {words!r}:\n{done.stdout}'
    if wanted and ', 0 failed' in last:
        return f'red, but it says {last!r}'
    return None


def run_not_built(project, root, programs):
    row = ('', RIGHT, RIGHT, ENOUGH, 1, 'needed.txt is missing')
    (project / 'meson.build').write_text(NOT_BUILT, encoding='utf-8')
    return run(project, root, programs, row)


def clean_environment():
    """Without what a run of this test's own says of cases and logs."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(('CK_', 'GTEST_', 'GST_DRM_RUNNER', 'MESON'))}


def main():
    root, *programs = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch:
        project = pathlib.Path(scratch)
        (project / 'meson.build').write_text(MESON_BUILD, encoding='utf-8')
        for name in ('gtest.sh', 'check.sh'):  # there when meson looks for them
            put_program(project / name, 'exit 1', '')
        cases = [(row[0], functools.partial(run, project, root, programs, row)) for row in ROWS]
        cases.append(('what a test depends on is not built', functools.partial(run_not_built, project, root, programs)))
        return tap_rows.run(cases)


if __name__ == '__main__':
    sys.exit(main())
