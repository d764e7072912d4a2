// SPDX-License-Identifier: LGPL-2.1-or-later
// drmoverlay: beside the frame where downstream composes, on a counted copy where it does not, and never on the frame
// that came in.
#include "support/dmabuf_elements.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <gst/video/video-overlay-composition.h>

namespace {

using gstdrm::GstPtr;
using gstdrm::test::dmabuf_caps;
using gstdrm::test::Harness;
using gstdrm::test::new_dmabuf_frame;
using gstdrm::test::new_frame_with_long_rows;
using gstdrm::test::plain_caps;
using gstdrm::test::video_info;

constexpr int kWidth = 320;
constexpr int kHeight = 240;
constexpr const char *kReason = "downstream shows no GstVideoOverlayComposition";

void add_region(GstBuffer *buffer, guint x, guint y, guint width, guint height, gdouble confidence = 0.9, guint id = 0, const char *classification = nullptr)
{
  GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta(buffer, "face", x, y, width, height);
  GstStructure *detection = gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, confidence, nullptr);
  if (id != 0)
    gst_structure_set(detection, "id", G_TYPE_UINT, id, nullptr);
  gst_video_region_of_interest_meta_add_param(meta, detection);
  if (classification)
    gst_video_region_of_interest_meta_add_param(meta, gst_structure_new("classification", "label", G_TYPE_STRING, classification, nullptr));
}

GstVideoOverlayComposition *composition_of(GstBuffer *buffer)
{
  GstVideoOverlayCompositionMeta *meta = gst_buffer_get_video_overlay_composition_meta(buffer);
  return meta ? meta->overlay : nullptr;
}

// A temporary text would be gone before a macro of GstCheck prints it.
void check_text(const std::string &text, const char *expected)
{
  fail_unless(text == expected, "'%s' where '%s' was expected", text.c_str(), expected);
}

// "x y width height", one rectangle after the other.
std::string rectangles_of(GstBuffer *buffer)
{
  std::string text;
  GstVideoOverlayComposition *composition = composition_of(buffer);
  for (guint i = 0; composition && i < gst_video_overlay_composition_n_rectangles(composition); i++) {
    gint x = 0, y = 0;
    guint width = 0, height = 0;
    gst_video_overlay_rectangle_get_render_rectangle(gst_video_overlay_composition_get_rectangle(composition, i), &x, &y, &width, &height);
    text += (text.empty() ? "" : "; ") + std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(width) + " " + std::to_string(height);
  }
  return text;
}

