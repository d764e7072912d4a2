// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert makes progressive frames of interlaced ones. The picture's even lines are white, its odd
// lines black, so that the colour of the result tells which field was shown.
#include <atomic>
#include <cstring>

#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include <gst/drm/gstdrm-private.hpp>

#include "support/asked_constraints.hpp"
#include "va_convert_pixels.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 64;
constexpr int kHeight = 48;

constexpr char kSize[] = "width=64,height=48,framerate=25/1";

enum class Comb { WhiteFirst, BlackFirst };

// BGRx or NV12, in system memory; vadmabufconvert copies it into DMA buffers.
GstPtr<GstBuffer> combed(const std::string &format, GstVideoBufferFlags flags, Comb comb = Comb::WhiteFirst)
{
  const int white = comb == Comb::WhiteFirst ? 0 : 1;
  const bool yuv = format == "NV12";
  const gsize size = static_cast<gsize>(kWidth) * kHeight * (yuv ? 3 : 8) / 2;
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, size, nullptr));
  GstMapInfo map;
  fail_unless(gst_buffer_map(buffer.get(), &map, GST_MAP_WRITE));
  std::memset(map.data, 128, map.size);
  const gsize row = static_cast<gsize>(kWidth) * (yuv ? 1 : 4);
  for (int y = 0; y < kHeight; ++y)
    std::memset(map.data + row * static_cast<gsize>(y), y % 2 == white ? (yuv ? 235 : 255) : (yuv ? 16 : 0), row);
  gst_buffer_unmap(buffer.get(), &map);
  GST_BUFFER_FLAG_SET(buffer.get(), flags);
  return buffer;
}

enum class Shown { White, Black, Both };

Shown shown_in(const Frame &frame)
{
  int white = 0;
  int black = 0;
  for (std::uint32_t y = 0; y < frame.layout.height; ++y)
    ++(rgb_at(frame, 8, y)[1] > 127 ? white : black);
  return black == 0 ? Shown::White : white == 0 ? Shown::Black : Shown::Both;
}

constexpr auto kNoFlags = static_cast<GstVideoBufferFlags>(0);
constexpr auto kFields = GST_VIDEO_BUFFER_FLAG_INTERLACED;
constexpr auto kTop = static_cast<GstVideoBufferFlags>(GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);

struct Row {
  const char *driver;
  const char *format;
  const char *mode;
  const char *properties;
  GstVideoBufferFlags flags;
  Shown shown;
};
const Row kRows[] = {
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "interleaved,field-order=top-field-first", "", kNoFlags, Shown::White},
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "interleaved,field-order=bottom-field-first", "", kTop, Shown::Black},
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "interleaved", "", kTop, Shown::White},
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "interleaved", "", kFields, Shown::Black},
    {"formats=NV12:BGRX,deinterlace=bob", "NV12", "interleaved", "", kTop, Shown::White},
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "mixed", "", kTop, Shown::White},
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "mixed", "", kFields, Shown::Black},
    {"formats=NV12:BGRX,deinterlace=bob", "BGRx", "mixed", "", kNoFlags, Shown::Both}, // a progressive frame
    {"formats=NV12:BGRX,deinterlace=bob:weave", "BGRx", "interleaved", "deinterlace=weave", kTop, Shown::Both},
    {"formats=NV12:BGRX,deinterlace=bob:weave", "BGRx", "interleaved", "deinterlace=bob", kTop, Shown::White},
    // motion needs other frames, so it is not chosen by itself
    {"formats=NV12:BGRX,deinterlace=bob:adaptive:compensated", "BGRx", "interleaved", "", kTop, Shown::White},
    {"profile=ihd", "BGRx", "interleaved", "", kTop, Shown::White},
    {"profile=ihd", "NV12", "interleaved", "", kFields, Shown::Black},
    {"profile=i965", "BGRx", "interleaved", "", kTop, Shown::White},
    {"profile=i965", "NV12", "interleaved", "", kFields, Shown::Black},
};

