# SPDX-License-Identifier: LGPL-2.1-or-later
"""GstDrm in Python with its override module: sets and planes."""
import copy
import itertools
import os
import unittest

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstDrm', '1.0')
from gi.repository import GLib, Gst, GstDrm  # noqa: E402
import tap_main  # noqa: E402

NV12 = 0x3231564E
XR24 = 0x34325258
Y_TILED = 0x0100000000000002


class FormatSets(unittest.TestCase):
    def setUp(self):
        self.gpu = GstDrm.FormatSet(['XR24:0x0100000000000002', 'NV12', (XR24, 0)])

    def test_loaded_from_here(self):
        self.assertTrue(GstDrm.FormatSet.__module__.startswith('gi.overrides'))

    def test_new(self):
        self.assertEqual(len(GstDrm.FormatSet()), 0)
        self.assertEqual(len(GstDrm.FormatSet(['NV12', 'NV12'])), 1)
        self.assertIsInstance(GstDrm.FormatSet.new(), GstDrm.FormatSet)
        self.assertEqual(GstDrm.FormatSet(self.gpu), self.gpu)

    def test_new_of_what_is_none(self):
        for members, error in ((['NV12:0x'], GLib.Error), ([(7, 0)], ValueError), ([NV12], TypeError), ([('NV12', 0)], TypeError),
                               ([(NV12, 0, 0)], TypeError), ([(NV12, -1)], OverflowError), ([(1 << 32, 0)], OverflowError), (7, TypeError),
                               ('NV12', TypeError), (None, TypeError), ([None], TypeError), ([b'NV12'], TypeError)):
            with self.subTest(members), self.assertRaises(error):
                GstDrm.FormatSet(members)

    def test_length(self):
        self.assertEqual(len(self.gpu), 3)
        self.assertTrue(self.gpu)
        self.assertFalse(GstDrm.FormatSet())

    def test_iterate(self):
        self.assertEqual(list(self.gpu), [(NV12, 0), (XR24, 0), (XR24, Y_TILED)])
        self.assertEqual([modifier for fourcc, modifier in self.gpu if fourcc == XR24], [0, Y_TILED])
        self.assertEqual(list(GstDrm.FormatSet()), [])

    def test_fourccs(self):
        self.assertEqual(self.gpu.fourccs, [NV12, XR24])
        self.assertEqual({fourcc: self.gpu.get_modifiers(fourcc) for fourcc in self.gpu.fourccs}, {NV12: [0], XR24: [0, Y_TILED]})

    def test_contains(self):
        self.assertIn((XR24, Y_TILED), self.gpu)
        self.assertIn('XR24:0x0100000000000002', self.gpu)
        self.assertNotIn((NV12, Y_TILED), self.gpu)
        self.assertNotIn('NV12:0x0100000000000002', self.gpu)
        for wrong in (NV12, None, (NV12,), ['NV12', 0]):
            with self.subTest(wrong), self.assertRaises(TypeError):
                wrong in self.gpu  # noqa: B015
        with self.assertRaises(GLib.Error):
            'NV12:0x0' in self.gpu  # noqa: B015

    def test_operators(self):
        display = GstDrm.FormatSet(['XR24', 'NV12:0x0100000000000002'])
        self.assertEqual(str(self.gpu & display), '{ XR24 }')
        self.assertEqual(str(self.gpu | display), '{ NV12, NV12:0x0100000000000002, XR24, XR24:0x0100000000000002 }')
        self.assertEqual(str(self.gpu - display), '{ NV12, XR24:0x0100000000000002 }')
        self.assertEqual(self.gpu & None, self.gpu)  # None: any format
        self.assertEqual(None & self.gpu, self.gpu)

    def test_order(self):
        some = GstDrm.FormatSet(['XR24'])
        self.assertTrue(some < self.gpu and some <= self.gpu and self.gpu > some and self.gpu >= some)
        self.assertFalse(self.gpu < self.gpu or self.gpu <= some or some >= self.gpu or some > some)
        self.assertTrue(self.gpu <= self.gpu and self.gpu >= self.gpu)

    def test_equality(self):
        self.assertEqual(self.gpu, self.gpu.copy())
        self.assertNotEqual(self.gpu, GstDrm.FormatSet())
        self.assertNotEqual(self.gpu, None)
        self.assertNotEqual(self.gpu, [(NV12, 0), (XR24, 0), (XR24, Y_TILED)])
        with self.assertRaises(TypeError):
            hash(self.gpu)

    def test_wrong_types(self):
        for operate in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a - b, lambda a, b: a < b, lambda a, b: a >= b):
            for wrong in (7, 'NV12', [(NV12, 0)]):
                with self.subTest(wrong), self.assertRaises(TypeError):
                    operate(self.gpu, wrong)
        for method in (self.gpu.union, self.gpu.subtract, self.gpu.is_equal, self.gpu.is_subset):
            for wrong in (None, 7, Gst.Caps.new_any()):
                with self.subTest(wrong), self.assertRaises(TypeError):
                    method(wrong)

    def test_copies(self):
        for other in (self.gpu.copy(), copy.copy(self.gpu), copy.deepcopy(self.gpu)):
            self.assertTrue(other.add(NV12, Y_TILED))
            self.assertEqual((len(other), len(self.gpu)), (4, 3))

    def test_results_can_be_added_to(self):
        for result in (self.gpu & self.gpu, self.gpu | self.gpu, self.gpu - self.gpu, GstDrm.FormatSet.new_from_caps(self.gpu.to_caps())):
            self.assertTrue(result.add(NV12, Y_TILED))

    def test_text(self):
        self.assertEqual(repr(self.gpu), '<GstDrm.FormatSet { NV12, XR24, XR24:0x0100000000000002 }>')
        self.assertEqual(f'{GstDrm.FormatSet()}', '{ }')

    def test_from_caps(self):
        self.assertEqual(GstDrm.FormatSet.new_from_caps(self.gpu.to_caps()), self.gpu)
        self.assertEqual(len(GstDrm.FormatSet.new_from_caps(Gst.Caps.new_empty())), 0)
        self.assertIsNone(GstDrm.FormatSet.new_from_caps(Gst.Caps.new_any()))
        for wrong in (None, 'video/x-raw', 7):
            with self.subTest(wrong), self.assertRaises(TypeError):
                GstDrm.FormatSet.new_from_caps(wrong)

    def test_of_an_allocator(self):
        allocator = GstDrm.Allocator.new(GstDrm.AllocatorKind.MEMFD, None)
        peer = GstDrm.FormatSet.new_from_caps(Gst.Caps.new_any())
        for common in (allocator.get_formats() & peer, peer & allocator.get_formats()):
            self.assertIn('NV12', common)
            self.assertGreater(len(common), 100)


