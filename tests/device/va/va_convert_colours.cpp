// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert and colours: what the caps say is what was drawn, in every matrix and range; what a driver does not
// draw is refused. Frames of one colour, made and read by a reference of this program's own.
#include <cmath>
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
constexpr std::array<double, 3> kColour{200, 60, 30}; // whose luma differs by 17 between BT.601 and BT.709

struct Yuv {
  double y, u, v; // 0 to 255
};

Yuv encode(const GstVideoColorimetry &colours)
{
  gdouble kr = 0;
  gdouble kb = 0;
  fail_unless(gst_video_color_matrix_get_Kr_Kb(colours.matrix, &kr, &kb));
  const auto [r, g, b] = kColour;
  const double y = kr * r + (1 - kr - kb) * g + kb * b;
  const double u = (b - y) / (2 * (1 - kb));
  const double v = (r - y) / (2 * (1 - kr));
  if (colours.range == GST_VIDEO_COLOR_RANGE_0_255)
    return {y, 128 + u, 128 + v};
  return {16 + y * 219 / 255, 128 + u * 224 / 255, 128 + v * 224 / 255};
}

// BGRx, NV12 or P010_10LE, in system memory.
GstPtr<GstBuffer> frame_of(const GstVideoInfo &info)
{
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr));
  GstVideoFrame frame;
  GstVideoInfo own = info; // GStreamer does not say const
  fail_unless(gst_video_frame_map(&frame, &own, buffer.get(), GST_MAP_WRITE));
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info) && c < 3; ++c) {
    const Yuv yuv = GST_VIDEO_INFO_IS_YUV(&info) ? encode(info.colorimetry) : Yuv{};
    const double value = GST_VIDEO_INFO_IS_YUV(&info) ? (c == 0 ? yuv.y : c == 1 ? yuv.u : yuv.v) : kColour[c];
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); ++x) {
        // GStreamer 1.22 says that V of P010 begins 1 byte behind U
        const bool wide = GST_VIDEO_FRAME_COMP_DEPTH(&frame, c) > 8;
        auto *from = static_cast<guint8 *>(wide && c == 2 ? GST_VIDEO_FRAME_COMP_DATA(&frame, 1) + 2 : GST_VIDEO_FRAME_COMP_DATA(&frame, c));
        auto *at = from + y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
                   x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
        if (wide)
          GST_WRITE_UINT16_LE(at, static_cast<guint16>(std::lround(value * 4)) << 6);
        else
          *at = static_cast<guint8>(std::lround(value));
      }
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

