// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload: where its buffers come from, and who else gets them. tests/device runs this with
// the kernel's exporters.
#include "support/dmabuf_elements.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

const std::string kNv12 = plain_caps("NV12", 641, 481);
// Rows of a multiple of 256 bytes in GStreamer's default layout too.
const std::string kWholeRows = plain_caps("NV12", 768, 481);

std::string upload()
{
  return std::string("dmabufupload allocator=") + test_kinds().front();
}

// A producer that writes into the offered pool: the very same buffers come out, also without a
// GstVideoMeta where the default layout has rows that devices take.
GST_START_TEST(test_offered_pool)
{
  const bool video_meta = __i__ == 1;
  const std::string caps = video_meta ? kNv12 : kWholeRows;
  const Harness h(upload());
  const GstVideoInfo info = video_info(caps);
  fail_unless(h.negotiate(caps));
  const GstPtr<GstQuery> query = h.ask_allocation(caps);
  fail_unless(query);
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr));
  const auto pool = take_pool(query.get(), caps, video_meta);
  for (guint i = 0; i < 8; i++) {
    GstBuffer *buffer = acquire(pool);
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    if (!video_meta)
      for (guint p = 0; p < 2; p++)
        fail_unless_equals_int(meta->stride[p], info.stride[p]);
    draw(buffer, info, i);
    const auto out = h.push(buffer);
    fail_unless(out.get() == buffer);
    check_drawn(out.get(), info, i);
  }
  fail_unless_equals_uint64(h.stat("frames"), 8);
  fail_unless_equals_uint64(h.stat("copies"), 0);
  fail_unless(h.messages(GST_MESSAGE_INFO).empty());
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

// A producer without GstVideoMeta writes rows of 641 bytes, which no GPU imports: one copy makes
// rows of 768. For a reader with the CPU they are good as they are.
GST_START_TEST(test_tight_rows)
{
  const bool plain = __i__ == 1;
  const Harness h(upload());
  const GstVideoInfo info = video_info(kNv12);
  if (plain)
    gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
  fail_unless(h.negotiate(kNv12));
  const GstPtr<GstQuery> query = h.ask_allocation(kNv12);
  const auto pool = take_pool(query.get(), kNv12, false);
  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = acquire(pool);
    draw(buffer, info, i);
    const auto out = h.push(buffer);
    check_drawn(out.get(), info, i);
    const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
    for (guint p = 0; p < meta->n_planes; p++)
      fail_unless((meta->stride[p] % 256 == 0) == !plain, "plane %u: %d", p, meta->stride[p]);
  }
  fail_unless_equals_uint64(h.stat("copies"), plain ? 0 : 3);
  if (!plain)
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_INFO), "knows no GstVideoMeta", "256 bytes");
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

// The pool was offered, and upstream went on with its own memory.
GST_START_TEST(test_pool_declined)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kNv12));
  fail_unless(h.ask_allocation(kNv12));
  (void)h.push(new_frame(kNv12));
  fail_unless(h.copy_reason().find("did not take the offered pool") != std::string::npos, "%s",
              h.copy_reason().c_str());
}
GST_END_TEST

// A decoder with a pool of its own may take the allocator alone.
GST_START_TEST(test_offered_allocator)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kWholeRows));
  const GstPtr<GstQuery> query = h.ask_allocation(kWholeRows, false);
  fail_unless(query);
  GstAllocator *allocator = nullptr;
  fail_unless(gst_query_get_n_allocation_params(query.get()) > 0);
  gst_query_parse_nth_allocation_param(query.get(), 0, &allocator, nullptr);
  fail_unless(GST_IS_DRM_ALLOCATOR(allocator));
  const GstVideoInfo info = video_info(kWholeRows);
  GstBuffer *buffer = gst_buffer_new_allocate(allocator, GST_VIDEO_INFO_SIZE(&info), nullptr);
  gst_object_unref(allocator);
  draw(buffer, info, 3);
  const auto out = h.push(buffer);
  check_drawn(out.get(), info, 3);
  fail_unless(gst_buffer_get_video_meta(out.get()) != nullptr);
  fail_unless_equals_uint64(h.stat("copies"), 0);
}
GST_END_TEST

