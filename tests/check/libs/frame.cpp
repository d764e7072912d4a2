// SPDX-License-Identifier: LGPL-2.1-or-later
// gst_drm_frame_from_buffer(): where planes are found, and every layout that has to be refused. A memfd
// stands for a dma-buf here.
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/allocators/gstfdmemory.h>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace {

GstAllocator *dmabuf_allocator()
{
  static GstAllocator *const allocator = [] {
    GstAllocator *made = gst_dmabuf_allocator_new();
    GST_OBJECT_FLAG_SET(made, GST_OBJECT_FLAG_MAY_BE_LEAKED); // as long as the process
    return made;
  }();
  return allocator;
}

int new_memfd(gsize size)
{
  const int fd = memfd_create("frame-test", MFD_CLOEXEC);
  fail_unless(fd >= 0);
  fail_unless_equals_int(ftruncate(fd, static_cast<off_t>(size)), 0);
  return fd;
}

// Memory over a new object of `object_size` bytes, of which it covers `size` (0: all) from `offset` on.
GstMemory *new_memory(gsize object_size, gsize offset = 0, gsize size = 0)
{
  GstMemory *memory = gst_dmabuf_allocator_alloc(dmabuf_allocator(), new_memfd(object_size), object_size);
  if (offset > 0 || size > 0)
    gst_memory_resize(memory, static_cast<gssize>(offset), size > 0 ? size : object_size - offset);
  return memory;
}

struct Meta {
  GstVideoFormat format;
  guint width;
  guint height;
  std::vector<gsize> offsets;
  std::vector<gint> strides;
};

void add_meta(GstBuffer *buffer, const Meta &meta)
{
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  for (std::size_t i = 0; i < meta.offsets.size(); ++i) {
    offsets[i] = meta.offsets[i];
    strides[i] = meta.strides[i];
  }
  // written directly: gst_buffer_add_video_meta_full() refuses what must be refused here
  GstVideoMeta *added =
      gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGBA, 16, 16, 0, offsets, strides);
  added->format = meta.format;
  added->width = meta.width;
  added->height = meta.height;
  added->n_planes = static_cast<guint>(meta.offsets.size());
  for (std::size_t i = 0; i < meta.offsets.size(); ++i) {
    added->offset[i] = offsets[i];
    added->stride[i] = strides[i];
  }
}

GstDrmVideoInfo info_of(const char *drm_format, int width = 640, int height = 480)
{
  g_autoptr(GstCaps) caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", "drm-format",
                                                G_TYPE_STRING, drm_format, "width", G_TYPE_INT, width, "height",
                                                G_TYPE_INT, height, nullptr);
  gst_caps_set_features_simple(caps, gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps), "%s", drm_format);
  return info;
}

constexpr GstVideoFormat kOpaque = GST_DRM_VIDEO_FORMAT_DMA_DRM;
constexpr GstVideoFormat kNv12 = GST_VIDEO_FORMAT_NV12;
constexpr GstVideoFormat kBgrx = GST_VIDEO_FORMAT_BGRx;

struct Row {
  const char *name;
  const char *drm_format;
  std::vector<gsize> memories; // sizes
  std::vector<Meta> meta;      // none or one
  std::vector<const char *> why; // empty: sound
  std::vector<std::pair<guint, guint64>> planes; // memory that holds it, offset in it
};

