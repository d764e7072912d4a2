// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload: frames, counters and errors. tests/device runs this with the kernel's exporters.
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kNv12 = plain_caps("NV12", 641, 481);

std::string upload(const char *more = "")
{
  return std::string("dmabufupload allocator=") + test_kinds().front() + " " + more;
}

struct PixelRow {
  const char *format;
  int width;
  int height;
};

constexpr PixelRow kPixels[] = {
    {"NV12", 64, 64},        {"NV12", 641, 481},      {"NV12", 1, 1},
    {"I420", 640, 480},      {"I420", 641, 481},      {"YUY2", 640, 480},
    {"YUY2", 641, 481},      {"BGRx", 641, 481},      {"BGRA", 640, 480},
    {"RGB", 641, 481},       {"RGB16", 641, 481},     {"GRAY8", 641, 481},
    {"P010_10LE", 640, 480}, {"P010_10LE", 641, 481}, {"NV12_10LE40", 640, 480},
    {"Y42B", 641, 481},      {"Y444", 641, 481},      {"YUV9", 641, 481},
    {"Y41B", 641, 481},      {"Y210", 640, 481},
};

// One copy, every pixel of it, and a buffer that any importer takes.
GST_START_TEST(test_pixels)
{
  const PixelRow &row = kPixels[__i__];
  const std::string caps = plain_caps(row.format, row.width, row.height);
  const GstVideoInfo info = video_info(caps);
  const Harness h(upload());
  fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
  const auto frame = h.push(new_frame(caps, 7));
  fail_unless(all_dmabuf(frame.get()));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame.get());
  fail_unless(meta != nullptr);
  fail_unless_equals_int(meta->width, row.width);
  fail_unless_equals_int(meta->height, row.height);
  fail_unless_equals_int(meta->format, GST_VIDEO_INFO_FORMAT(&info));
  check_drawn(frame.get(), info, 7);
  GstDrmVideoInfo drm;
  GstDrmFrame layout;
  GError *error = nullptr;
  fail_unless(gst_drm_video_info_from_caps(&drm, h.output_caps().get()));
  fail_unless_equals_uint64(drm.drm_modifier, GST_DRM_MODIFIER_LINEAR);
  fail_unless(gst_drm_frame_from_buffer(&layout, frame.get(), &drm, &error), "%s",
              error ? error->message : "");
  fail_unless_equals_uint64(h.stat("copies"), 1);
}
GST_END_TEST

// Every format of the template can be allocated, written and read.
GST_START_TEST(test_every_format)
{
  const Harness any(upload());
  const auto sink_template = GstPtr<GstCaps>::adopt(
      gst_pad_template_get_caps(gst_element_get_pad_template(any.element(), "sink")));
  const GValue *formats =
      gst_structure_get_value(gst_caps_get_structure(sink_template.get(), 0), "format");
  fail_unless(gst_value_list_get_size(formats) > 40);
  for (guint i = 0; i < gst_value_list_get_size(formats); i++) {
    const std::string caps =
        plain_caps(g_value_get_string(gst_value_list_get_value(formats, i)), 96, 34);
    const Harness h(upload());
    fail_unless(h.negotiate(caps), "%s: %s", caps.c_str(), h.last_error().c_str());
    check_drawn(h.push(new_frame(caps, i)).get(), video_info(caps), i);
  }
}
GST_END_TEST

// Upstream keeps its own memory: one copy for each frame, announced once.
GST_START_TEST(test_counts_copies)
{
  const Harness h(upload());
  const std::string caps = plain_caps("I420", 640, 480);
  fail_unless(h.negotiate(caps));
  for (guint i = 0; i < 10; i++)
    check_drawn(h.push(new_frame(caps, i)).get(), video_info(caps), i);
  fail_unless_equals_uint64(h.stat("frames"), 10);
  fail_unless_equals_uint64(h.stat("copies"), 10);
  fail_unless_equals_uint64(h.stat("bytes-copied"), 10 * 640 * 480 * 3 / 2);
  fail_unless(h.copy_reason().find("asked for no pool") != std::string::npos, "%s",
              h.copy_reason().c_str());
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_INFO), "copied by the CPU", "asked for no pool");
}
GST_END_TEST

