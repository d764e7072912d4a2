// SPDX-License-Identifier: LGPL-2.1-or-later
// An exception at every place of metisdmabufinfer, drmtensordecode and drmoverlay that could throw one: operator new fails
// at the n-th call of the streaming thread, for each n in turn, while caps are agreed on and a frame goes through. The
// process goes on, and where no frame comes out the bus has an error.
#include "metis_line.hpp"

#include "support/failing_new.hpp"
#include "support/float_tensors.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kRows[] = {"metisdmabufinfer", "drmtensordecode", "drmoverlay"};

GstBuffer *frame_for(const char *element, const std::string &caps)
{
  GstBuffer *frame = new_frame(caps);
  if (g_str_equal(element, "drmoverlay"))
    gst_buffer_add_video_region_of_interest_meta(frame, "face", 4, 4, 40, 30);
  if (g_str_equal(element, "drmtensordecode")) {
    GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(frame, "objects");
    meta->placement = {64, 48, 1, 1, 0, 0};
    add_tensor(meta, "boxes", {1, 1, 4}, {0.25F, 0.25F, 0.75F, 0.75F});
    add_tensor(meta, "scores", {1, 1}, {0.875F});
    add_tensor(meta, "classes", {1, 1}, {1});
    add_tensor(meta, "count", {1}, {1});
  }
  return frame;
}

// Whether a frame came out; `said`: the bus has an error. Fails at the given place.
bool run(const char *element, long place, bool &said)
{
  const Harness h(line::described(element));
  const std::string caps = plain_caps("NV12", 64, 48);
  GstBuffer *frame = frame_for(element, caps);
  GstBuffer *const kept = gst_buffer_ref(frame); // so that a writable one has to be made
  gst_harness_play(h.get());
  thrown = false;
  countdown = place;
  gst_harness_set_src_caps_str(h.get(), caps.c_str());
  const bool pushed = gst_harness_push(h.get(), frame) == GST_FLOW_OK;
  countdown = 0;
  const bool came = pushed && static_cast<bool>(h.pull());
  gst_buffer_unref(kept);
  said = !h.messages(GST_MESSAGE_ERROR).empty();
  return came;
}

GST_START_TEST(test_row)
{
  constexpr long kMost = 2000; // places; a chain that never comes through is a fault
  const char *element = kRows[__i__];
  bool said = false;
  fail_unless(run(element, 0, said) && !said, "%s", element);
  long place = 0;
  long errors = 0;
  do {
    fail_unless(++place < kMost, "%s: an exception each time", element);
    const bool came = run(element, place, said);
    fail_unless(came || said, "%s, place %ld: no frame, and no error", element, place);
    errors += said;
  } while (thrown);
  say(std::string(element) + ": " + std::to_string(place - 1) + " places, " + std::to_string(errors) + " errors");
}
GST_END_TEST

Suite *metis_exceptions_suite()
{
  Suite *suite = suite_create("metis-exceptions");
  TCase *tcase = tcase_create("operator new fails");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_row, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_exceptions)