// Downstream keeps five buffers: upstream is told to have more.
GST_START_TEST(test_minimum)
{
  const Harness h(upload());
  offer_pool(h, nullptr, 0, 5);
  fail_unless(h.negotiate(kNv12));
  const GstPtr<GstQuery> query = h.ask_allocation(kNv12);
  guint min = 0;
  guint max = 1;
  gst_query_parse_nth_allocation_pool(query.get(), 0, nullptr, nullptr, &min, &max);
  fail_unless(min > 5, "%u", min);
  fail_unless(max > min && max < 1U << 20, "%u", max);
}
GST_END_TEST

// Downstream's own allocator knows best, unless the user names one.
GST_START_TEST(test_downstream_allocator)
{
  const bool named = __i__ == 1;
  const char *kind = test_kinds().back();
  GEnumClass *kinds = G_ENUM_CLASS(g_type_class_ref(GST_TYPE_DRM_ALLOCATOR_KIND));
  GstDrmAllocator *theirs = gst_drm_allocator_new(
      static_cast<GstDrmAllocatorKind>(g_enum_get_value_by_nick(kinds, kind)->value), nullptr,
      nullptr);
  g_type_class_unref(kinds);
  const bool importable = gst_drm_allocator_get_kind(theirs) != GST_DRM_ALLOCATOR_KIND_MEMFD;
  const Harness h(named ? upload() : "dmabufupload");
  gst_harness_set_propose_allocator(h.get(), GST_ALLOCATOR(gst_object_ref(theirs)), nullptr);
  fail_unless(h.negotiate(kNv12), "%s", h.last_error().c_str());
  const auto out = h.push(new_frame(kNv12));
  const bool used = gst_buffer_peek_memory(out.get(), 0)->allocator == GST_ALLOCATOR(theirs);
  fail_unless(used == (importable && !named));
  gst_object_unref(theirs);
}
GST_END_TEST

struct AllocatorRow {
  const char *properties;
  std::vector<const char *> says;
};

GST_START_TEST(test_no_allocator)
{
  static const AllocatorRow kRows[] = {
      {"allocator=dma-heap device=no-such-heap",
       {"nothing to allocate dma-bufs from", "no-such-heap", "property allocator"}},
      {"allocator=dumb device=/dev/null", {"/dev/null", "property allocator"}},
      {"allocator=dumb device=/dev/dri/card99", {"/dev/dri/card99", "No such file"}},
  };
  for (const AllocatorRow &row : kRows) {
    const Harness h(std::string("dmabufupload ") + row.properties);
    h.negotiate(kNv12);
    h.negotiate(kNv12);
    CHECK_ONE_MESSAGE_OF(row.properties, h.messages(GST_MESSAGE_ERROR), row.says);
    fail_unless_equals_int(gst_harness_push(h.get(), new_frame(kNv12)), GST_FLOW_NOT_NEGOTIATED);
  }
}
GST_END_TEST

// Asked of each kind by itself: what auto should find on this machine, whatever these tests run
// with.
GstDrmAllocatorKind first_exporter()
{
  for (const GstDrmAllocatorKind kind :
       {GST_DRM_ALLOCATOR_KIND_UDMABUF, GST_DRM_ALLOCATOR_KIND_DMA_HEAP,
        GST_DRM_ALLOCATOR_KIND_DUMB, GST_DRM_ALLOCATOR_KIND_GBM}) {
    GError *error = nullptr;
    GstDrmAllocator *allocator = gst_drm_allocator_new(kind, nullptr, &error);
    g_clear_error(&error);
    if (!allocator)
      continue;
    gst_object_unref(allocator);
    return kind;
  }
  return GST_DRM_ALLOCATOR_KIND_MEMFD;
}