const Row kRows[] = {
    {"NV12 in one memory", "NV12", {460800}, {{kNv12, 640, 480, {0, 307200}, {640, 640}}}, {}, {{0, 0}, {0, 307200}}},
    {"NV12 in two memories", "NV12", {307200, 153600}, {{kNv12, 640, 480, {0, 307200}, {640, 640}}}, {}, {{0, 0}, {1, 0}}},
    {"NV12 in two memories, chroma later", "NV12", {307200, 157696}, {{kNv12, 640, 480, {0, 311296}, {640, 640}}}, {}, {{0, 0}, {1, 4096}}},
    {"I420 in three memories", "YU12", {307200, 76800, 76800}, {{GST_VIDEO_FORMAT_I420, 640, 480, {0, 307200, 384000}, {640, 320, 320}}}, {}, {{0, 0}, {1, 0}, {2, 0}}},
    {"planes in reverse", "NV12", {153600, 307200}, {{kNv12, 640, 480, {153600, 0}, {640, 640}}}, {}, {{1, 0}, {0, 0}}},
    {"padded stride", "XR24", {480 * 4096}, {{kBgrx, 640, 480, {0}, {4096}}}, {}, {{0, 0}}},
    {"meta says DMA_DRM", "XR24", {1228800}, {{kOpaque, 640, 480, {0}, {2560}}}, {}, {{0, 0}}},
    {"no meta, NV12", "NV12", {460800}, {}, {}, {{0, 0}, {0, 307200}}},
    {"no meta, XR24", "XR24", {1228800}, {}, {}, {{0, 0}}},
    {"tiled, opaque strides", "XR24:0x0200000028a01f04", {4096}, {{kOpaque, 640, 480, {0}, {1}}}, {}, {{0, 0}}},
    {"tiled, meta names the fourcc", "XR24:0x0200000028a01f04", {4096}, {{kBgrx, 640, 480, {0}, {1}}}, {}, {{0, 0}}},
    {"tiled, four planes", "NV12:0x0100000000000007", {4096, 8192}, {{kOpaque, 640, 480, {0, 1024, 4096, 8192}, {1, 1, 1, 1}}}, {}, {{0, 0}, {0, 1024}, {1, 0}, {1, 4096}}},
    {"named tiling, tiles counted", "NV12:0x0600000000000001", {460800}, {{GST_VIDEO_FORMAT_NV12_4L4, 640, 480, {0, 307200}, {GST_VIDEO_TILE_MAKE_STRIDE(160, 120), GST_VIDEO_TILE_MAKE_STRIDE(160, 60)}}}, {}, {{0, 0}, {0, 307200}}},
    {"named tiling, strides in bytes", "NV12:0x0600000000000001", {460800}, {{kOpaque, 640, 480, {0, 307200}, {640, 640}}}, {}, {{0, 0}, {0, 307200}}},
    {"unused memory behind", "XR24", {1228800, 4096}, {{kBgrx, 640, 480, {0}, {2560}}}, {}, {{0, 0}}},

    {"no memory", "XR24", {}, {{kBgrx, 640, 480, {0}, {2560}}}, {"no memory"}, {}},
    {"one byte short", "XR24", {1228799}, {{kBgrx, 640, 480, {0}, {2560}}}, {"plane 0", "1228800 bytes", "1228799"}, {}},
    {"no meta, one byte short", "NV12", {460799}, {}, {"plane 1", "460800", "460799"}, {}},
    {"too few memories", "NV12", {307200}, {{kNv12, 640, 480, {0, 307200}, {640, 640}}}, {"plane 1", "offset 307200", "1 memory of 307200 bytes"}, {}},
    {"offset far outside", "XR24", {1228800}, {{kBgrx, 640, 480, {G_MAXSIZE}, {2560}}}, {"offset 18446744073709551615"}, {}},
    {"offset near the top, two memories", "NV12", {307200, 153600}, {{kNv12, 640, 480, {0, G_MAXSIZE - 1}, {640, 640}}}, {"plane 1", "2 memories of 460800 bytes"}, {}},
    {"offset pushes the plane out", "XR24", {1228800}, {{kBgrx, 640, 480, {4}, {2560}}}, {"offset 4", "1228804"}, {}},
    {"stride one byte short", "XR24", {1228800}, {{kBgrx, 640, 480, {0}, {2559}}}, {"stride 2559", "2560"}, {}},
    {"stride zero", "XR24", {1228800}, {{kBgrx, 640, 480, {0}, {0}}}, {"stride 0"}, {}},
    {"stride negative", "XR24", {1228800}, {{kBgrx, 640, 480, {0}, {-2560}}}, {"stride -2560 is negative"}, {}},
    {"stride huge", "XR24", {1228800}, {{kBgrx, 640, 480, {0}, {G_MAXINT}}}, {"stride 2147483647", "1228800"}, {}},
    {"meta of another width", "XR24", {1228800}, {{kBgrx, 320, 480, {0}, {2560}}}, {"320x480", "640x480"}, {}},
    {"meta of another height", "XR24", {1228800}, {{kBgrx, 640, 481, {0}, {2560}}}, {"640x481", "640x480"}, {}},
    {"meta of another format", "NV12", {460800}, {{GST_VIDEO_FORMAT_NV21, 640, 480, {0, 307200}, {640, 640}}}, {"NV21", "NV12"}, {}},
    {"meta without a format", "NV12", {460800}, {{GST_VIDEO_FORMAT_UNKNOWN, 640, 480, {0, 307200}, {640, 640}}}, {"number 0 (unknown)", "NV12"}, {}},
    {"meta without a format, unnamed fourcc", "NV42", {921600}, {{GST_VIDEO_FORMAT_UNKNOWN, 640, 480, {0, 307200}, {640, 1280}}}, {"number 0 (unknown)", "NV42"}, {}},
    {"one plane too few", "NV12", {460800}, {{kNv12, 640, 480, {0}, {640}}}, {"1 plane,", "have 2"}, {}},
    {"one plane too many", "XR24", {1228800}, {{kBgrx, 640, 480, {0, 0}, {2560, 2560}}}, {"2 planes", "have 1"}, {}},
    {"compression plane missing", "XR24:0x0200000028a6bf04", {1228800}, {{kOpaque, 640, 480, {0}, {2560}}}, {"1 plane,", "have 2"}, {}},
    {"no planes", "XR24", {1228800}, {{kBgrx, 640, 480, {}, {}}}, {"0 planes"}, {}},
    {"no meta, tiled", "XR24:0x0100000000000002", {1228800}, {}, {"no GstVideoMeta", "INTEL_Y_TILED", "no default layout"}, {}},
    {"no meta, linear without a name", "NV42", {1228800}, {}, {"no GstVideoMeta"}, {}},
    {"no meta, two memories", "NV12", {307200, 153600}, {}, {"no GstVideoMeta", "2 memories"}, {}},
    {"tiled, offset outside", "XR24:0x0200000028a01f04", {4096}, {{kOpaque, 640, 480, {4096}, {1}}}, {"offset 4096"}, {}},
    {"known tiling, last tiles cut", "XR24:0x0100000000000002", {1228800}, {{kOpaque, 640, 470, {0}, {2560}}}, {"470", "480"}, {}},
    {"empty memory", "XR24", {0}, {{kBgrx, 640, 480, {0}, {2560}}}, {"plane 0", "offset 0"}, {}},
};

