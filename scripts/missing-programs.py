#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says which test programs, and what they depend on, a build directory has not; one line each. Usage: missing-programs.py BUILD

meson test does not: from 1.7 on it waits for ever for a program that it cannot start.
"""

import json
import os
import pathlib
import sys

info = pathlib.Path(sys.argv[1]) / 'meson-info'
made = {target['id']: target['filename'] for target in json.loads((info / 'intro-targets.json').read_text(encoding='utf-8'))}
for test in json.loads((info / 'intro-tests.json').read_text(encoding='utf-8')):
    missing = [] if os.access(test['cmd'][0], os.X_OK) else [test['cmd'][0]]
    # what is not built by default only `meson test` without --no-rebuild would build
    missing += [file for target in test['depends'] for file in made[target] if not os.path.exists(file) and file not in missing]
    for file in missing:
        print(f'{test["suite"][0].rpartition(":")[2]}: {test["name"]}: {file} is missing')
