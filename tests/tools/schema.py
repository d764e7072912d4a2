#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""JSON documents fit a JSON Schema, and the schema says all of them: no member that it does not name, none of its members that is missing,
and no document in which one value is of another type.

usage: schema.py SCHEMA DOCUMENT...

Of draft-07 it knows what the schema uses, and ends with any other keyword. It needs no package.
"""

import copy
import json
import re
import sys

TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'integer': int}
SAYS_NOTHING = {'$schema', '$comment', 'title', 'description', 'definitions'}


class Schema:
    def __init__(self, root):
        self.root = root

    def problems(self, value, schema=None, place='it'):
        """One line for each thing that is wrong."""
        schema = self.root if schema is None else schema
        for keyword, argument in schema.items():
            if keyword not in SAYS_NOTHING:
                check = getattr(self, 'check_' + keyword.strip('$'), None)
                if not check:
                    raise ValueError(f'{place}: the keyword {keyword} is not known here')
                yield from check(argument, value, place)

    def check_ref(self, argument, value, place):
        target = self.root
        for part in argument.removeprefix('#/').split('/'):
            target = target[part]
        yield from self.problems(value, target, place)

    def check_oneOf(self, argument, value, place):
        found = [list(self.problems(value, one, place)) for one in argument]
        if sum(not problems for problems in found) != 1:
            yield f'{place} fits not just one: {min(found, key=len)}'

    def check_const(self, argument, value, place):
        if type(value) is not type(argument) or value != argument:
            yield f'{place} is {value!r} and not {argument!r}'

    def check_enum(self, argument, value, place):
        if value not in argument:
            yield f'{place} is {value!r}'

    def check_type(self, argument, value, place):
        if type(value) is not TYPES[argument]:
            yield f'{place} is no {argument}'

    def check_pattern(self, argument, value, place):
        if isinstance(value, str) and not re.search(argument.replace('$', r'\Z'), value):
            yield f'{place} is {value!r}'

    def check_minimum(self, argument, value, place):
        if isinstance(value, int) and value < argument:
            yield f'{place} is less than {argument}'

    def check_maximum(self, argument, value, place):
        if isinstance(value, int) and value > argument:
            yield f'{place} is more than {argument}'

    def check_minItems(self, argument, value, place):
        if isinstance(value, list) and len(value) < argument:
            yield f'{place} has less than {argument} members'

    def check_maxItems(self, argument, value, place):
        if isinstance(value, list) and len(value) > argument:
            yield f'{place} has more than {argument} members'

    def check_items(self, argument, value, place):
        for i, item in enumerate(value if isinstance(value, list) else ()):
            yield from self.problems(item, argument, f'{place}[{i}]')

    def check_required(self, argument, value, place):
        if isinstance(value, dict):
            yield from (f'{place} has no {name}' for name in argument if name not in value)

    def check_properties(self, argument, value, place):
        for name, schema in argument.items() if isinstance(value, dict) else ():
            if name in value:
                yield from self.problems(value[name], schema, f'{place}.{name}')
        # a reader ignores what was added; what this program writes is in the schema
        if isinstance(value, dict):
            yield from (f'{place}.{name} is not in the schema' for name in value.keys() - argument.keys())


def broken(document):
    """Copies of it, each with one member less, or of another type; of a list, its first item."""
    def walk(value, change):
        if isinstance(value, dict):
            for name in value:
                without = {other: value[other] for other in value if other != name}
                yield change(without)
                yield change({**value, name: 0.5})  # no member is a fraction
                yield from walk(value[name], lambda new, name=name: change({**value, name: new}))
        elif isinstance(value, list) and value:
            yield from walk(value[0], lambda new: change([new] + value[1:]))
        elif isinstance(value, str):
            yield change(value + '\n')
    yield from walk(copy.deepcopy(document), lambda new: new)


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        schema = Schema(json.load(file))
    failed = False
    for path in sys.argv[2:]:
        with open(path, encoding='utf-8') as file:
            document = json.load(file)
        problems = list(schema.problems(document))
        small = document if len(json.dumps(document)) < 20000 else {**document, next(reversed(document)): document[next(reversed(document))][:1]}
        taken = [copy_ for copy_ in broken(small) if not list(schema.problems(copy_))]
        print(f'{path}: {problems[:5]}, {len(taken)} broken ones are taken: {json.dumps(taken[:1])[:200]}')
        failed = failed or bool(problems or taken)
    sys.exit(failed or len(sys.argv) < 3)


if __name__ == '__main__':
    main()