// A dmabuf that others see too: the memory goes on, the buffer is left alone, and stays in use
// until the copy is gone.
GST_START_TEST(test_shared_buffer)
{
  const std::string caps = plain_caps("NV12", 768, 481); // rows that devices take
  const GstVideoInfo info = video_info(caps);
  const Harness h(upload());
  fail_unless(h.negotiate(caps));
  const GstPtr<GstQuery> query = h.ask_allocation(caps, false);
  GstAllocator *allocator = nullptr;
  gst_query_parse_nth_allocation_param(query.get(), 0, &allocator, nullptr);
  auto kept = GstPtr<GstBuffer>::adopt(
      gst_buffer_new_allocate(allocator, GST_VIDEO_INFO_SIZE(&info), nullptr));
  gst_object_unref(allocator);
  draw(kept.get(), info);
  const auto out = h.push(gst_buffer_ref(kept.get()));
  fail_unless(out.get() != kept.get());
  fail_unless(gst_buffer_get_video_meta(kept.get()) == nullptr);
  fail_unless(gst_buffer_get_video_meta(out.get()) != nullptr);
  fail_unless(gst_buffer_peek_memory(out.get(), 0) == gst_buffer_peek_memory(kept.get(), 0));
  const GstParentBufferMeta *parent = gst_buffer_get_parent_buffer_meta(out.get());
  fail_unless(parent && parent->buffer == kept.get());
  fail_unless_equals_uint64(h.stat("copies"), 0);
}
GST_END_TEST

// Y in a dmabuf, UV in system memory.
GST_START_TEST(test_mixed_memory)
{
  const std::string caps = plain_caps("NV12", 640, 480);
  const GstVideoInfo info = video_info(caps);
  const Harness h(upload());
  fail_unless(h.negotiate(caps));
  const GstPtr<GstQuery> query = h.ask_allocation(caps, false);
  GstAllocator *allocator = nullptr;
  gst_query_parse_nth_allocation_param(query.get(), 0, &allocator, nullptr);
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_allocator_alloc(allocator, info.offset[1], nullptr));
  gst_buffer_append_memory(buffer,
                           gst_allocator_alloc(nullptr, info.size - info.offset[1], nullptr));
  gst_object_unref(allocator);
  GstVideoInfo layout = info;
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 640, 480,
                                 2, layout.offset, layout.stride);
  draw(buffer, info, 5);
  const auto out = h.push(buffer);
  fail_unless(all_dmabuf(out.get()));
  check_drawn(out.get(), info, 5);
  fail_unless(h.copy_reason().find("outside dmabuf") != std::string::npos, "%s",
              h.copy_reason().c_str());
}
GST_END_TEST

// Padded rows in system memory.
GST_START_TEST(test_strides)
{
  const GstVideoInfo info = video_info(kNv12);
  const Harness h(upload());
  fail_unless(h.negotiate(kNv12));
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 100 + 800 * 481 + 52 + 704 * 241, nullptr);
  gsize offset[GST_VIDEO_MAX_PLANES] = {100, 100 + 800 * 481 + 52};
  gint stride[GST_VIDEO_MAX_PLANES] = {800, 704};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 641, 481,
                                 2, offset, stride);
  draw(buffer, info, 9);
  check_drawn(h.push(buffer).get(), info, 9);
}
GST_END_TEST

// A decoder's coded size with a crop: the visible part is what comes out, and nothing is cropped
// twice.
GST_START_TEST(test_crop)
{
  const std::string visible = plain_caps("NV12", 320, 240);
  const std::string coded = plain_caps("NV12", 352, 288);
  const GstVideoInfo coded_info = video_info(coded);
  const Harness h(upload());
  fail_unless(h.negotiate(visible));
  GstBuffer *buffer = new_frame(coded, 2);
  gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 352, 288);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = 16;
  crop->y = 8;
  crop->width = 320;
  crop->height = 240;
  const auto whole = GstPtr<GstBuffer>::share(buffer);
  const auto out = h.push(buffer);
  fail_unless(gst_buffer_get_video_crop_meta(out.get()) == nullptr);
  fail_unless_equals_int(gst_buffer_get_video_meta(out.get())->width, 320);
  std::vector<std::uint8_t> expected;
  for_each_row(whole.get(), coded_info, GST_MAP_READ,
               [&](guint plane, guint row, std::uint8_t *data, std::size_t) {
                 const guint top = plane == 0 ? 8 : 4;
                 const guint rows = plane == 0 ? 240 : 120;
                 if (row >= top && row < top + rows)
                   expected.insert(expected.end(), data + 16, data + 16 + 320);
               });
  std::vector<std::uint8_t> got;
  for_each_row(out.get(), video_info(visible), GST_MAP_READ,
               [&](guint, guint, std::uint8_t *data, std::size_t bytes) {
                 got.insert(got.end(), data, data + bytes);
               });
  fail_unless(got == expected);
}
GST_END_TEST

