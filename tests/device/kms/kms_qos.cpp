// SPDX-License-Identifier: LGPL-2.1-or-later
// What upstream hears of frames that reach the screen late: QoS events carry the delay of the flip,
// which the time at which a frame arrives does not show. On virtual time.
#include <mutex>
#include <thread>
#include <vector>

#include "kms_clocked.hpp"
#include "support/sw_sync.hpp"

using namespace gstdrm::test;
using gstdrm::UniqueFd;

namespace {

constexpr GstClockTime kStart = GST_SECOND / 2;
constexpr GstClockTime kFrame = 100 * GST_MSECOND; // six refreshes
constexpr guint kFrames = 30;
constexpr GstClockTime kRefresh = 16'700 * GST_USECOND;

struct Qos {
  GstQOSType type;
  gdouble proportion;
  GstClockTimeDiff jitter;
  GstClockTime timestamp;
};

GstPadProbeReturn on_event(GstPad *, GstPadProbeInfo *info, gpointer list)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_QOS)
    return GST_PAD_PROBE_OK;
  Qos qos = {};
  gst_event_parse_qos(event, &qos.type, &qos.proportion, &qos.jitter, &qos.timestamp);
  static_cast<std::vector<Qos> *>(list)->push_back(qos);
  return GST_PAD_PROBE_OK;
}

struct Row {
  const char *name;
  GstClockTime slow; // the device draws each frame for so long after it was due
};

const Row kRows[] = {
    {"in time", 0},
    {"60 ms late", 60 * GST_MSECOND},
};

// Draws the n-th frame until `slow` after it was handed over.
void draw(Timeline &timeline, GstClockTime slow)
{
  g_usleep(static_cast<gulong>(slow / GST_USECOND));
  timeline.advance();
}

} // namespace

GST_START_TEST(test_qos_has_the_delay_of_the_flip)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  std::string caps = dma_drm_caps("XR24", 640, 480);
  caps.replace(caps.find("60/1"), std::string::npos, "10/1");
  ClockedStream stream("", caps, info, kStart);
  std::vector<Qos> events; // of the streaming thread, which is this one
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.sink.element(), "sink"));
  const auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get()));
  gst_pad_add_probe(peer.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_event, &events, nullptr);
  Timeline timeline;
  std::thread device;
  for (guint i = 0; i < kFrames; i++) {
    GstBuffer *buffer = stream.next(i * kFrame, kFrame);
    if (i > 0 && row.slow > 0)
      ck_assert(gst_drm_sync_meta_add_acquire_fence(gst_buffer_add_drm_sync_meta(buffer),
                                                    timeline.fence(i), nullptr));
    ck_assert_int_eq(stream.sink.push(buffer), GST_FLOW_OK); // returns when the frame is due
    if (device.joinable())
      device.join();
    if (i > 0 && row.slow > 0)
      device = std::thread(draw, std::ref(timeline), row.slow);
  }
  if (device.joinable())
    device.join();
  stream.sink.eos();
  ck_assert_uint_eq(stream.sink.stat("shown"), kFrames);
  ck_assert_uint_eq(stream.sink.stat("late"), row.slow ? kFrames - 1 : 0);
  guint late = 0;
  for (const Qos &qos : events) {
    if (qos.jitter <= static_cast<GstClockTimeDiff>(kRefresh))
      continue;
    late++;
    ck_assert_int_eq(qos.type, GST_QOS_TYPE_UNDERFLOW);
    ck_assert_int_ge(qos.jitter, row.slow);
    ck_assert_int_le(qos.jitter, row.slow + 2 * kRefresh);
    ck_assert(qos.proportion > 1.5 &&
              qos.proportion < 2.5); // 0.1 s of frame, 0.06 to 0.1 s of delay
    // the running time of a frame of this stream
    ck_assert_uint_eq((qos.timestamp - kStart) % kFrame, 0);
  }
  g_print("# %zu events, %u of late flips\n", events.size(), late);
  ck_assert_uint_ge(events.size(), kFrames / 2);
  // the base class sends none for the first frames
  ck_assert_uint_ge(late, row.slow ? kFrames - 8 : 0);
  ck_assert_uint_le(late, row.slow ? kFrames : 0);
}
GST_END_TEST

static Suite *kms_qos_suite(void)
{
  Suite *s = suite_create("kms-qos");
  TCase *tc = tcase_create("qos");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_loop_test(tc, test_qos_has_the_delay_of_the_flip, 0, G_N_ELEMENTS(kRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_qos)
