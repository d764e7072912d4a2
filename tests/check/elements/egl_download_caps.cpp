// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules of egldmabufdownload's caps, text to text: sizes, pictures with fields, and the equations of colours.
#include "support/dmabuf_elements.hpp"

#include "element/gstegldownloadcaps.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::DownloadFormats;
using gstdrm::Format;
using gstdrm::FormatSet;
using gstdrm::GstPtr;

#define GL "video/x-raw(memory:GLMemory), format=RGBA, texture-target=2D"
#define DRM "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format="
#define X_TILED ":0x0100000000000001"

FormatSet set_of(std::initializer_list<const char *> texts)
{
  std::vector<Format> pairs;
  for (const char *text : texts) {
    const auto parsed = gstdrm::parse_format(text);
    fail_unless(parsed ? true : false, "%s", text);
    pairs.push_back(*parsed);
  }
  return FormatSet::from_pairs(std::move(pairs));
}

#define DMABUF "video/x-raw(memory:DMABuf), format="
constexpr auto kLinear = gstdrm::ImplicitModifier::Linear;

struct Row {
  const char *name;
  bool may_copy;
  std::uint32_t max_size;
  GstPadDirection direction; // of the pad that `caps` are on
  const char *caps;
  const char *meets;  // something that the answer has; nullptr: the answer is empty
  const char *misses; // something that it has not; nullptr: nothing
  gstdrm::ImplicitModifier implicit_modifier = gstdrm::ImplicitModifier::Auto;
};

const Row kRows[] = {
    {"a picture without fields", false, 4096, GST_PAD_SINK, GL, DRM "NV12" X_TILED, nullptr},
    {"one that says so", false, 4096, GST_PAD_SINK, GL ", interlace-mode=progressive", DRM "NV12" X_TILED, nullptr},
    {"fields, 4:2:0", false, 4096, GST_PAD_SINK, GL ", interlace-mode=interleaved", DRM "XR24", DRM "{NV12, NV12" X_TILED "}"},
    {"fields, 4:2:2", false, 4096, GST_PAD_SINK, GL ", interlace-mode=interleaved", DRM "NV16", nullptr},
    {"fields, a copy of linear 4:2:0", true, 4096, GST_PAD_SINK, GL ", interlace-mode=mixed", DRM "NV12", DRM "NV12" X_TILED},
    {"fields, what is copied anyhow", true, 4096, GST_PAD_SINK, GL ", interlace-mode=mixed", DRM "YU12", nullptr},
    {"fields that may be none", false, 4096, GST_PAD_SINK, GL ", interlace-mode={interleaved, progressive}", DRM "NV12" X_TILED, nullptr},
    {"the mode stays", false, 4096, GST_PAD_SINK, GL ", interlace-mode=interleaved", DRM "XR24, interlace-mode=interleaved",
     DRM "XR24, interlace-mode=progressive"},
    {"a field each", true, 4096, GST_PAD_SINK, "video/x-raw(memory:GLMemory, format:Interlaced), format=RGBA", nullptr, nullptr},
    {"any memory", false, 4096, GST_PAD_SINK, "video/x-raw(ANY), format=RGBA", DRM "NV12", nullptr},
    {"as large as a texture", false, 4096, GST_PAD_SINK, GL ", width=4096, height=4096", DRM "NV12", nullptr},
    {"wider", false, 4096, GST_PAD_SINK, GL ", width=4097, height=16", nullptr, nullptr},
    {"higher", true, 4096, GST_PAD_SINK, GL ", width=16, height=4097", nullptr, nullptr},
    {"no size is known", false, 0, GST_PAD_SINK, GL ", width=100000, height=16", DRM "NV12, width=100000", nullptr},
    {"back, within the texture", false, 4096, GST_PAD_SRC, DRM "NV12", GL ", width=4096", GL ", width=4097"},
    {"implicit-modifier=linear: for linear formats", true, 4096, GST_PAD_SINK, GL, DMABUF "NV12", DMABUF "NV21", kLinear},
    {"implicit-modifier=linear: for those that are copied", true, 4096, GST_PAD_SINK, GL, DMABUF "YUY2", nullptr, kLinear},
    {"implicit-modifier=linear: back", false, 4096, GST_PAD_SRC, DMABUF "NV12", GL, nullptr, kLinear},
    {"nobody says that linear is meant", true, 4096, GST_PAD_SINK, GL, DRM "NV12", DMABUF "NV12"},
    {"nobody says that linear is meant, back", true, 4096, GST_PAD_SRC, DMABUF "NV12", nullptr, nullptr},
    {"implicit-modifier=driver: of a driver that names its modifiers", true, 4096, GST_PAD_SINK, GL, DRM "NV12", DMABUF "NV12",
     gstdrm::ImplicitModifier::Driver},
    {"back, too wide", false, 4096, GST_PAD_SRC, DRM "NV12, width=4097", nullptr, nullptr},
};

GST_START_TEST(test_rows)
{
  const Row &row = kRows[__i__];
  const FormatSet drawn = set_of({"XR24", "NV12", "NV12" X_TILED, "NV16"});
  const FormatSet copied = set_of({"YU12", "YUYV"});
  const DownloadFormats formats{&drawn, row.may_copy ? &copied : nullptr, row.max_size,
                                row.implicit_modifier};
  const auto got = gstdrm::download_transform(row.direction, caps_of(row.caps).get(), formats);
  const std::string text = text_of(got.get());
  if (!row.meets)
    fail_unless(gst_caps_is_empty(got.get()), "%s: %s", row.name, text.c_str());
  else
    fail_unless(gst_caps_can_intersect(got.get(), caps_of(row.meets).get()), "%s: %s", row.name, text.c_str());
  if (row.misses)
    fail_if(gst_caps_can_intersect(got.get(), caps_of(row.misses).get()), "%s: %s", row.name, text.c_str());
}
GST_END_TEST

// --- colours -------------------------------------------------------------------------------------

struct ConversionRow {
  const char *name;
  const char *colorimetry;
  gstdrm::egl::YuvMatrix matrix;
  gstdrm::egl::YuvRange range = gstdrm::egl::YuvRange::Limited;
};

// SMPTE 240M and FCC become the nearest of the three that are drawn.
const ConversionRow kConversions[] = {
    {"BT.601", "bt601", gstdrm::egl::YuvMatrix::Bt601},
    {"BT.709", "bt709", gstdrm::egl::YuvMatrix::Bt709},
    {"BT.2020", "bt2020", gstdrm::egl::YuvMatrix::Bt2020},
    {"SMPTE 240M", "smpte240m", gstdrm::egl::YuvMatrix::Bt709},
    {"FCC", "2:2:0:0", gstdrm::egl::YuvMatrix::Bt601},
    {"a JPEG", "1:4:0:0", gstdrm::egl::YuvMatrix::Bt601, gstdrm::egl::YuvRange::Full},
};

GST_START_TEST(test_conversions)
{
  const ConversionRow &row = kConversions[__i__];
  const auto caps = caps_of((std::string(DRM "NV12, colorimetry=(string)") + row.colorimetry).c_str());
  const auto got = gstdrm::conversion_of(caps.get());
  fail_unless(got.matrix == row.matrix && got.range == row.range, "%s: matrix %d, range %d", row.name, static_cast<int>(got.matrix),
              static_cast<int>(got.range));
}
GST_END_TEST

Suite *egl_download_caps_suite()
{
  Suite *suite = suite_create("egl-download-caps");
  TCase *tcase = tcase_create("caps");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_rows, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_conversions, 0, G_N_ELEMENTS(kConversions));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_download_caps)