GstBuffer *new_buffer(const Row &row)
{
  GstBuffer *buffer = gst_buffer_new();
  for (const gsize size : row.memories)
    gst_buffer_append_memory(buffer, new_memory(size));
  for (const Meta &meta : row.meta)
    add_meta(buffer, meta);
  return buffer;
}

void check_refused(GstBuffer *buffer, const GstDrmVideoInfo &info, const std::vector<const char *> &why, const char *name)
{
  GstDrmFrame frame = {};
  frame.width = 7;
  GError *error = nullptr;
  fail_if(gst_drm_frame_from_buffer(&frame, buffer, &info, &error), "row %s", name);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_LAYOUT), "row %s", name);
  for (const char *part : why)
    fail_unless(strstr(error->message, part) != nullptr, "row %s: '%s' is not in '%s'", name, part, error->message);
  g_clear_error(&error);
  fail_unless(frame.width == 7, "row %s: the frame was changed", name);
}

GST_START_TEST(test_rows)
{
  const Row &row = kRows[__i__];
  const GstDrmVideoInfo info = info_of(row.drm_format);
  g_autoptr(GstBuffer) buffer = new_buffer(row);
  if (!row.why.empty()) {
    check_refused(buffer, info, row.why, row.name);
    return;
  }
  GstDrmFrame frame;
  GError *error = nullptr;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, &error), "row %s: %s", row.name,
              error ? error->message : "");
  fail_unless(frame.drm_fourcc == info.drm_fourcc && frame.drm_modifier == info.drm_modifier);
  fail_unless(frame.width == 640 && frame.height == 480);
  fail_unless_equals_int(frame.n_planes, row.planes.size());
  for (guint i = 0; i < frame.n_planes; ++i) {
    const auto &[memory_index, offset] = row.planes[i];
    const GstDrmFramePlane &plane = frame.planes[i];
    GstMemory *memory = gst_buffer_peek_memory(buffer, memory_index);
    fail_unless_equals_int(plane.fd, gst_fd_memory_get_fd(memory));
    fail_unless_equals_uint64(plane.offset, offset);
    fail_unless_equals_uint64(plane.size, row.memories[memory_index]);
    struct stat facts;
    fail_unless_equals_int(fstat(plane.fd, &facts), 0);
    fail_unless(plane.inode == facts.st_ino && plane.device == facts.st_dev, "row %s", row.name);
  }
  for (guint i = frame.n_planes; i < GST_DRM_MAX_PLANES; ++i)
    fail_unless_equals_int(frame.planes[i].fd, -1);
}
GST_END_TEST