GST_START_TEST(test_fields)
{
  const Row &row = kRows[__i__];
  set_driver(row.driver);
  Pipeline pipeline(std::string("appsrc name=src format=time caps=\"video/x-raw,format=") + row.format + "," + kSize + ",interlace-mode=" +
                    row.mode + "\" ! vadmabufconvert name=convert " + row.properties + " ! " + dma_caps("XR24", kWidth, kHeight) +
                    ",interlace-mode=progressive ! appsink name=sink sync=false");
  fail_unless(pipeline.play(), "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  for (int i = 0; i < 3; ++i) {
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), combed(row.format, row.flags).release());
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s %s: %s", row.driver, row.mode, pipeline.message(GST_MESSAGE_ERROR).c_str());
    fail_unless(shown_in(read_frame(sample)) == row.shown, "%s %s %s", row.driver, row.mode, row.properties);
    fail_if(GST_BUFFER_FLAG_IS_SET(gst_sample_get_buffer(sample), GST_VIDEO_BUFFER_FLAG_INTERLACED));
    const GstStructure *structure = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
    fail_unless_equals_string(gst_structure_get_string(structure, "interlace-mode"), "progressive");
    fail_if(gst_structure_has_field(structure, "field-order"));
  }
}
GST_END_TEST

// Where nothing is deinterlaced, interlaced frames are refused with an error, and pass where downstream takes them.
struct OffRow {
  const char *driver;
  const char *properties;
  const char *out; // behind the converter
  bool runs;
};
const OffRow kOff[] = {
    {"formats=NV12:BGRX", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"formats=NV12:BGRX,deinterlace=bob", "deinterlace=off", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"formats=NV12:BGRX,deinterlace=weave", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"formats=NV12:BGRX,deinterlace=adaptive", "deinterlace=adaptive", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    // Mesa's bob shows both fields
    {"profile=radeonsi", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"profile=radeonsi", "deinterlace=bob", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"profile=radeonsi26", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"profile=nouveau,formats=NV12:BGRX", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false},
    {"profile=i965", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", true},
    {"profile=radeonsi", "deinterlace=adaptive", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", false}, // needs the next frame
    {"formats=NV12:BGRX,deinterlace=bob", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,interlace-mode=progressive", true},
};

GST_START_TEST(test_off)
{
  const OffRow &row = kOff[__i__];
  set_driver(row.driver);
  Pipeline pipeline(std::string("appsrc name=src format=time caps=\"video/x-raw,format=NV12,") + kSize +
                    ",interlace-mode=interleaved\" ! vadmabufconvert name=convert " + row.properties + " ! " + row.out +
                    " ! appsink name=sink sync=false");
  pipeline.play();
  gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), combed("NV12", kTop).release());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless((sample != nullptr) == row.runs, "%s %s", row.driver, row.properties);
  if (!sample)
    fail_if(pipeline.message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// Frames that downstream takes with their fields stay as they are, unless an algorithm is asked for.
GST_START_TEST(test_passes_through)
{
  const bool asked = __i__ == 1;
  set_driver("formats=NV12:BGRX,deinterlace=bob");
  Pipeline pipeline(std::string("appsrc name=src format=time caps=\"video/x-raw,format=BGRx,") + kSize +
                    ",interlace-mode=interleaved\" ! vadmabufconvert name=convert " + (asked ? "deinterlace=bob" : "") +
                    " ! appsink name=sink sync=false");
  fail_unless(pipeline.play());
  gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), combed("BGRx", kTop).release());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  const gchar *mode = gst_structure_get_string(gst_caps_get_structure(gst_sample_get_caps(sample), 0), "interlace-mode");
  fail_unless_equals_string(mode, asked ? "progressive" : "interleaved");
}
GST_END_TEST

// What has not moved since the frame before is shown from both fields. The first frame has none
// before it, nor has the first after a gap in the stream.
constexpr auto kGap = static_cast<GstVideoBufferFlags>(int{GST_BUFFER_FLAG_DISCONT} | int{kTop});
struct Step {
  GstVideoBufferFlags flags;
  Comb comb;
  Shown shown;
};
const Step kSteps[] = {
    {kTop, Comb::WhiteFirst, Shown::White}, {kTop, Comb::WhiteFirst, Shown::Both},
    {kTop, Comb::BlackFirst, Shown::Black}, {kTop, Comb::BlackFirst, Shown::Both},
    {kTop, Comb::WhiteFirst, Shown::White}, {kGap, Comb::WhiteFirst, Shown::White},
    {kTop, Comb::WhiteFirst, Shown::Both},  {kNoFlags, Comb::BlackFirst, Shown::Both},
    {kTop, Comb::BlackFirst, Shown::Both},  {kTop, Comb::WhiteFirst, Shown::White},
};

struct MotionRow {
  const char *driver;
  const char *format;
  const char *method;
};
const MotionRow kMotion[] = {
    {"formats=NV12:BGRX,deinterlace=bob:adaptive", "BGRx", "adaptive"},
    {"formats=NV12:BGRX,deinterlace=bob:adaptive", "NV12", "adaptive"},
    {"formats=NV12:BGRX,deinterlace=bob:compensated", "BGRx", "compensated"},
    {"formats=NV12:BGRX,deinterlace=bob:adaptive,async=20", "BGRx", "adaptive"},
    {"formats=NV12:BGRX,deinterlace=bob:adaptive,async=20,fences=0", "BGRx", "adaptive"},
    {"profile=ihd", "NV12", "adaptive"},
    {"profile=i965", "NV12", "adaptive"},
    {"profile=i965", "BGRx", "compensated"},
};

// All frames are pushed at once, so that the device still compares one while the next ones come.
GST_START_TEST(test_motion)
{
  const MotionRow &row = kMotion[__i__];
  set_driver(row.driver);
  Pipeline pipeline(
      std::string("appsrc name=src format=time caps=\"video/x-raw,format=") + row.format + "," +
      kSize + ",interlace-mode=mixed\" ! vadmabufconvert name=convert deinterlace=" + row.method +
      " ! " + dma_caps("XR24", kWidth, kHeight) +
      ",interlace-mode=progressive ! appsink name=sink sync=false");
  fail_unless(pipeline.play(), "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
  for (const Step &step : kSteps)
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")),
                            combed(row.format, step.flags, step.comb).release());
  for (const Step &step : kSteps) {
    g_autoptr(GstSample) sample = pipeline.pull();
    const auto number = static_cast<int>(&step - kSteps);
    fail_unless(sample != nullptr, "%s, frame %d: %s", row.driver, number,
                pipeline.message(GST_MESSAGE_ERROR).c_str());
    fail_unless(shown_in(read_frame(sample)) == step.shown, "%s, frame %d", row.driver, number);
  }
}
GST_END_TEST

// After a seek the frame before is another part of the stream.
GST_START_TEST(test_motion_ends_at_a_flush)
{
  set_driver("formats=NV12:BGRX,deinterlace=bob:adaptive");
  Pipeline pipeline(
      std::string("appsrc name=src format=time caps=\"video/x-raw,format=BGRx,") + kSize +
      ",interlace-mode=interleaved\" ! vadmabufconvert name=convert deinterlace=adaptive ! " +
      dma_caps("XR24", kWidth, kHeight) +
      ",interlace-mode=progressive ! appsink name=sink sync=false");
  fail_unless(pipeline.play());
  const auto next = [&] {
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), combed("BGRx", kTop).release());
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    return shown_in(read_frame(sample));
  };
  fail_unless(next() == Shown::White);
  fail_unless(next() == Shown::Both);
  fail_unless(gst_element_send_event(pipeline.get("src"), gst_event_new_flush_start()));
  fail_unless(gst_element_send_event(pipeline.get("src"), gst_event_new_flush_stop(TRUE)));
  fail_unless(next() == Shown::White);
  fail_unless(next() == Shown::Both);
}
GST_END_TEST

