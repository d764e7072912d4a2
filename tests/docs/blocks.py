# SPDX-License-Identifier: LGPL-2.1-or-later
"""The fenced blocks of the documentation, and TAP for the tests that run them."""

import dataclasses
import pathlib
import re
import sys

# What a block can be; every other word, and none, is an error.
LANGUAGES = ('sh', 'console', 'python', 'c', 'text')
FENCE = re.compile(r'^( *)```(\S*)[^`]*$')


@dataclasses.dataclass
class Block:
    path: str  # from the root of the source tree
    line: int  # of its first line of text
    language: str
    text: str

    @property
    def where(self):
        return f'{self.path}:{self.line}'

    def commands(self):
        """(line, command) of a block of commands; a line that ends in a backslash goes on."""
        command, start = '', 0
        for number, line in enumerate(self.text.splitlines(), self.line):
            start = start if command else number
            command += line
            if command.endswith('\\'):
                command = command[:-1]
                continue
            if command.strip() and not command.lstrip().startswith('#'):
                yield start, command.strip()
            command = ''


def pages(source):
    """Every page of the source tree that a reader is sent to."""
    source = pathlib.Path(source)
    found = [source / 'README.md', source / 'CONTRIBUTING.md']
    found += sorted(source.glob('docs/**/*.md')) + sorted(source.glob('tests/*/README.md'))
    return found


def blocks(source):
    for page in pages(source):
        open_fence, lines = None, []
        for number, line in enumerate(page.read_text(encoding='utf-8').splitlines(), 1):
            fence = FENCE.match(line)
            if open_fence is None and fence:
                open_fence, lines = (fence, number + 1), []
            elif open_fence is not None and line.strip() == '```':
                begin, start = open_fence
                indent = len(begin[1])
                text = '\n'.join(text[indent:] for text in lines) + '\n'
                yield Block(str(page.relative_to(source)), start, begin[2], text)
                open_fence = None
            else:
                lines.append(line)
        if open_fence is not None:
            yield Block(str(page.relative_to(source)), open_fence[1], 'unclosed', '')


class Tap:
    """Counts cases, and prints them as they come."""

    def __init__(self):
        self.number = self.failures = 0

    def case(self, name, problem=None):
        """One result; a problem is a text that says what is wrong."""
        self.number += 1
        self.failures += bool(problem)
        print(f'{"not " if problem else ""}ok {self.number} - {name.replace("#", " ")}', flush=True)
        if problem:
            for line in problem.splitlines():
                print(f'# {line}', flush=True)

    def skip(self, name, why):
        self.number += 1
        print(f'ok {self.number} - {name.replace("#", " ")} # SKIP {why}', flush=True)

    def end(self):
        print(f'1..{self.number}')
        sys.exit(1 if self.failures or not self.number else 0)
