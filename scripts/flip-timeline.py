#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws a recorded run of kmsdmabufsink (tests/benchmarks/kms_timeline.cpp, on stdin) as SVG on stdout."""
import sys
from collections import defaultdict

LEFT, TOP, ROW, PER_MS = 78, 64, 26, 4.2
COLOURS = {'due': '#d9dde3', 'fence': '#f0b35a', 'flight': '#6aa5d8', 'screen': '#57a773', 'gone': '#c8553d'}
LEGEND = (('due', 'the sink waits for its time'), ('fence', 'held for its fence'),
          ('flight', 'committed, waits for the vblank'), ('screen', 'on screen'))


def read(lines):
    """Per frame {event: ns}, and the flips in order."""
    frames, flips = defaultdict(dict), []
    for line in lines:
        name, number, time = line.split()
        if name == 'flip':
            flips.append(int(time))
        else:
            frames[int(number)].setdefault(name, int(time))
    shown = [n for n in sorted(frames) if 'commit' in frames[n]]
    shown.sort(key=lambda n: frames[n]['commit'])
    if len(shown) != len(flips):
        sys.exit(f'{len(shown)} commits, {len(flips)} flips: not a whole record')
    for n, flip in zip(shown, sorted(flips)):
        frames[n]['flip'] = flip
    return frames, shown, sorted(flips)


class Picture:
    def __init__(self, start, end, rows):
        self.start = start
        self.width = self.x(end) + 20
        self.height = TOP + rows * ROW + 34
        self.parts = []

    def x(self, ns):
        return round(LEFT + (ns - self.start) / 1e6 * PER_MS, 1)

    def bar(self, row, begin, end, colour):
        self.parts.append(f'<rect x="{self.x(begin)}" y="{TOP + row * ROW + 5}" '
                          f'width="{max(self.x(end) - self.x(begin), 0.8):.1f}" height="{ROW - 10}" fill="{colour}"/>')

    def text(self, x, y, text, more=''):
        self.parts.append(f'<text x="{x}" y="{y}"{more}>{text}</text>')

    def line(self, x, y1, y2, more):
        self.parts.append(f'<line x1="{x}" y1="{y1}" x2="{x}" y2="{y2}" {more}/>')

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {self.height}" '
                f'width="{self.width:.0f}" height="{self.height}" font-family="sans-serif" font-size="12">\n'
                f'<rect width="100%" height="100%" fill="white"/>\n' + '\n'.join(self.parts) + '\n</svg>\n')


def draw(frames, shown, flips):
    rows = [n for n in sorted(frames) if n > 0]  # the first is preroll, long before
    start = min(frames[n]['pushed'] for n in rows) - 18_000_000
    refresh = min(b - a for a, b in zip(flips[1:], flips[2:]))
    end = flips[-1] + refresh
    p = Picture(start, end, len(rows))
    bottom = TOP + len(rows) * ROW
    vblank = flips[1] - refresh
    while vblank <= end:  # also those without a flip
        if p.x(vblank) >= LEFT:
            p.line(p.x(vblank), TOP - 4, bottom + 4, 'stroke="#9aa0a8" stroke-dasharray="2 3"')
            p.text(p.x(vblank), bottom + 18, f'{(vblank - flips[1]) / 1e6:.1f}', ' text-anchor="middle" fill="#555"')
        vblank += refresh
    p.text(p.x(end) + 14, bottom + 31, 'vblanks, ms', ' text-anchor="end" fill="#555"')
    at = LEFT
    for key, name in LEGEND:
        p.parts.append(f'<rect x="{at}" y="14" width="14" height="12" fill="{COLOURS[key]}"/>')
        p.text(at + 19, 24, name)
        at += 36 + 7 * len(name)
    p.text(LEFT, 46, '&#9679; its buffer goes back &#160;&#160; &#9670; its fence signals &#160;&#160; '
                     '&#10005; overtaken by a newer frame that was ready')
    for row, n in enumerate(rows):
        frame = frames[n]
        middle = TOP + row * ROW + ROW / 2 + 4
        p.text(LEFT - 10, middle, f'frame {n}', ' text-anchor="end"')
        p.bar(row, max(frame['push'], start), frame['pushed'], COLOURS['due'])
        if 'fence' in frame:
            p.bar(row, frame['pushed'], frame.get('commit', frame['back']), COLOURS['fence'])
        if 'flip' in frame:
            p.bar(row, frame['commit'], frame['flip'], COLOURS['flight'])
            later = shown.index(n) + 1
            p.bar(row, frame['flip'], frames[shown[later]]['flip'] if later < len(shown) else end, COLOURS['screen'])
        else:
            p.text(p.x(frame['back']) - 5, middle, '&#10005;', f' fill="{COLOURS["gone"]}" font-weight="bold"')
        if 'fence' in frame:
            p.text(p.x(frame['fence']) - 4, middle, '&#9670;', ' fill="#7a4b00"')
        if 'back' in frame and 'flip' in frame:
            p.text(p.x(frame['back']) - 4, middle, '&#9679;', ' fill="#333"')
    return p.svg()


if __name__ == '__main__':
    sys.stdout.write(draw(*read(sys.stdin)))
