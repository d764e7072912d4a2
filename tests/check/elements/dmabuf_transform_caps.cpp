// SPDX-License-Identifier: LGPL-2.1-or-later
// transform_caps(): which caps on one pad of dmabufupload and dmabufdownload stand for which on the other one.
#include "support/dmabuf_elements.hpp"

#include "element/gstdmabufcaps.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::CapsRules;
using gstdrm::GstPtr;
using gstdrm::kDownloadRules;
using gstdrm::kUploadRules;

constexpr CapsRules kLinearUpload = gstdrm::with_implicit_linear(kUploadRules);
constexpr CapsRules kLinearDownload = gstdrm::with_implicit_linear(kDownloadRules);

#define DMABUF "video/x-raw(memory:DMABuf), format="
#define OVERLAYS "(memory:SystemMemory, meta:GstVideoOverlayComposition)"
#define DMABUF_OVERLAYS "(memory:DMABuf, meta:GstVideoOverlayComposition)"
#define DMA_DRM "video/x-raw(memory:DMABuf), format=DMA_DRM"

struct Row {
  const char *name;
  const CapsRules &rules;
  GstPadDirection direction; // of the pad that `caps` are on
  const char *caps;
  const char *expected;
};

const Row kRows[] = {
    {"upload: plain video goes out as DMA_DRM, then plain", kUploadRules, GST_PAD_SINK, "video/x-raw, format=NV12",
     DMA_DRM ", drm-format=NV12; video/x-raw, format=NV12"},
    {"upload: DMA_DRM passes, tiled or not", kUploadRules, GST_PAD_SINK, DMA_DRM ", drm-format=NV12:0x0100000000000001",
     DMA_DRM ", drm-format=NV12:0x0100000000000001"},
    {"upload: a linear peer takes plain video", kUploadRules, GST_PAD_SRC, DMA_DRM ", drm-format=XR24",
     DMA_DRM ", drm-format=XR24; video/x-raw, format=BGRx"},
    {"upload: a tiled peer takes no plain video", kUploadRules, GST_PAD_SRC, DMA_DRM ", drm-format=XR24:0x0100000000000001",
     DMA_DRM ", drm-format=XR24:0x0100000000000001"},
    {"upload: the same peer in both dialects", kUploadRules, GST_PAD_SRC, DMA_DRM ", drm-format=NV12; video/x-raw, format=NV12",
     DMA_DRM ", drm-format=NV12; video/x-raw, format=NV12"},
    {"upload: overlays go on with their frames", kUploadRules, GST_PAD_SINK, "video/x-raw" OVERLAYS ", format=NV12",
     "video/x-raw" DMABUF_OVERLAYS ", format=DMA_DRM, drm-format=NV12; video/x-raw" OVERLAYS ", format=NV12"},
    {"upload: a peer that takes overlays", kUploadRules, GST_PAD_SRC, DMA_DRM ", drm-format=NV12; video/x-raw" DMABUF_OVERLAYS
     ", format=DMA_DRM, drm-format=NV12",
     DMA_DRM ", drm-format=NV12; video/x-raw" DMABUF_OVERLAYS ", format=DMA_DRM, drm-format=NV12; video/x-raw, format=NV12; "
     "video/x-raw" OVERLAYS ", format=NV12"},
    {"another feature", kUploadRules, GST_PAD_SINK, "video/x-raw(memory:SystemMemory, meta:Other), format=NV12", "EMPTY"},
    {"download: linear DMA_DRM comes out as plain video", kDownloadRules, GST_PAD_SINK, DMA_DRM ", drm-format=NV12",
     "video/x-raw, format=NV12"},
    {"download: tiled has no plain form", kDownloadRules, GST_PAD_SINK, DMA_DRM ", drm-format=NV12:0x0100000000000001", "EMPTY"},
    {"download: a plain peer is fed from both", kDownloadRules, GST_PAD_SRC, "video/x-raw, format=I420",
     DMA_DRM ", drm-format=YU12; video/x-raw, format=I420"},
    {"download: nothing goes out as DMA_DRM", kDownloadRules, GST_PAD_SRC, DMA_DRM ", drm-format=NV12", "EMPTY"},
    {"other fields stay", kUploadRules, GST_PAD_SINK, "video/x-raw, format=NV12, width=[1,640], framerate=25/1",
     DMA_DRM ", drm-format=NV12, width=[1,640], framerate=25/1; video/x-raw, format=NV12, width=[1,640], framerate=25/1"},
    {"a format without a linear fourcc", kUploadRules, GST_PAD_SINK, "video/x-raw, format=NV12_4L4", "EMPTY"},
    {"the old dialect", kDownloadRules, GST_PAD_SINK, "video/x-raw(memory:DMABuf), format=NV12", "EMPTY"},
    {"download: caps without a modifier that mean linear", kLinearDownload, GST_PAD_SINK, DMABUF "NV12",
     "video/x-raw, format=NV12"},
    {"download: caps without a modifier in a format that is not linear", kLinearDownload, GST_PAD_SINK, DMABUF "NV12_4L4",
     "EMPTY"},
    {"download: a plain peer is fed from all three, those without a modifier after those with one", kLinearDownload, GST_PAD_SRC,
     "video/x-raw, format=I420", DMA_DRM ", drm-format=YU12; " DMABUF "I420; video/x-raw, format=I420"},
    {"upload: a peer that takes no DMA_DRM", kLinearUpload, GST_PAD_SRC, DMABUF "{NV12, NV12_4L4}", "video/x-raw, format=NV12"},
    {"upload: plain video goes out as all three", kLinearUpload, GST_PAD_SINK, "video/x-raw, format=NV12",
     DMA_DRM ", drm-format=NV12; " DMABUF "NV12; video/x-raw, format=NV12"},
    {"upload: what names no modifier does not pass", kLinearUpload, GST_PAD_SINK, DMABUF "NV12", "EMPTY"},
    {"upload: a peer that takes no DMA_DRM, where nobody says that it means linear", kUploadRules, GST_PAD_SRC, DMABUF "NV12",
     "EMPTY"},
    {"other memory", kUploadRules, GST_PAD_SINK, "video/x-raw(memory:GLMemory), format=NV12", "EMPTY"},
    {"not video", kUploadRules, GST_PAD_SINK, "audio/x-raw", "EMPTY"},
    {"nothing", kUploadRules, GST_PAD_SINK, "EMPTY", "EMPTY"},
};

