// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert with a device: queries and events that nobody should send, in every state, and
// peers that no converter can follow.
#include <gst/app/gstappsrc.h>

#include "support/odd_queries.hpp"
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

std::string convert(const std::string &rest)
{
  return "vadmabufsrc name=src ! " + dma_caps("NV12", 64, 48) + " ! vadmabufconvert name=convert ! " + rest;
}

// In PAUSED the streaming thread holds the sink pad's stream lock, which what is serialised waits for.
struct StateRow {
  GstState state;
  const char *pad;
};
const StateRow kStates[] = {
    {GST_STATE_READY, "sink"}, {GST_STATE_READY, "src"}, {GST_STATE_PAUSED, "src"}, {GST_STATE_PLAYING, "sink"}, {GST_STATE_PLAYING, "src"},
};

GST_START_TEST(test_odd_queries)
{
  const auto &row = kStates[__i__];
  set_driver(kRichestDriver);
  Pipeline pipeline(convert(dma_caps("XR24", 128, 96) + " ! fakesink name=sink"));
  GstElement *element = pipeline.get("convert");
  if (row.state == GST_STATE_READY)
    gst_element_set_state(element, GST_STATE_READY);
  else
    gst_element_set_state(GST_ELEMENT(GST_ELEMENT_PARENT(element)), row.state);
  const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, row.pad));
  ask_everything(pad.get(), could_be_sent);
  // a flush would take the segment from frames that are on their way, of which GStreamer warns
  if (row.state != GST_STATE_PLAYING || GST_PAD_IS_SRC(pad.get()))
    send_odd_events(pad.get());
}
GST_END_TEST

// A capsfilter after it with each of the odd caps: an error with a reason, or a stream, and no CRITICAL.
GST_START_TEST(test_odd_peer)
{
  const OddCaps &row = kOddCaps[__i__];
  const auto caps = odd_caps(row);
  set_driver(kRichestDriver);
  Pipeline pipeline("vadmabufsrc name=src num-buffers=1 ! " + dma_caps("NV12", 64, 48) +
                    " ! vadmabufconvert name=convert ! capsfilter name=f ! fakesink");
  g_object_set(pipeline.get("f"), "caps", caps.get(), nullptr);
  if (pipeline.play())
    fail_if(pipeline.wait_for_end().empty(), "%s: neither error nor end", row.name);
}
GST_END_TEST

// Frames that break their caps are refused before the driver sees them.
struct MetaRow {
  const char *name;
  void (*spoil)(GstBuffer *buffer);
};
void spoil_offset(GstBuffer *buffer)
{
  gst_buffer_get_video_meta(buffer)->offset[1] = 1 << 30;
}
void spoil_stride(GstBuffer *buffer)
{
  gst_buffer_get_video_meta(buffer)->stride[0] = 16;
}
void spoil_planes(GstBuffer *buffer)
{
  gst_buffer_get_video_meta(buffer)->n_planes = 1;
}
void spoil_size(GstBuffer *buffer)
{
  gst_buffer_get_video_meta(buffer)->width = 32;
}
void spoil_crop(GstBuffer *buffer)
{
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = 60;
  crop->y = 0;
  crop->width = G_MAXUINT - 30;
  crop->height = 48;
}
void spoil_memory(GstBuffer *buffer)
{
  gst_buffer_remove_all_memory(buffer);
}
const MetaRow kMetas[] = {
    {"a plane behind the end", spoil_offset},
    {"rows that overlap", spoil_stride},
    {"one plane of two", spoil_planes},
    {"another size", spoil_size},
    {"a crop that wraps around", spoil_crop},
    {"no memory", spoil_memory},
};