// A harness whose sink shows compositions.
std::unique_ptr<Harness> composing(const std::string &element, const std::string &caps)
{
  auto harness = std::make_unique<Harness>(element);
  gst_harness_add_propose_allocation_meta(harness->get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  fail_unless(harness->negotiate(caps));
  return harness;
}

struct FormatRow {
  const char *drm;
  const char *plain;
};
const FormatRow kFormats[] = {{"NV12", "NV12"}, {"XR24", "BGRx"}, {"AR24", "BGRA"}, {"RG24", "BGR"}, {"BG24", "RGB"}};

// The composition lies beside the frame, which is the same.
GST_START_TEST(test_beside)
{
  const FormatRow &row = kFormats[__i__];
  gstdrm::test::say(row.drm);
  const auto harness = composing("drmoverlay", dmabuf_caps(row.drm, kWidth, kHeight));
  const std::string plain = plain_caps(row.plain, kWidth, kHeight);
  GstBuffer *input = new_dmabuf_frame("memfd", plain);
  const GstMemory *memory = gst_buffer_peek_memory(input, 0);
  add_region(input, 100, 80, 60, 40);
  const auto output = harness->push(input);
  fail_unless(gst_buffer_peek_memory(output.get(), 0) == memory);
  gstdrm::test::check_drawn(output.get(), video_info(plain));
  // four lines, and "face 90%" of 8 letters above
  check_text(rectangles_of(output.get()), "100 80 60 2; 100 118 60 2; 100 82 2 36; 158 82 2 36; 100 71 49 9");
  fail_unless_equals_int(harness->stat("copies"), 0);
  fail_unless_equals_int(harness->stat("compositions"), 1);
}
GST_END_TEST

// No pixel is touched, so any layout will do.
GST_START_TEST(test_beside_tiled)
{
  const auto harness = composing("drmoverlay zero-copy=require", dmabuf_caps("NV12:0x0100000000000002", kWidth, kHeight));
  GstBuffer *input = gst_buffer_new();
  add_region(input, 100, 80, 60, 40);
  fail_unless(composition_of(harness->push(input).get()) != nullptr);
}
GST_END_TEST

// What stays is drawn once.
GST_START_TEST(test_kept)
{
  const auto harness = composing("drmoverlay", plain_caps("NV12", kWidth, kHeight));
  GstVideoOverlayComposition *first = nullptr;
  for (const guint x : {10U, 10U, 12U}) {
    GstBuffer *input = gst_buffer_new();
    add_region(input, x, 80, 60, 40);
    const auto output = harness->push(input);
    if (!first)
      first = gst_video_overlay_composition_ref(composition_of(output.get()));
    fail_unless((composition_of(output.get()) == first) == (x == 10));
  }
  gst_video_overlay_composition_unref(first);
  fail_unless_equals_int(harness->stat("drawn"), 2);
  fail_unless_equals_int(harness->stat("compositions"), 3);
}
GST_END_TEST

// An overlay of upstream stays, below.
GST_START_TEST(test_joined)
{
  const auto harness = composing("drmoverlay labels=false", plain_caps("NV12", kWidth, kHeight));
  GstBuffer *pixels = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_add_video_meta(pixels, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, 2, 2);
  GstVideoOverlayRectangle *rectangle = gst_video_overlay_rectangle_new_raw(pixels, 1, 2, 2, 2, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  GstVideoOverlayComposition *composition = gst_video_overlay_composition_new(rectangle);
  GstBuffer *input = gst_buffer_new();
  gst_buffer_add_video_overlay_composition_meta(input, composition);
  add_region(input, 100, 80, 60, 40);
  const auto output = harness->push(input);
  check_text(rectangles_of(output.get()), "1 2 2 2; 100 80 60 2; 100 118 60 2; 100 82 2 36; 158 82 2 36");
  fail_unless_equals_int(gst_video_overlay_composition_n_rectangles(composition), 1);
  gst_video_overlay_composition_unref(composition);
  gst_video_overlay_rectangle_unref(rectangle);
  gst_buffer_unref(pixels);
}
GST_END_TEST

// Luminance, or the first byte of the pixel.
guint8 sample_at(GstBuffer *buffer, const GstVideoInfo &info, guint x, guint y)
{
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
  const guint8 sample = *(static_cast<guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) + y * static_cast<guint>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0)) +
                          x * static_cast<guint>(GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0)));
  gst_video_frame_unmap(&frame);
  return sample;
}

// Nobody composes: drawn on a copy in a DMA buffer, which is counted; the frame itself stays.
GST_START_TEST(test_blended)
{
  const FormatRow &row = kFormats[__i__];
  gstdrm::test::say(row.drm);
  const Harness harness("drmoverlay labels=false");
  fail_unless(harness.negotiate(dmabuf_caps(row.drm, kWidth, kHeight)));
  const std::string plain = plain_caps(row.plain, kWidth, kHeight);
  const GstVideoInfo info = video_info(plain);
  const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", plain));
  GST_BUFFER_PTS(kept.get()) = 7 * GST_SECOND;
  add_region(kept.get(), 100, 80, 60, 40);
  gst_buffer_add_drm_tensor_meta(kept.get(), "faces");
  const auto output = harness.push(gst_buffer_ref(kept.get()));
  fail_unless(gst_buffer_peek_memory(output.get(), 0) != gst_buffer_peek_memory(kept.get(), 0));
  gstdrm::test::check_drawn(kept.get(), info);
  fail_unless(GST_BUFFER_PTS(output.get()) == 7 * GST_SECOND);
  fail_unless(gst_buffer_get_drm_tensor_meta(output.get(), "faces") && gst_buffer_get_video_region_of_interest_meta_id(output.get(), 0));
  fail_unless_equals_int(gst_buffer_get_n_meta(output.get(), GST_VIDEO_META_API_TYPE), 1);
  const guint8 line = sample_at(output.get(), info, 100, 80);
  for (const auto &[x, y] : {std::pair(159U, 80U), {101U, 119U}, {158U, 100U}, {101U, 81U}})
    fail_unless_equals_int(sample_at(output.get(), info, x, y), line);
  for (const auto &[x, y] : {std::pair(99U, 80U), {160U, 80U}, {103U, 83U}, {130U, 100U}, {0U, 0U}})
    fail_unless_equals_int(sample_at(output.get(), info, x, y), sample_at(kept.get(), info, x, y));
  fail_unless_equals_int(harness.stat("copies"), 1);
  fail_unless_equals_int(harness.stat("bytes-copied"), static_cast<int>(info.size));
  check_text(harness.copy_reason(), kReason);
  fail_unless_equals_int(harness.messages(GST_MESSAGE_INFO).size(), 1);
}
GST_END_TEST