GST_START_TEST(test_tiled_strides_become_bytes)
{
  for (const Row &row : kRows) {
    if (!g_str_equal(row.name, "named tiling, tiles counted"))
      continue;
    const GstDrmVideoInfo info = info_of(row.drm_format);
    g_autoptr(GstBuffer) buffer = new_buffer(row);
    GstDrmFrame frame;
    fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr));
    fail_unless_equals_int(frame.planes[0].stride, 640);
    fail_unless_equals_int(frame.planes[1].stride, 640);
    return;
  }
  fail("row not found");
}
GST_END_TEST

// GStreamer's own sizes of tiled formats are what the checks here ask for.
GST_START_TEST(test_named_tilings_fit)
{
  constexpr GstVideoFormat formats[] = {GST_VIDEO_FORMAT_NV12_4L4, GST_VIDEO_FORMAT_NV12_64Z32,
                                        GST_VIDEO_FORMAT_NV12_32L32, GST_VIDEO_FORMAT_NV12_16L32S};
  for (const GstVideoFormat format : formats) {
    for (const guint height : {480U, 490U, 1080U}) {
      GstVideoInfo vinfo;
      fail_unless(gst_video_info_set_format(&vinfo, format, 640, height));
      guint64 modifier = 0;
      gst_drm_format_from_video_format(format, &modifier);
      GstDrmVideoInfo info;
      fail_unless(gst_drm_video_info_from_video_info(&info, &vinfo, modifier));
      g_autoptr(GstBuffer) buffer = gst_buffer_new();
      gst_buffer_append_memory(buffer, new_memory(vinfo.size));
      add_meta(buffer, {format, 640, height, {vinfo.offset[0], vinfo.offset[1]}, {vinfo.stride[0], vinfo.stride[1]}});
      GstDrmFrame frame;
      GError *error = nullptr;
      fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, &error), "%s, height %u: %s",
                  gst_video_format_to_string(format), height, error ? error->message : "");
    }
  }
}
GST_END_TEST

