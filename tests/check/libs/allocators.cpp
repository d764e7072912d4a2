// SPDX-License-Identifier: LGPL-2.1-or-later
// What allocators do without any device: memfd, and every refusal.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "config.h"
#include "support/check_main.hpp"
#include "support/frames.hpp"

namespace {

using namespace gstdrm::test;

GstDrmAllocator *new_memfd()
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, &error);
  fail_unless(allocator != nullptr, "%s", error ? error->message : "no error");
  return allocator;
}

GST_START_TEST(test_frame)
{
  const FrameRow &row = kFrameRows[__i__];
  GstDrmAllocator *allocator = new_memfd();
  check_linear_frame(allocator, row);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_refused_frame)
{
  GstDrmAllocator *allocator = new_memfd();
  check_refused(allocator, kRefusedFrames[__i__]);
  gst_object_unref(allocator);
}
GST_END_TEST

// LINEAR may stand anywhere in the list, and be there twice.
GST_START_TEST(test_chooses_from_list)
{
  const guint64 offered[] = {kXTiled, GST_DRM_MODIFIER_LINEAR, GST_DRM_MODIFIER_IMPLICIT, GST_DRM_MODIFIER_LINEAR};
  guint64 chosen = 42;
  GstDrmAllocator *allocator = new_memfd();
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, kNv12, 640, 480, offered, G_N_ELEMENTS(offered),
                                                    nullptr, &chosen, nullptr);
  fail_unless(buffer != nullptr);
  fail_unless_equals_uint64(chosen, GST_DRM_MODIFIER_LINEAR);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

// The rule of the implicit modifier: it meets LINEAR only where a user opts in, and never here.
GST_START_TEST(test_implicit_is_not_linear)
{
  const guint64 implicit = GST_DRM_MODIFIER_IMPLICIT;
  GError *error = nullptr;
  GstDrmAllocator *allocator = new_memfd();
  fail_if(gst_drm_allocator_alloc_frame(allocator, kNv12, 640, 480, &implicit, 1, nullptr, nullptr, &error));
  fail_unless(std::strstr(error->message, "implicit") != nullptr, "%s", error->message);
  g_error_free(error);
  gst_object_unref(allocator);
}
GST_END_TEST

struct AlignRow {
  const char *format;
  guint left, right, top, bottom, mask;
};

constexpr AlignRow kAlignments[] = {
    {"NV12", 0, 0, 0, 0, 0},     {"NV12", 0, 0, 0, 8, 31},     {"NV12", 32, 32, 32, 32, 63},
    {"YU12", 0, 0, 0, 0, 15},    {"YU12", 32, 16, 16, 32, 31}, {"YU12", 3, 1, 1, 3, 0},
    {"XR24", 8, 8, 8, 8, 511},   {"P010", 2, 0, 2, 0, 1023},   {"YUYV", 1, 0, 0, 0, 0},
    {"YU24", 16, 16, 16, 16, 63},
};

