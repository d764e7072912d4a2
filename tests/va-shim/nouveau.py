#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""vadmabufsrc's registration on real vendor drivers, without their GPUs.

Mesa's nouveau VA driver runs on mesa-drm-shim, which stands in for the kernel's driver; prime.c answers the one ioctl that it lacks.
What gst-inspect-1.0 then prints is compared with tests/data/va-templates/nouveau-CHIP.txt. After a new Mesa, look at what
changed and record it: GST_DRM_VA_RECORD=1 ./run world debian13 -- meson test -C build/debian13 va_shim
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tap import TAPTestRunner

DATA = pathlib.Path(os.environ['GST_DRM_TEST_DATA']) / 'va-templates'
SHIM = 'libnouveau_noop_drm_shim.so'  # the loader knows its directory
CHIPS = sorted(path.stem.removeprefix('nouveau-') for path in DATA.glob('nouveau-*.txt'))


def run(command, preloads, **variables):
    """The output of a program of GStreamer's, and what the element logged."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, LIBVA_MESSAGING_LEVEL='0', GST_DEBUG='vadmabufsrc:5', GST_DEBUG_NO_COLOR='1',
                           GST_DEBUG_FILE=f'{scratch}/log', GST_REGISTRY_1_0=f'{scratch}/registry',
                           GST_REGISTRY_FORK='no', GST_PLUGIN_SYSTEM_PATH_1_0='',
                           GST_PLUGIN_PATH_1_0=os.environ['GST_DRM_VA_PLUGIN'], LD_PRELOAD=' '.join(preloads), **variables)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        log = pathlib.Path(f'{scratch}/log').read_text(encoding='utf-8')
    if done.returncode != 0:
        raise AssertionError(f'{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}')
    return done.stdout, log


def inspect(preloads, **variables):
    """The source's pad template as gst-inspect-1.0 prints it, and the log."""
    text, log = run(['gst-inspect-1.0', 'vadmabufsrc'], preloads, **variables)
    found = re.search(r"^  SRC template: 'src'\n(.*?)^\S", text, re.MULTILINE | re.DOTALL)
    return found.group(1).rstrip() + '\n', log


def on_chip(chip):
    return {'preloads': [os.environ['GST_DRM_VA_PRIME'], SHIM], 'NOUVEAU_CHIPSET': chip, 'LIBVA_DRIVER_NAME': 'nouveau'}


def inspect_chip(chip):
    return inspect(**on_chip(chip))


def play(chip, filter_fields):
    """The caps of 20 frames, drawn by the driver's video processing."""
    core = pathlib.Path(os.environ['GST_PLUGIN_SYSTEM_PATH_1_0']) / 'libgstcoreelements.so'
    text, _ = run(['gst-launch-1.0', '-v', f'--gst-plugin-load={core}', 'vadmabufsrc', 'pattern=frame-counter',
                   'zero-copy=require', 'num-buffers=20', '!',
                   f'video/x-raw(memory:DMABuf),format=DMA_DRM,{filter_fields}', '!', 'fakesink'], **on_chip(chip))
    if 'Got EOS' not in text:
        raise AssertionError(text)
    return re.search(r'drm-format=\(string\)(\S+?)[,;\n]', text).group(1)


def recorded(chip):
    """A recorded template: the lines of '#' say from what."""
    lines = (DATA / f'nouveau-{chip}.txt').read_text(encoding='utf-8').splitlines(keepends=True)
    return ''.join(line for line in lines if not line.startswith('#'))


def header(log):
    """What was asked and what it refused, for people."""
    driver = re.search(r'\((Mesa [^)]*)\)', log)
    refused = re.findall(r'not in the template: (.*)', log)
    return ''.join(f'# {line}\n' for line in [driver.group(1) if driver else 'no VA driver', *refused])


class RealDriver(unittest.TestCase):
    def test_no_driver(self):
        """Without a driver the plugin loads, and drm-format is left out, which means every format."""
        template, log = inspect([SHIM], LIBVA_DRIVER_NAME='there-is-none')
        self.assertIn('format: DMA_DRM', template)
        self.assertNotIn('drm-format', template)
        self.assertIn('/dev/dri/renderD128', log)
        self.assertIn('vaInitialize', log)

    def test_no_export(self):
        """A driver that exports nothing is as good as none, and the log says what it answered."""
        template, log = inspect([SHIM], LIBVA_DRIVER_NAME='nouveau', NOUVEAU_CHIPSET='106')
        self.assertNotIn('drm-format', template)
        self.assertIn('has no surface that it exports as DMA buffers and draws into', log)
        self.assertIn('NV106', log)

    def test_modifier_of_each_size(self):
        """The driver's blocks grow with the picture: 8 rows of 8 at 64 lines, 16 above; both are offered."""
        for size, modifier in (('width=64,height=64', '13'), ('width=1920,height=1080', '14')):
            with self.subTest(size):
                self.assertEqual(play('106', f'{size},drm-format={{XR24:0x03000000004fe013,XR24:0x03000000004fe014}}'),
                                 f'XR24:0x03000000004fe0{modifier}')

    def test_two_objects(self):
        """P010 comes in two objects, one per plane."""
        self.assertEqual(play('140', 'width=1280,height=720,drm-format=P010:0x03000000004fe014'),
                         'P010:0x03000000004fe014')

    def test_linear_without_a_list(self):
        self.assertEqual(play('50', 'width=1280,height=720,drm-format=NV12'), 'NV12')


def add_chip(chip):
    def test(self):
        self.maxDiff = None
        template, log = inspect_chip(chip)
        self.assertEqual(template, recorded(chip), log)
    test.__doc__ = f'NV{chip.upper()}'
    setattr(RealDriver, f'test_nouveau_{chip}', test)


for name in CHIPS:
    add_chip(name)


def record():
    for chip in CHIPS:
        template, log = inspect_chip(chip)
        (DATA / f'nouveau-{chip}.txt').write_text(header(log) + template, encoding='utf-8')


if __name__ == '__main__':
    if not CHIPS:
        sys.exit('no recorded templates')
    if os.environ.get('GST_DRM_VA_RECORD'):
        record()
    runner = TAPTestRunner()
    runner.set_stream(True)
    runner.set_format('{method_name}')
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    sys.exit(0 if runner.run(suite).wasSuccessful() else 1)
