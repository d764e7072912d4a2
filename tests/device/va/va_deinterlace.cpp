// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert makes progressive frames of interlaced ones. The picture's even lines are white, its odd
// lines black, so that the colour of the result tells which field was shown.
#include <cstring>

#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_convert_pixels.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr int kWidth = 64;
constexpr int kHeight = 48;

constexpr char kSize[] = "width=64,height=48,framerate=25/1";

// BGRx or NV12, in system memory; vadmabufconvert copies it into DMA buffers.
GstPtr<GstBuffer> combed(const std::string &format, GstVideoBufferFlags flags)
{
  const bool yuv = format == "NV12";
  const gsize size = static_cast<gsize>(kWidth) * kHeight * (yuv ? 3 : 8) / 2;
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, size, nullptr));
  GstMapInfo map;
  fail_unless(gst_buffer_map(buffer.get(), &map, GST_MAP_WRITE));
  std::memset(map.data, 128, map.size);
  const gsize row = static_cast<gsize>(kWidth) * (yuv ? 1 : 4);
  for (int y = 0; y < kHeight; ++y)
    std::memset(map.data + row * static_cast<gsize>(y), y % 2 == 0 ? (yuv ? 235 : 255) : (yuv ? 16 : 0), row);
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
    // motion needs other frames
    {"formats=NV12:BGRX,deinterlace=bob:adaptive:compensated", "BGRx", "interleaved", "", kTop, Shown::White},
    {"profile=radeonsi", "BGRx", "interleaved", "", kTop, Shown::White},
    {"profile=radeonsi", "NV12", "interleaved", "", kTop, Shown::White},
    {"profile=nouveau", "BGRx", "interleaved", "", kFields, Shown::Black},
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

Suite *va_deinterlace_suite()
{
  Suite *suite = suite_create("va_deinterlace");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_fields, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_off, 0, G_N_ELEMENTS(kOff));
  tcase_add_loop_test(tcase, test_passes_through, 0, 2);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_deinterlace)
