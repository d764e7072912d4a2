// SPDX-License-Identifier: LGPL-2.1-or-later
// Every pixel that the display scanned out equals the frame that went in: exactly for RGB, within the
// driver's rounding for YCbCr (vkms converts in fixed point).
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kRounding = 1;

struct Picture {
  const char *name;
  const char *format; // GstVideoFormat
  const char *drm_format; // nullptr: plain caps over a dma-buf; "": system memory, copied by the sink; "no modifier":
                          // memory:DMABuf without DMA_DRM
  int width, height;
  int mode_width, mode_height;
  Shape shape;
  const char *colorimetry; // "": GStreamer's default for the size
  const char *properties = "";
};

const Picture kPictures[] = {
    {"XR24 64x64 in a larger mode", "BGRx", "XR24", 64, 64, 640, 480, Shape::Tight, ""},
    {"XR24 640x480", "BGRx", "XR24", 640, 480, 640, 480, Shape::Tight, ""},
    {"XR24 640x480, padded rows", "BGRx", "XR24", 640, 480, 640, 480, Shape::PaddedStrides, ""},
    {"XR24 1000x700 centred", "BGRx", "XR24", 1000, 700, 1024, 768, Shape::Tight, ""},
    {"XR24 1920x1080, padded rows", "BGRx", "XR24", 1920, 1080, 1920, 1080, Shape::PaddedStrides, ""},
    {"AB24 640x480 plain caps", "RGBx", nullptr, 640, 480, 640, 480, Shape::Tight, ""},
    {"NV12 64x64 in a larger mode", "NV12", "NV12", 64, 64, 640, 480, Shape::Tight, ""},
    {"NV12 640x480", "NV12", "NV12", 640, 480, 640, 480, Shape::Tight, ""},
    {"NV12 640x480, padded rows", "NV12", "NV12", 640, 480, 640, 480, Shape::PaddedStrides, ""},
    {"NV12 640x480, two descriptors", "NV12", "NV12", 640, 480, 640, 480, Shape::TwoDescriptors, ""},
    {"NV12 1000x700, two descriptors", "NV12", "NV12", 1000, 700, 1024, 768, Shape::TwoDescriptors, ""},
    {"NV12 1920x1080, padded rows", "NV12", "NV12", 1920, 1080, 1920, 1080, Shape::PaddedStrides, ""},
    {"NV12 640x480 BT.709 full range", "NV12", "NV12", 640, 480, 640, 480, Shape::Tight, "1:3:5:1"},
    {"NV12 1920x1080 BT.601 limited range", "NV12", "NV12", 1920, 1080, 1920, 1080, Shape::Tight, "bt601"},
    {"NV12 640x480 SMPTE 240M", "NV12", "NV12", 640, 480, 640, 480, Shape::Tight, "smpte240m"},
    {"NV12 640x480 plain caps", "NV12", nullptr, 640, 480, 640, 480, Shape::Tight, ""},
    {"YU12 640x480", "I420", "YU12", 640, 480, 640, 480, Shape::Tight, ""},
    {"YU12 1000x700, padded rows", "I420", "YU12", 1000, 700, 1024, 768, Shape::PaddedStrides, ""},
    {"YU12 64x64, three descriptors", "I420", "YU12", 64, 64, 640, 480, Shape::TwoDescriptors, ""},
    {"XR24 640x480 system memory", "BGRx", "", 640, 480, 640, 480, Shape::Tight, ""},
    {"NV12 1000x700 system memory", "NV12", "", 1000, 700, 1024, 768, Shape::Tight, ""},
    {"NV12 640x480 that names no modifier and means linear", "NV12", "no modifier", 640, 480, 640, 480, Shape::Tight, "",
     "implicit-modifier=linear zero-copy=require"},
    {"XR24 640x480 that names no modifier and means linear", "BGRx", "no modifier", 640, 480, 640, 480, Shape::Tight, "",
     "implicit-modifier=linear zero-copy=require"},
    {"NV12 640x480 without a modifier for the driver", "NV12", "no modifier", 640, 480, 640, 480, Shape::Tight, "",
     "implicit-modifier=driver zero-copy=require"},
    {"NV12 640x480 with a modifier where it may be left out", "NV12", "NV12", 640, 480, 640, 480, Shape::Tight, "",
     "implicit-modifier=driver"},
};

struct RefusedRow {
  const char *properties;
  std::string says;
};

const RefusedRow kRefusedRows[] = {
    {"", "implicit-modifier=linear"},
    {"implicit-modifier=refuse", "implicit-modifier=refuse"},
};

std::string without_modifier(const std::string &plain)
{
  return "video/x-raw(memory:DMABuf)" + plain.substr(plain.find(','));
}

} // namespace

// vkms lists modifiers.
GST_START_TEST(test_caps_without_a_modifier)
{
  const RefusedRow &row = kRefusedRows[__i__];
  g_print("# '%s'\n", row.properties);
  Sink sink(row.properties);
  ck_assert(!sink.set_caps(without_modifier(plain_caps("NV12", 640, 480))));
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert_msg(error.find(row.says) != std::string::npos, "'%s' does not say '%s'", error.c_str(), row.says.c_str());
  ck_assert_str_eq(sink.next_message(GST_MESSAGE_ERROR).c_str(), "");
}
GST_END_TEST

