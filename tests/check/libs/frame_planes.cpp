// SPDX-License-Identifier: LGPL-2.1-or-later
// gst_drm_frame_get_plane(): the planes of a frame one by one.
#include <sys/stat.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>

#include "support/check_main.hpp"
#include "support/frames.hpp"

namespace {

using namespace gstdrm::test;

struct Filled {
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  GstBuffer *buffer = alloc_linear(allocator, {"YU12", 640, 480});
  GstDrmFrame frame{};

  Filled()
  {
    g_autoptr(GstDrmVideoInfo) info = gst_drm_video_info_new_from_format(fourcc_of("YU12"), 0, 640, 480, nullptr);
    GError *error = nullptr;
    fail_unless(gst_drm_frame_from_buffer(&frame, buffer, info, &error), "%s", error ? error->message : "?");
  }
  Filled(const Filled &) = delete;
  Filled &operator=(const Filled &) = delete;
  ~Filled()
  {
    gst_buffer_unref(buffer);
    gst_object_unref(allocator);
  }
};

GST_START_TEST(test_planes)
{
  const Filled filled;
  const gint fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(filled.buffer, 0));
  struct stat identity = {};
  fail_unless_equals_int(fstat(fd, &identity), 0);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(filled.buffer);
  fail_unless_equals_int(filled.frame.n_planes, 3);
  for (guint i = 0; i < 3; ++i) {
    GstDrmFramePlane plane;
    fail_unless(gst_drm_frame_get_plane(&filled.frame, i, &plane));
    fail_unless_equals_int(plane.fd, fd);
    fail_unless_equals_int(plane.stride, meta->stride[i]);
    fail_unless_equals_uint64(plane.offset, meta->offset[i]);
    fail_unless_equals_uint64(plane.size, identity.st_size);
    fail_unless_equals_uint64(plane.device, identity.st_dev);
    fail_unless_equals_uint64(plane.inode, identity.st_ino);
  }
}
GST_END_TEST

struct IndexRow {
  guint n_planes; // as the frame says
  guint index;
  gboolean found;
};

const IndexRow kIndices[] = {
    {3, 2, TRUE}, {3, 3, FALSE}, {3, G_MAXUINT, FALSE}, {0, 0, FALSE}, {4, 3, TRUE}, {5, 4, FALSE}, {G_MAXUINT, 1000, FALSE},
};

GST_START_TEST(test_index)
{
  const IndexRow &row = kIndices[__i__];
  Filled filled;
  filled.frame.n_planes = row.n_planes;
  GstDrmFramePlane plane = {};
  fail_unless_equals_int(gst_drm_frame_get_plane(&filled.frame, row.index, &plane), row.found);
  if (!row.found) {
    fail_unless_equals_int(plane.fd, -1);
    fail_unless_equals_uint64(plane.size, 0);
  }
}
GST_END_TEST

// Two planes of NV12, whose buffer is put together of parts of dma-bufs: a part that goes on elsewhere is no plane.
struct PartsRow {
  const char *name;
  gsize first;    // bytes of the first memory, of the first dma-buf from its beginning on
  gboolean other; // the second memory is of another dma-buf
  gsize from;     // where the second memory begins in its dma-buf
  gboolean taken;
};

constexpr gsize kLuma = gsize{640} * 480;
const PartsRow kParts[] = {
    {"a plane in each", kLuma, TRUE, 0, TRUE},
    {"a plane in each, from the middle on", kLuma, TRUE, 4096, TRUE},
    {"two parts of one dma-buf, one after the other", kLuma / 2, FALSE, kLuma / 2, TRUE},
    {"two parts of one dma-buf, with a gap", kLuma / 2, FALSE, kLuma / 2 + 640, FALSE},
    {"the second half of a plane in another dma-buf", kLuma / 2, TRUE, 0, FALSE},
    {"all but a byte", kLuma - 1, TRUE, 0, FALSE},
};

GST_START_TEST(test_parts)
{
  const PartsRow &row = kParts[__i__];
  say(row.name);
  const Filled one;
  const Filled two;
  gint strides[] = {640, 640};
  gsize offsets[] = {0, kLuma};
  GstBuffer *buffer = gst_buffer_new();
  GstMemory *first = gst_buffer_peek_memory(one.buffer, 0);
  GstMemory *second = gst_buffer_peek_memory(row.other ? two.buffer : one.buffer, 0);
  gst_buffer_append_memory(buffer, gst_memory_share(first, 0, static_cast<gssize>(row.first)));
  gst_buffer_append_memory(buffer, gst_memory_share(second, static_cast<gssize>(row.from), static_cast<gssize>(kLuma * 3 / 2 - row.first)));
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 640, 480, 2, offsets, strides);
  g_autoptr(GstDrmVideoInfo) info = gst_drm_video_info_new_from_format(fourcc_of("NV12"), 0, 640, 480, nullptr);
  GstDrmFrame frame;
  g_autoptr(GError) error = nullptr;
  fail_unless_equals_int(gst_drm_frame_from_buffer(&frame, buffer, info, &error), row.taken);
  fail_unless(row.taken || g_strrstr(error->message, "begins in one memory"), "%s", error ? error->message : "?");
  gst_buffer_unref(buffer);
}
GST_END_TEST

GST_START_TEST(test_programmer_mistakes)
{
  const Filled filled;
  GstDrmFramePlane plane;
  EXPECT_CRITICAL(gst_drm_frame_get_plane(nullptr, 0, &plane));
  EXPECT_CRITICAL(gst_drm_frame_get_plane(&filled.frame, 0, nullptr));
}
GST_END_TEST

Suite *frame_planes_suite()
{
  Suite *suite = suite_create("frame_planes");
  TCase *tcase = tcase_create("frame_planes");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_planes);
  tcase_add_loop_test(tcase, test_parts, 0, G_N_ELEMENTS(kParts));
  tcase_add_loop_test(tcase, test_index, 0, G_N_ELEMENTS(kIndices));
  tcase_add_test(tcase, test_programmer_mistakes);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(frame_planes)