// GStreamer itself must find the layout right: it derives strides from the alignment.
GST_START_TEST(test_alignment)
{
  const AlignRow &row = kAlignments[__i__];
  const FrameRow frame{row.format, 321, 243};
  GstVideoAlignment align;
  gst_video_alignment_reset(&align);
  align.padding_left = row.left;
  align.padding_right = row.right;
  align.padding_top = row.top;
  align.padding_bottom = row.bottom;
  for (guint &mask : align.stride_align)
    mask = row.mask;
  GstDrmAllocator *allocator = new_memfd();
  GstBuffer *buffer = alloc_linear(allocator, frame, &align);
  check_linear_meta(buffer, frame);
  GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  fail_unless(meta->alignment.padding_left >= row.left);
  fail_unless(meta->alignment.padding_right >= row.right);
  fail_unless(meta->alignment.padding_top >= row.top);
  fail_unless(meta->alignment.padding_bottom >= row.bottom);
  gsize sizes[GST_VIDEO_MAX_PLANES];
  guint heights[GST_VIDEO_MAX_PLANES];
  fail_unless(gst_video_meta_get_plane_size(meta, sizes), "GStreamer refuses the alignment");
  fail_unless(gst_video_meta_get_plane_height(meta, heights));
  gsize total = 0;
  for (guint p = 0; p < meta->n_planes; ++p) {
    fail_unless_equals_int(static_cast<guint>(meta->stride[p]) & row.mask, 0);
    fail_unless_equals_uint64(sizes[p], static_cast<gsize>(meta->stride[p]) * heights[p]);
    total += sizes[p];
  }
  fail_unless(total <= gst_buffer_get_size(buffer));
  // what GstVideoBufferPool would have made of the same alignment
  GstVideoInfo info;
  GstVideoAlignment again = meta->alignment;
  fail_unless(gst_video_info_set_format(&info, meta->format, meta->width, meta->height));
  fail_unless(gst_video_info_align(&info, &again));
  for (guint p = 0; p < meta->n_planes; ++p) {
    fail_unless_equals_int(info.stride[p], meta->stride[p]);
    fail_unless_equals_uint64(info.offset[p], meta->offset[p]);
  }
  write_frame(buffer, frame);
  check_frame(buffer, frame);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_maps_once)
{
  GstDrmAllocator *allocator = new_memfd();
  GstBuffer *buffer = alloc_linear(allocator, {"XR24", 64, 64});
  GstMapInfo map;
  fail_unless(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
  const guint8 *first = map.data;
  map.data[4711] = 42;
  gst_buffer_unmap(buffer, &map);
  fail_unless(gst_buffer_map(buffer, &map, GST_MAP_READ));
  fail_unless(map.data == first);
  fail_unless_equals_int(map.data[4711], 42);
  gst_buffer_unmap(buffer, &map);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

// A peer that maps the memory must not be killed by somebody who cuts it.
GST_START_TEST(test_memfd_is_sealed)
{
  GstDrmAllocator *allocator = new_memfd();
  GstBuffer *buffer = alloc_linear(allocator, {"XR24", 64, 64});
  const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0));
  fail_unless(::ftruncate(fd, 4096) != 0 && errno == EPERM);
  fail_unless((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

struct PlainRow {
  gsize size;
  GstAllocationParams params; // flags, align, prefix, padding
  gboolean made;
};

const PlainRow kPlain[] = {
    {0, {}, TRUE},
    {1, {}, TRUE},
    {4096, {}, TRUE},
    {4097, {}, TRUE},
    {1000, {GST_MEMORY_FLAG_ZERO_PREFIXED, 15, 100, 50}, TRUE},
    {1000, {static_cast<GstMemoryFlags>(0), 4095, 1, 1}, TRUE},
    {1000, {static_cast<GstMemoryFlags>(0), 8191, 0, 0}, FALSE},
    {1000, {static_cast<GstMemoryFlags>(0), 15, G_MAXSIZE, 0}, FALSE},
    {G_MAXSIZE, {}, FALSE},
    {gsize{1} << 33, {}, FALSE},
};

GST_START_TEST(test_plain_memory)
{
  const PlainRow &row = kPlain[__i__];
  GstAllocationParams params = row.params;
  GstDrmAllocator *allocator = new_memfd();
  const std::size_t fds = count_fds();
  GstMemory *memory = gst_allocator_alloc(GST_ALLOCATOR(allocator), row.size, &params);
  fail_unless((memory != nullptr) == (row.made == TRUE));
  if (memory) {
    GstMapInfo map;
    fail_unless_equals_uint64(memory->size, row.size);
    fail_unless(memory->offset >= params.prefix);
    fail_unless(memory->maxsize >= memory->offset + memory->size + params.padding);
    if (row.size > 0) {
      fail_unless(gst_memory_map(memory, &map, GST_MAP_READWRITE));
      fail_unless((reinterpret_cast<guintptr>(map.data) & params.align) == 0);
      fail_unless_equals_int(map.data[row.size - 1], 0);
      map.data[row.size - 1] = 1;
      gst_memory_unmap(memory, &map);
    }
    gst_memory_unref(memory);
  }
  fail_unless_equals_int(count_fds(), fds);
  gst_object_unref(allocator);
}
GST_END_TEST

// Elements that find this allocator in an allocation query may just use it.
GST_START_TEST(test_as_plain_allocator)
{
  GstDrmAllocator *allocator = new_memfd();
  GstBuffer *buffer = gst_buffer_new_allocate(GST_ALLOCATOR(allocator), 1000, nullptr);
  fail_unless(buffer != nullptr);
  fail_unless(gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, 0)));
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

struct OpenRow {
  GstDrmAllocatorKind kind;
  const char *device;
  GstDrmError code;
  const char *says;
};

constexpr OpenRow kUnopenable[] = {
    {GST_DRM_ALLOCATOR_KIND_UDMABUF, "system", GST_DRM_ERROR_DEVICE, "takes no device"},
    {GST_DRM_ALLOCATOR_KIND_MEMFD, "/dev/dri/card0", GST_DRM_ERROR_DEVICE, "takes no device"},
    {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "no-such-heap", GST_DRM_ERROR_DEVICE, "/dev/dma_heap/no-such-heap"},
    {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "../null", GST_DRM_ERROR_DEVICE, "no name of a dma-heap"},
    {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "..", GST_DRM_ERROR_DEVICE, "no name of a dma-heap"},
    {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "/dev/null", GST_DRM_ERROR_DEVICE, "no name of a dma-heap"},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "/dev/dri/card99", GST_DRM_ERROR_DEVICE, "/dev/dri/card99"},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "/dev/null", GST_DRM_ERROR_DEVICE, "no DRM device"},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "/proc/self/cmdline", GST_DRM_ERROR_DEVICE, "no DRM device"},
    {GST_DRM_ALLOCATOR_KIND_GBM, "/dev/dri/renderD999", GST_DRM_ERROR_DEVICE, "/dev/dri/renderD999"},
    {GST_DRM_ALLOCATOR_KIND_GBM, "/dev/null", GST_DRM_ERROR_DEVICE, "no DRM device"},
    {GST_DRM_ALLOCATOR_KIND_AUTO, "no-such-heap", GST_DRM_ERROR_DEVICE, "no-such-heap"},
    {GST_DRM_ALLOCATOR_KIND_AUTO, "/dev/dri/card99", GST_DRM_ERROR_DEVICE, "dumb: "},
    {GST_DRM_ALLOCATOR_KIND_AUTO, "/dev/dri/card99", GST_DRM_ERROR_DEVICE, "gbm: "},
    {static_cast<GstDrmAllocatorKind>(7), nullptr, GST_DRM_ERROR_UNSUPPORTED, "no such kind"},
};

