// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert at the edges: sizes of one pixel and of many thousand, frame rates and segments that are seldom, gaps, and a
// bus handler that calls back into the element.
#include <atomic>
#include <string>
#include <utility>

#include <gst/app/gstappsrc.h>
#include <gst/drm/gstdrm-private.hpp>

#include "support/odd_queries.hpp"
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

// ---- sizes

struct SizeRow {
  const char *driver;
  int in_width, in_height, out_width, out_height;
  bool refused = false; // already where the caps are linked
};
#define ALL "formats=NV12:BGRX"
const SizeRow kSizes[] = {
    {ALL, 1, 1, 64, 48},       {ALL, 64, 48, 1, 1},       {ALL, 1, 64, 64, 1},
    {ALL, 64, 1, 1, 64},       {ALL, 1, 480, 480, 1},     {ALL, 63, 47, 31, 23},
    {ALL, 31, 23, 63, 47},     {ALL, 3, 3, 5, 5},         {ALL, 8192, 2, 64, 48},
    {ALL, 2, 8192, 64, 48},    {ALL, 64, 48, 8192, 16},   {ALL, 64, 48, 16, 8192},
    {ALL, 7680, 4320, 64, 36}, {ALL, 64, 48, 16384, 16, true},  {ALL, 64, 48, 16, 16384, true},
    {"profile=ihd", 16, 16, 17, 31},
    {"profile=i965", 1, 1, 64, 48},        {"profile=i965", 64, 48, 1, 64},
    {"profile=radeonsi", 1, 1, 64, 48},    {"profile=radeonsi", 64, 48, 1, 64},
    {"profile=radeonsi26", 1, 1, 64, 48},  {"profile=radeonsi26", 64, 48, 1, 64},
    {"profile=nouveau", 1, 1, 64, 48},     {"profile=nouveau", 64, 48, 1, 64},
    // limits of the driver that the elements' templates name: these are made once a process
    {"profile=ihd", 64, 48, 8, 8, true},
    {ALL ",max-size=16384", 64, 48, 16384, 16},                    {ALL ",max-size=16384", 16384, 16, 64, 48},
};
constexpr int kOfTemplates = 3; // the last ones

GST_START_TEST(test_size)
{
  const SizeRow &row = kSizes[__i__];
  set_driver(row.driver);
  const std::string name = std::string(row.driver) + ", " + std::to_string(row.in_width) + "x" + std::to_string(row.in_height) + " to " +
                           std::to_string(row.out_width) + "x" + std::to_string(row.out_height);
  const std::string launch = "vadmabufsrc num-buffers=2 num-surfaces=2 pattern=solid color=0xff00ff00 ! " +
                             dma_caps("XR24", row.in_width, row.in_height) +
                             " ! vadmabufconvert name=convert num-surfaces=2 add-borders=false ! " +
                             dma_caps("XR24", row.out_width, row.out_height) + " ! appsink name=sink sync=false";
  if (row.refused) {
    g_autoptr(GError) error = nullptr;
    const auto made = GstPtr<GstElement>::adopt(gst_parse_launch_full(launch.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error));
    fail_unless(!made && g_error_matches(error, GST_PARSE_ERROR, GST_PARSE_ERROR_LINK), "%s", name.c_str());
    return;
  }
  Pipeline pipeline(launch);
  g_autoptr(GstSample) sample = pipeline.play() ? pipeline.pull() : nullptr;
  fail_unless(sample != nullptr, "%s: '%s'", name.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  const Frame frame = read_frame(sample);
  const auto right = static_cast<std::uint32_t>(row.out_width - 1);
  const auto bottom = static_cast<std::uint32_t>(row.out_height - 1);
  for (const auto &[x, y] : {std::pair{0U, 0U}, {right, 0U}, {0U, bottom}, {right, bottom}})
    fail_unless(brightness(frame, x, y) == 255, "%s: %u at %u, %u", name.c_str(), brightness(frame, x, y), x, y);
}
GST_END_TEST

// ---- frame rates, segments, gaps

struct StreamRow {
  const char *name;
  const char *framerate;
  double rate; // of the segment
  GstClockTime first;
  GstClockTime length; // of a frame; GST_CLOCK_TIME_NONE: unknown
};
const StreamRow kStreams[] = {
    {"30 frames a second", "30/1", 1, 0, GST_SECOND / 30},
    {"variable", "0/1", 1, 0, GST_CLOCK_TIME_NONE},
    {"variable, at most 60", "0/1,max-framerate=60/1", 1, 5 * GST_SECOND, GST_SECOND / 60},
    {"very fast", "2147483647/1", 1, 0, 1},
    {"very slow", "1/2147483647", 1, 0, G_GINT64_CONSTANT(2147483647) * GST_SECOND},
    {"twice as fast", "30/1", 2, GST_SECOND, GST_SECOND / 30},
    {"backwards", "30/1", -1, 100 * GST_SECOND, GST_SECOND / 30},
    {"slow motion", "30/1", 0.01, 0, GST_SECOND / 30},
};

struct Seen {
  std::atomic<int> gaps{0};
  std::atomic<int> segments{0};
  double rate = 0;
};

GstPadProbeReturn see(GstPad *, GstPadProbeInfo *info, gpointer user)
{
  auto &seen = *static_cast<Seen *>(user);
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) == GST_EVENT_GAP)
    ++seen.gaps;
  if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT)
    return GST_PAD_PROBE_OK;
  const GstSegment *segment = nullptr;
  gst_event_parse_segment(event, &segment);
  seen.rate = segment->rate;
  ++seen.segments;
  return GST_PAD_PROBE_OK;
}