// The frames that are kept are asked for in the allocation query.
GST_START_TEST(test_asks_for_the_frames_that_it_keeps)
{
  set_driver("formats=NV12:BGRX,deinterlace=bob:adaptive");
  guint held[2] = {};
  for (guint i = 0; i < 2; ++i) {
    Pipeline pipeline(std::string("appsrc name=src format=time caps=\"video/x-raw,format=BGRx,") +
                      kSize +
                      ",interlace-mode=interleaved\" ! vadmabufconvert name=convert deinterlace=" +
                      (i == 0 ? "bob" : "adaptive") + " ! " + dma_caps("XR24", kWidth, kHeight) +
                      ",interlace-mode=progressive ! appsink name=sink sync=false");
    fail_unless(pipeline.play());
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), combed("BGRx", kTop).release());
    g_autoptr(GstSample) sample = pipeline.pull();
    const auto pad =
        GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "sink"));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), TRUE));
    fail_unless(gst_pad_query(pad.get(), query.get()));
    gst_query_parse_nth_allocation_pool(query.get(), 0, nullptr, nullptr, &held[i], nullptr);
    check_entry(query.get(), "vadmabufconvert", GST_DRM_CONSTRAINT_BUFFERS_HELD, held[i]);
  }
  fail_unless_equals_int(held[1], held[0] + 1);
}
GST_END_TEST