void check_unopenable(GstDrmAllocator *allocator, GError *error, const OpenRow &row)
{
  fail_unless(allocator == nullptr);
#if !defined(HAVE_GBM)
  if (row.kind == GST_DRM_ALLOCATOR_KIND_GBM) {
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_UNSUPPORTED), "%s", error->message);
    g_error_free(error);
    return;
  }
#endif
  fail_unless(g_error_matches(error, GST_DRM_ERROR, row.code), "%s", error ? error->message : "no error");
  fail_unless(std::strstr(error->message, row.says) != nullptr, "'%s' does not say '%s'", error->message, row.says);
  g_error_free(error);
}

GST_START_TEST(test_unopenable)
{
  const OpenRow &row = kUnopenable[__i__];
  const std::size_t fds = count_fds();
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(row.kind, row.device, &error);
  check_unopenable(allocator, error, row);
  fail_unless_equals_int(count_fds(), fds);
  fail_unless(gst_drm_allocator_new(row.kind, row.device, nullptr) == nullptr);
}
GST_END_TEST

// open(2) of a FIFO would wait for a writer.
GST_START_TEST(test_fifo_is_no_device)
{
  gchar *path = g_build_filename(g_get_tmp_dir(), "gst-drm-fifo-XXXXXX", nullptr);
  fail_unless(g_mkdtemp(path) != nullptr);
  gchar *fifo = g_build_filename(path, "fifo", nullptr);
  fail_unless(::mkfifo(fifo, 0600) == 0);
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_DUMB, fifo, &error);
  ::unlink(fifo);
  ::rmdir(path);
  check_unopenable(allocator, error, {GST_DRM_ALLOCATOR_KIND_DUMB, fifo, GST_DRM_ERROR_DEVICE, "no DRM device"});
  g_free(fifo);
  g_free(path);
}
GST_END_TEST