struct Row {
  const char *driver;
  const char *in; // format and colorimetry
  const char *in_colours;
  const char *out; // drm-format, or a list
  const char *out_colours; // "": open
  const char *made;        // the colorimetry that leaves, or a part of the error
};
#define ALL "formats=NV12:P010:BGRX"
const Row kRows[] = {
    {ALL, "NV12", "bt601", "XR24", "", "1:1:16:4"},
    {ALL, "NV12", "bt709", "XR24", "", "1:1:5:1"},
    {ALL, "NV12", "bt2020", "XR24", "", "1:1:11:7"},
    {ALL, "NV12", "1:4:16:4", "XR24", "sRGB", "sRGB"},
    {ALL, "NV12", "1:3:5:1", "XR24", "sRGB", "sRGB"},
    {ALL, "P010_10LE", "bt2020-10", "XR24", "", "1:1:13:7"},
    {ALL, "BGRx", "sRGB", "NV12", "", "bt601"},
    {ALL, "BGRx", "sRGB", "NV12", "bt709", "bt709"},
    {ALL, "BGRx", "sRGB", "NV12", "1:3:5:1", "1:3:5:1"},
    {ALL, "NV12", "bt601", "NV12", "bt709", "bt709"},
    {ALL, "NV12", "bt709", "NV12", "1:3:5:1", "1:3:5:1"},
    {ALL, "NV12", "2:2:5:1", "NV12", "", "2:2:5:1"}, // FCC, which stays
    // what stays is said, and what is not converted is refused
    {ALL, "P010_10LE", "bt2100-pq", "P010", "", "bt2100-pq"},
    {ALL, "P010_10LE", "bt2100-pq", "XR24", "sRGB", "PQ and HLG are not converted"},
    {ALL, "P010_10LE", "bt2100-pq", "NV12", "bt709", "PQ and HLG are not converted"},
    {ALL, "P010_10LE", "bt2020-10", "XR24", "sRGB", "colour primaries"},
    {ALL, "BGRx", "sRGB", "P010", "bt2020-10", "colour primaries"},
    {ALL, "BGRx", "2:1:7:1", "NV12", "", "RGB of narrow range"},
    {ALL, "NV12", "bt709", "XR24", "2:1:7:1", "RGB of narrow range"},
    {ALL, "NV12", "2:2:5:1", "XR24", "", "FCC and SMPTE 240M"},
    {ALL ",colours=601:709", "NV12", "bt2020", "XR24", "", "does not convert the colours of bt2020"},
    {ALL ",colours=601:709", "NV12", "bt2020", "NV12", "", "bt2020"},
    {ALL ",colours=explicit", "NV12", "bt2020", "XR24", "", "1:1:11:7"},
    // drivers
    {"profile=ihd", "NV12", "bt709", "XR24", "", "1:1:5:1"},
    {"profile=ihd", "NV12", "bt2020", "XR24", "", "1:1:11:7"},
    {"profile=ihd", "NV12", "1:3:5:1", "XR24", "sRGB", "sRGB"},
    {"profile=ihd", "BGRx", "sRGB", "NV12", "bt709", "bt709"},
    {"profile=ihd", "NV12", "bt601", "NV12", "bt709", "bt709"},
    {"profile=i965", "NV12", "bt601", "XR24", "", "1:1:16:4"},
    {"profile=i965", "NV12", "bt709", "XR24", "", "does not convert the colours of bt709"},
    {"profile=i965", "NV12", "bt709", "{XR24,NV12}", "", "bt709"}, // another format keeps them
    {"profile=i965", "NV12", "1:4:16:4", "XR24", "sRGB", "does not convert the colours"},
    {"profile=i965", "BGRx", "sRGB", "NV12", "", "bt601"},
    {"profile=i965", "BGRx", "sRGB", "NV12", "bt709", "does not convert the colours of sRGB to bt709"},
    {"profile=i965", "NV12", "bt601", "NV12", "bt709", "does not convert the colours"},
    {"profile=radeonsi", "NV12", "bt601", "XR24", "", "1:1:16:4"},
    {"profile=radeonsi", "NV12", "bt709", "XR24", "", "does not convert the colours of bt709"},
    {"profile=radeonsi", "NV12", "bt709", "NV12", "", "bt709"},
    {"profile=radeonsi", "BGRx", "sRGB", "NV12", "", "bt709"},
    {"profile=radeonsi", "BGRx", "sRGB", "NV12", "bt601", "does not convert the colours of sRGB to bt601"},
    {"profile=nouveau", "BGRx", "sRGB", "P010", "", "bt709"},
    {"profile=nouveau", "P010_10LE", "bt601", "XR24", "", "1:1:16:4"},
    {"profile=radeonsi26", "NV12", "bt709", "XR24", "", "1:1:5:1"},
    {"profile=radeonsi26", "NV12", "bt2020", "XR24", "", "1:1:11:7"},
    {"profile=radeonsi26", "NV12", "1:3:5:1", "XR24", "sRGB", "sRGB"},
    {"profile=radeonsi26", "BGRx", "sRGB", "NV12", "bt601", "bt601"},
    {"profile=radeonsi26", "NV12", "bt601", "NV12", "bt709", "bt709"},
};

// colour-conversion=any: what is not drawn as the caps say is drawn all the same, with one warning.
struct AnyRow {
  const char *driver;
  const char *in;
  const char *in_colours;
  const char *out;
  const char *out_colours;
  const char *made;    // the colorimetry that leaves, or a part of the error
  const char *warning; // part of it; nullptr: the colours are right, and nothing is said
};
const AnyRow kAny[] = {
    {"profile=i965", "NV12", "bt709", "XR24", "", "1:1:5:1", "does not convert the colours of bt709"},
    {"profile=i965", "NV12", "bt709", "{XR24,NV12}", "", "bt709", nullptr}, // the right colours come first
    {"profile=i965", "NV12", "bt601", "XR24", "", "1:1:16:4", nullptr},
    {"profile=i965", "NV12", "1:4:16:4", "XR24", "sRGB", "sRGB", "does not convert the colours"},
    {"profile=i965", "BGRx", "sRGB", "NV12", "bt709", "bt709", "does not convert the colours of sRGB to bt709"},
    {"profile=i965", "BGRx", "sRGB", "NV12", "", "bt601", nullptr},
    {"profile=i965", "NV12", "bt601", "NV12", "bt709", "bt709", "does not convert the colours"},
    {"profile=radeonsi", "NV12", "bt709", "XR24", "", "1:1:5:1", "does not convert the colours of bt709"},
    {"profile=radeonsi", "BGRx", "sRGB", "NV12", "bt601", "bt601", "does not convert the colours of sRGB to bt601"},
    {"profile=nouveau", "P010_10LE", "bt709", "XR24", "", "1:1:5:1", "does not convert the colours of bt709"},
    {"profile=ihd", "NV12", "bt709", "XR24", "", "1:1:5:1", nullptr},
    {ALL, "NV12", "2:2:5:1", "XR24", "sRGB", "sRGB", "FCC and SMPTE 240M"},
    {ALL, "NV12", "2:5:5:1", "XR24", "sRGB", "sRGB", "FCC and SMPTE 240M"},
    {ALL ",colours=601:709", "NV12", "bt2020", "NV12", "bt2020", "bt2020", nullptr},
    // what is no matter of matrices and ranges is refused as before
    {ALL, "P010_10LE", "bt2100-pq", "XR24", "sRGB", "PQ and HLG are not converted", nullptr},
    {"profile=i965", "NV12", "bt709", "XR24", "2:1:7:1", "RGB of narrow range", nullptr},
};

