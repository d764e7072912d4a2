// SPDX-License-Identifier: LGPL-2.1-or-later
// A copy that an element sends on in place of the frame lies as downstream asked for: upstream's frame does, and the copy
// has no other producer. The kit's filters (drmmark of docs/new-element.md) and drmoverlay copy alike.
#include <string>

#include "support/consumer.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/mark.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kElements[] = {"drmmark", "drmoverlay labels=false"};

// The frame is held, so that a filter may not change it, and has a region, so that an overlay is drawn. The element's
// copy of it.
GstPtr<GstBuffer> copy_of_a_frame(const Harness &h, const std::string &plain)
{
  const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", plain));
  gst_buffer_add_video_region_of_interest_meta(kept.get(), "face", 10, 10, 20, 20);
  auto out = h.push(gst_buffer_ref(kept.get()));
  fail_unless(out.get() != kept.get() && all_dmabuf(out.get()));
  return out;
}

gint stride_of(GstBuffer *frame, const GstVideoInfo &info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  return meta ? meta->stride[0] : GST_VIDEO_INFO_PLANE_STRIDE(&info, 0);
}

// 100 x 4 bytes, and what a consumer asks for; asked for anew, it changes.
GST_START_TEST(test_aligned)
{
  say(kElements[__i__]);
  const std::string plain = plain_caps("BGRx", 100, 48);
  const Consumer first = {"display", 1024, 3};
  const Consumer second = {"display", 4096, 3};
  const Harness h(kElements[__i__]);
  const gulong probe = answer_as(h.get()->sinkpad, first);
  fail_unless(h.negotiate(dmabuf_caps("XR24", 100, 48)));
  fail_unless_equals_int(stride_of(copy_of_a_frame(h, plain).get(), video_info(plain)), 1024);
  gst_pad_remove_probe(h.get()->sinkpad, probe);
  answer_as(h.get()->sinkpad, second);
  fail_unless_equals_int(stride_of(copy_of_a_frame(h, plain).get(), video_info(plain)), 1024);
  gst_harness_push_upstream_event(h.get(), gst_event_new_reconfigure());
  fail_unless_equals_int(stride_of(copy_of_a_frame(h, plain).get(), video_info(plain)), 4096);
  fail_unless_equals_int(h.stat("copies"), 3);
}
GST_END_TEST

// Downstream asks for what cannot be: one error that says who asked for what.
GST_START_TEST(test_conflict)
{
  say(kElements[__i__]);
  const Consumer consumer = {"display", 48, 3};
  const Harness h(kElements[__i__]);
  answer_as(h.get()->sinkpad, consumer);
  fail_unless(h.negotiate(dmabuf_caps("XR24", 100, 48)));
  GstBuffer *frame = new_dmabuf_frame("memfd", plain_caps("BGRx", 100, 48));
  gst_buffer_add_video_region_of_interest_meta(frame, "face", 10, 10, 20, 20);
  const auto kept = GstPtr<GstBuffer>::adopt(frame);
  for (int i = 0; i < 2; i++)
    fail_unless_equals_int(gst_harness_push(h.get(), gst_buffer_ref(frame)), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "display", "48");
  fail_unless_equals_int(h.stat("copies"), 0);
}
GST_END_TEST

// Whoever reads no GstVideoMeta takes the rows for GStreamer's own.
GST_START_TEST(test_tight)
{
  const std::string plain = plain_caps("I420", 100, 48); // rows of 100 and 52 bytes
  const GstVideoInfo info = video_info(plain);
  const Harness h("drmoverlay labels=false");
  fail_unless(h.negotiate(plain));
  const auto out = copy_of_a_frame(h, plain);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
  for (guint i = 0; meta && i < meta->n_planes; i++) {
    fail_unless_equals_int(meta->stride[i], GST_VIDEO_INFO_PLANE_STRIDE(&info, i));
    fail_unless_equals_int(meta->offset[i], GST_VIDEO_INFO_PLANE_OFFSET(&info, i));
  }
}
GST_END_TEST

// What drmoverlay asks of upstream: the CPU reads linear frames, where nobody downstream composes.
struct NeedsRow {
  const char *drm;
  bool composes;
  guint asked; // entries
};
constexpr NeedsRow kNeeds[] = {
    {"XR24", false, 1},
    {"XR24", true, 0},
    {"XR24:0x0100000000000002", false, 0},
};

GST_START_TEST(test_needs)
{
  const NeedsRow &row = kNeeds[__i__];
  say(row.drm);
  const Harness h("drmoverlay name=draws");
  if (row.composes)
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  const std::string caps = dmabuf_caps(row.drm, 100, 48);
  fail_unless(h.negotiate(caps));
  const auto query = h.ask_allocation(caps);
  fail_unless(query);
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query.get());
  fail_unless_equals_int(all->len, row.asked);
  if (all->len == 0)
    return;
  const auto *constraints = static_cast<const GstDrmConstraints *>(all->pdata[0]);
  guint64 access = 0;
  fail_unless(gst_drm_constraints_get_range(constraints, GST_DRM_CONSTRAINT_CPU_ACCESS, &access, nullptr));
  fail_unless_equals_int(access, GST_DRM_ACCESS_READ);
  fail_unless_equals_string(gst_drm_constraints_get_name(constraints), "draws (drmoverlay)");
}
GST_END_TEST

Suite *downstream_copies_suite()
{
  register_mark();
  Suite *suite = suite_create("downstream-copies");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_aligned, 0, G_N_ELEMENTS(kElements));
  tcase_add_loop_test(tcase, test_conflict, 0, G_N_ELEMENTS(kElements));
  tcase_add_test(tcase, test_tight);
  tcase_add_loop_test(tcase, test_needs, 0, G_N_ELEMENTS(kNeeds));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(downstream_copies)