// Times, flags and metas go with the frame, copied or not; a crop of the whole frame only to one
// who says that it crops.
GST_START_TEST(test_metadata)
{
  const bool copied = __i__ % 2 == 0;
  const bool crops = __i__ / 2 == 0;
  const Harness h(upload());
  if (crops)
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(kNv12));
  GstBuffer *buffer = copied ? new_frame(kNv12) : new_dmabuf_frame(test_kinds().front(), kNv12);
  GST_BUFFER_PTS(buffer) = 5 * GST_SECOND;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  GST_BUFFER_OFFSET(buffer) = 77;
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP);
  GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_TFF);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = 2;
  crop->width = 600;
  crop->height = 400;
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 1, 2, 3, 4);
  const auto out = h.push(buffer);
  fail_unless_equals_uint64(h.stat("copies"), copied ? 1 : 0);
  fail_unless_equals_uint64(GST_BUFFER_PTS(out.get()), 5 * GST_SECOND);
  fail_unless_equals_uint64(GST_BUFFER_DURATION(out.get()), 40 * GST_MSECOND);
  fail_unless_equals_uint64(GST_BUFFER_OFFSET(out.get()), 77);
  for (guint flag : {guint{GST_BUFFER_FLAG_DISCONT}, guint{GST_BUFFER_FLAG_GAP},
                     guint{GST_VIDEO_BUFFER_FLAG_TFF}})
    fail_unless(GST_BUFFER_FLAG_IS_SET(out.get(), flag), "flag %x", flag);
  const GstVideoCropMeta *kept = gst_buffer_get_video_crop_meta(out.get());
  fail_unless((kept != nullptr) == crops);
  fail_unless(!kept || (kept->x == 2 && kept->width == 600 && kept->height == 400));
  fail_unless(gst_buffer_get_video_region_of_interest_meta_id(out.get(), 0) != nullptr);
}
GST_END_TEST

// Plain output for a reader without GstVideoMeta: GStreamer's default layout; with it, rows may be
// padded.
GST_START_TEST(test_plain_output)
{
  const bool reads_meta = __i__ == 1;
  const GstVideoInfo info = video_info(kNv12);
  const Harness h(upload());
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
  if (reads_meta)
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(kNv12));
  const auto out = h.push(new_frame(kNv12, 4));
  fail_unless(all_dmabuf(out.get()));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
  fail_unless((meta->stride[0] == info.stride[0]) == !reads_meta, "stride %d", meta->stride[0]);
  check_drawn(out.get(), info, 4);
  // Padded dmabufs of upstream's own are passed on to the one, and copied for the other.
  (void)h.push(new_dmabuf_frame(test_kinds().front(), kNv12));
  fail_unless_equals_uint64(h.stat("copies"), reads_meta ? 1 : 2);
  // So upstream is not asked to pad where that would cost a copy.
  const auto query = h.ask_allocation(kNv12);
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr) ==
              reads_meta);
  const auto pool = take_pool(query.get(), kNv12, reads_meta);
  (void)h.push(acquire(pool));
  fail_unless_equals_uint64(h.stat("copies"), reads_meta ? 1 : 2);
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

// Whoever asks for DMA_DRM has its frames already: no pool of linear ones is offered in their place.
GST_START_TEST(test_query_of_dmabufs)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kNv12));
  fail_unless(h.ask_allocation(kNv12));
  fail_if(h.ask_allocation(dmabuf_caps("NV12", 320, 240)));
}
GST_END_TEST

