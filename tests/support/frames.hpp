// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of an allocator under test: what is written through GStreamer's maps must be there for
// whoever maps the descriptors on his own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gst/check/gstcheck.h>
#include <gst/drm/core/format.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>

#include "support/open_fds.hpp"

namespace gstdrm::test {

struct FrameRow {
  const char *format; // without a modifier
  guint width;
  guint height;
};

inline constexpr FrameRow kFrameRows[] = {
    {"NV12", 64, 64},     {"NV12", 641, 481},   {"NV12", 1920, 1080}, {"YU12", 64, 64},
    {"YU12", 641, 481},   {"YU12", 1920, 1080}, {"XR24", 64, 64},     {"XR24", 641, 481},
    {"XR24", 1920, 1080}, {"P010", 64, 64},     {"P010", 641, 481},   {"P010", 1920, 1080},
    {"R8  ", 1, 1},       {"YUYV", 641, 481},   {"NV15", 641, 481},
};

inline guint32 fourcc_of(const char *text)
{
  guint32 fourcc = 0;
  guint64 modifier = 0;
  fail_unless(gst_drm_format_parse(text, &fourcc, &modifier, nullptr), "%s", text);
  return fourcc;
}

// Different for neighbours in every direction, and for the planes.
inline std::uint8_t pattern(guint plane, guint row, guint column)
{
  return static_cast<std::uint8_t>(17 * plane + 3 * row + 5 * column + (row >> 4));
}

// A row at once; the sanitizers look at each single access.
inline void pattern_row(std::vector<std::uint8_t> &bytes, guint plane, guint row)
{
  std::uint8_t value = pattern(plane, row, 0);
  for (std::uint8_t &byte : bytes) {
    byte = value;
    value = static_cast<std::uint8_t>(value + 5);
  }
}

inline GstBuffer *alloc_linear(GstDrmAllocator *allocator, const FrameRow &row,
                               const GstVideoAlignment *align = nullptr)
{
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  guint64 chosen = 1;
  GError *error = nullptr;
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, fourcc_of(row.format), row.width,
                                                    row.height, &linear, 1, align, &chosen, &error);
  fail_unless(buffer != nullptr, "%s %ux%u: %s", row.format, row.width, row.height,
              error ? error->message : "no error");
  fail_unless_equals_uint64(chosen, linear);
  return buffer;
}

inline void write_frame(GstBuffer *buffer, const FrameRow &row)
{
  const FourccInfo *info = fourcc_info(fourcc_of(row.format));
  GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  for (guint p = 0; p < meta->n_planes; ++p) {
    GstMapInfo map;
    gpointer data = nullptr;
    gint stride = 0;
    fail_unless(gst_video_meta_map(meta, p, &map, &data, &stride, GST_MAP_WRITE));
    std::vector<std::uint8_t> bytes(plane_row_bytes(info->planes[p], row.width));
    for (guint y = 0; y < plane_rows(info->planes[p], row.height); ++y) {
      pattern_row(bytes, p, y);
      std::memcpy(static_cast<std::uint8_t *>(data) +
                      static_cast<gsize>(y) * static_cast<gsize>(stride),
                  bytes.data(), bytes.size());
    }
    fail_unless(gst_video_meta_unmap(meta, p, &map));
  }
}

// Through the frame's own descriptors.
inline void check_frame(GstBuffer *buffer, const FrameRow &row)
{
  const FourccInfo *info = fourcc_info(fourcc_of(row.format));
  GstDrmVideoInfo vinfo;
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM",
                                      "drm-format", G_TYPE_STRING, row.format, "width", G_TYPE_INT,
                                      static_cast<gint>(row.width), "height", G_TYPE_INT,
                                      static_cast<gint>(row.height), nullptr);
  gst_caps_set_features_simple(caps, gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
  fail_unless(gst_drm_video_info_from_caps(&vinfo, caps), "%" GST_PTR_FORMAT, caps);
  gst_caps_unref(caps);

  GstDrmFrame frame;
  GError *error = nullptr;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &vinfo, &error), "%s %ux%u: %s", row.format,
              row.width, row.height, error ? error->message : "no error");
  fail_unless_equals_int(frame.n_planes, info->n_planes);
  for (guint p = 0; p < frame.n_planes; ++p) {
    const GstDrmFramePlane &plane = frame.planes[p];
    void *map = ::mmap(nullptr, plane.size, PROT_READ, MAP_SHARED, plane.fd, 0);
    fail_unless(map != MAP_FAILED, "%s plane %u: %s", row.format, p, g_strerror(errno));
    const auto *data = static_cast<const std::uint8_t *>(map) + plane.offset;
    // One assertion per row: libcheck writes into a pipe at each.
    std::vector<std::uint8_t> expected(plane_row_bytes(info->planes[p], row.width));
    for (guint y = 0; y < plane_rows(info->planes[p], row.height); ++y) {
      pattern_row(expected, p, y);
      const std::uint8_t *got = data + static_cast<gsize>(y) * plane.stride;
      if (std::memcmp(expected.data(), got, expected.size()) == 0)
        continue;
      const auto differs = std::mismatch(expected.begin(), expected.end(), got);
      fail_unless(differs.first == expected.end(),
                  "%s %ux%u plane %u row %u byte %u: got %u, expected %u", row.format, row.width,
                  row.height, p, y, static_cast<guint>(differs.first - expected.begin()),
                  differs.first == expected.end() ? 0U : *differs.second,
                  differs.first == expected.end() ? 0U : *differs.first);
    }
    ::munmap(map, plane.size);
  }
}

