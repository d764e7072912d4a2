// SPDX-License-Identifier: LGPL-2.1-or-later
// An exception at every place of the elements that could throw one: operator new fails at the n-th call, for each n in
// turn, while caps are agreed on and a frame goes through. The process goes on, and where no frame comes out the bus has
// an error.
#include <string>

#include <gst/check/gstharness.h>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"
#include "support/failing_new.hpp"

namespace {

using gstdrm::test::countdown;
using gstdrm::test::thrown;

constexpr const char *kPlain = "video/x-raw,format=NV12,width=64,height=64,framerate=30/1";
constexpr const char *kDmaBuf =
    "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=64,framerate=30/1";

struct Row {
  const char *element;
  const char *sink_caps;
  const char *src_caps;
};
const Row kRows[] = {
    {"dmabufupload allocator=memfd", kPlain, kDmaBuf},
    {"dmabufupload allocator=memfd", kPlain, kPlain},
    {"dmabufdownload", kDmaBuf, kPlain},
};

GstBuffer *make_frame(const Row &row)
{
  if (row.sink_caps == kPlain)
    return gst_buffer_new_allocate(nullptr, 64 * 64 * 3 / 2, nullptr);
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  GstBuffer *frame = gst_drm_allocator_alloc_frame(allocator, 0x3231564e, 64, 64, &linear, 1, nullptr, nullptr, nullptr);
  gst_object_unref(allocator);
  return frame;
}

// Whether a frame came out; `said`: the bus has an error. Fails at the given place.
bool run(const Row &row, long place, bool &said)
{
  GstHarness *harness = gst_harness_new_parse(row.element);
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(harness->element, bus);
  GstBuffer *frame = make_frame(row);
  GstCaps *sink = gst_caps_from_string(row.sink_caps);
  GstCaps *src = gst_caps_from_string(row.src_caps);
  gst_harness_play(harness);
  thrown = false;
  countdown = place;
  gst_harness_set_sink_caps(harness, src);
  gst_harness_set_src_caps(harness, sink);
  const GstFlowReturn flow = gst_harness_push(harness, frame);
  countdown = 0;
  const bool came = flow == GST_FLOW_OK && gst_harness_buffers_received(harness) == 1;
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  said = message != nullptr;
  g_clear_pointer(&message, gst_message_unref);
  gst_element_set_bus(harness->element, nullptr);
  gst_object_unref(bus);
  gst_harness_teardown(harness);
  return came;
}

GST_START_TEST(test_row)
{
  constexpr long kMost = 2000; // places; a chain that never comes through is a fault
  const Row &row = kRows[__i__];
  bool said = false;
  fail_unless(run(row, 0, said) && !said, "row %s", row.element);
  long place = 0;
  long errors = 0;
  do {
    fail_unless(++place < kMost, "row %s: an exception each time", row.element);
    const bool came = run(row, place, said);
    fail_unless(came || said, "row %s, place %ld: no frame, and no error", row.element, place);
    errors += said;
  } while (thrown);
  gstdrm::test::say(std::string(row.element) + ": " + std::to_string(place - 1) + " places, " + std::to_string(errors) + " errors");
}
GST_END_TEST

Suite *dmabuf_exceptions_suite()
{
  Suite *suite = suite_create("dmabuf-exceptions");
  TCase *tcase = tcase_create("operator new fails");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_row, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_exceptions)
