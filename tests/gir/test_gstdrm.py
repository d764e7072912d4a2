#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library through its typelib: every public symbol can be called, and does what it says."""

import os
import subprocess
import unittest
import xml.etree.ElementTree as ET

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstVideo', '1.0')
gi.require_version('GstAllocators', '1.0')
gi.require_version('GstDrm', '1.0')
from gi.repository import GLib, Gst, GstAllocators, GstDrm, GstVideo  # noqa: E402
import tap_main  # noqa: E402

NV12 = 0x3231564E
XR24 = 0x34325258
Y_TILED = 0x0100000000000002

# What a binding must not call, for it counts references, and frees, by itself.
FOR_C_ALONE = {'gst_drm_format_set_ref', 'gst_drm_format_set_unref', 'gst_drm_source_ref', 'gst_drm_source_unref',
               'gst_drm_constraints_free', 'gst_drm_conflict_free', 'gst_drm_video_info_free'}

GIR_NAMESPACES = {
    'core': 'http://www.gtk.org/introspection/core/1.0',
    'c': 'http://www.gtk.org/introspection/c/1.0',
}


def drm_caps(drm_format='NV12:0x0100000000000002'):
    return Gst.Caps.from_string('video/x-raw(memory:DMABuf), format=DMA_DRM, width=640, height=480, '
                                f'framerate=30/1, drm-format={drm_format}')