GST_START_TEST(test_require)
{
  const Harness h(upload("zero-copy=require"));
  fail_unless(h.negotiate(kNv12));
  const auto query = h.ask_allocation(kNv12);
  // what keeps to the pool may go on
  const auto pool = take_pool(query.get(), kNv12, true);
  (void)h.push(acquire(pool));
  fail_unless_equals_int(gst_harness_push(h.get(), new_frame(kNv12)), GST_FLOW_ERROR);
  fail_unless(gst_harness_try_pull(h.get()) == nullptr);
  fail_unless_equals_uint64(h.stat("copies"), 0);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "zero-copy=require",
                    "did not take the offered pool", "src", "zero-copy=prefer");
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

struct BadRow {
  const char *name;
  GstVideoFormat format;
  guint width, height, n_planes;
  gsize offset1;
  gint stride0, stride1;
  gsize size;
  const char *says;
};

constexpr BadRow kBad[] = {
    {"too few bytes", GST_VIDEO_FORMAT_UNKNOWN, 0, 0, 0, 0, 0, 0, 1000, "1000 bytes"},
    {"plane after the end", GST_VIDEO_FORMAT_NV12, 640, 480, 2, 640 * 480 + 1, 640, 640,
     640 * 480 * 3 / 2, "Plane 1"},
    {"offset after the end", GST_VIDEO_FORMAT_NV12, 640, 480, 2, G_MAXSIZE - 8, 640, 640,
     640 * 480 * 3 / 2, "Plane 1"},
    {"stride below the row", GST_VIDEO_FORMAT_NV12, 640, 480, 2, 640 * 480, 639, 640,
     640 * 480 * 3 / 2, "stride of 639"},
    {"negative stride", GST_VIDEO_FORMAT_NV12, 640, 480, 2, 640 * 480, -640, 640, 640 * 480 * 3 / 2,
     "stride of -640"},
    {"stride that overflows", GST_VIDEO_FORMAT_NV12, 640, 480, 2, 640 * 480, G_MAXINT, 640,
     640 * 480 * 3 / 2, "Plane 0"},
    {"other format", GST_VIDEO_FORMAT_NV21, 640, 480, 2, 640 * 480, 640, 640, 640 * 480 * 3 / 2,
     "NV21"},
    {"fewer planes", GST_VIDEO_FORMAT_NV12, 640, 480, 1, 640 * 480, 640, 640, 640 * 480 * 3 / 2,
     "1 planes"},
    {"smaller picture", GST_VIDEO_FORMAT_NV12, 320, 240, 2, 640 * 480, 640, 640, 640 * 480 * 3 / 2,
     "320x240"},
};

// A GstVideoMeta that lies is refused before anything is read.
GST_START_TEST(test_bad_frame)
{
  const BadRow &row = kBad[__i__];
  const std::string caps = plain_caps("NV12", 640, 480);
  const Harness h(upload());
  fail_unless(h.negotiate(caps));
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, row.size, nullptr);
  if (row.format != GST_VIDEO_FORMAT_UNKNOWN) {
    GstVideoMeta *meta = gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                                   GST_VIDEO_FORMAT_NV12, 640, 480);
    meta->format = row.format;
    meta->width = row.width;
    meta->height = row.height;
    meta->n_planes = row.n_planes;
    meta->offset[1] = row.offset1;
    meta->stride[0] = row.stride0;
    meta->stride[1] = row.stride1;
  }
  fail_unless_equals_int(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), row.says);
  // the next one is fine again
  (void)h.push(new_frame(caps));
}
GST_END_TEST

struct PassRow {
  const char *name;
  const char *drm_format;
  const char *properties;
  std::vector<const char *> says;
};

const std::vector<PassRow> &pass_rows()
{
  static const std::vector<PassRow> rows = {
      {"system memory, linear", "NV12", "", {"no file descriptor", "promise DMA buffers"}},
      {"system memory, tiled", "NV12:0x0100000000000002", "", {"no file descriptor"}},
      {"zero-copy=require", "NV12", "zero-copy=require", {"no file descriptor"}},
      {"no memory", "NV12:0x0100000000000002", "zero-copy=require", {"no memory"}},
      {"no GstVideoMeta, tiled", "NV12:0x0100000000000002", "", {"no GstVideoMeta"}},
      {"too small", "NV12", "", {"bytes"}},
  };
  return rows;
}

