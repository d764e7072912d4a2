#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pipelines of users, with upstream's elements and with ours, in the box: the table of docs/users-pipelines.md. TAP.

Both lines of a row are played under the tracer drmverify, and the copies of a frame that it sees are compared with the
numbers in the row.

usage: users.py SOURCE [ROW]...
  ROW  only these rows, by their number from 1; they are printed with the numbers that came
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from blocks import Tap
from examples import make_clips

LIMIT_S = 60  # of real time, for one pipeline on a busy machine
CELL = re.compile(r'`([^`]*)`')
DISPLAYS = ('kmssink',)  # copy what is no DMA buffer to memory of their own, which no link shows


def kind(link):
    """Of a link's memory. That of V4L2 and of the system are two, and a frame gets from one to the other by a copy."""
    return 'OpenGL' if link['memory'].startswith('GLMemory') else link['memory']


def copied_frames(name, links):
    """How many frames an element without drm-stats copied with the CPU. The tracer does not tell of frames that come from memory
    that is no DMA buffer and leave in another: into OpenGL they are uploaded, out of it they are read."""
    into = {kind(link) for link in links if link['to'] == name}
    return max((link['frames'] if into and 'dmabuf' not in into | {kind(link)} and kind(link) not in into else link['copied']
                for link in links if link['from'] == name), default=0)


def copies(trace):
    """Each element that copies frames with the CPU, and how often it copies one. Of those with drm-stats, what they counted."""
    links = [link for link in trace['links'] if link['video']]
    frames = max((link['frames'] for link in links), default=0)
    counted = {}
    for element in trace['elements']:
        name, stats = element['name'], element['stats']
        if stats:
            n = stats['copies']
        elif element['factory'] in DISPLAYS:
            n = sum(link['frames'] - link['dmabuf-frames'] for link in links if link['to'] == name)
        else:
            n = copied_frames(name, links)
        # a queue that drops, or the first frame of a pool, makes no other number of it
        if frames and round(n / frames):
            counted[name] = round(n / frames)
    return counted


def play(line, cwd):
    """(copies by element, None), or (None, what went wrong)."""
    trace = pathlib.Path(cwd) / 'trace.json'
    trace.unlink(missing_ok=True)
    environment = os.environ | {'GST_TRACERS': 'drmverify', 'GST_DRM_VERIFY_FILE': str(trace)}
    try:
        done = subprocess.run(['bash', '-c', f'exec gst-launch-1.0 -q {line}'], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, text=True, errors='replace', check=False)
    except subprocess.TimeoutExpired:
        return None, f'no end: {line}'
    if done.returncode or not trace.exists():
        return None, f'status {done.returncode}: {line}\n{done.stdout}'
    return copies(json.loads(trace.read_text(encoding='utf-8'))), None


def rows(page):
    """(where from, upstream's line, its copies, our line, its copies) of each row whose lines are in backquotes."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split(' | ')]
        if line.startswith('| ') and len(cells) == 6 and CELL.fullmatch(cells[1]) and CELL.fullmatch(cells[3]):
            yield cells[0], cells[1].strip('`'), cells[2], cells[3].strip('`'), cells[4]


def main():
    source = pathlib.Path(sys.argv[1])
    wanted = set(map(int, sys.argv[2:]))
    tap = Tap()
    with tempfile.TemporaryDirectory() as cwd:
        make_clips(cwd)
        (pathlib.Path(cwd) / 'tests').symlink_to(source / 'tests')  # the page names a model there
        for number, (who, *row) in enumerate(rows((source / 'docs/users-pipelines.md').read_text(encoding='utf-8')), 1):
            if wanted and number not in wanted:
                continue
            problems = []
            for line, said in (row[:2], row[2:]):
                found, problem = play(line, cwd)
                if problem:
                    problems.append(problem)
                    continue
                print(f'# {sum(found.values())} of {found}: {line}')
                if str(sum(found.values())) != said:
                    problems.append(f'{sum(found.values())} copies of a frame in place of {said}, by {found}: {line}')
            tap.case(re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', who), '\n'.join(problems))
    tap.end()


if __name__ == '__main__':
    main()
