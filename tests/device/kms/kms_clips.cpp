// SPDX-License-Identifier: LGPL-2.1-or-later
// Real files through decodebin to the display: the screen shows what the decoder says, its sizes and crops included.
#include <string>

#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kModeWidth = 1920, kModeHeight = 1080;
constexpr int kRounding = 2; // vkms converts in fixed point

struct Clip {
  const char *file;
  int width, height; // as shown by the decoder
  const char *error; // "": it plays
};

constexpr const char *kTenBits = "Convert to P010";

const Clip kClips[] = {
    {"vp9-161x121.webm", 161, 121, ""},
    {"vp9-10bit-426x240.webm", 426, 240, kTenBits},
    {"hevc-main10-1080-of-1088-rotate90-hlg.mp4", 1920, 1080, kTenBits},
    {"av1-10bit-1080-pq-mastering.mp4", 1920, 1080, kTenBits},
    {"hevc-854-of-856x480.ts", 854, 480, ""},
    {"h264-320x240-par27x64.mp4", 320, 240, ""},
    {"h264-480x360-of-368.mp4", 480, 360, ""},
    {"h264-640x480-par16x9.mp4", 640, 480, ""},
    {"h264-152x100-of-160x112.264", 152, 100, ""},
    {"h264-high10-200-of-208.mp4", 0, 200, kTenBits},
    {"made-h264-1366x768-of-1376.264", 1366, 768, ""},
    {"made-h264-1920x1080-of-1088.264", 1920, 1080, ""},
    {"made-vp8-853x480.webm", 853, 480, ""},
    {"made-vp8-322x242-vfr.webm", 322, 242, ""},
    {"made-mpeg4-576i-par16x15.mkv", 720, 576, ""},
    {"still-exif-orientation5-403x302.jpg", 403, 302, ""},
};

std::string line_of(const Clip &clip, const char *rest)
{
  return std::string("filesrc location=") + g_getenv("GST_DRM_TEST_DATA") + "/clips/" + clip.file + " ! decodebin ! " + rest;
}

GstPtr<GstElement> launch(const std::string &line)
{
  GError *error = nullptr;
  auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(line.c_str(), &error));
  ck_assert_msg(pipeline && !error, "%s: %s", line.c_str(), error ? error->message : "?");
  return pipeline;
}

// The error, or empty at the preroll (PAUSED) or the end of the stream (PLAYING).
std::string run(GstElement *pipeline, GstState state)
{
  gst_element_set_state(pipeline, state);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline));
  const auto types = static_cast<GstMessageType>(
      GST_MESSAGE_ERROR | (state == GST_STATE_PAUSED ? GST_MESSAGE_ASYNC_DONE : GST_MESSAGE_EOS));
  GstMessage *message = gst_bus_timed_pop_filtered(bus.get(), 120 * GST_SECOND, types);
  ck_assert(message);
  std::string text;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError *error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text = error->message;
    g_error_free(error);
  }
  gst_message_unref(message);
  return text;
}

// The first frame as the decoder gives it, without a stride of its own.
GstPtr<GstSample> first_frame(const Clip &clip)
{
  const auto pipeline = launch(line_of(clip, "appsink name=sink sync=false max-buffers=1"));
  const std::string error = run(pipeline.get(), GST_STATE_PAUSED);
  ck_assert_msg(error.empty(), "%s: %s", clip.file, error.c_str());
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  GstSample *sample = nullptr;
  g_signal_emit_by_name(sink.get(), "pull-preroll", &sample);
  ck_assert(sample);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return GstPtr<GstSample>::adopt(sample);
}

} // namespace

GST_START_TEST(test_clip)
{
  const Clip &clip = kClips[__i__];
  g_print("# %s\n", clip.file);
  const std::string rest = "dmabufupload ! kmsdmabufsink name=sink driver-name=vkms sync=false fit=none mode=" +
                           std::to_string(kModeWidth) + "x" + std::to_string(kModeHeight);
  const auto pipeline = launch(line_of(clip, rest.c_str()));
  const std::string error = run(pipeline.get(), GST_STATE_PAUSED);
  ck_assert_msg(error.empty() == (*clip.error == '\0') && error.find(clip.error) != std::string::npos, "%s: '%s'",
                clip.file, error.c_str());
  if (error.empty()) {
    const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
    GstSample *shown = nullptr;
    g_signal_emit_by_name(sink.get(), "snapshot", &shown);
    ck_assert(shown);
    const auto screen = GstPtr<GstSample>::adopt(shown);
    const auto frame = first_frame(clip);
    GstVideoInfo info;
    ck_assert(gst_video_info_from_caps(&info, gst_sample_get_caps(frame.get())));
    ck_assert_int_eq(GST_VIDEO_INFO_WIDTH(&info), clip.width);
    ck_assert_int_eq(GST_VIDEO_INFO_HEIGHT(&info), clip.height);
    const int difference = largest_difference(screen.get(), reference(info, gst_sample_get_buffer(frame.get()), kModeWidth, kModeHeight));
    ck_assert_msg(difference >= 0 && difference <= kRounding, "%s (%s): %d", clip.file, GST_VIDEO_INFO_NAME(&info), difference);
    const std::string end = run(pipeline.get(), GST_STATE_PLAYING);
    ck_assert_msg(end.empty(), "%s: %s", clip.file, end.c_str());
  }
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

// With videoconvert between, all of them play.
GST_START_TEST(test_converted_clip)
{
  const Clip &clip = kClips[__i__];
  const auto pipeline = launch(line_of(clip, "videoconvert ! dmabufupload ! kmsdmabufsink name=sink driver-name=vkms sync=false"));
  const std::string error = run(pipeline.get(), GST_STATE_PLAYING);
  ck_assert_msg(error.empty(), "%s: %s", clip.file, error.c_str());
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

// A software decoder's I420 goes through the network as it is.
GST_START_TEST(test_inferred_clip)
{
  if (!GstPtr<GstElementFactory>::adopt(gst_element_factory_find("metisdmabufinfer"))) // not built
    return;
  const std::string rest = std::string("dmabufupload ! metisdmabufinfer name=infer backend=cpu timeout=60000 model=") + g_getenv("GST_DRM_TEST_DATA") +
                           "/models/blazeface-short-128.onnx ! kmsdmabufsink driver-name=vkms sync=false";
  const auto pipeline = launch(line_of(kClips[6], rest.c_str()));
  const std::string error = run(pipeline.get(), GST_STATE_PLAYING);
  if (error.find("cpu") != std::string::npos) { // built without that back end
    gst_element_set_state(pipeline.get(), GST_STATE_NULL);
    return;
  }
  ck_assert_msg(error.empty(), "%s", error.c_str());
  const auto infer = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "infer"));
  GstStructure *stats = nullptr;
  g_object_get(infer.get(), "drm-stats", &stats, nullptr);
  guint64 inferences = 0;
  gst_structure_get_uint64(stats, "inferences", &inferences);
  g_autofree gchar *all = gst_structure_to_string(stats);
  gst_structure_free(stats);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  ck_assert_msg(inferences == 30, "%s", all);
}
GST_END_TEST

static Suite *kms_clips_suite(void)
{
  Suite *s = suite_create("kms-clips");
  TCase *tc = tcase_create("clips");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 200);
  tcase_add_loop_test(tc, test_clip, 0, G_N_ELEMENTS(kClips));
  tcase_add_loop_test(tc, test_converted_clip, 0, G_N_ELEMENTS(kClips));
  tcase_add_test(tc, test_inferred_clip);
  return s;
}

GST_DRM_CHECK_MAIN(kms_clips)