// Caps that promise DMA buffers, and frames that are none.
GST_START_TEST(test_broken_promise)
{
  const PassRow &row = pass_rows()[static_cast<std::size_t>(__i__)];
  const std::string caps = plain_caps("NV12", 640, 480);
  const Harness h(upload(row.properties));
  fail_unless(h.negotiate(dmabuf_caps(row.drm_format, 640, 480)));
  GstBuffer *buffer = nullptr;
  if (g_str_equal(row.name, "no memory")) {
    buffer = gst_buffer_new();
  } else if (g_str_has_prefix(row.name, "no GstVideoMeta")) {
    buffer = new_dmabuf_frame(test_kinds().front(), caps);
    gst_buffer_remove_meta(buffer, &gst_buffer_get_video_meta(buffer)->meta);
  } else if (g_str_equal(row.name, "too small")) {
    buffer = new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", 640, 400));
    gst_buffer_get_video_meta(buffer)->height = 480;
  } else {
    buffer = new_frame(caps);
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 640, 480);
  }
  fail_unless_equals_int(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
  fail_unless(gst_harness_try_pull(h.get()) == nullptr);
  CHECK_ONE_MESSAGE_OF(row.name, h.messages(GST_MESSAGE_ERROR), row.says);
}
GST_END_TEST

// DMA_DRM from upstream needs nothing done, tiled or not.
GST_START_TEST(test_passthrough)
{
  const Harness h(upload());
  const std::string caps = dmabuf_caps("NV12:0x0100000000000002", 640, 480);
  fail_unless(h.negotiate(caps));
  fail_unless(gst_caps_is_equal(h.output_caps().get(), caps_of(caps).get()));
  GstBuffer *buffer = new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", 640, 512));
  gst_buffer_get_video_meta(buffer)->height = 480; // whole tiles of 32 rows
  fail_unless(h.push(buffer).get() == buffer);
  fail_unless_equals_uint64(h.stat("frames"), 1);
  fail_unless_equals_uint64(h.stat("copies"), 0);
  // and back to work
  fail_unless(h.negotiate(kNv12));
  check_drawn(h.push(new_frame(kNv12, 1)).get(), video_info(kNv12), 1);
  fail_unless_equals_uint64(h.stat("copies"), 1);
}
GST_END_TEST

// The size changes in mid-stream, and a seek flushes it.
GST_START_TEST(test_renegotiation)
{
  const Harness h(upload());
  guint seed = 0;
  for (const char *format : {"NV12", "I420", "BGRx"})
    for (int width : {320, 641}) {
      const std::string caps = plain_caps(format, width, 240);
      fail_unless(h.negotiate(caps));
      seed++;
      check_drawn(h.push(new_frame(caps, seed)).get(), video_info(caps), seed);
      fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_start()));
      fail_unless_equals_int(gst_harness_push(h.get(), new_frame(caps)), GST_FLOW_FLUSHING);
      fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE)));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      fail_unless(gst_harness_push_event(h.get(), gst_event_new_segment(&segment)));
      seed++;
      check_drawn(h.push(new_frame(caps, seed)).get(), video_info(caps), seed);
    }
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_eos()));
  fail_unless_equals_uint64(h.stat("frames"), 12);
}
GST_END_TEST

Suite *dmabufupload_suite()
{
  Suite *suite = suite_create("dmabufupload");
  TCase *tcase = tcase_create("frames");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_pixels, 0, G_N_ELEMENTS(kPixels));
  tcase_add_test(tcase, test_every_format);
  tcase_add_test(tcase, test_counts_copies);
  tcase_add_test(tcase, test_shared_buffer);
  tcase_add_test(tcase, test_mixed_memory);
  tcase_add_test(tcase, test_strides);
  tcase_add_test(tcase, test_crop);
  tcase_add_loop_test(tcase, test_metadata, 0, 4);
  tcase_add_loop_test(tcase, test_plain_output, 0, 2);
  tcase_add_test(tcase, test_query_of_dmabufs);
  tcase_add_test(tcase, test_require);
  tcase_add_loop_test(tcase, test_bad_frame, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tcase, test_passthrough);
  tcase_add_loop_test(tcase, test_broken_promise, 0, static_cast<int>(pass_rows().size()));
  tcase_add_test(tcase, test_renegotiation);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload)
