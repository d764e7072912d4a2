#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the examples of README.md, docs/ and tests/*/README.md as they are printed. TAP.

A fenced block says what it is: sh (a command a line), console (commands after "$ ", and lines that
their output has), python (a program; "print(...)  # text" prints that text), text (no example).

usage: examples.py box|here SOURCE BUILD
  box    what plays, inspects or imports; runs in the box, which has a display and DMA buffers
  here   the lines that start a box themselves, and what can be checked by reading
Changed in a line before it runs: the connector of a real display (vkms has Virtual-1), the name of the
build directory, and the path of ./run. A pipeline without an end is interrupted after 3 seconds.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from blocks import LANGUAGES, Tap, blocks, pages

# A line that is not run, and why. A line that is neither here nor known below fails the test.
NOT_RUN = (
    (r'\./run (demo|tests)\b', 'they run for minutes, and the tests run this'),
    (r'(\./)?scripts/|\./run (bench|timeline|setup|soak|fuzz|packages)\b', 'builds, installs or measures for minutes'),
    (r'apt install \./build/packages', './run packages tries them in a root of their own'),
    (r'gst-drm-inspect-1\.0 --save ', 'tests/tools/inspect.sh saves machines'),
    (r'\./run world\b|\./run box --world', 'tests/box/selftest.sh runs it, where the world is made'),
    (r'meson (setup|test|install|devenv)\b', 'the build that this test belongs to; tests/docs/installed.py installs it'),
    (r'ninja -C\b', 'the build that this test belongs to'),
    (r'tests/box/build-kernel |GST_DRM_BOX_KERNEL=|make -s', 'builds a kernel'),
    (r'VK_ICD_FILENAMES=', 'a build directory of that name; tests/check/libs/vulkan.cpp loads the driver'),
    (r'\w+=\S+$|export ', 'sets a variable; tests/docs/installed.py works with it'),
    (r'ldconfig\b', 'changes the machine; tests/docs/installed.py names the directory instead'),
    (r'cc ', 'tests/docs/installed.py compiles it'),
)
IN_BOX = re.compile(r'(gst-launch-1\.0|gst-inspect-1\.0) ')
OWN_BOX = re.compile(r'\./run box (?!--help)')
EXPECTED = re.compile(r'^print\(.*\)[ \t]+# (.*)$', re.M)
LINK = re.compile(r'\]\((?!https?:)([^)#\s]+)')
HARMLESS = re.compile(r'Frames come from .* another device')  # the box's render node is not its display
ENVIRONMENT = re.compile(r'(?:\w+=\S+ )*')
STOPPED = (0, 130)  # of gst-launch-1.0, where an interrupt stopped its pipeline in order; versions differ
LIMIT_S = 120  # of real time, for one command on a busy machine


def run(command, cwd, env=None):
    """(status, everything printed); 124 where it did not end."""
    try:
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S, text=True, errors='replace')
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        return 124, f'{(late.stdout or b"").decode(errors="replace")}\nstopped after {LIMIT_S} s'


def play(command, cwd):
    """A problem, or None. Interrupted, gst-launch stops its pipeline in order."""
    command = command.replace('connector=HDMI-A-1', 'connector=Virtual-1')
    if not command.startswith('gst-launch-1.0'):
        status, output = run(['bash', '-c', command], cwd)
        return f'status {status}\n{output}' if status else None
    endless = not re.search(r'\bnum-buffers=|\bfilesrc |\buri=file:', command)
    status, output = run(['bash', '-c', f'timeout --preserve-status -s INT 3 {command}' if endless else command], cwd)
    wrong = [line for line in output.splitlines() if re.search(r'ERROR|WARNING|CRITICAL', line) and not HARMLESS.search(line)]
    if endless:
        played = status in STOPPED and 'New clock' in output and 'Freeing pipeline' in output
    else:
        played = status == 0 and 'Got EOS' in output
    return None if played and not wrong else f'status {status}\n{output}'


def compare(wanted, output):
    """Lines of the documentation that the output lacks; three dots stand for anything."""
    missing, rest = [], output
    for line in wanted:
        pattern = re.escape(line.strip()).replace('…', '.*')
        match = re.search(pattern, rest)
        if match:
            rest = rest[match.end():]
        else:
            missing.append(line)
    return '\n'.join(['not printed:', *missing, 'printed:', output]) if missing else None


def run_python(block, cwd):
    status, output = run([sys.executable, '-c', block.text], cwd)
    if status or 'Warning' in output:
        return f'status {status}\n{output}'
    return compare(EXPECTED.findall(block.text), output)


def run_console(block, cwd):
    """Every command with the lines after it. NAME=VALUE in front of a command is its environment."""
    for part in re.split(r'^\$ ', block.text, flags=re.M)[1:]:
        command, *wanted = part.splitlines()
        # a registry for each environment: of what elements found with another one nothing may be left
        registry = f'{cwd}/console-{abs(hash(re.match(ENVIRONMENT, command)[0]))}.bin'
        status, output = run(['bash', '-c', command], cwd, os.environ | {'GST_REGISTRY_1_0': registry})
        problem = f'status {status}\n{output}' if status else compare(wanted, output)
        if problem:
            return problem
    return None