// An algorithm that looks back, chosen in the middle of the stream: upstream is asked again, and its pool grows.
GST_START_TEST(test_asks_again_where_it_keeps_more)
{
  set_driver("formats=NV12:BGRX,deinterlace=bob:adaptive");
  Pipeline pipeline(std::string("appsrc name=src format=time max-buffers=1 caps=\"video/x-raw,format=BGRx,") + kSize +
                    ",interlace-mode=interleaved\" ! vadmabufconvert name=convert deinterlace=bob ! " +
                    dma_caps("XR24", kWidth, kHeight) + ",interlace-mode=progressive ! appsink name=sink sync=false");
  fail_unless(pipeline.play());
  const auto convert_one = [&] {
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), combed("BGRx", kTop).release());
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  };
  convert_one();
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("convert"), "sink"));
  const auto ask = [&] {
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(sink.get()));
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), TRUE));
    fail_unless(gst_pad_query(sink.get(), query.get()));
    guint held = 0;
    gst_query_parse_nth_allocation_pool(query.get(), 0, nullptr, nullptr, &held, nullptr);
    return held;
  };
  const guint held = ask();
  std::atomic<int> asked{0};
  gst_pad_add_probe(
      sink.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
      [](GstPad *, GstPadProbeInfo *info, gpointer data) noexcept {
        if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE)
          ++*static_cast<std::atomic<int> *>(data);
        return GST_PAD_PROBE_OK;
      },
      &asked, nullptr);
  gst_util_set_object_arg(G_OBJECT(pipeline.get("convert")), "deinterlace", "adaptive");
  convert_one();
  fail_unless_equals_int(asked, 1);
  fail_unless_equals_int(ask(), held + 1);
  gst_util_set_object_arg(G_OBJECT(pipeline.get("convert")), "deinterlace", "bob");
  convert_one();
  fail_unless_equals_int(asked, 1); // what upstream has is enough
}
GST_END_TEST

Suite *va_deinterlace_suite()
{
  Suite *suite = suite_create("va_deinterlace");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_fields, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_off, 0, G_N_ELEMENTS(kOff));
  tcase_add_loop_test(tcase, test_passes_through, 0, 2);
  tcase_add_loop_test(tcase, test_motion, 0, G_N_ELEMENTS(kMotion));
  tcase_add_test(tcase, test_motion_ends_at_a_flush);
  tcase_add_test(tcase, test_asks_for_the_frames_that_it_keeps);
  tcase_add_test(tcase, test_asks_again_where_it_keeps_more);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_deinterlace)
