#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine of the EGL elements on real vendors' drivers, without their GPUs.

Mesa's drivers run on mesa-drm-shim, which stands in for the kernel's. What the engine's device lists is compared with
tests/data/egl-formats, which another program recorded. A table names the shim, its variable and the Mesa that it was recorded with; with
another Mesa the pairs that came and went are printed, and at least half of the table has to be there.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from tap import TAPTestRunner

DATA = pathlib.Path(os.environ['GST_DRM_TEST_DATA']) / 'egl-formats'
# The others were read on the GPU itself, with its vendor's own driver.
TABLES = sorted(path.stem for path in DATA.glob('*.txt') if 'mesa-drm-shim (' in path.read_text(encoding='utf-8'))
IMPLICIT = 0x00ffffffffffffff


def fourcc_number(text):
    return int(text, 16) if text.startswith('0x') else int.from_bytes(text.encode(), 'little')


class Table:
    """What was recorded: the environment, and rows of fourcc, modifier, external_only."""

    def __init__(self, name):
        text = (DATA / f'{name}.txt').read_text(encoding='utf-8')
        self.is_zink = '# gl renderer: zink' in text
        self.mesa = re.search(r'^# mesa: (\d+\.\d+)', text, re.MULTILINE).group(1)
        shim, variable = re.search(r'mesa-drm-shim \((\w+)(?:, (\w+=\w+))?\)', text).groups()
        self.environment = dict([variable.split('=')] if variable else [], LD_PRELOAD=f'lib{shim}_drm_shim.so')
        words = [line.split() for line in text.splitlines() if line and not line.startswith('#')]
        self.pairs = {(fourcc_number(fourcc), int(modifier, 16), int(flag)) for fourcc, modifier, flag in words}
        # without a list of modifiers nobody says which target there is
        implicit = re.search(r'^# formats advertised with no explicit modifier \(implicit only\): (.*)', text, re.MULTILINE).group(1)
        self.implicit = {fourcc_number(word) for word in implicit.split() if word != '-'}


class Device:
    """What the engine says with that environment."""

    def __init__(self, environment):
        done = subprocess.run([os.environ['GST_DRM_EGL_LISTS'], '/dev/dri/renderD128'], env=dict(os.environ, **environment),
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise AssertionError(f'egl-lists ended with {done.returncode}: {done.stdout}{done.stderr}')
        lines = [line.split(' ', 1) for line in done.stdout.splitlines()]
        facts = {key: value for key, value in lines if key != 'pair'}
        self.description, self.node, self.refusal = facts['device'], facts['node'], facts['refusal']
        listed = [tuple(int(word, 0) for word in value.split()) for key, value in lines if key == 'pair']
        self.twice = len(listed) - len(set(listed))
        self.pairs = {pair for pair in listed if pair[1] != IMPLICIT}
        self.implicit = {pair[0] for pair in listed if pair[1] == IMPLICIT}


class Vendors(unittest.TestCase):
    def compare(self, name):
        table = Table(name)
        device = Device(table.environment)
        self.assertEqual(device.refusal, '', device.description)
        self.assertEqual(device.twice, 0)
        if table.is_zink and device.description.startswith('llvmpipe'):
            print(f'# {name}: no Vulkan driver here, so EGL draws with llvmpipe')
            table = Table('llvmpipe')
        # a software driver's EGL device is EGL_MESA_device_software
        self.assertEqual(device.node, '' if device.description.startswith('llvmpipe') else '/dev/dri/renderD128')
        if f'Mesa {table.mesa}' in device.description:
            self.assertEqual(device.pairs, table.pairs, device.description)
            self.assertEqual(device.implicit, table.implicit, device.description)
            return
        gone, come = table.pairs - device.pairs, device.pairs - table.pairs
        print(f'# {name}, recorded with Mesa {table.mesa}, is {device.description}: {len(gone)} pairs gone, {len(come)} new')
        self.assertGreater(len(table.pairs & device.pairs), len(table.pairs) / 2)


def add_table(name):
    def test(self):
        self.compare(name)
    test.__doc__ = name
    setattr(Vendors, f'test_{name.replace("-", "_")}', test)


for table_name in TABLES:
    add_table(table_name)


if __name__ == '__main__':
    if not TABLES:
        sys.exit('no recorded tables')
    runner = TAPTestRunner()
    runner.set_stream(True)
    runner.set_format('{method_name}')
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    sys.exit(0 if runner.run(suite).wasSuccessful() else 1)
