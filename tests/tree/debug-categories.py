#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every debug category that a message, a page or a script of the tree names is one that the tree registers. One TAP
case per mention.

A mention is what a user may copy into GST_DEBUG: GST_DEBUG=NAME:LEVEL (a list too, as a shell or Python quotes it), and
between backticks NAME:LEVEL or, after the word category, NAME; a message names it without backticks. So is each name in
the first column of a table whose head is "category". Categories of GStreamer itself are allowed where FOREIGN has them.
Usage: debug-categories.py SOURCE_ROOT
"""

import pathlib
import re
import sys

SOURCES = ('gst', 'gst-libs', 'docs', 'scripts', 'tests', 'tools')
SINGLE = ('README.md', 'CONTRIBUTING.md', 'run')
SUFFIXES = ('.c', '.cpp', '.h', '.hpp', '.md', '.py', '.sh', '')

# GStreamer's own that messages send a user to.
FOREIGN = {'video-info'}

REGISTERED = re.compile(r'(?:GST_DEBUG_CATEGORY_INIT\s*\(\s*\w+\s*,\s*|_gst_debug_category_new\s*\(\s*)"([\w-]+)"')
# C joins literals across lines: "the category " "drmformat"
JOINED = re.compile(r'"\s*\n\s*"')
NAME = r'[A-Za-z_][\w*-]*'
SETTING = re.compile(r'GST_DEBUG[\'"]?\s*(?:=|,|:)\s*[\'"]?((?:' + NAME + r':\d,?)+)')
QUOTED = re.compile(r'`(' + NAME + r'):[1-9]`')
IN_WORDS = re.compile(r'\bcategor(?:y|ies) `(' + NAME + r')`')
IN_MESSAGE = re.compile(r'"[^"\n]*\bcategory (' + NAME + r')[ .,;"][^"\n]*')
TABLE = re.compile(r'^\| category \|[^\n]*\n\|[-|]*\n((?:\|[^\n]*\n)*)', re.M)
# what may follow the word in a message, in plain English
WORDS = {'a', 'and', 'as', 'at', 'for', 'has', 'is', 'of', 'that', 'the', 'with'}


def registered(text):
    return set(REGISTERED.findall(text))


def mentions(text):
    """The categories that a text names, in alphabetical order."""
    text = JOINED.sub('', text)
    found = set()
    for pattern in (SETTING, QUOTED, IN_WORDS, IN_MESSAGE):
        for match in pattern.finditer(text):
            found |= {part.split(':')[0] for part in match[1].split(',') if part}
    for table in TABLE.findall(text):
        for row in table.splitlines():
            found |= set(re.findall('`(' + NAME + ')`', row.split('|')[1]))
    return sorted(name for name in found if name not in WORDS and '*' not in name)


# (text, the names that have to be found)
SAMPLES = [
    ('Run with GST_DEBUG=kmsdmabufsink:6 to see', ['kmsdmabufsink']),
    ('`GST_DEBUG=drmformat:5,video-info:6`', ['drmformat', 'video-info']),
    ("GST_DEBUG='vadmabufsrc:5', GST_DEBUG_NO_COLOR='1'", ['vadmabufsrc']),
    ('env["GST_DEBUG"] = "*:3"', []),
    ('the log (`kmsdmabufsink:4`) says', ['kmsdmabufsink']),
    ('at `0:1` and `sink:port`', []),
    ('("The log of the category drmallocator says")', ['drmallocator']),
    ('("see the debug category "\n     "video-info")', ['video-info']),
    ('("the category of the library")', []),
    ('// The category is made once.', []),
    ('// The debug category `drmallocator`.', ['drmallocator']),
    ('| category | shows |\n|---|---|\n| `x`, `y` | `c` |\n| `z` | e |\n\n| `f` | |\n', ['x', 'y', 'z']),
    ('GST_DEBUG_CATEGORY_INIT(a, "b", 0, "c")', []),
]
REGISTRATIONS = [
    ('GST_DEBUG_CATEGORY_INIT(x_debug, "x", 0,\n "y");', {'x'}),
    ('_gst_debug_category_new(\n  "x-y", 0, nullptr);', {'x-y'}),
    ('GST_DEBUG_CATEGORY_EXTERN(x_debug);', set()),
]


def files(root):
    for room in SOURCES:
        yield from sorted(f for f in (root / room).rglob('*') if f.suffix in SUFFIXES and f.is_file())
    for name in SINGLE:
        yield root / name


def main():
    root = pathlib.Path(sys.argv[1])
    number = 0
    failed = False

    def case(right, name):
        nonlocal number, failed
        number += 1
        failed |= not right
        print(f'{"ok" if right else "not ok"} {number} - {name}')

    for text, names in SAMPLES:
        case(mentions(text) == names, f'rule: {names or "nothing"} in {text!r}')
    for text, names in REGISTRATIONS:
        case(registered(text) == names, f'registered: {names or "nothing"} in {text!r}')
    texts = {}
    for file in files(root):
        relative = file.relative_to(root).as_posix()
        if relative != 'tests/tree/debug-categories.py':
            texts[relative] = file.read_bytes().decode('utf-8', 'replace')
    # a test's own categories are no user's
    known = set().union(*(registered(text) for path, text in texts.items() if path.startswith(('gst/', 'gst-libs/'))))
    found = [(path, name) for path, text in texts.items() for name in mentions(text)]
    for path, name in found:
        right = name in known | FOREIGN
        case(right, f'{path}: {name}' + ('' if right else ' is not registered: ' + ', '.join(sorted(known))))
    print(f'1..{number}')
    # fewer than there are means that the patterns above stopped to match
    return 1 if failed or len(known) < 7 or len(found) < 6 else 0


if __name__ == '__main__':
    sys.exit(main())
