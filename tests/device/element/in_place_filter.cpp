// SPDX-License-Identifier: LGPL-2.1-or-later
// A filter of the kit, drmmark of docs/new-element.md, touches no frame before its producer is done.
#include <string>

#include "support/mark.hpp"
#include "support/unfinished_frames.hpp"

namespace {

using namespace gstdrm::test;

const std::string kPlain = plain_caps("BGRx", 64, 48);
const std::string kCaps = dmabuf_caps("XR24", 64, 48);

// Upstream's fence may be the frame's own or one of the dma-buf's.
constexpr Kind kKinds[] = {Kind::Acquire, Kind::Implicit};

GST_START_TEST(test_waits)
{
  const Harness h("drmmark");
  fail_unless(h.negotiate(kCaps));
  (void)check_waits(h, kPlain, kKinds[__i__]);
}
GST_END_TEST

// A frame whose producer failed is shown as it is, as the other elements do.
GST_START_TEST(test_finished)
{
  const Harness h("drmmark");
  fail_unless(h.negotiate(kCaps));
  check_finished(h, kPlain, kKinds[__i__ % 2], __i__ < 2 ? End::Done : End::Failed);
}
GST_END_TEST

GST_START_TEST(test_hang)
{
  const Harness h("drmmark");
  fail_unless(h.negotiate(kCaps));
  Timeline timeline;
  fail_unless_equals_int(gst_harness_push(h.get(), unfinished_frame(timeline, kPlain, kKinds[__i__])), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "5000 ms");
}
GST_END_TEST

GST_START_TEST(test_interrupted)
{
  const Harness h("drmmark");
  fail_unless(h.negotiate(kCaps));
  check_interrupted(h, kPlain, kKinds[__i__ % 2], __i__ < 2 ? Interruption::Flush : Interruption::Null);
}
GST_END_TEST

Suite *in_place_filter_suite()
{
  register_mark();
  Suite *suite = suite_create("in-place-filter");
  TCase *tcase = tcase_create("fences");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_waits, 0, 2);
  tcase_add_loop_test(tcase, test_finished, 0, 4);
  tcase_add_loop_test(tcase, test_hang, 0, 2);
  tcase_add_loop_test(tcase, test_interrupted, 0, 4);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(in_place_filter)