// Frames in system memory likewise; one without regions passes untouched.
GST_START_TEST(test_plain)
{
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  const Harness harness("drmoverlay");
  fail_unless(harness.negotiate(plain));
  GstBuffer *untouched = gstdrm::test::new_frame(plain);
  fail_unless(harness.push(untouched).get() == untouched);
  fail_unless_equals_int(harness.stat("copies"), 0);
  const auto kept = GstPtr<GstBuffer>::adopt(gstdrm::test::new_frame(plain));
  add_region(kept.get(), 100, 80, 60, 40);
  const auto output = harness.push(gst_buffer_ref(kept.get()));
  gstdrm::test::check_drawn(kept.get(), video_info(plain));
  fail_unless(sample_at(output.get(), video_info(plain), 100, 80) == sample_at(output.get(), video_info(plain), 101, 81));
  fail_unless_equals_int(harness.stat("copies"), 1);
}
GST_END_TEST

// Formats in system memory: packed and planar, with chroma for one, two and four pixels, grey, and one of 10 bits, which
// GStreamer blends.
constexpr std::array kPainted{"NV12", "NV21", "I420", "NV16", "Y42B", "Y444", "YUY2", "UYVY", "RGB", "ARGB", "GRAY8", "P010_10LE"};

// The same picture as GStreamer's own blending makes with its one matrix, BT.709, within the rounding of its integers.
// Where pixels share chroma, without labels, whose edges may lie between the two: a blended sample is their mean.
GST_START_TEST(test_as_gstreamer_blends)
{
  const std::string format = kPainted[__i__];
  gstdrm::test::say(format);
  const std::string plain = plain_caps(format.c_str(), kWidth, kHeight) + (format == "RGB" || format == "ARGB" ? "" : ", colorimetry=(string)bt709");
  const GstVideoInfo info = video_info(plain);
  const std::string element = GST_VIDEO_INFO_N_COMPONENTS(&info) > 1 && GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, 1) > 0 ? "drmoverlay labels=false" : "drmoverlay";
  const auto input = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, info.size, nullptr));
  gst_buffer_memset(input.get(), 0, 130, info.size);
  add_region(input.get(), 100, 80, 60, 40);
  add_region(input.get(), 280, 4, 60, 40); // beyond the right edge
  const auto harness = composing(element, plain);
  const auto beside = harness->push(gst_buffer_ref(input.get()));
  const auto wanted = GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(input.get()));
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, wanted.get(), GST_MAP_READWRITE));
  fail_unless(gst_video_overlay_composition_blend(composition_of(beside.get()), &frame));
  gst_video_frame_unmap(&frame);
  const Harness copying(element);
  fail_unless(copying.negotiate(plain));
  const auto got = copying.push(gst_buffer_ref(input.get()));
  GstMapInfo ours, theirs;
  fail_unless(gst_buffer_map(got.get(), &ours, GST_MAP_READ) && gst_buffer_map(wanted.get(), &theirs, GST_MAP_READ));
  fail_unless(ours.size == theirs.size);
  gsize drawn = 0;
  for (gsize i = 0; i < ours.size; i++) {
    fail_unless(std::abs(ours.data[i] - theirs.data[i]) <= 3, "byte %zu: %d and %d", i, ours.data[i], theirs.data[i]);
    drawn += ours.data[i] != 130;
  }
  fail_unless(drawn > 300);
  gst_buffer_unmap(got.get(), &ours);
  gst_buffer_unmap(wanted.get(), &theirs);
}
GST_END_TEST