GstPtr<GstSample> frame_of_source(const std::string &caps)
{
  Pipeline maker("vadmabufsrc name=src num-buffers=1 ! " + caps + " ! appsink name=sink sync=false");
  fail_unless(maker.play());
  auto sample = GstPtr<GstSample>::adopt(maker.pull());
  fail_unless(static_cast<bool>(sample), "%s", maker.message(GST_MESSAGE_ERROR).c_str());
  return sample;
}

// Times, flags, segments and gaps go through as they came.
GST_START_TEST(test_stream)
{
  const StreamRow &row = kStreams[__i__];
  set_driver(ALL);
  const auto made = frame_of_source(dma_caps("NV12", 64, 48) + ",framerate=30/1");
  const std::string size = "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=";
  const std::string rate = std::string(",framerate=(fraction)") + row.framerate;
  Seen seen;
  Pipeline pipeline("appsrc name=src format=time handle-segment-change=true ! vadmabufconvert name=convert ! " + dma_caps("XR24", 128, 96) +
                    " ! appsink name=sink sync=false");
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string((size + "NV12,width=64,height=48" + rate).c_str()));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = row.rate;
  segment.start = segment.time = 0;
  segment.stop = row.rate < 0 ? 200 * GST_SECOND : GST_CLOCK_TIME_NONE;
  segment.position = row.rate < 0 ? segment.stop : 0;
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, see, &seen, nullptr);
  fail_unless(pipeline.play());
  for (int i = 0; i < 3; ++i) {
    GstBuffer *buffer = gst_buffer_copy(gst_sample_get_buffer(made.get()));
    GST_BUFFER_PTS(buffer) = row.first + static_cast<GstClockTime>(i);
    GST_BUFFER_DURATION(buffer) = row.length;
    GST_BUFFER_OFFSET(buffer) = 7;
    if (i == 1)
      GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER);
    const auto sample = GstPtr<GstSample>::adopt(gst_sample_new(buffer, caps.get(), &segment, nullptr));
    gst_buffer_unref(buffer);
    fail_unless_equals_int(gst_app_src_push_sample(GST_APP_SRC(pipeline.get("src")), sample.get()), GST_FLOW_OK);
    const auto got = GstPtr<GstSample>::adopt(pipeline.pull());
    fail_unless(static_cast<bool>(got), "%s: %s", row.name, pipeline.message(GST_MESSAGE_ERROR).c_str());
    const GstBuffer *out = gst_sample_get_buffer(got.get());
    fail_unless(GST_BUFFER_PTS(out) == row.first + static_cast<GstClockTime>(i) && GST_BUFFER_DURATION(out) == row.length, "%s", row.name);
    // what was drawn is no gap
    const auto flags = static_cast<guint>(GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_MARKER);
    fail_unless((GST_BUFFER_FLAGS(out) & flags) == (i == 1 ? static_cast<guint>(GST_BUFFER_FLAG_MARKER) : 0U), "%s: flags %x", row.name, GST_BUFFER_FLAGS(out));
  }
  fail_unless(seen.rate == row.rate, "%s: %g", row.name, seen.rate);
  // in the place of the streaming thread, which waits for a frame
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "sink"));
  fail_unless(gst_pad_send_event(sink.get(), gst_event_new_gap(row.first + GST_SECOND, GST_CLOCK_TIME_NONE)));
  fail_unless_equals_int(seen.gaps, 1);
}
GST_END_TEST

// Fields that are frames of their own, and views: neither is converted, which is said.
const char *const kRefused[] = {
    "interlace-mode=(string)alternate", "multiview-mode=(string)side-by-side", "multiview-mode=(string)frame-by-frame,views=(int)2", "views=(int)3",
};