bool is_error(const char *made)
{
  GstVideoColorimetry colours;
  return !gst_video_colorimetry_from_string(&colours, made);
}

// Two frames of kColour through the converter; the last one is read.
struct Outcome {
  std::string error; // empty: `frame` is there
  Frame frame;
  std::vector<std::string> warnings;
};
Outcome convert(const Row &row, const char *properties)
{
  set_driver(row.driver);
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, row.in, "width", G_TYPE_INT, kWidth, "height",
                                                               G_TYPE_INT, kHeight, "framerate", GST_TYPE_FRACTION, 25, 1, "colorimetry",
                                                               G_TYPE_STRING, row.in_colours, nullptr));
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps.get()), "%s", row.driver);
  Pipeline pipeline(std::string("appsrc name=src format=time ! vadmabufconvert name=convert ") + properties + " ! " +
                    dma_caps(row.out, 2 * kWidth, 2 * kHeight) +
                    (*row.out_colours ? std::string(",colorimetry=") + row.out_colours : std::string()) + " ! appsink name=sink sync=false");
  g_object_set(pipeline.get("src"), "caps", caps.get(), nullptr);
  pipeline.play();
  for (int i = 0; i < 2; ++i)
    gst_app_src_push_buffer(GST_APP_SRC(pipeline.get("src")), frame_of(info).release());
  Outcome outcome;
  for (int i = 0; i < 2; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    if (!sample) {
      outcome.error = pipeline.message(GST_MESSAGE_ERROR);
      return outcome;
    }
    outcome.frame = read_frame(sample);
  }
  outcome.warnings = pipeline.warnings();
  return outcome;
}

void check_caps(const std::string &name, const Frame &frame, const char *expected)
{
  GstVideoColorimetry made;
  fail_unless(gst_video_colorimetry_from_string(&made, expected));
  g_autofree gchar *text = gst_video_colorimetry_to_string(&frame.info.vinfo.colorimetry);
  fail_unless(gst_video_colorimetry_is_equal(&frame.info.vinfo.colorimetry, &made), "%s: the caps say %s", name.c_str(), text);
}

bool has_the_colour(const Frame &frame, double tolerance)
{
  const auto got = rgb_at(frame, 10, 10);
  for (std::size_t c = 0; c < 3; ++c)
    if (std::fabs(got[c] - kColour[c]) >= tolerance)
      return false;
  return true;
}

std::string name_of(const Row &row)
{
  return std::string(row.driver) + " " + row.in + " " + row.in_colours + " to " + row.out + " " + row.out_colours;
}

GST_START_TEST(test_colours)
{
  const Row &row = kRows[__i__];
  const std::string name = name_of(row);
  const auto got = convert(row, "");
  if (is_error(row.made)) {
    fail_unless(got.error.find(row.made) != std::string::npos, "%s: '%s'", name.c_str(), got.error.c_str());
    // what another property would change is said
    const bool of_driver = std::string(row.made).find("does not convert") != std::string::npos || std::string(row.made).find("FCC") == 0;
    fail_unless((got.error.find("colour-conversion=any") != std::string::npos) == of_driver, "%s: '%s'", name.c_str(), got.error.c_str());
    return;
  }
  fail_unless(got.error.empty(), "%s: %s", name.c_str(), got.error.c_str());
  check_caps(name, got.frame, row.made);
  const auto rgb = rgb_at(got.frame, 10, 10);
  fail_unless(has_the_colour(got.frame, 3.5), "%s: %.1f %.1f %.1f", name.c_str(), rgb[0], rgb[1], rgb[2]);
}
GST_END_TEST

GST_START_TEST(test_any_colours)
{
  const AnyRow &row = kAny[__i__];
  const Row asked{row.driver, row.in, row.in_colours, row.out, row.out_colours, row.made};
  const std::string name = name_of(asked);
  const auto got = convert(asked, "colour-conversion=any");
  if (is_error(row.made)) {
    fail_unless(got.error.find(row.made) != std::string::npos, "%s: '%s'", name.c_str(), got.error.c_str());
    return;
  }
  fail_unless(got.error.empty(), "%s: %s", name.c_str(), got.error.c_str());
  check_caps(name, got.frame, row.made);
  // within what two matrices or ranges differ by, so that a picture is there
  const auto rgb = rgb_at(got.frame, 10, 10);
  fail_unless(has_the_colour(got.frame, row.warning ? 40 : 3.5), "%s: %.1f %.1f %.1f", name.c_str(), rgb[0], rgb[1], rgb[2]);
  fail_unless_equals_int(got.warnings.size(), row.warning ? 1 : 0);
  if (row.warning)
    fail_unless(got.warnings[0].find(row.warning) != std::string::npos, "%s: '%s'", name.c_str(), got.warnings[0].c_str());
}
GST_END_TEST

Suite *va_convert_colours_suite()
{
  Suite *suite = suite_create("va_convert_colours");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_colours, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_any_colours, 0, G_N_ELEMENTS(kAny));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_convert_colours)