constexpr OpenRow kUnusableFds[] = {
    {GST_DRM_ALLOCATOR_KIND_DUMB, "-1", GST_DRM_ERROR_DEVICE, "-1 cannot be used"},
    {GST_DRM_ALLOCATOR_KIND_GBM, "-1", GST_DRM_ERROR_DEVICE, "-1 cannot be used"},
    {GST_DRM_ALLOCATOR_KIND_DUMB, "/dev/null", GST_DRM_ERROR_DEVICE, "no DRM device"},
    {GST_DRM_ALLOCATOR_KIND_GBM, "/dev/null", GST_DRM_ERROR_DEVICE, "no DRM device"},
    {GST_DRM_ALLOCATOR_KIND_AUTO, "/dev/null", GST_DRM_ERROR_DEVICE, "dumb: "},
    {GST_DRM_ALLOCATOR_KIND_UDMABUF, "/dev/null", GST_DRM_ERROR_UNSUPPORTED, "use dumb or gbm"},
    {GST_DRM_ALLOCATOR_KIND_MEMFD, "-1", GST_DRM_ERROR_UNSUPPORTED, "use dumb or gbm"},
};

GST_START_TEST(test_unusable_fd)
{
  const OpenRow &row = kUnusableFds[__i__];
  const gstdrm::UniqueFd fd(::open(row.device, O_RDWR | O_CLOEXEC)); // "-1" is no file
  const std::size_t fds = count_fds();
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(row.kind, fd.get(), &error);
  check_unopenable(allocator, error, row);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_auto_finds_one)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, &error);
  fail_unless(allocator != nullptr, "%s", error ? error->message : "no error");
  fail_unless(gst_drm_allocator_get_kind(allocator) != GST_DRM_ALLOCATOR_KIND_AUTO);
  const FrameRow row{"NV12", 320, 240};
  GstBuffer *buffer = alloc_linear(allocator, row);
  write_frame(buffer, row);
  check_frame(buffer, row);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_reports_itself)
{
  GstDrmAllocator *allocator = new_memfd();
  fail_unless_equals_int(gst_drm_allocator_get_kind(allocator), GST_DRM_ALLOCATOR_KIND_MEMFD);
  fail_unless(gst_drm_allocator_get_device(allocator) == nullptr);
  fail_unless_equals_string(G_OBJECT_TYPE_NAME(allocator), "GstDrmAllocatorMemfd");
  fail_unless(GST_IS_DMABUF_ALLOCATOR(allocator));
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_kind_names)
{
  const char *names[] = {"auto", "udmabuf", "dma-heap", "dumb", "gbm", "memfd"};
  auto *klass = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_DRM_ALLOCATOR_KIND));
  fail_unless_equals_int(klass->n_values, G_N_ELEMENTS(names));
  for (gint i = 0; i < static_cast<gint>(G_N_ELEMENTS(names)); ++i)
    fail_unless_equals_string(g_enum_get_value(klass, i)->value_nick, names[i]);
  g_type_class_unref(klass);
}
GST_END_TEST

int warnings = 0;

void count_warnings(GstDebugCategory *category, GstDebugLevel level, const gchar *, const gchar *, gint, GObject *,
                    GstDebugMessage *, gpointer)
{
  if (level == GST_LEVEL_WARNING && std::strcmp(gst_debug_category_get_name(category), "drmallocator") == 0)
    ++warnings;
}

GST_START_TEST(test_memfd_warns_once)
{
  gst_debug_set_active(TRUE);
  gst_debug_set_default_threshold(GST_LEVEL_WARNING);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(count_warnings, nullptr, nullptr);
  for (int i = 0; i < 3; ++i) {
    GstDrmAllocator *allocator = new_memfd();
    GstBuffer *buffer = alloc_linear(allocator, {"XR24", 64, 64});
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffer, &map, GST_MAP_READWRITE)); // no complaint about the ioctl either
    gst_buffer_unmap(buffer, &map);
    gst_buffer_unref(buffer);
    gst_object_unref(allocator);
  }
  fail_unless_equals_int(warnings, 1);
  gst_debug_remove_log_function(count_warnings);
}
GST_END_TEST

