#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says which test programs of a build directory are not there, one line each. Usage: missing-programs.py BUILD

meson test does not: from 1.7 on it waits for ever for a program that it cannot start.
"""

import json
import os
import pathlib
import sys

info = pathlib.Path(sys.argv[1]) / 'meson-info' / 'intro-tests.json'
for test in json.loads(info.read_text(encoding='utf-8')):
    if not os.access(test['cmd'][0], os.X_OK):
        print(f'{test["suite"][0].rpartition(":")[2]}: {test["name"]}: {test["cmd"][0]} is missing')