// The colour of "face" is 255, 220, 0: a luma of 205.4 of 255 by BT.601, and of 211.5 by BT.709.
const std::pair<const char *, int> kColorimetry[] = {{"bt601", 192}, {"1:4:0:0", 205}, {"bt709", 198}};

GST_START_TEST(test_colorimetry_of_the_caps)
{
  const auto &[colorimetry, luma] = kColorimetry[__i__];
  gstdrm::test::say(colorimetry);
  const std::string plain = plain_caps("NV12", kWidth, kHeight) + ", colorimetry=(string)" + colorimetry;
  const Harness harness("drmoverlay labels=false");
  fail_unless(harness.negotiate(plain));
  GstBuffer *input = gstdrm::test::new_frame(plain);
  add_region(input, 101, 81, 60, 40); // odd: luma to the pixel
  const auto output = harness.push(input);
  fail_unless_equals_int(sample_at(output.get(), video_info(plain), 101, 81), luma);
  fail_unless_equals_int(sample_at(output.get(), video_info(plain), 160, 120), luma);
  fail_if(sample_at(output.get(), video_info(plain), 161, 120) == luma && sample_at(output.get(), video_info(plain), 100, 81) == luma);
}
GST_END_TEST

struct RefusedRow {
  const char *element;
  const char *drm;
  const char *says;
};
const RefusedRow kRefused[] = {
    {"drmoverlay zero-copy=require", "NV12", "zero-copy=require forbids"},
    {"drmoverlay", "NV12:0x0100000000000002", "NV12:0x0100000000000002"},
    {"drmoverlay", "XR24:0x0200000000000901", "draws on linear frames alone"},
};

GST_START_TEST(test_refused)
{
  const RefusedRow &row = kRefused[__i__];
  const Harness harness(row.element);
  fail_unless(harness.negotiate(dmabuf_caps(row.drm, kWidth, kHeight)));
  GstBuffer *input = new_dmabuf_frame("memfd", plain_caps("NV12", kWidth, kHeight));
  add_region(input, 100, 80, 60, 40);
  fail_unless_equals_int(gst_harness_push(harness.get(), input), GST_FLOW_ERROR);
  const std::string said = harness.last_error();
  gstdrm::test::say(said);
  fail_unless(said.find(row.says) != std::string::npos, "%s", said.c_str());
  fail_unless_equals_int(harness.stat("copies"), 0);
}
GST_END_TEST

// memory:DMABuf without DMA_DRM: the user says whether the frames are linear.
const std::pair<const char *, int> kImplicit[] = {{"linear", 1}, {"auto", 0}, {"refuse", 0}, {"driver", 0}};

GST_START_TEST(test_caps_without_a_modifier)
{
  const auto &[value, copies] = kImplicit[__i__];
  gstdrm::test::say(value);
  const Harness harness(std::string("drmoverlay labels=false implicit-modifier=") + value);
  fail_unless(harness.negotiate("video/x-raw(memory:DMABuf), format=(string)NV12, width=(int)320, height=(int)240"));
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  GstBuffer *input = new_dmabuf_frame("memfd", plain);
  add_region(input, 100, 80, 60, 40);
  fail_unless_equals_int(gst_harness_push(harness.get(), input), copies ? GST_FLOW_OK : GST_FLOW_ERROR);
  fail_unless_equals_int(harness.stat("copies"), copies);
  fail_unless(copies || harness.last_error().find("draws on linear frames alone") != std::string::npos, "%s", harness.last_error().c_str());
}
GST_END_TEST

// A buffer smaller than its caps say is not read.
GST_START_TEST(test_too_small)
{
  const Harness harness("drmoverlay");
  fail_unless(harness.negotiate(dmabuf_caps("NV12", kWidth, kHeight)));
  GstBuffer *input = new_dmabuf_frame("memfd", plain_caps("NV12", 64, 48));
  add_region(input, 0, 0, 60, 40);
  fail_unless_equals_int(gst_harness_push(harness.get(), input), GST_FLOW_ERROR);
  gstdrm::test::say(harness.last_error());
}
GST_END_TEST