// Without an exporter auto goes on with memfd, and says so once: then, and then only.
GST_START_TEST(test_auto)
{
  const GstDrmAllocatorKind exporter = first_exporter();
  fail_unless(std::strcmp(test_kinds().front(), "udmabuf") != 0 ||
              exporter == GST_DRM_ALLOCATOR_KIND_UDMABUF);
  const Harness h("dmabufupload");
  for (int run = 0; run < 2; run++) { // the second one says the same
    if (run > 0) {
      gst_element_set_state(h.element(), GST_STATE_NULL);
      gst_harness_play(h.get());
      gst_pad_push_event(h.get()->srcpad, gst_event_new_stream_start("again"));
      fail_unless(h.negotiate(plain_caps("NV12", 64, 64)));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
    }
    for (int width : {64, 128}) {
      const std::string caps = plain_caps("NV12", width, 64);
      fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
      const auto out = h.push(new_frame(caps));
      const GstAllocator *used = gst_buffer_peek_memory(out.get(), 0)->allocator;
      fail_unless(GST_IS_DRM_ALLOCATOR(used));
      fail_unless_equals_int(gst_drm_allocator_get_kind(GST_DRM_ALLOCATOR(used)), exporter);
    }
    const std::vector<std::string> warnings = h.messages(GST_MESSAGE_WARNING);
    if (exporter == GST_DRM_ALLOCATOR_KIND_MEMFD)
      CHECK_ONE_MESSAGE(warnings, "memfd", "udmabuf");
    else
      fail_unless(warnings.empty(), "%s", warnings.empty() ? "" : warnings.front().c_str());
  }
}
GST_END_TEST

// NULL lets the allocator and its device go.
GST_START_TEST(test_null_lets_the_allocator_go)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kNv12));
  gpointer allocator = nullptr;
  {
    const auto out = h.push(new_frame(kNv12));
    allocator = gst_buffer_peek_memory(out.get(), 0)->allocator;
    g_object_add_weak_pointer(G_OBJECT(allocator), &allocator);
  }
  fail_unless(allocator != nullptr);
  gst_element_set_state(h.element(), GST_STATE_NULL);
  fail_unless(allocator == nullptr);
}
GST_END_TEST

GstBufferPool *left_alone = nullptr;

gboolean offer_pool(GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return gst_pad_query_default(pad, parent, query);
  gst_query_add_allocation_pool(query, left_alone, 4096, 1, 1);
  return TRUE;
}

// Downstream's pool is neither used nor kept.
GST_START_TEST(test_downstream_pool_is_left_alone)
{
  left_alone = gst_video_buffer_pool_new();
  {
    const Harness h(upload());
    gst_pad_set_query_function(h.get()->sinkpad, offer_pool);
    fail_unless(h.negotiate(kNv12));
    const auto out = h.push(new_frame(kNv12));
    fail_unless(out->pool != left_alone);
    fail_if(gst_buffer_pool_is_active(left_alone));
    ASSERT_OBJECT_REFCOUNT(left_alone, "downstream's pool", 1);
  }
  gst_object_unref(left_alone);
}
GST_END_TEST

GST_START_TEST(test_start_stop)
{
  const Harness h(upload());
  const std::string caps = plain_caps("NV12", 64, 64);
  std::size_t before = 0;
  for (int i = 0; i < 1000; i++) {
    if (i == 1)
      before = count_fds();
    gst_harness_play(h.get());
    gst_pad_push_event(h.get()->srcpad, gst_event_new_stream_start("test"));
    h.negotiate(caps);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(h.get()->srcpad, gst_event_new_segment(&segment));
    (void)h.push(new_frame(caps));
    gst_element_set_state(h.element(), GST_STATE_NULL);
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

Suite *dmabufupload_memory_suite()
{
  Suite *suite = suite_create("dmabufupload-memory");
  TCase *tcase = tcase_create("memory");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_offered_pool, 0, 2);
  tcase_add_loop_test(tcase, test_tight_rows, 0, 2);
  tcase_add_test(tcase, test_pool_declined);
  tcase_add_test(tcase, test_offered_allocator);
  tcase_add_test(tcase, test_minimum);
  tcase_add_loop_test(tcase, test_downstream_allocator, 0, 2);
  tcase_add_test(tcase, test_no_allocator);
  tcase_add_test(tcase, test_auto);
  tcase_add_test(tcase, test_null_lets_the_allocator_go);
  tcase_add_test(tcase, test_downstream_pool_is_left_alone);
  tcase_add_test(tcase, test_start_stop);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload_memory)
