// SPDX-License-Identifier: LGPL-2.1-or-later
// What a frame costs: no import once every dma-buf has been seen, whatever GstMemory or descriptor it comes in,
// and one DRM ioctl. The ioctls are counted here, at the C library's door, so all of libdrm's are seen.
#include <array>

#include <unistd.h>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"

#include <gst/allocators/gstdmabuf.h>

using namespace gstdrm::test;

namespace {

constexpr guint kBuffers = 4;
constexpr guint kFrames = 300;

enum class Wrap { SameMemory, FreshMemory, DupedDescriptor };

struct Case {
  const char *name;
  Wrap wrap;
  const char *format;
  const char *drm_format;
};

const Case kCases[] = {
    {"XR24, the same GstMemory each time", Wrap::SameMemory, "BGRx", "XR24"},
    {"XR24, a new GstMemory around the same descriptor", Wrap::FreshMemory, "BGRx", "XR24"},
    {"XR24, a new GstMemory around a dup of the descriptor", Wrap::DupedDescriptor, "BGRx", "XR24"},
    {"NV12, the same GstMemory each time", Wrap::SameMemory, "NV12", "NV12"},
    {"NV12, a new GstMemory around the same descriptor", Wrap::FreshMemory, "NV12", "NV12"},
    {"NV12, a new GstMemory around a dup of the descriptor", Wrap::DupedDescriptor, "NV12", "NV12"},
};

// A new buffer over the dma-buf of `pooled`.
GstBuffer *wrap(GstBuffer *pooled, Wrap how, GstAllocator *allocator)
{
  if (how == Wrap::SameMemory) {
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_copy_into(buffer, pooled,
                         static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_META), 0, -1);
    return buffer;
  }
  GstMemory *memory = gst_buffer_peek_memory(pooled, 0);
  const int fd = gst_dmabuf_memory_get_fd(memory);
  const gsize size = gst_memory_get_sizes(memory, nullptr, nullptr);
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, how == Wrap::DupedDescriptor
                                       ? gst_dmabuf_allocator_alloc(allocator, dup(fd), size)
                                       : gst_dmabuf_allocator_alloc_with_flags(allocator, fd, size,
                                                                               GST_FD_MEMORY_FLAG_DONT_CLOSE));
  gst_buffer_copy_into(buffer, pooled, GST_BUFFER_COPY_META, 0, -1);
  return buffer;
}

void await_shown(const Sink &sink, guint frames)
{
  for (int i = 0; i < 10000 && sink.stat("shown") < frames; i++)
    g_usleep(1000);
  ck_assert_uint_eq(sink.stat("shown"), frames);
}

} // namespace

GST_START_TEST(test_imports_once_per_dmabuf)
{
  const Case &row = kCases[__i__];
  g_print("# %s\n", row.name);
  const GstVideoInfo info = video_info(plain_caps(row.format, 640, 480));
  std::array<GstPtr<GstBuffer>, kBuffers> pool;
  for (guint i = 0; i < kBuffers; i++)
    pool[i] = to_dmabuf(info, make_noise(info, i).get(), Shape::Tight);
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());

  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps(row.drm_format, 640, 480)));
  unsigned before = 0;
  std::array<unsigned, 256> by_number{};
  for (guint i = 0; i < kFrames; i++) {
    if (i == 2 * kBuffers) {
      await_shown(sink, i); // or those that wait for a vblank are counted among the rest
      before = count_drm_ioctls();
      for (unsigned n = 0; n < by_number.size(); n++)
        by_number[n] = count_drm_ioctls(n);
    }
    ck_assert_int_eq(sink.push(wrap(pool[i % kBuffers].get(), row.wrap, allocator.get())), GST_FLOW_OK);
  }
  sink.eos();
  const unsigned after = count_drm_ioctls();
  const double per_frame = static_cast<double>(after - before) / (kFrames - 2 * kBuffers);
  g_print("# imports %" G_GUINT64_FORMAT ", DRM ioctls per frame %.3f:", sink.stat("imports"), per_frame);
  for (unsigned n = 0; n < by_number.size(); n++)
    if (const unsigned calls = count_drm_ioctls(n) - by_number[n])
      g_print(" 0x%02x %u times", n, calls);
  g_print("\n");
  ck_assert_uint_eq(sink.stat("imports"), kBuffers);
  ck_assert_uint_eq(sink.stat("import-hits"), kFrames - kBuffers);
  ck_assert_uint_eq(sink.stat("shown"), kFrames);
  ck_assert_uint_gt(before, 0); // the counter counts
  ck_assert_msg(per_frame <= 1.0, "%s: %.3f DRM ioctls per frame", row.name, per_frame);
}
GST_END_TEST

// A producer that makes a new dma-buf for each frame: what it has freed is let go, within a bound.
GST_START_TEST(test_dead_dmabufs_are_let_go)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", 64, 64));
  const GstPtr<GstBuffer> picture = make_noise(info, 1);
  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 64, 64)));
  const unsigned fds = count_fds();
  for (guint i = 0; i < 120; i++)
    ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  ck_assert_uint_eq(sink.stat("imports"), 120);
  ck_assert_uint_ge(count_drm_ioctls(kRmFb), 120 - 32 - 6);
  // up to two descriptors (dma-buf and memfd) for each of the four buffers that the sink holds, and
  // for the base class's last sample
  ck_assert_uint_le(count_fds(), fds + 10);
}
GST_END_TEST

// The same at a flush, when upstream may have freed its pool, and no other frame comes.
GST_START_TEST(test_dead_dmabufs_are_let_go_at_a_flush)
{
  constexpr guint kDead = 10;
  const GstVideoInfo info = video_info(plain_caps("BGRx", 64, 64));
  const GstPtr<GstBuffer> picture = make_noise(info, 1);
  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 64, 64)));
  for (guint i = 0; i < kDead; i++)
    ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  await_shown(sink, kDead);
  const unsigned before = count_drm_ioctls(kRmFb);
  sink.flush();
  // less the one on screen, what the sink may hold for another showing, and the last sample
  ck_assert_uint_ge(count_drm_ioctls(kRmFb) - before, kDead - 4);
}
GST_END_TEST

static Suite *kms_imports_suite(void)
{
  Suite *s = suite_create("kms-imports");
  TCase *tc = tcase_create("imports");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_imports_once_per_dmabuf, 0, G_N_ELEMENTS(kCases));
  tcase_add_test(tc, test_dead_dmabufs_are_let_go);
  tcase_add_test(tc, test_dead_dmabufs_are_let_go_at_a_flush);
  return s;
}

GST_DRM_CHECK_MAIN(kms_imports)