GST_START_TEST(test_no_descriptor_is_left)
{
  const std::size_t fds = count_fds();
  GstDrmAllocator *allocator = new_memfd();
  for (int i = 0; i < 1000; ++i)
    gst_buffer_unref(alloc_linear(allocator, {"NV12", 64, 64}));
  gst_object_unref(allocator);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_from_many_threads)
{
  GstDrmAllocator *allocator = new_memfd();
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const guint64 linear = GST_DRM_MODIFIER_LINEAR;
      for (int i = 0; i < 100; ++i)
        if (GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, kNv12, 64, 64, &linear, 1, nullptr, nullptr,
                                                              nullptr)) {
          made.fetch_add(1);
          gst_buffer_unref(buffer);
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  fail_unless_equals_int(made.load(), 400);
  gst_object_unref(allocator);
}
GST_END_TEST

// The buffer outlives the allocator's last owner: memory holds its own reference.
GST_START_TEST(test_buffer_outlives_allocator)
{
  const FrameRow row{"XR24", 64, 64};
  GstDrmAllocator *allocator = new_memfd();
  GstBuffer *buffer = alloc_linear(allocator, row);
  gst_object_unref(allocator);
  write_frame(buffer, row);
  check_frame(buffer, row);
  gst_buffer_unref(buffer);
}
GST_END_TEST

GST_START_TEST(test_programmer_mistakes)
{
  GstDrmAllocator *allocator = new_memfd();
  EXPECT_CRITICAL(gst_drm_allocator_alloc_frame(nullptr, kNv12, 64, 64, nullptr, 0, nullptr, nullptr, nullptr));
  EXPECT_CRITICAL(gst_drm_allocator_alloc_frame(allocator, kNv12, 64, 64, nullptr, 1, nullptr, nullptr, nullptr));
  EXPECT_CRITICAL(gst_drm_allocator_get_kind(nullptr));
  EXPECT_CRITICAL(gst_drm_allocator_get_device(nullptr));
  EXPECT_CRITICAL(gst_drm_allocator_get_formats(nullptr));
  gst_object_unref(allocator);
}
GST_END_TEST

Suite *allocators_suite()
{
  Suite *suite = suite_create("allocators");
  TCase *tcase = tcase_create("native");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_memfd_warns_once); // first: the cases may share a process
  tcase_add_loop_test(tcase, test_frame, 0, G_N_ELEMENTS(kFrameRows));
  tcase_add_loop_test(tcase, test_refused_frame, 0, G_N_ELEMENTS(kRefusedFrames));
  tcase_add_test(tcase, test_chooses_from_list);
  tcase_add_test(tcase, test_implicit_is_not_linear);
  tcase_add_loop_test(tcase, test_alignment, 0, G_N_ELEMENTS(kAlignments));
  tcase_add_test(tcase, test_maps_once);
  tcase_add_test(tcase, test_memfd_is_sealed);
  tcase_add_loop_test(tcase, test_plain_memory, 0, G_N_ELEMENTS(kPlain));
  tcase_add_test(tcase, test_as_plain_allocator);
  tcase_add_loop_test(tcase, test_unopenable, 0, G_N_ELEMENTS(kUnopenable));
  tcase_add_test(tcase, test_fifo_is_no_device);
  tcase_add_loop_test(tcase, test_unusable_fd, 0, G_N_ELEMENTS(kUnusableFds));
  tcase_add_test(tcase, test_auto_finds_one);
  tcase_add_test(tcase, test_reports_itself);
  tcase_add_test(tcase, test_kind_names);
  tcase_add_test(tcase, test_no_descriptor_is_left);
  tcase_add_test(tcase, test_from_many_threads);
  tcase_add_test(tcase, test_buffer_outlives_allocator);
  tcase_add_test(tcase, test_programmer_mistakes);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(allocators)