GST_START_TEST(test_pixels)
{
  const Picture &picture = kPictures[__i__];
  g_print("# %s\n", picture.name);
  const std::string more = *picture.colorimetry ? std::string(", colorimetry=(string)") + picture.colorimetry : "";
  const std::string plain = plain_caps(picture.format, picture.width, picture.height, more.c_str());
  const GstVideoInfo info = video_info(plain);
  const bool system_memory = picture.drm_format && !*picture.drm_format;
  const bool names_no_modifier = g_strcmp0(picture.drm_format, "no modifier") == 0;

  Sink sink(picture.properties);
  ck_assert(sink.set_caps(names_no_modifier ? without_modifier(plain)
                          : picture.drm_format && !system_memory
                              ? dma_drm_caps(picture.drm_format, picture.width, picture.height, more.c_str())
                              : plain));
  const GstPtr<GstBuffer> source = make_noise(info, 7);
  GstPtr<GstBuffer> frame = system_memory ? GstPtr<GstBuffer>::adopt(gst_buffer_ref(source.get()))
                                         : to_dmabuf(info, source.get(), picture.shape);
  const GstFlowReturn ret = sink.push(frame.release());
  ck_assert_msg(ret == GST_FLOW_OK, "%s: %s: %s", picture.name, gst_flow_get_name(ret),
                sink.next_message(GST_MESSAGE_ERROR).c_str());
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s: %s", picture.name, sink.next_message(GST_MESSAGE_WARNING).c_str());

  GstVideoInfo shown = info;
  if (shown.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_SMPTE240M)
    shown.colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_BT709; // the nearest of KMS
  const auto expected = reference(shown, source.get(), picture.mode_width, picture.mode_height);
  int width = 0, height = 0;
  const int difference = largest_difference(sample.get(), expected, &width, &height);
  const int allowed = GST_VIDEO_INFO_IS_RGB(&info) ? 0 : kRounding;
  ck_assert_msg(difference >= 0 && difference <= allowed,
                "%s: largest difference %d (allowed %d), display is %dx%d (expected %dx%d)", picture.name,
                difference, allowed, width, height, picture.mode_width, picture.mode_height);
  ck_assert_uint_eq(sink.stat("copies"), system_memory ? 1 : 0);
  ck_assert_uint_eq(sink.stat("shown"), 1);
}
GST_END_TEST

struct ChoiceRow {
  const char *line; // in front of the sink
  const char *format;
};

// The display lists 64 bits a pixel, and videotestsrc names them first.
const ChoiceRow kChoices[] = {
    {"videotestsrc num-buffers=2 ! dmabufupload", "NV12"},
    {"videotestsrc num-buffers=2 ! videoconvert ! dmabufupload", "NV12"},
    {"videotestsrc num-buffers=2 ! dmabufupload ! queue", "NV12"},
    {"videotestsrc num-buffers=2", "NV12"},
    {"videotestsrc num-buffers=2 ! videoconvert", "NV12"},
    {"videotestsrc num-buffers=2 ! video/x-raw,format=(string){BGRA64_LE,BGRx} ! dmabufupload", "XR24"},
    // where upstream has nothing else
    {"videotestsrc num-buffers=2 ! video/x-raw,format=BGRA64_LE ! dmabufupload", "AR48"},
    {"videotestsrc num-buffers=2 ! videoconvert ! video/x-raw,format=BGRA64_LE ! dmabufupload", "AR48"},
};

GST_START_TEST(test_chosen_format)
{
  const ChoiceRow &row = kChoices[__i__];
  GError *error = nullptr;
  const std::string line = std::string(row.line) + " ! kmsdmabufsink name=sink driver-name=vkms sync=false";
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(line.c_str(), &error));
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "?");
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  GstMessage *end = gst_bus_timed_pop_filtered(bus.get(), 60 * GST_SECOND,
                                               static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ck_assert(end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS);
  gst_message_unref(end);
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.get(), "sink"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
  GstDrmVideoInfo info;
  ck_assert(gst_drm_video_info_from_caps(&info, caps.get()));
  const std::string format(reinterpret_cast<const char *>(&info.drm_fourcc), 4);
  ck_assert_msg(format == row.format, "%s: %s", line.c_str(), format.c_str());
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

static Suite *kms_pixels_suite(void)
{
  Suite *s = suite_create("kms-pixels");
  TCase *tc = tcase_create("pixels");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_pixels, 0, G_N_ELEMENTS(kPictures));
  tcase_add_loop_test(tc, test_caps_without_a_modifier, 0, G_N_ELEMENTS(kRefusedRows));
  tcase_add_loop_test(tc, test_chosen_format, 0, G_N_ELEMENTS(kChoices));
  return s;
}

GST_DRM_CHECK_MAIN(kms_pixels)