GST_START_TEST(test_memory_offset)
{
  const GstDrmVideoInfo info = info_of("NV12");
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  // two planes of one dma-buf in two memories, and a page before each
  GstMemory *whole = new_memory(4096 + 307200 + 4096 + 153600);
  gst_buffer_append_memory(buffer, gst_memory_share(whole, 4096, 307200));
  gst_buffer_append_memory(buffer, gst_memory_share(whole, 4096 + 307200 + 4096, 153600));
  add_meta(buffer, {kNv12, 640, 480, {0, 307200}, {640, 640}});
  GstDrmFrame frame;
  GError *error = nullptr;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, &error), "%s", error ? error->message : "");
  fail_unless_equals_int(frame.planes[0].fd, gst_fd_memory_get_fd(whole));
  fail_unless_equals_int(frame.planes[1].fd, gst_fd_memory_get_fd(whole));
  fail_unless_equals_uint64(frame.planes[0].offset, 4096);
  fail_unless_equals_uint64(frame.planes[1].offset, 4096 + 307200 + 4096);
  fail_unless_equals_uint64(frame.planes[0].size, 4096 + 307200 + 4096 + 153600);
  fail_unless(frame.planes[0].inode == frame.planes[1].inode);
  gst_memory_unref(whole);
}
GST_END_TEST

GST_START_TEST(test_region)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  g_autoptr(GstBuffer) whole = gst_buffer_new();
  gst_buffer_append_memory(whole, new_memory(4096 + 16384));
  g_autoptr(GstBuffer) region = gst_buffer_copy_region(whole, GST_BUFFER_COPY_MEMORY, 4096, 16384);
  add_meta(region, {kBgrx, 64, 64, {0}, {256}});
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, region, &info, nullptr));
  fail_unless_equals_uint64(frame.planes[0].offset, 4096);
}
GST_END_TEST

// Same dma-buf, same identity, whatever the number of the descriptor and the GstMemory.
GST_START_TEST(test_identity)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  const int fd = new_memfd(16384);
  guint64 inodes[3];
  for (int i = 0; i < 3; ++i) {
    const int own = i < 2 ? dup(fd) : new_memfd(16384);
    g_autoptr(GstBuffer) buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(dmabuf_allocator(), own, 16384));
    GstDrmFrame frame;
    fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr));
    fail_unless_equals_int(frame.planes[0].fd, own);
    inodes[i] = frame.planes[0].inode;
  }
  close(fd);
  fail_unless(inodes[0] == inodes[1]);
  fail_unless(inodes[0] != inodes[2]);
}
GST_END_TEST

GST_START_TEST(test_closed_behind_our_back)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  const int fd = new_memfd(16384);
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc_with_flags(dmabuf_allocator(), fd, 16384,
                                                                         GST_FD_MEMORY_FLAG_DONT_CLOSE));
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr));
  close(fd);
  check_refused(buffer, info, {"File descriptor", "Bad file descriptor"}, "closed");
  // the number comes back, as another, smaller object
  const int other = new_memfd(4096);
  fail_unless_equals_int(other, fd);
  check_refused(buffer, info, {"16384", "4096"}, "reused");
  close(other);
}
GST_END_TEST

GST_START_TEST(test_truncated_behind_our_back)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, new_memory(16384));
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr));
  fail_unless_equals_int(ftruncate(frame.planes[0].fd, 8192), 0);
  check_refused(buffer, info, {"16384", "8192"}, "truncated");
}
GST_END_TEST

GST_START_TEST(test_memory_that_lies_about_its_size)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(dmabuf_allocator(), new_memfd(4096), 16384));
  check_refused(buffer, info, {"16384", "4096"}, "lying size");
}
GST_END_TEST

GST_START_TEST(test_no_descriptor)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 16384, nullptr);
  check_refused(buffer, info, {"SystemMemory", "no file descriptor"}, "system memory");
}
GST_END_TEST

GST_START_TEST(test_plain_fd_memory)
{
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  GstAllocator *allocator = gst_fd_allocator_new();
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_fd_allocator_alloc(allocator, new_memfd(16384), 16384, GST_FD_MEMORY_FLAG_NONE));
  gst_object_unref(allocator);
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr), "shared memory, told apart by its import");
}
GST_END_TEST

GST_START_TEST(test_pipe_is_no_buffer)
{
  int ends[2];
  fail_unless_equals_int(pipe2(ends, O_CLOEXEC), 0);
  const GstDrmVideoInfo info = info_of("XR24", 64, 64);
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc(dmabuf_allocator(), ends[0], 16384));
  check_refused(buffer, info, {"neither a dma-buf nor a memfd"}, "pipe");
  close(ends[1]);
}
GST_END_TEST