def memfd_buffer(size):
    fd = os.memfd_create('gir-test', os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    buffer = Gst.Buffer.new()
    buffer.append_memory(GstAllocators.DmaBufAllocator.alloc(GstAllocators.DmaBufAllocator.new(), fd, size))
    return buffer


class Formats(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(GstDrm.format_parse('NV12:0x0100000000000002'), (True, NV12, Y_TILED))
        self.assertEqual(GstDrm.format_parse('NV12'), (True, NV12, GstDrm.MODIFIER_LINEAR))

    def test_parse_error(self):
        with self.assertRaises(GLib.Error) as raised:
            GstDrm.format_parse('NV12:0x00ffffffffffffff')
        self.assertTrue(raised.exception.matches(GstDrm.error_quark(), GstDrm.Error.FORMAT))
        self.assertIn('DRM_FORMAT_MOD_INVALID', raised.exception.message)

    def test_to_string(self):
        self.assertEqual(GstDrm.format_to_string(NV12, Y_TILED), 'NV12:0x0100000000000002')
        self.assertIsNone(GstDrm.format_to_string(NV12, GstDrm.MODIFIER_IMPLICIT))

    def test_describe(self):
        self.assertEqual(GstDrm.modifier_describe(Y_TILED), 'INTEL_Y_TILED')

    def test_video_formats(self):
        self.assertEqual(GstDrm.format_to_video_format(XR24, 0), GstVideo.VideoFormat.BGRX)
        self.assertEqual(GstDrm.format_from_video_format(GstVideo.VideoFormat.NV12), (NV12, 0))


class VideoInfos(unittest.TestCase):
    def test_from_caps(self):
        info = GstDrm.VideoInfo.new_from_caps(drm_caps())
        self.assertEqual((info.get_fourcc(), info.get_modifier()), (NV12, Y_TILED))
        self.assertEqual((info.vinfo.width, info.vinfo.height, info.vinfo.fps_n), (640, 480, 30))

    def test_from_caps_again(self):
        info = GstDrm.VideoInfo()
        self.assertEqual((info.get_fourcc(), info.get_modifier()), (0, GstDrm.MODIFIER_IMPLICIT))
        self.assertTrue(info.from_caps(drm_caps('XR24')))
        self.assertEqual(info.get_fourcc(), XR24)
        info.init()
        self.assertEqual(info.get_fourcc(), 0)

    def test_from_format(self):
        info = GstDrm.VideoInfo.new_from_format(NV12, Y_TILED, 640, 480)
        self.assertEqual((info.get_fourcc(), info.get_modifier()), (NV12, Y_TILED))
        self.assertEqual((info.vinfo.width, info.vinfo.height), (640, 480))
        self.assertTrue(info.set_format(XR24, 0, 32, 16))
        self.assertEqual(info.to_caps().get_structure(0).get_string('drm-format'), 'XR24')
        for size, code in (((0, 480), GstDrm.Error.LAYOUT), ((0xffffffff, 1), GstDrm.Error.LAYOUT)):
            with self.assertRaises(GLib.Error) as raised:
                GstDrm.VideoInfo.new_from_format(NV12, 0, *size)
            self.assertTrue(raised.exception.matches(GstDrm.error_quark(), code))
        with self.assertRaises(GLib.Error) as raised:
            info.set_format(0, 0, 640, 480)
        self.assertTrue(raised.exception.matches(GstDrm.error_quark(), GstDrm.Error.FORMAT))
        with self.assertRaises(TypeError):
            GstDrm.VideoInfo.new_from_format('NV12', 0, 640, 480)
        self.assertEqual(info.get_fourcc(), XR24)

    def test_no_video_info(self):
        with self.assertRaises(TypeError):  # how PyGObject says that a constructor returned NULL
            GstDrm.VideoInfo.new_from_caps(Gst.Caps.new_any())

    def test_why_not(self):
        with self.assertRaises(GLib.Error) as raised:
            GstDrm.VideoInfo.new().from_caps_full(Gst.Caps.from_string('video/x-raw, format=DMA_DRM'))
        self.assertTrue(raised.exception.matches(GstDrm.error_quark(), GstDrm.Error.CAPS))

    def test_to_caps(self):
        info = GstDrm.VideoInfo.new_from_caps(drm_caps())
        caps = info.to_caps()
        self.assertTrue(GstDrm.is_dma_drm_caps(caps))
        self.assertEqual(caps.get_structure(0).get_string('drm-format'), 'NV12:0x0100000000000002')
        self.assertTrue(info.is_equal(info.copy()))
        self.assertIsNone(GstDrm.VideoInfo.new().to_caps())

    def test_video_info(self):
        vinfo = GstVideo.VideoInfo.new()
        vinfo.set_format(GstVideo.VideoFormat.NV12, 64, 32)
        info = GstDrm.VideoInfo.new()
        self.assertTrue(info.from_video_info(vinfo, Y_TILED))
        self.assertEqual(info.get_modifier(), Y_TILED)
        plain = GstVideo.VideoInfo.new()
        self.assertTrue(info.to_video_info(plain))
        self.assertEqual(plain.finfo.format, GstVideo.VideoFormat.NV12)


class FormatSets(unittest.TestCase):
    def setUp(self):
        self.gpu = GstDrm.FormatSet.new()
        for fourcc, modifier in ((XR24, Y_TILED), (NV12, 0), (XR24, 0)):
            self.assertTrue(self.gpu.add(fourcc, modifier))

    def test_members(self):
        self.assertFalse(self.gpu.add(XR24, Y_TILED))
        self.assertEqual(self.gpu.get_size(), 3)
        self.assertEqual(self.gpu.get(0), (True, NV12, 0))
        self.assertFalse(self.gpu.get(3)[0])
        self.assertTrue(self.gpu.contains(XR24, 0))
        self.assertEqual(self.gpu.get_fourccs(), [NV12, XR24])
        self.assertEqual(self.gpu.get_modifiers(XR24), [0, Y_TILED])
        self.assertEqual(self.gpu.get_modifiers(0x20203852), [])
        self.assertEqual(GstDrm.FormatSet.new().get_fourccs(), [])
        self.assertFalse(hasattr(self.gpu, 'ref') or hasattr(self.gpu, 'unref'))

    def test_algebra(self):
        display = GstDrm.FormatSet.new()
        display.add(XR24, 0)
        self.assertEqual(self.gpu.intersect(display).to_string(), '{ XR24 }')
        self.assertTrue(self.gpu.union(display).is_equal(self.gpu))
        self.assertTrue(display.is_subset(self.gpu))
        self.assertEqual(self.gpu.subtract(display).get_size(), 2)
        self.assertTrue(display.intersect(None).is_equal(display))  # None: any format
        copy = display.copy()
        self.assertTrue(copy.add(NV12, GstDrm.MODIFIER_IMPLICIT))
        legacy = self.gpu.intersect_full(copy, GstDrm.FormatSetFlags.LINEAR_FOR_IMPLICIT)
        self.assertEqual(legacy.to_string(), '{ NV12, XR24 }')

    def test_caps(self):
        again = GstDrm.FormatSet.new_from_caps(self.gpu.to_caps())
        self.assertTrue(again.is_equal(self.gpu))
        with self.assertRaises(TypeError):  # any format: a constructor returned NULL
            GstDrm.FormatSet.new_from_caps(Gst.Caps.new_any())
        self.assertEqual(self.gpu.to_raw_caps().to_string(), 'video/x-raw, format=(string){ NV12, BGRx }')

    def test_caps_intersect(self):
        common = GstDrm.caps_intersect(self.gpu.to_caps(), drm_caps('XR24'))
        self.assertEqual(GstDrm.FormatSet.new_from_caps(common).to_string(), '{ XR24 }')


class Allocators(unittest.TestCase):
    def test_recipe(self):
        """Intersect your allocator's set with the peer's."""
        allocator = GstDrm.Allocator.new(GstDrm.AllocatorKind.MEMFD, None)
        peer = GstDrm.FormatSet.new_from_caps(drm_caps('{ NV12, NV12:0x0100000000000002 }'))
        common = allocator.get_formats().intersect(peer)
        self.assertEqual(common.to_string(), '{ NV12 }')
        buffer, modifier = allocator.alloc_frame(NV12, 640, 480, common.get_modifiers(NV12), None)
        self.assertEqual(modifier, GstDrm.MODIFIER_LINEAR)
        self.assertGreaterEqual(buffer.get_size(), 460800)


class Frames(unittest.TestCase):
    def test_frame(self):
        buffer = memfd_buffer(460800)
        info = GstDrm.VideoInfo.new_from_caps(drm_caps('NV12'))
        done, frame = GstDrm.Frame.from_buffer(buffer, info)
        self.assertTrue(done)
        self.assertEqual((frame.drm_fourcc, frame.n_planes, frame.width), (NV12, 2, 640))

    def test_planes(self):
        buffer = memfd_buffer(460800)
        _, frame = GstDrm.Frame.from_buffer(buffer, GstDrm.VideoInfo.new_from_format(NV12, 0, 640, 480))
        fd = GstAllocators.dmabuf_memory_get_fd(buffer.peek_memory(0))
        identity = os.fstat(fd)
        for index, offset in enumerate((0, 307200)):
            found, plane = frame.get_plane(index)
            self.assertTrue(found)
            self.assertEqual((plane.fd, plane.offset, plane.stride, plane.size), (fd, offset, 640, 460800))
            self.assertEqual((plane.device, plane.inode), (identity.st_dev, identity.st_ino))
        for beyond in (2, 4, 0xffffffff):
            found, plane = frame.get_plane(beyond)
            self.assertEqual((found, plane.fd), (False, -1))
        with self.assertRaises(OverflowError):
            frame.get_plane(-1)

    def test_refused(self):
        buffer = memfd_buffer(460799)
        info = GstDrm.VideoInfo.new_from_caps(drm_caps('NV12'))
        with self.assertRaises(GLib.Error) as raised:
            GstDrm.Frame.from_buffer(buffer, info)
        self.assertTrue(raised.exception.matches(GstDrm.error_quark(), GstDrm.Error.LAYOUT))
        self.assertIn('460799', raised.exception.message)


class Fences(unittest.TestCase):
    def test_meta(self):
        buffer = Gst.Buffer.new_allocate(None, 64, None)
        self.assertIsNone(GstDrm.buffer_get_drm_sync_meta(buffer))
        meta = GstDrm.buffer_add_drm_sync_meta(buffer)
        self.assertEqual(meta.dup_acquire_fence(), -1)
        self.assertEqual(meta.dup_release_fence(), -1)
        meta.clear()

    def test_no_fence(self):
        meta = GstDrm.buffer_add_drm_sync_meta(Gst.Buffer.new_allocate(None, 64, None))
        fd = os.memfd_create('no-fence', os.MFD_CLOEXEC)
        for ask in (GstDrm.fence_get_state, lambda f: GstDrm.fence_wait(f, 0),
                    lambda f: GstDrm.dmabuf_export_fence(f, GstDrm.Access.READ),
                    lambda f: GstDrm.dmabuf_import_fence(f, f, GstDrm.Access.WRITE),
                    meta.add_acquire_fence):
            with self.assertRaises(GLib.Error):
                ask(fd)
        with self.assertRaises(OSError):
            os.fstat(fd)  # add_acquire_fence() took it


class Queries(unittest.TestCase):
    def test_device(self):
        query = Gst.Query.new_allocation(drm_caps(), False)
        self.assertEqual(GstDrm.query_get_device(query), (False, 0))
        with open('/dev/null', 'rb') as node:
            self.assertTrue(GstDrm.query_add_device(query, node.fileno()))
            self.assertEqual(GstDrm.query_get_device(query), (True, os.fstat(node.fileno()).st_rdev))


class Constraints(unittest.TestCase):
    @staticmethod
    def accessor(name, **numbers):
        one = GstDrm.Constraints.new(name, None)
        for key, value in numbers.items():
            assert one.set_number(getattr(GstDrm.ConstraintKey, key.upper()), value), key
        return one

    def test_values(self):
        one = self.accessor('camera', stride_align=64)
        self.assertEqual((one.get_name(), one.get_device()), ('camera', ''))
        self.assertEqual(one.get_range(GstDrm.ConstraintKey.STRIDE_ALIGN), (True, 64, 64))
        self.assertTrue(one.set_range(GstDrm.ConstraintKey.WIDTH, 1, 640))
        one.set_placement(GstDrm.Placement.SYSTEM, ['cma'])
        self.assertEqual(one.get_placement(), (True, GstDrm.Placement.SYSTEM, ['cma']))
        one.set_dims([1, 3, 224])
        self.assertEqual(one.get_dims(), [1, 3, 224])
        formats = GstDrm.FormatSet.new()
        formats.add(NV12, 0)
        one.set_formats(formats)
        self.assertTrue(one.get_formats().is_equal(formats))
        self.assertEqual(one.copy().get_range(GstDrm.ConstraintKey.STRIDE_ALIGN), (True, 64, 64))
        self.assertFalse(hasattr(one, 'free'))

    def test_reconcile(self):
        formats = GstDrm.FormatSet.new()
        formats.add(NV12, 0)
        camera = self.accessor('camera', width=640, height=480)
        camera.set_formats(formats)
        done, conflict = GstDrm.Constraints.reconcile([camera, self.accessor('display', stride_align=256)])
        self.assertIsNone(conflict)
        self.assertEqual((done.get_size(), done.get_n_planes()), (552960, 2))
        self.assertEqual(done.get_plane(1), (True, 368640, 768))
        self.assertEqual(done.get_heap(), (None, GstDrm.Placement.SYSTEM))

    def test_conflict(self):
        done, conflict = GstDrm.Constraints.reconcile([self.accessor('npu', stride_align=48)])
        self.assertIsNone(done)
        self.assertIn('48 is not a power of two', conflict.to_string())
        self.assertIn('"npu"', conflict.to_json())
        self.assertEqual(conflict.to_structure().get_name(), 'GstDrmConflict')
        self.assertFalse(hasattr(conflict, 'free'))

    def test_memory(self):
        camera = GstDrm.Constraints.new('camera', None)
        formats = GstDrm.FormatSet.new()
        formats.add(NV12, GstDrm.MODIFIER_LINEAR)
        camera.set_formats(formats)
        for key, pixels in (('WIDTH', 640), ('HEIGHT', 480)):
            camera.set_number(getattr(GstDrm.ConstraintKey, key), pixels)
        display = self.accessor('display', stride_align=512)
        done, _ = GstDrm.Constraints.reconcile([camera, display])
        self.assertTrue(done.is_reconciled())
        first, second = done.allocate(2)
        for buffer in (first, second):
            self.assertEqual(buffer.get_size(), done.get_size())
            self.assertEqual(GstDrm.buffer_get_drm_constraints(buffer).get_plane(1), done.get_plane(1))
            self.assertTrue(GstDrm.buffer_meets(buffer, None, display))
        with self.assertRaises(GLib.Error) as raised:
            GstDrm.buffer_meets(first, None, self.accessor('gpu', stride_align=4096))
        self.assertIn('gpu asks for a multiple of 4096', raised.exception.message)
        with self.assertRaises(GLib.Error) as raised:
            camera.allocate(1)
        self.assertTrue(raised.exception.matches(GstDrm.error_quark(), GstDrm.Error.ALLOCATION))
        buffers, conflict = GstDrm.Constraints.reconcile_and_allocate([camera, display], 1)
        self.assertEqual((len(buffers), conflict), (1, None))
        pool = GstDrm.BufferPool.new_for_constraints(done)
        self.assertTrue(pool.set_active(True))
        self.assertTrue(GstDrm.buffer_meets(pool.acquire_buffer(None)[1], None, display))
        pool.set_active(False)

    def test_query(self):
        """The array frees its elements, so a binding must copy and not take them."""
        query = Gst.Query.new_allocation(drm_caps(), False)
        self.assertEqual(GstDrm.query_get_drm_constraints(query), [])
        for name in 'ab':
            GstDrm.query_add_drm_constraints(query, self.accessor(name, buffers_held=2))
        for _ in range(100):
            heard = GstDrm.query_get_drm_constraints(query)
            self.assertEqual([one.get_name() for one in heard], ['a', 'b'])
            del heard
        kept = GstDrm.query_get_drm_constraints(query)[1]
        del query
        self.assertEqual(kept.get_range(GstDrm.ConstraintKey.BUFFERS_HELD), (True, 2, 2))

    def test_gather(self):
        pad = Gst.Pad.new('src', Gst.PadDirection.SRC)
        self.assertGreater(GstDrm.pad_gather_constraints(pad, None), 0)

    def test_explain(self):
        text = GstDrm.explain_mismatch('a', self.accessor('a', stride_align=48), 'b', drm_caps())
        text = text[0] if isinstance(text, tuple) else text
        self.assertIn('48 is not a power of two', text)


class Enumeration(unittest.TestCase):
    def test_sources(self):
        """A machine may have no device: what there is can be read after the list is gone."""
        for name in ('kms', 'gbm', 'egl', 'va', 'v4l2', 'vulkan', 'wayland', 'all'):
            with self.subTest(name):
                sources = getattr(GstDrm, 'enumerate_' + name)()
                kept = list(sources)
                del sources
                for source in kept:
                    self.assertTrue(source.get_name())


class Announcements(unittest.TestCase):
    def test_appsrc(self):
        """What an application does: every query that leaves its pad says so."""
        pipeline = Gst.parse_launch('appsrc name=source format=time ! fakesink name=sink async=false sync=false')
        pad = pipeline.get_by_name('source').get_static_pad('src')
        probe = GstDrm.pad_announce_release_fences(pad)
        self.assertGreater(probe, 0)
        announced = []

        def on_query(_, info):
            query = info.get_query()
            if query.type == Gst.QueryType.ALLOCATION and query.parse_allocation()[0]:
                announced.append(GstDrm.query_has_release_fences(query))
            return Gst.PadProbeReturn.OK

        sink_pad = pipeline.get_by_name('sink').get_static_pad('sink')
        sink_pad.add_probe(Gst.PadProbeType.QUERY_DOWNSTREAM | Gst.PadProbeType.PUSH, on_query)
        source = pipeline.get_by_name('source')
        source.set_property('caps', drm_caps())
        pipeline.set_state(Gst.State.PLAYING)
        self.assertEqual(source.emit('push-buffer', Gst.Buffer.new_allocate(None, 64, None)), Gst.FlowReturn.OK)
        source.emit('end-of-stream')
        message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        self.assertEqual(message.type, Gst.MessageType.EOS)
        pipeline.set_state(Gst.State.NULL)
        self.assertTrue(announced and all(announced), announced)
        pad.remove_probe(probe)


class Completeness(unittest.TestCase):
    """What the headers declare is documented and introspectable."""

    @classmethod
    def setUpClass(cls):
        cls.namespace = ET.parse(os.environ['GST_DRM_GIR']).getroot().find('core:namespace', GIR_NAMESPACES)

    def callables(self):
        for kind in ('function', 'method', 'constructor'):
            yield from self.namespace.iter(f'{{{GIR_NAMESPACES["core"]}}}{kind}')

    def test_functions(self):
        for function in self.callables():
            name = function.get(f'{{{GIR_NAMESPACES["c"]}}}identifier')
            if name.endswith('_get_type'):
                continue
            with self.subTest(name):
                self.assertEqual(function.get('introspectable', '1'), '0' if name in FOR_C_ALONE else '1')
                self.assertEqual(function.get('version'), '0.1')
                returned = function.find('core:return-value', GIR_NAMESPACES)
                documented = returned if function.find('core:doc', GIR_NAMESPACES) is None else function
                self.assertIsNotNone(documented.find('core:doc', GIR_NAMESPACES), 'no description')
                for parameter in function.iterfind('core:parameters/core:parameter', GIR_NAMESPACES):
                    self.assertIsNotNone(parameter.find('core:doc', GIR_NAMESPACES), parameter.get('name'))

    # For the plugins of the same build alone, in C++: the check behind gst_drm_frame_from_buffer(). One copy of it
    # serves library and plugins, as the facts that it keeps with a GstMemory have one lock.
    PRIVATE = {'_ZN6gstdrm15frame_layout_ofEP10_GstBufferRK16_GstDrmVideoInfo'}

    def test_every_exported_symbol(self):
        lines = subprocess.run(['nm', '-D', '--defined-only', os.environ['GST_DRM_LIBRARY']], check=True,
                               stdout=subprocess.PIPE, text=True).stdout.splitlines()
        exported = {name.split('@')[0] for _, kind, name in map(str.split, lines) if kind == 'T'}
        named = {f.get(f'{{{GIR_NAMESPACES["c"]}}}identifier') for f in self.callables()}
        types = {t.get('{http://www.gtk.org/introspection/glib/1.0}get-type') for t in self.namespace}
        self.assertGreater(len(exported), 60)
        self.assertEqual(exported - named - types, self.PRIVATE)

    def test_types(self):
        for kind in ('record', 'class', 'enumeration', 'bitfield'):
            for found in self.namespace.iterfind(f'core:{kind}', GIR_NAMESPACES):
                if found.get('name').endswith('Class') or found.get('name') == 'BufferPool':
                    continue
                with self.subTest(found.get('name')):
                    self.assertIsNotNone(found.find('core:doc', GIR_NAMESPACES), 'no description')


if __name__ == '__main__':
    tap_main.main()
