// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink with a display: queries and events that nobody should send, in every state.
#include "support/odd_queries.hpp"
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

enum class Stage { Ready, Paused, WithCaps, WithPlainCaps };

} // namespace

GST_START_TEST(test_odd_queries)
{
  const auto stage = static_cast<Stage>(__i__);
  Sink sink;
  ck_assert(sink.set_state(stage == Stage::Ready ? GST_STATE_READY : GST_STATE_PLAYING));
  if (stage == Stage::WithCaps)
    ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
  if (stage == Stage::WithPlainCaps)
    ck_assert(sink.set_caps(plain_caps("BGRx", 640, 480)));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  ask_everything(pad.get(), could_be_sent);
  send_odd_events(pad.get());
  for (const OddCaps &row : kOddCaps)
    send_odd_caps(pad.get(), row);
}
GST_END_TEST

static Suite *kms_odd_queries_suite(void)
{
  Suite *s = suite_create("kms_odd_queries");
  TCase *tc = tcase_create("odd queries");
  suite_add_tcase(s, tc);
  tcase_add_loop_test(tc, test_odd_queries, 0, 4);
  return s;
}

GST_DRM_CHECK_MAIN(kms_odd_queries)