GST_START_TEST(test_transform_caps)
{
  const Row &row = kRows[__i__];
  say(row.name);
  const GstPtr<GstCaps> got = gstdrm::transform_caps(row.rules, row.direction, caps_of(row.caps).get());
  // the templates limit the size
  const auto limits = caps_of("video/x-raw(ANY), width=[1,16384], height=[1,16384]");
  const auto expected = GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(caps_of(row.expected).get(), limits.get()));
  fail_unless(gst_caps_is_strictly_equal(got.get(), expected.get()), "got %s, expected %s", text_of(got.get()).c_str(),
              text_of(expected.get()).c_str());
}
GST_END_TEST

// ANY stands for all that the template has: every linear format on the plain side.
GST_START_TEST(test_any)
{
  const GstPtr<GstCaps> any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  const GstPtr<GstCaps> got = gstdrm::transform_caps(kDownloadRules, GST_PAD_SINK, any.get());
  const auto plain = gstdrm::plain_template();
  GstCaps *overlays = gst_caps_copy(plain.get());
  gst_caps_features_add(gst_caps_get_features(overlays, 0), GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION);
  gst_caps_append(plain.get(), overlays);
  fail_unless(gst_caps_is_strictly_equal(got.get(), plain.get()), "%s", text_of(got.get()).c_str());
}
GST_END_TEST

Suite *dmabuf_transform_caps_suite()
{
  Suite *suite = suite_create("dmabuf-transform-caps");
  TCase *tcase = tcase_create("caps");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_transform_caps, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_any);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_transform_caps)