// The promises of every linear frame.
inline void check_linear_meta(GstBuffer *buffer, const FrameRow &row)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  fail_unless(meta != nullptr);
  fail_unless_equals_int(meta->width, row.width);
  fail_unless_equals_int(meta->height, row.height);
  const GstVideoFormat named =
      gst_drm_format_to_video_format(fourcc_of(row.format), GST_DRM_MODIFIER_LINEAR);
  fail_unless_equals_int(meta->format,
                         named == GST_VIDEO_FORMAT_UNKNOWN ? GST_DRM_VIDEO_FORMAT_DMA_DRM : named);
  for (guint p = 0; p < meta->n_planes; ++p)
    fail_unless(meta->stride[p] % 256 == 0, "%s %ux%u plane %u has a stride of %d", row.format,
                row.width, row.height, p, meta->stride[p]);
  gsize maxsize = 0; // a pool's buffers end with their last row, in whole pages
  gst_buffer_get_sizes(buffer, nullptr, &maxsize);
  fail_unless_equals_int(maxsize % static_cast<gsize>(::sysconf(_SC_PAGESIZE)), 0);
  for (guint i = 0; i < gst_buffer_n_memory(buffer); ++i)
    fail_unless(gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, i)));
}

// One frame of the row, written through GStreamer and read without it.
inline void check_linear_frame(GstDrmAllocator *allocator, const FrameRow &row)
{
  GstBuffer *buffer = alloc_linear(allocator, row);
  check_linear_meta(buffer, row);
  write_frame(buffer, row);
  check_frame(buffer, row);
  gst_buffer_unref(buffer);
}

// A request that has to be refused, and what the message has to say.
struct RefusedFrame {
  const char *name;
  guint32 fourcc;
  guint width;
  guint height;
  guint64 modifier;
  guint n_modifiers;
  guint stride_mask;
  const char *says;
};

inline constexpr guint32 kNv12 = 0x3231564e; // DRM_FORMAT_NV12
inline constexpr guint64 kXTiled = G_GUINT64_CONSTANT(0x0100000000000001);

inline constexpr RefusedFrame kRefusedFrames[] = {
    {"no width", kNv12, 0, 480, 0, 1, 0, "0x480"},
    {"no height", kNv12, 640, 0, 0, 1, 0, "640x0"},
    {"too wide", kNv12, 16385, 480, 0, 1, 0, "16384"},
    {"too high", kNv12, 640, G_MAXUINT, 0, 1, 0, "16384"},
    {"unknown fourcc", 0x21212121, 640, 480, 0, 1, 0, "not known"},
    {"no modifier", kNv12, 640, 480, 0, 0, 0, "nothing"},
    {"mask that is none", kNv12, 640, 480, 0, 1, 100, "100"},
    {"mask beyond 64 KiB", kNv12, 640, 480, 0, 1, 0x7fffffff, "65535"},
    {"tiled with aligned strides", kNv12, 640, 480, kXTiled, 1, 255, "INTEL_X_TILED"},
    {"tiled", kNv12, 640, 480, kXTiled, 1, 0, "INTEL_X_TILED"},
};

inline void check_refused(GstDrmAllocator *allocator, const RefusedFrame &row)
{
  GstVideoAlignment align;
  gst_video_alignment_reset(&align);
  align.stride_align[0] = row.stride_mask;
  guint64 chosen = 42;
  GError *error = nullptr;
  const std::size_t fds = count_fds();
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(
      allocator, row.fourcc, row.width, row.height, &row.modifier, row.n_modifiers,
      row.stride_mask ? &align : nullptr, &chosen, &error);
  fail_unless(buffer == nullptr, "%s", row.name);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_ALLOCATION), "%s: %s", row.name,
              error ? error->message : "no error");
  fail_unless(std::strstr(error->message, row.says) != nullptr, "%s: '%s' does not say '%s'",
              row.name, error->message, row.says);
  fail_unless_equals_uint64(chosen, 42);
  fail_unless_equals_int(count_fds(), fds);
  g_error_free(error);
}

} // namespace gstdrm::test