struct RegionRow {
  const char *name;
  guint x, y, width, height;
  gdouble confidence;
  const char *expected;
  guint id = 0;
  const char *classification = nullptr;
};
const RegionRow kRegions[] = {
    {"beyond the edges", 300, 220, 1000, 1000, 2, "300 220 20 2; 300 238 20 2; 300 222 2 16; 318 222 2 16; 295 211 25 9"},
    {"outside", 320, 0, 10, 10, 2, ""},
    {"the largest numbers", G_MAXUINT, G_MAXUINT, G_MAXUINT, G_MAXUINT, 2, ""},
    {"the whole frame and more", 0, 0, G_MAXUINT, G_MAXUINT, 2, "0 0 320 2; 0 238 320 2; 0 2 2 236; 318 2 2 236; 0 0 25 9"},
    {"no extent", 10, 10, 0, 5, 2, ""},
    {"smaller than its lines", 10, 20, 3, 3, 2, "10 20 3 3; 10 11 25 9"},
    {"a confidence that is none", 10, 20, 3, 3, -1, "10 20 3 3; 10 11 25 9"},
    {"tracked: #7 face", 10, 20, 3, 3, 2, "10 20 3 3; 10 11 43 9", 7},
    {"tracked: #7 face 90%", 10, 20, 3, 3, 0.9, "10 20 3 3; 10 11 67 9", 7},
    {"classified: face 90% cat", 10, 20, 3, 3, 0.9, "10 20 3 3; 10 11 73 9", 0, "cat"},
};

GST_START_TEST(test_odd_regions)
{
  const RegionRow &row = kRegions[__i__];
  gstdrm::test::say(row.name);
  const auto harness = composing("drmoverlay", plain_caps("NV12", kWidth, kHeight));
  GstBuffer *input = gst_buffer_new();
  add_region(input, row.x, row.y, row.width, row.height, row.confidence, row.id, row.classification);
  check_text(rectangles_of(harness->push(input).get()), row.expected);
}
GST_END_TEST

// Downstream starts to compose while the stream runs.
GST_START_TEST(test_asked_again)
{
  const std::string plain = plain_caps("NV12", kWidth, kHeight);
  const Harness harness("drmoverlay");
  fail_unless(harness.negotiate(plain));
  GstBuffer *input = gstdrm::test::new_frame(plain);
  add_region(input, 100, 80, 60, 40);
  fail_unless(composition_of(harness.push(input).get()) == nullptr);
  gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  gst_harness_push_upstream_event(harness.get(), gst_event_new_reconfigure());
  input = gstdrm::test::new_frame(plain);
  add_region(input, 100, 80, 60, 40);
  fail_unless(composition_of(harness.push(input).get()) != nullptr);
}
GST_END_TEST

GST_START_TEST(test_hostile_meta)
{
  const Harness harness("drmoverlay");
  const std::string plain = plain_caps("NV12", 64, 48);
  fail_unless(harness.negotiate(plain));
  GstBuffer *frame = new_frame_with_long_rows(static_cast<guint>(__i__));
  add_region(frame, 0, 0, 60, 44);
  fail_unless_equals_int(gst_harness_push(harness.get(), frame), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "stride 4096", "byte 4608");
}
GST_END_TEST

Suite *drmoverlay_suite()
{
  Suite *suite = suite_create("drmoverlay");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_hostile_meta, 0, 2);
  tcase_add_loop_test(tcase, test_beside, 0, G_N_ELEMENTS(kFormats));
  tcase_add_loop_test(tcase, test_blended, 0, G_N_ELEMENTS(kFormats));
  tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(kRefused));
  tcase_add_loop_test(tcase, test_caps_without_a_modifier, 0, G_N_ELEMENTS(kImplicit));
  tcase_add_loop_test(tcase, test_odd_regions, 0, G_N_ELEMENTS(kRegions));
  tcase_add_test(tcase, test_beside_tiled);
  tcase_add_test(tcase, test_kept);
  tcase_add_test(tcase, test_joined);
  tcase_add_test(tcase, test_plain);
  tcase_add_loop_test(tcase, test_as_gstreamer_blends, 0, kPainted.size());
  tcase_add_loop_test(tcase, test_colorimetry_of_the_caps, 0, G_N_ELEMENTS(kColorimetry));
  tcase_add_test(tcase, test_too_small);
  tcase_add_test(tcase, test_asked_again);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(drmoverlay)