struct FieldRow {
  const char *name;
  gsize bytes;
  guint meta_height; // 0: no meta
  gsize chroma;
  const char *why; // nullptr: sound
};

// Of 64x100: a field has 50 rows, and 25 of chroma.
const FieldRow kFields[] = {
    {"no meta", 64 * 75 + 64, 0, 64 * 50, nullptr},
    {"no meta, too few bytes", 64 * 75 - 1, 0, 64 * 50, "25 rows"},
    {"height of the frame", 64 * 75, 100, 64 * 50, nullptr},
    {"height of the field", 64 * 75, 50, 64 * 50, nullptr},
    {"laid out for a frame", 64 * 150, 100, 64 * 100, nullptr},
    {"a byte short", 64 * 75 - 1, 100, 64 * 50, "25 rows"},
    {"another height", 64 * 75, 75, 64 * 50, "64x75"},
};

// interlace-mode=alternate: planes are those of one field, and do not overlap.
GST_START_TEST(test_fields)
{
  const FieldRow &row = kFields[__i__];
  g_autoptr(GstCaps) caps = gst_caps_from_string(
      "video/x-raw(memory:DMABuf, format:Interlaced), format=DMA_DRM, drm-format=NV12, width=64, height=100, "
      "interlace-mode=alternate");
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps));
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, new_memory(row.bytes));
  if (row.meta_height > 0)
    add_meta(buffer, {kNv12, 64, row.meta_height, {0, row.chroma}, {64, 64}});
  if (row.why) {
    check_refused(buffer, info, {row.why}, row.name);
    return;
  }
  GstDrmFrame frame;
  g_autoptr(GError) error = nullptr;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, &error), "%s: %s", row.name, error ? error->message : "");
  fail_unless_equals_int(frame.height, 50);
  fail_unless_equals_int(frame.n_planes, 2);
  if (row.meta_height > 0)
    fail_unless_equals_uint64(frame.planes[1].offset, row.chroma);
  fail_unless(frame.planes[1].offset >= 64 * 50, "%s: chroma at %u", row.name, static_cast<guint>(frame.planes[1].offset));
}
GST_END_TEST

GST_START_TEST(test_implicit)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string("video/x-raw(memory:DMABuf), format=NV12, width=640, height=480");
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps));
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, new_memory(8192));
  check_refused(buffer, info, {"no GstVideoMeta", "implicit modifier"}, "implicit without meta");
  add_meta(buffer, {kNv12, 640, 480, {0, 4096}, {640, 640}});
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr), "its size is the driver's business");
  fail_unless(frame.drm_modifier == GST_DRM_MODIFIER_IMPLICIT);
}
GST_END_TEST

GST_START_TEST(test_unset_info)
{
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, new_memory(16384));
  check_refused(buffer, info, {}, "unset info");
}
GST_END_TEST

Suite *frame_suite()
{
  Suite *suite = suite_create("frame");
  TCase *tcase = tcase_create("frame");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_rows, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_tiled_strides_become_bytes);
  tcase_add_test(tcase, test_named_tilings_fit);
  tcase_add_test(tcase, test_memory_offset);
  tcase_add_test(tcase, test_region);
  tcase_add_test(tcase, test_identity);
  tcase_add_test(tcase, test_closed_behind_our_back);
  tcase_add_test(tcase, test_truncated_behind_our_back);
  tcase_add_test(tcase, test_memory_that_lies_about_its_size);
  tcase_add_test(tcase, test_no_descriptor);
  tcase_add_test(tcase, test_plain_fd_memory);
  tcase_add_test(tcase, test_pipe_is_no_buffer);
  tcase_add_loop_test(tcase, test_fields, 0, G_N_ELEMENTS(kFields));
  tcase_add_test(tcase, test_implicit);
  tcase_add_test(tcase, test_unset_info);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(frame)