def make_clips(cwd):
    """What the examples call clip.webm and clip.mp4."""
    for encoder, muxer, name in (('vp8enc deadline=1', 'webmmux', 'clip.webm'), ('avenc_mpeg4', 'mp4mux', 'clip.mp4')):
        source = 'videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=320,height=240,framerate=30/1'
        status, output = run(['bash', '-c', f'gst-launch-1.0 {source} ! {encoder} ! {muxer} ! filesink location={name}'], cwd)
        if status:
            sys.exit(f'cannot make {name}: {output}')


def in_box(tap, found, source):
    with tempfile.TemporaryDirectory() as cwd:
        make_clips(cwd)
        (pathlib.Path(cwd) / 'tests').symlink_to(source / 'tests')  # the pages name models there
        for block in found:
            if block.language == 'sh':
                for line, command in block.commands():
                    if IN_BOX.match(command):
                        tap.case(f'{block.path}:{line} {command}', play(command, cwd))
            elif block.language == 'console':
                tap.case(f'{block.where} {block.text.splitlines()[0]}', run_console(block, cwd))
            elif block.language == 'python':
                tap.case(f'{block.where} python', run_python(block, cwd))


def reason_not_run(command):
    return next((why for pattern, why in NOT_RUN if re.match(pattern, command)), None)


def own_box(command, source, build, cwd):
    """./run box, with this source tree and this build directory; where the box may not be used, status 77."""
    command = command.replace('./run', f'{source}/run', 1)
    command = re.sub(r'(--build |\$PWD/)build\b', lambda found: found[1].replace('$PWD/', '') + build, command)
    environment = os.environ | {'GST_DRM_BOX_NO_BUILD': '1'}
    for name in ('GST_PLUGIN_PATH_1_0', 'GST_REGISTRY_1_0', 'GI_TYPELIB_PATH', 'LD_LIBRARY_PATH'):
        environment.pop(name, None)
    status, output = run(['bash', '-c', command], cwd, environment)
    return f'status {status}\n{output}' if status else None


def declared_names(source):
    """Functions, macros and types of the public headers."""
    names = set()
    for header in (source / 'gst-libs' / 'gst' / 'drm').glob('*.h'):
        names.update(re.findall(r'\b(?:gst_drm|gst_buffer_\w*drm|GST_DRM|GstDrm)\w*', header.read_text(encoding='utf-8')))
    return names


def by_reading(tap, found, source):
    for page in pages(source):
        path = str(page.relative_to(source))
        unnamed = [f'{b.where}: "{b.language}"; one of {", ".join(LANGUAGES)}' for b in found
                   if b.path == path and b.language not in LANGUAGES]
        tap.case(f'{path}: every block says what it is', '\n'.join(unnamed))
        prose = re.sub(r'^```.*?^```$', '', page.read_text(encoding='utf-8'), flags=re.M | re.S)  # a lambda looks like a link
        dead = [link for link in LINK.findall(prose) if not (page.parent / link).exists()]
        tap.case(f'{path}: every file that is linked exists', '\n'.join(dead))
    declared = declared_names(source)
    for block in found:
        if block.language == 'c':
            used = set(re.findall(r'\b(?:gst_drm|GST_DRM|GstDrm)\w*', block.text))
            tap.case(f'{block.where} names what there is', '\n'.join(sorted(used - declared)))


def here(tap, found, source, build):
    by_reading(tap, found, source)
    kernels, output = run([source / 'tests/box/kernel'], source, os.environ | {'GST_DRM_BOX_NO_BUILD': '1'})
    with tempfile.TemporaryDirectory() as cwd:
        for block in found:
            if block.language != 'sh':
                continue
            for line, command in block.commands():
                why = reason_not_run(command)
                if why:
                    print(f'# {block.path}:{line} not run: {command}: {why}')
                elif OWN_BOX.match(command) and kernels == 77:
                    tap.skip(f'{block.path}:{line} {command}', output.strip())
                elif OWN_BOX.match(command):
                    tap.case(f'{block.path}:{line} {command}', own_box(command, source, build, cwd))
                elif command.startswith('./run ') and command.endswith(' --help'):
                    tap.case(f'{block.path}:{line} {command}', own_box(command, source, build, cwd))
                elif not IN_BOX.match(command):
                    tap.case(f'{block.path}:{line} {command}', 'neither run nor in the list of what is not run')


def main():
    mode, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    tap, found = Tap(), list(blocks(source))
    if mode == 'box':
        in_box(tap, found, source)
    else:
        here(tap, found, source, build)
    tap.end()


if __name__ == '__main__':
    main()
