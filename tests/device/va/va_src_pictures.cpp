// SPDX-License-Identifier: LGPL-2.1-or-later
// The pictures of vadmabufsrc: at the smallest sizes, in the colours that their caps say, a single one, and patterns that change.
#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

// Every pattern at the smallest size of each driver, and where parts of it are smaller than a surface may be.
struct SmallRow {
  const char *driver;
  int width;
  int height;
};
const SmallRow kSmall[] = {
    {"profile=ihd", 16, 16},   {"profile=ihd", 32, 32},     {"profile=ihd", 16, 26},    {"profile=ihd", 16, 400},
    {"profile=i965", 1, 1},    {"profile=i965", 16, 26},    {"profile=radeonsi", 1, 1}, {"profile=radeonsi", 16, 26},
    {"profile=nouveau", 1, 1}, {"profile=nouveau", 16, 26}, {"formats=BGRX", 1, 64},    {"formats=BGRX", 64, 1},
    {"profile=i965", 1, 64},   {"profile=radeonsi", 64, 1}, {"profile=radeonsi26", 16, 26}, {"min-size=64", 64, 64},    {"vpp=0,formats=BGRX", 1, 64},
};
const char *const kPatterns[] = {"smpte", "checkers", "gradient", "ball", "solid", "frame-counter"};

GST_START_TEST(test_smallest)
{
  const auto &row = kSmall[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kPatterns)];
  const std::string pattern = kPatterns[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kPatterns)];
  if (pattern == "frame-counter" && (row.width < 16 || row.height < 26))
    return; // does not fit
  set_driver(row.driver);
  Pipeline pipeline(source("num-buffers=1 pattern=" + pattern, dma_caps("XR24", row.width, row.height)));
  fail_unless(pipeline.play(), "%s %s: %s", row.driver, pattern.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s %s: %s", row.driver, pattern.c_str(), pipeline.message(GST_MESSAGE_ERROR).c_str());
  const auto frame = read_frame(sample);
  const auto middle = static_cast<std::uint32_t>(MIN(row.width, row.height) / 8);
  if (pattern == "frame-counter")
    fail_unless(read_counter(frame).valid, "%s", row.driver);
  else if (pattern == "ball" && middle > 0)
    fail_unless(brightness(frame, middle, middle) > 127 && brightness(frame, row.width - 1, row.height - 1) < 128, "%s", row.driver);
}
GST_END_TEST

// What caps say of the picture is drawn, or refused with the reason.
struct VideoRow {
  const char *fields;
  const char *drm_format;
  const char *error; // part of the message; "": drawn
  int luma = 0;      // of full red, in 10 bits, for P010
};
const VideoRow kVideos[] = {
    {"interlace-mode=interleaved", "NV12", "progressive"},
    {"multiview-mode=stereo,views=2", "NV12", "several views"},
    {"colorimetry=1:3:5:1", "NV12", "full range"},
    {"colorimetry=bt2100-pq", "P010", "standard dynamic range"},
    {"colorimetry=2:2:5:1", "NV12", "SMPTE 240M"}, // FCC
    // (16 + 219 Kr) * 4: Kr is 0.299, 0.2126 and 0.2627
    {"colorimetry=bt601", "P010", "", 326},
    {"colorimetry=bt709", "P010", "", 250},
    {"colorimetry=bt2020-10", "P010", "", 294},
};

// Where downstream has an alternative, that is taken.
const char *const kAlternatives[] = {
    "interlace-mode={(string)interleaved,(string)progressive}",
    "colorimetry={(string)bt2100-pq,(string)bt709}",
    "colorimetry={(string)1:3:5:1,(string)bt601}",
};

GST_START_TEST(test_video_alternatives)
{
  set_driver("formats=NV12:P010");
  Pipeline pipeline(source("pattern=solid", dma_caps("P010", 64, 48) + "," + kAlternatives[__i__]));
  fail_unless(pipeline.play());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s: %s", kAlternatives[__i__], pipeline.message(GST_MESSAGE_ERROR).c_str());
}
GST_END_TEST

