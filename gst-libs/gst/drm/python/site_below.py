# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the first folder for modules that this interpreter searches in PREFIX/lib*, if there is one."""
import pathlib
import site
import sys

prefix = pathlib.Path(sys.argv[1])
for place in map(pathlib.Path, site.getsitepackages()):
    if prefix in place.parents and place.relative_to(prefix).parts[0].startswith('lib'):
        print(place)
        break