GST_START_TEST(test_bad_frames)
{
  const auto &row = kMetas[__i__];
  const Counters counters;
  set_driver("formats=NV12:BGRX," + counters.setting());
  Pipeline maker("vadmabufsrc name=src num-buffers=1 ! " + dma_caps("NV12", 64, 48) + ",framerate=30/1 ! appsink name=sink sync=false");
  fail_unless(maker.play());
  g_autoptr(GstSample) sample = maker.pull();
  fail_unless(sample != nullptr);
  GstBuffer *buffer = gst_buffer_copy(gst_sample_get_buffer(sample));
  row.spoil(buffer);
  Pipeline pipeline("appsrc name=src format=time ! vadmabufconvert name=convert ! " + dma_caps("XR24", 128, 96) + " ! fakesink");
  const std::uint64_t imports = counters[vadriver::Counter::Import];
  g_object_set(pipeline.get("src"), "caps", gst_sample_get_caps(sample), nullptr);
  fail_unless(pipeline.play());
  gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), buffer);
  const auto error = pipeline.wait_for_end();
  fail_unless(error.find("cannot convert a frame of src (appsrc)") != std::string::npos, "%s: '%s'", row.name, error.c_str());
  // those that negotiation makes
  fail_unless(counters[vadriver::Counter::Import] - imports <= 1, "%s", row.name);
}
GST_END_TEST

// A producer with two buffers that announces no release fences gets each of them back when the device has read it, without
// sending another one before; the last ones, too.
const char *const kSlowDrivers[] = {"formats=NV12:BGRX,async=40", "formats=NV12:BGRX,async=40,fences=0", "formats=NV12:BGRX"};

void give_back(gpointer queue, GstMiniObject * /*freed*/)
{
  g_async_queue_push(static_cast<GAsyncQueue *>(queue), queue);
}

GST_START_TEST(test_producer_with_two_buffers)
{
  constexpr int kFrames = 20;
  set_driver(kSlowDrivers[__i__]);
  Pipeline maker("vadmabufsrc name=src num-buffers=2 ! " + dma_caps("NV12", 64, 48) + ",framerate=30/1 ! appsink name=sink sync=false");
  fail_unless(maker.play());
  g_autoptr(GstSample) first = maker.pull();
  g_autoptr(GstSample) second = maker.pull();
  fail_unless(first != nullptr && second != nullptr);
  g_autoptr(GAsyncQueue) returned = g_async_queue_new();
  const auto wait_for_one = [&](int frame) {
    fail_unless(g_async_queue_timeout_pop(returned, 60 * G_USEC_PER_SEC) != nullptr, "frame %d: no buffer comes back", frame);
  };
  {
    Pipeline pipeline("appsrc name=src format=time ! vadmabufconvert name=convert ! " + dma_caps("XR24", 128, 96) +
                      " ! appsink name=sink sync=false");
    g_object_set(pipeline.get("src"), "caps", gst_sample_get_caps(first), nullptr);
    fail_unless(pipeline.play());
    for (int i = 0; i < kFrames; ++i) {
      if (i >= 2)
        wait_for_one(i);
      GstBuffer *buffer = gst_buffer_copy(gst_sample_get_buffer(i % 2 == 0 ? first : second));
      gst_mini_object_weak_ref(GST_MINI_OBJECT(buffer), give_back, returned);
      gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), buffer);
      g_autoptr(GstSample) converted = pipeline.pull();
      fail_unless(converted != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    }
    wait_for_one(kFrames);
    wait_for_one(kFrames + 1);
  }
}
GST_END_TEST

Suite *va_convert_odd_suite()
{
  Suite *suite = suite_create("va_convert_odd");
  TCase *tcase = tcase_create("odd queries");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_odd_queries, 0, G_N_ELEMENTS(kStates));
  tcase_add_loop_test(tcase, test_odd_peer, 0, kOddCapsCount);
  tcase_add_loop_test(tcase, test_bad_frames, 0, G_N_ELEMENTS(kMetas));
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_producer_with_two_buffers, 0, G_N_ELEMENTS(kSlowDrivers));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_odd)
