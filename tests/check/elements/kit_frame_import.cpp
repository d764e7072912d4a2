// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kit sees of a buffer before a device gets it: its memory, and the layout that the C API finds as well.
#include <string>

#include "kit_frame_copy.hpp"
#include "support/dmabuf_elements.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/element/frame_import.hpp>

namespace {

using namespace gstdrm::test;
using gstdrm::FrameLayout;
using gstdrm::GstPtr;
using gstdrm::MemoryKind;
using gstdrm::Result;

// A frame of dmabuf memory, which is a memfd: nothing here asks a device.
GstPtr<GstBuffer> dmabuf_frame(guint32 fourcc, guint width, guint height)
{
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr));
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  auto buffer = GstPtr<GstBuffer>::adopt(
      gst_drm_allocator_alloc_frame(allocator.get(), fourcc, width, height, &linear, 1, nullptr, nullptr, nullptr));
  fail_unless(static_cast<bool>(buffer));
  return buffer;
}

GstDrmVideoInfo info_of(const char *drm_format, int width, int height)
{
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps_of(dmabuf_caps(drm_format, width, height)).get()));
  return info;
}

struct Row {
  const char *drm_format;
  int width;
  int height;
};

constexpr Row kRows[] = {{"NV12", 64, 48}, {"YU12", 66, 50}, {"XR24", 17, 3}, {"P010", 64, 48}};

GST_START_TEST(test_the_same_as_the_c_api)
{
  const Row &row = kRows[__i__];
  const GstDrmVideoInfo info = info_of(row.drm_format, row.width, row.height);
  const auto buffer = dmabuf_frame(info.drm_fourcc, static_cast<guint>(row.width), static_cast<guint>(row.height));
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer.get(), &info, nullptr));
  const Result<FrameLayout> layout = gstdrm::frame_layout_of(buffer.get(), info);
  fail_unless(static_cast<bool>(layout), "%s", layout ? "" : layout.error().message.c_str());
  fail_unless(layout->format == (gstdrm::Format{frame.drm_fourcc, frame.drm_modifier}));
  fail_unless(layout->width == frame.width && layout->height == frame.height && layout->n_planes == frame.n_planes);
  for (guint i = 0; i < frame.n_planes; i++) {
    const gstdrm::PlaneLayout &plane = layout->planes[i];
    const GstDrmFramePlane &expected = frame.planes[i];
    fail_unless(plane.fd == expected.fd && plane.offset_bytes == expected.offset && plane.stride_bytes == expected.stride);
    fail_unless(plane.object.size_bytes == expected.size && plane.object.identity.device == expected.device &&
                plane.object.identity.inode == expected.inode);
  }
}
GST_END_TEST

// A refusal has the code and the text of the C API.
GST_START_TEST(test_refused)
{
  const GstDrmVideoInfo info = info_of("NV12", 640, 480);
  const auto buffer = dmabuf_frame(info.drm_fourcc, 64, 48);
  GstDrmFrame frame;
  GError *error = nullptr;
  fail_if(gst_drm_frame_from_buffer(&frame, buffer.get(), &info, &error));
  const Result<FrameLayout> layout = gstdrm::frame_layout_of(buffer.get(), info);
  fail_if(static_cast<bool>(layout));
  fail_unless(layout.error().code == gstdrm::ErrorCode::Layout);
  fail_unless(layout.error().message == error->message, "'%s', '%s'", layout.error().message.c_str(), error->message);
  g_error_free(error);
}
GST_END_TEST

GST_START_TEST(test_memory_kind)
{
  const auto none = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  fail_unless(gstdrm::memory_kind(none.get()) == MemoryKind::NoDmaBuf);
  const auto plain = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, 16, nullptr));
  fail_unless(gstdrm::memory_kind(plain.get()) == MemoryKind::NoDmaBuf);
  const auto frame = dmabuf_frame(GST_MAKE_FOURCC('N', 'V', '1', '2'), 64, 48);
  fail_unless(gstdrm::memory_kind(frame.get()) == MemoryKind::DmaBuf);
  gst_buffer_append_memory(frame.get(), gst_buffer_get_memory(plain.get(), 0));
  fail_unless(gstdrm::memory_kind(frame.get()) == MemoryKind::Mixed);
}
GST_END_TEST

Suite *kit_frame_import_suite()
{
  Suite *suite = suite_create("kit frame import");
  TCase *tcase = tcase_create("frame import");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_the_same_as_the_c_api, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_memory_kind);
  suite_add_tcase(suite, frame_copy_tcase());
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_frame_import)
