// SPDX-License-Identifier: LGPL-2.1-or-later
// Everything that can be wrong with a buffer ends in one element error that names what failed, why,
// and what to try; and no bad buffer reaches the kernel. Cases of the program kms_errors.
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_errors.hpp"
#include "kms_ioctls.hpp"
#include "support/guarded.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;

GstBuffer *system_memory(const GstVideoInfo &info)
{
  return make_noise(info, 1).release();
}

GstBuffer *too_small(const GstVideoInfo &)
{
  return allocate(GST_DRM_ALLOCATOR_KIND_UDMABUF, 0x34325258, kWidth, 16).release();
}

GstBuffer *without_meta_too_short(const GstVideoInfo &)
{
  auto small = GstPtr<GstBuffer>::adopt(too_small({}));
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_buffer_get_memory(small.get(), 0));
  return buffer;
}

GstBuffer *with_lying_meta(const GstVideoInfo &info, gsize offset, gint stride)
{
  GstPtr<GstBuffer> good = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_buffer_get_memory(good.get(), 0));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {stride};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, kWidth,
                                 kHeight, 1, offsets, strides);
  return buffer;
}

GstBuffer *stride_too_small(const GstVideoInfo &info)
{
  return with_lying_meta(info, 0, kWidth * 4 - 4);
}

GstBuffer *offset_past_the_end(const GstVideoInfo &info)
{
  return with_lying_meta(info, gsize{1} << 30, kWidth * 4);
}

GstBuffer *rows_past_the_end(const GstVideoInfo &info)
{
  return with_lying_meta(info, 0, kWidth * 8);
}

GstBuffer *dead_descriptor(const GstVideoInfo &info)
{
  GstPtr<GstBuffer> good = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
  const int fd = dup(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(good.get(), 0)));
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(
      buffer, gst_dmabuf_allocator_alloc_with_flags(
                  allocator.get(), fd, gsize{kWidth} * kHeight * 4, GST_FD_MEMORY_FLAG_DONT_CLOSE));
  close(fd);
  return buffer;
}

struct BufferRow {
  const char *name;
  GstBuffer *(*make)(const GstVideoInfo &info);
  std::vector<std::string> words;
};

const BufferRow kBufferRows[] = {
    {"system memory under memory:DMABuf caps", system_memory, {"memory:DMABuf", "other memory"}},
    {"meta of another size", too_small, {"16"}},
    {"no meta, memory too short", without_meta_too_short, {}},
    {"stride below the row", stride_too_small, {"2556"}},
    {"offset past the end", offset_past_the_end, {"1073741824"}},
    {"rows past the end", rows_past_the_end, {"5120"}},
    {"closed descriptor", dead_descriptor, {}},
};

} // namespace

GST_START_TEST(test_refused_buffers)
{
  const BufferRow &row = kBufferRows[__i__];
  g_print("# %s\n", row.name);
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  GstBuffer *buffer = row.make(info);
  const unsigned before = count_drm_ioctls();
  ck_assert_uint_gt(before, 0);
  ck_assert_int_eq(sink.push(buffer), GST_FLOW_ERROR);
  ck_assert_uint_eq(count_drm_ioctls(), before);
  const std::string message = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert(!message.empty());
  gstdrm::test::say(message);
  expect_words(message, row.words, row.name);
}
GST_END_TEST

// Frames in system memory, which the CPU copies: a GstVideoMeta with rows beyond the memory is an
// error before a byte is read there. The page after the memory survives no access.
GST_START_TEST(test_lying_system_memory)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const gstdrm::test::Guarded memory(GST_VIDEO_INFO_SIZE(&info));
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer,
                           gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, memory.data(),
                                                  GST_VIDEO_INFO_SIZE(&info), 0,
                                                  GST_VIDEO_INFO_SIZE(&info), nullptr, nullptr));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {kWidth * 8};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, kWidth,
                                 kHeight, 1, offsets, strides);
  Sink sink;
  ck_assert(sink.set_caps(plain_caps("BGRx", kWidth, kHeight)));
  ck_assert_int_eq(sink.push(buffer), GST_FLOW_ERROR);
  expect_words(sink.next_message(GST_MESSAGE_ERROR), {"5120", "caps"}, "rows past the end");
}
GST_END_TEST

// A dma-buf that the driver cannot import (a memfd posing as one): copied under prefer, and said
// so.
GST_START_TEST(test_unimportable_memory)
{
  const bool require = __i__ == 1;
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 5);
  Sink sink(require ? "zero-copy=require" : "");
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  GstPtr<GstBuffer> memfd = allocate(GST_DRM_ALLOCATOR_KIND_MEMFD, 0x34325258, kWidth, kHeight);
  ck_assert(gst_is_dmabuf_memory(gst_buffer_peek_memory(memfd.get(), 0)));
  GstVideoFrame from, to;
  ck_assert(gst_video_frame_map(&from, &info, picture.get(), GST_MAP_READ));
  ck_assert(gst_video_frame_map(&to, &info, memfd.get(), GST_MAP_WRITE));
  gst_video_frame_copy(&to, &from);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);

  const GstFlowReturn ret = sink.push(memfd.release());
  if (require) {
    ck_assert_int_eq(ret, GST_FLOW_ERROR);
    expect_words(sink.next_message(GST_MESSAGE_ERROR), {"import"}, "memfd");
    return;
  }
  ck_assert_int_eq(ret, GST_FLOW_OK);
  expect_words(sink.next_message(GST_MESSAGE_INFO), {"copied", "import"}, "memfd");
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert(sample);
  ck_assert_int_eq(
      largest_difference(sample.get(), reference(info, picture.get(), kWidth, kHeight)), 0);
  ck_assert_uint_eq(sink.stat("copies"), 1);
}
GST_END_TEST

void gstdrm::test::add_buffer_error_cases(TCase *tc)
{
  tcase_add_loop_test(tc, test_refused_buffers, 0, G_N_ELEMENTS(kBufferRows));
  tcase_add_test(tc, test_lying_system_memory);
  tcase_add_loop_test(tc, test_unimportable_memory, 0, 2);
}