GST_START_TEST(test_video_accepted)
{
  const auto &row = kVideos[__i__];
  set_driver("formats=NV12:P010");
  Pipeline pipeline(source("", "capsfilter name=filter"));
  fail_unless(pipeline.play());
  const auto pad = gstdrm::GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("src"), "src"));
  const auto caps = gstdrm::GstPtr<GstCaps>::adopt(
      gst_caps_from_string((dma_caps(row.drm_format, 64, 48) + ",framerate=30/1," + row.fields).c_str()));
  fail_unless_equals_int(gst_pad_query_accept_caps(pad.get(), caps.get()), *row.error == '\0');
}
GST_END_TEST

GST_START_TEST(test_video_fields)
{
  const auto &row = kVideos[__i__];
  set_driver("formats=NV12:P010");
  Pipeline pipeline(source("pattern=solid color=0xffff0000", dma_caps(row.drm_format, 64, 48) + "," + row.fields));
  const bool playing = pipeline.play();
  if (*row.error != '\0') {
    const auto error = pipeline.message(GST_MESSAGE_ERROR);
    fail_unless(error.find(row.error) != std::string::npos, "%s: '%s'", row.fields, error.c_str());
    return;
  }
  fail_unless(playing);
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s: %s", row.fields, pipeline.message(GST_MESSAGE_ERROR).c_str());
  const auto frame = read_frame(sample);
  const int luma = (frame.planes[0][0] | frame.planes[0][1] << 8) >> 6;
  fail_unless_equals_int(luma, row.luma);
}
GST_END_TEST

// A still picture is one frame, and the end.
GST_START_TEST(test_still_picture)
{
  set_driver("formats=NV12");
  Pipeline pipeline(source("pattern=frame-counter", dma_caps("NV12", 64, 64) + ",framerate=0/1"));
  fail_unless(pipeline.play());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  fail_if(GST_BUFFER_DURATION_IS_VALID(gst_sample_get_buffer(sample)));
  fail_unless(pipeline.pull() == nullptr);
  fail_unless_equals_uint64(pipeline.stat("frames"), 1);
}
GST_END_TEST

// pattern and color are followed between two frames.
GST_START_TEST(test_pattern_changes_while_playing)
{
  set_driver("formats=BGRX");
  Pipeline pipeline(source("pattern=solid color=0xffffffff num-surfaces=2", dma_caps("XR24", 64, 64),
                           "appsink name=sink sync=false max-buffers=1"));
  fail_unless(pipeline.play());
  {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr);
    fail_unless_equals_int(brightness(read_frame(sample), 5, 5), 255);
  }
  const auto shows = [&pipeline](auto expected) {
    for (int i = 0; i < 8; ++i) { // more than are on their way
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
      if (expected(read_frame(sample)))
        return true;
    }
    return false;
  };
  g_object_set(pipeline.get("src"), "color", 0xff000000U, nullptr);
  fail_unless(shows([](const Frame &frame) { return brightness(frame, 5, 5) == 0; }), "black");
  gst_util_set_object_arg(G_OBJECT(pipeline.get("src")), "pattern", "checkers");
  fail_unless(shows([](const Frame &frame) { return brightness(frame, 12, 4) == 255 && brightness(frame, 4, 4) == 0; }), "checkers");
}
GST_END_TEST

Suite *va_src_pictures_suite()
{
  Suite *suite = suite_create("vadmabufsrc pictures");
  TCase *pictures = tcase_create("pictures");
  suite_add_tcase(suite, pictures);
  tcase_set_timeout(pictures, 120);
  tcase_add_loop_test(pictures, test_smallest, 0, G_N_ELEMENTS(kSmall) * G_N_ELEMENTS(kPatterns));
  tcase_add_loop_test(pictures, test_video_alternatives, 0, G_N_ELEMENTS(kAlternatives));
  tcase_add_loop_test(pictures, test_video_accepted, 0, G_N_ELEMENTS(kVideos));
  tcase_add_loop_test(pictures, test_video_fields, 0, G_N_ELEMENTS(kVideos));
  tcase_add_test(pictures, test_still_picture);
  tcase_add_test(pictures, test_pattern_changes_while_playing);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_src_pictures)
