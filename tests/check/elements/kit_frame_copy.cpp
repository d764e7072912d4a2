// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of frames by the CPU: every row that GStreamer reads arrives, and no byte is read that the frame does not have.
#include "kit_frame_copy.hpp"

#include <string>
#include <vector>

#include "support/dmabuf_elements.hpp"
#include "support/guarded.hpp"

#include <gst/drm/element/frame_copy.hpp>
#include <gst/drm/element/video_planes.hpp>

namespace {

using namespace gstdrm::test;
using gstdrm::FrameCopier;
using gstdrm::GstPtr;

struct Row {
  const char *name;
  const char *format;
  int width;
  int height;
  const char *mode;
  guint stride; // bytes
};

constexpr Row kRows[] = {
    {"progressive 4:2:0", "NV12", 64, 6, "progressive", 64},
    {"odd width and height", "NV12", 63, 5, "progressive", 64},
    {"4:2:0 in fields of three lines", "NV12", 64, 6, "interleaved", 64},
    {"4:2:0 in fields of three and two lines", "NV12", 64, 5, "interleaved", 64},
    {"4:2:0 in fields of 243 lines, as NTSC has them", "I420", 720, 486, "interleaved", 768},
    {"packed 4:2:2 in fields", "YUY2", 64, 6, "interleaved", 192},
    {"10 bits in groups of five bytes, wide rows", "NV12_10LE40", 64, 6, "progressive", 4096},
    {"10 bits in words, wide rows", "NV12_10LE32", 66, 6, "progressive", 4096},
    {"10 bits in groups, in fields", "NV12_10LE40", 64, 6, "interleaved", 128},
};

// A frame whose planes end with the last byte of their last row. The page after that survives no access.
struct GuardedFrame {
  std::vector<Guarded> planes;
  GstPtr<GstBuffer> buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());

  GuardedFrame(const GstVideoInfo &info, guint stride)
  {
    gsize offsets[GST_VIDEO_MAX_PLANES] = {};
    gint strides[GST_VIDEO_MAX_PLANES] = {};
    for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); plane++) {
      const guint rows = gstdrm::rows_with_fields(info, plane);
      const gsize row = gstdrm::row_bytes(info, plane, stride);
      const gsize size = gsize{rows - 1} * stride + row;
      Guarded &memory = planes.emplace_back(size);
      for (guint y = 0; y < rows; y++)
        for (guint x = 0; x < row; x++)
          memory.data()[gsize{y} * stride + x] = pattern(1, plane, y, x);
      offsets[plane] = gst_buffer_get_size(buffer.get());
      strides[plane] = static_cast<gint>(stride);
      gst_buffer_append_memory(buffer.get(), gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, memory.data(), size, 0, size, nullptr, nullptr));
    }
    gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info), static_cast<guint>(info.width),
                                   static_cast<guint>(info.height), GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  }
};

void check_plane(const GstVideoFrame &frame, const GstVideoInfo &info, guint plane)
{
  const auto stride = static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane));
  const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
  for (guint y = 0; y < gstdrm::rows_with_fields(info, plane); y++)
    for (guint x = 0; x < gstdrm::row_bytes(info, plane, stride); x++)
      fail_unless(data[y * stride + x] == pattern(1, plane, y, x), "plane %u row %u byte %u", plane, y, x);
}

GST_START_TEST(test_row)
{
  const Row &row = kRows[__i__];
  say(row.name);
  const std::string caps = plain_caps(row.format, row.width, row.height) + ", interlace-mode=(string)" + row.mode;
  const GstVideoInfo info = video_info(caps);
  const GuardedFrame source(info, row.stride);
  FrameCopier copier;
  copier.set_caps(caps_of(caps).get());
  const auto copied = copier.copy(source.buffer.get(), info);
  fail_unless(copied, "%s", copied ? "" : copied.error().message.c_str());
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, copied->get(), GST_MAP_READ));
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); plane++)
    check_plane(frame, info, plane);
  gst_video_frame_unmap(&frame);
}
GST_END_TEST

} // namespace

TCase *frame_copy_tcase()
{
  TCase *tcase = tcase_create("frame copy");
  tcase_add_loop_test(tcase, test_row, 0, G_N_ELEMENTS(kRows));
  return tcase;
}
