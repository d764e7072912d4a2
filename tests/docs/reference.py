#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The HTML reference has a page with a description for all that the GIR declares. TAP.

usage: reference.py GIR DIRECTORY-OF-HTML
"""

import html
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

from blocks import Tap

CORE = '{http://www.gtk.org/introspection/core/1.0}'
C = '{http://www.gtk.org/introspection/c/1.0}'
GLIB = '{http://www.gtk.org/introspection/glib/1.0}'
TYPES = {'class': 'class', 'record': 'struct', 'enumeration': 'enum', 'bitfield': 'flags'}
MEMBERS = {'method': 'method', 'constructor': 'ctor', 'function': 'type_func'}


def description(element):
    """What the source says of it, else of what it returns; the first words, which no markup is in."""
    for doc in (element.find(f'{CORE}doc'), element.find(f'{CORE}return-value/{CORE}doc')):
        if doc is not None:
            return re.findall(r'\w+', doc.text)[:3]
    return []


def pages(namespace):
    """(name in C, file, element) of every type, function and constant."""
    for found in namespace:
        kind, name = found.tag.removeprefix(CORE), found.get('name')
        if kind == 'function' and not found.get('moved-to') and not found.get('name').endswith('_get_type'):
            yield found.get(f'{C}identifier'), f'func.{name}.html', found
        elif kind == 'constant':
            yield found.get(f'{C}type'), f'const.{name}.html', found
        elif kind in TYPES and not found.get(f'{GLIB}is-gtype-struct-for'):
            page = 'error' if found.get(f'{GLIB}error-domain') else TYPES[kind]
            yield found.get(f'{C}type'), f'{page}.{name}.html', found
            for member in found:
                prefix = MEMBERS.get(member.tag.removeprefix(CORE))
                if prefix:
                    yield member.get(f'{C}identifier'), f'{prefix}.{name}.{member.get("name")}.html', member


def problem(page, element):
    if not page.is_file():
        return f'{page} is missing'
    text = html.unescape(re.sub(r'<[^>]*>', '', page.read_text(encoding='utf-8')))
    words = description(element)
    if page.name == 'class.BufferPool.html':  # G_DECLARE_FINAL_TYPE leaves no place for one
        words = ['BufferPool']
    if not words or not re.search(r'\W+'.join(words), text, re.I):
        return f'{page} has no description, "{" ".join(words)} ..."'
    return None


def main():
    gir, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    tap = Tap()
    for name, file, element in pages(ET.parse(gir).getroot().find(f'{CORE}namespace')):
        tap.case(name, problem(directory / file, element))
    index = (directory / 'index.html').read_text(encoding='utf-8')
    dead = [link for link in re.findall(r'href="([^":#]+\.html)', index) if not (directory / link).is_file()]
    tap.case('the index leads to pages that exist', '\n'.join(dead))
    tap.end()


if __name__ == '__main__':
    main()