GST_START_TEST(test_refused)
{
  set_driver(ALL ",deinterlace=bob");
  const auto made = frame_of_source(dma_caps("NV12", 64, 48) + ",framerate=30/1");
  const std::string features = __i__ == 0 ? "video/x-raw(memory:DMABuf,format:Interlaced)" : "video/x-raw(memory:DMABuf)";
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(
      (features + ",format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=(fraction)30/1," + kRefused[__i__]).c_str()));
  fail_unless(static_cast<bool>(caps));
  Pipeline pipeline("appsrc name=src format=time ! vadmabufconvert name=convert ! " + dma_caps("XR24", 128, 96) + " ! appsink name=sink sync=false");
  g_object_set(pipeline.get("src"), "caps", caps.get(), nullptr);
  pipeline.play();
  gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), gst_buffer_copy(gst_sample_get_buffer(made.get())));
  g_autoptr(GstSample) sample = pipeline.pull();
  if (sample) { // a frame that stays what it is: what its caps say goes on with it
    const GstStructure *fields = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
    const std::string name = std::string(kRefused[__i__]).substr(0, std::string(kRefused[__i__]).find('='));
    fail_unless(__i__ > 0 && gst_structure_has_field(fields, name.c_str()), "%s", kRefused[__i__]);
    return;
  }
  fail_if(pipeline.message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// ---- a bus handler that calls back

struct BusRow {
  const char *driver; // of the converter's node
  const char *properties;
  const char *out;
  GstMessageType type;
};
const BusRow kBusRows[] = {
    {"fail=init", "", "XR24", GST_MESSAGE_ERROR},                             // start, the application's thread
    {ALL, "", "XR24:0x0100000000000001", GST_MESSAGE_ERROR},                  // nothing in common
    {ALL ",fail=create", "", "XR24", GST_MESSAGE_ERROR},                      // no surface
    {ALL ",fail=import", "", "XR24", GST_MESSAGE_ERROR},                      // no frame is imported
    {ALL ",rotate=0", "video-direction=90r", "XR24", GST_MESSAGE_ERROR},      // not turned
    {ALL ",fail=begin:12", "", "XR24", GST_MESSAGE_ERROR},                    // a frame
    {ALL ",fail=end:12", "", "XR24", GST_MESSAGE_ERROR},
    {ALL ",async=5,fences=0,fail=sync:3", "", "XR24", GST_MESSAGE_ERROR},     // the worker waits for one
    {"profile=i965", "colour-conversion=any", "NV12,colorimetry=bt709", GST_MESSAGE_WARNING}, // other colours
};

struct CallsIntoConverter {
  GstElement *element;
  GstMessageType type;
  std::atomic<int> calls{0};
  std::atomic<bool> inside{false};

  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    auto &handler = *static_cast<CallsIntoConverter *>(self);
    if (GST_MESSAGE_TYPE(message) == handler.type && GST_MESSAGE_SRC(message) == GST_OBJECT(handler.element) && !handler.inside.exchange(true)) {
      handler.call();
      handler.inside = false;
    }
    return GST_BUS_PASS;
  }
  void call()
  {
    touch_properties(G_OBJECT(element));
    for (const char *name : {"sink", "src"}) {
      const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, name));
      ask_everything(pad.get(), could_be_sent);
    }
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "src"));
    gst_pad_send_event(pad.get(), gst_event_new_reconfigure());
    gst_pad_send_event(pad.get(), gst_event_new_latency(0));
    gst_element_get_state(element, nullptr, nullptr, 0);
    calls++;
  }
};

GST_START_TEST(test_bus_handler)
{
  const BusRow &row = kBusRows[__i__];
  set_driver(kRichestDriver); // for the templates
  for (const char *name : {"vadmabufsrc", "vadmabufconvert"})
    gst_object_unref(gst_object_ref_sink(gst_element_factory_make(name, nullptr)));
  set_driver(ALL);
  const auto made = frame_of_source(dma_caps("XR24", 64, 48) + ",framerate=30/1");
  set_driver(row.driver);
  Pipeline pipeline(std::string("appsrc name=src format=time ! vadmabufconvert name=convert ") + row.properties +
                    " ! video/x-raw(memory:DMABuf),format=DMA_DRM,width=128,height=96,drm-format=" + row.out + " ! fakesink");
  g_object_set(pipeline.get("src"), "caps", gst_sample_get_caps(made.get()), nullptr);
  CallsIntoConverter handler{pipeline.get("convert"), row.type};
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(GST_ELEMENT(GST_ELEMENT_PARENT(handler.element))));
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
  gst_bus_set_sync_handler(bus.get(), CallsIntoConverter::on_message, &handler, nullptr);
  pipeline.play();
  for (int i = 0; i < 30; ++i)
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), gst_buffer_copy(gst_sample_get_buffer(made.get())));
  gst_app_src_end_of_stream(GST_APP_SRC(pipeline.get("src")));
  const auto end = pipeline.wait_for_end();
  fail_if(end.empty());
  while (handler.inside) // what it asks in the streaming thread may be an error of its own, which came first
    g_usleep(1000);
  fail_unless(handler.calls > 0, "%s: %s", row.driver, end.c_str());
  pipeline.stop();
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
}
GST_END_TEST

Suite *va_convert_edges_suite()
{
  Suite *suite = suite_create("va_convert_edges");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_size, 0, G_N_ELEMENTS(kSizes) - kOfTemplates);
  tcase_add_loop_test(tcase, test_stream, 0, G_N_ELEMENTS(kStreams));
  tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(kRefused));
  tcase_add_loop_test(tcase, test_bus_handler, 0, G_N_ELEMENTS(kBusRows));
  TCase *templates = tcase_create("templates");
  suite_add_tcase(suite, templates);
  tcase_set_timeout(templates, 200);
  tcase_add_loop_test(templates, test_size, G_N_ELEMENTS(kSizes) - kOfTemplates, G_N_ELEMENTS(kSizes));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_edges)