class Frames(unittest.TestCase):
    def test_planes(self):
        allocator = GstDrm.Allocator.new(GstDrm.AllocatorKind.MEMFD, None)
        buffer, modifier = allocator.alloc_frame(NV12, 640, 480, [0], None)
        _, frame = GstDrm.Frame.from_buffer(buffer, GstDrm.VideoInfo.new_from_format(NV12, modifier, 640, 480))
        luma, chroma = frame.planes
        self.assertEqual((luma.fd, luma.offset, luma.stride), (chroma.fd, 0, 768))
        self.assertEqual((chroma.offset, chroma.stride), (480 * 768, 768))
        self.assertEqual((luma.size, luma.inode), (chroma.size, os.fstat(luma.fd).st_ino))
        self.assertIn(f'fd={luma.fd} offset=0 stride=768', repr(luma))
        self.assertEqual(GstDrm.Frame().planes, [])

    def test_planes_outlive_the_frame(self):
        planes = []
        allocator = GstDrm.Allocator.new(GstDrm.AllocatorKind.MEMFD, None)
        for size in range(16, 116):
            buffer, _ = allocator.alloc_frame(XR24, size, 16, [0], None)
            _, frame = GstDrm.Frame.from_buffer(buffer, GstDrm.VideoInfo.new_from_format(XR24, 0, size, 16))
            planes += frame.planes
        self.assertEqual([plane.stride for plane in planes], [(4 * size + 255) // 256 * 256 for size in range(16, 116)])


class Hostile(unittest.TestCase):
    """Whatever is given, the answer is a value or a Python exception: a CRITICAL ends the process here (G_DEBUG)."""

    VALUES = (None, 0, 1, -1, 4, NV12, (1 << 32) - 1, 1 << 32, (1 << 56) - 1, 1 << 64, 1.5, '', 'NV12', 'NV12:0x', b'NV12', [], [0],
              [None], (), (NV12, 0), object())

    def attack(self, function, *, most):
        for count in range(most + 1):
            for arguments in itertools.product(self.VALUES + self.objects, repeat=count):
                try:
                    function(*arguments)
                except (TypeError, ValueError, OverflowError, GLib.Error):
                    self.refused += 1
                else:
                    self.answered += 1

    def setUp(self):
        allocator = GstDrm.Allocator.new(GstDrm.AllocatorKind.MEMFD, None)
        self.info = GstDrm.VideoInfo.new_from_format(XR24, 0, 64, 64)
        self.buffer = allocator.alloc_frame(XR24, 64, 64, [0], None)[0]
        self.objects = (GstDrm.FormatSet(), GstDrm.FormatSet(['NV12']), Gst.Caps.new_any(), Gst.Caps.new_empty(), self.info,
                        GstDrm.VideoInfo(), self.buffer, Gst.Buffer.new(), GstDrm.Frame(), allocator, GstDrm.FormatSet)
        self.answered = self.refused = 0

    def tearDown(self):
        self.assertGreater(self.refused, 100)
        self.assertGreater(self.answered, 0)

    def test_sets(self):
        for name in ('add', 'contains', 'get', 'get_modifiers', 'get_fourccs', 'intersect', 'intersect_full', 'union', 'subtract',
                     'is_subset', 'is_equal', 'to_caps', 'copy', '__and__', '__rand__', '__or__', '__sub__', '__contains__', '__lt__'):
            self.attack(getattr(GstDrm.FormatSet(['XR24']), name), most=2)
        for function in (GstDrm.FormatSet, GstDrm.FormatSet.new_from_caps):
            self.attack(function, most=2)

    def test_infos(self):
        for function in (GstDrm.VideoInfo.new_from_format, GstDrm.VideoInfo.new().set_format):
            self.attack(lambda *last, function=function: function(XR24, 0, *last), most=2)
            self.attack(lambda *first, function=function: function(*first, 64, 64), most=2)

    def test_frames(self):
        self.attack(GstDrm.Frame.from_buffer, most=2)
        self.attack(GstDrm.Frame.from_buffer(self.buffer, self.info)[1].get_plane, most=2)


if __name__ == '__main__':
    tap_main.main()
