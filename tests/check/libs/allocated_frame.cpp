// SPDX-License-Identifier: LGPL-2.1-or-later
// From a driver's description of a frame to GstBuffer and GstVideoMeta: how layouts are named, and what is opaque
// because GStreamer's terms cannot say it.
#include <array>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrmallocator-buffer.hpp>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace {

using gstdrm::AllocatedFrame;
using gstdrm::UniqueFd;

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;
constexpr guint64 kLinear = GST_DRM_MODIFIER_LINEAR;
constexpr guint64 kImplicit = GST_DRM_MODIFIER_IMPLICIT;
constexpr guint64 kAllwinner = G_GUINT64_CONSTANT(0x0900000000000001); // NV12_32L32: tiles of 32 x 32
constexpr guint64 kXTiled = G_GUINT64_CONSTANT(0x0100000000000001);

constexpr GstVideoFormat kOpaque = GST_DRM_VIDEO_FORMAT_DMA_DRM;

constexpr gint tiles(guint x, guint y)
{
  return static_cast<gint>(GST_VIDEO_TILE_MAKE_STRIDE(x, y));
}

struct Row {
  const char *name;
  guint32 fourcc;
  guint64 modifier;
  guint32 height;
  std::vector<guint32> strides; // bytes, one per plane
  GstVideoFormat format;
  std::vector<gint> meta_strides;
};
const Row kRows[] = {
    {"linear", kNv12, kLinear, 480, {640, 640}, GST_VIDEO_FORMAT_NV12, {640, 640}},
    {"implicit goes by its fourcc", kNv12, kImplicit, 480, {704, 704}, GST_VIDEO_FORMAT_NV12, {704, 704}},
    {"no name", kXr24, kXTiled, 480, {2560}, kOpaque, {2560}},
    {"whole tiles", kNv12, kAllwinner, 480, {640, 640}, GST_VIDEO_FORMAT_NV12_32L32, {tiles(20, 15), tiles(20, 8)}},
    {"last row of tiles is not full", kNv12, kAllwinner, 481, {640, 640}, GST_VIDEO_FORMAT_NV12_32L32, {tiles(20, 16), tiles(20, 8)}},
    {"no whole tiles", kNv12, kAllwinner, 480, {652, 652}, kOpaque, {652, 652}},
    {"no whole tiles in the second plane", kNv12, kAllwinner, 480, {640, 652}, kOpaque, {640, 652}},
    {"less than a tile", kNv12, kAllwinner, 480, {16, 16}, kOpaque, {16, 16}},
    {"one plane more than the format", kNv12, kAllwinner, 480, {640, 640, 64}, kOpaque, {640, 640, 64}},
    {"one plane less than the format", kNv12, kLinear, 480, {640}, kOpaque, {640}},
};

UniqueFd memory_of(std::size_t bytes)
{
  UniqueFd fd(::memfd_create("allocated-frame", MFD_CLOEXEC));
  fail_unless(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  return fd;
}

AllocatedFrame frame_of(const Row &row, bool one_object_per_plane)
{
  AllocatedFrame frame;
  frame.format = {row.fourcc, row.modifier};
  frame.width = 640;
  frame.height = row.height;
  frame.n_planes = row.strides.size();
  for (std::size_t i = 0; i < row.strides.size(); ++i) {
    if (i == 0 || one_object_per_plane)
      frame.objects.push_back({memory_of(4096), 4096});
    frame.planes[i] = {frame.objects.size() - 1, 16 * i, row.strides[i]};
  }
  return frame;
}

void check_meta(const Row &row, bool one_object_per_plane)
{
  GstAllocator *allocator = gst_dmabuf_allocator_new();
  AllocatedFrame frame = frame_of(row, one_object_per_plane);
  const auto n_objects = frame.objects.size();
  g_autoptr(GstBuffer) buffer =
      gstdrm::buffer_from_frame(GST_DMABUF_ALLOCATOR(allocator), std::move(frame));
  gst_object_unref(allocator);
  fail_unless_equals_int(static_cast<int>(gst_buffer_n_memory(buffer)), static_cast<int>(n_objects));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  fail_unless_equals_int(meta->format, row.format);
  fail_unless_equals_int(static_cast<int>(meta->width), 640);
  fail_unless_equals_int(static_cast<int>(meta->height), static_cast<int>(row.height));
  fail_unless_equals_int(static_cast<int>(meta->n_planes), static_cast<int>(row.strides.size()));
  for (std::size_t i = 0; i < row.strides.size(); ++i) {
    fail_unless(meta->stride[i] == row.meta_strides[i], "%s, plane %zu: stride 0x%x", row.name, i, meta->stride[i]);
    fail_unless_equals_int(static_cast<int>(meta->offset[i]), static_cast<int>(one_object_per_plane ? i * (4096 + 16) : i * 16));
  }
}

GST_START_TEST(test_layout)
{
  check_meta(kRows[__i__], false);
  check_meta(kRows[__i__], true);
}
GST_END_TEST

Suite *allocated_frame_suite()
{
  Suite *suite = suite_create("allocated frame");
  TCase *tcase = tcase_create("layouts");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_layout, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(allocated_frame)
