// SPDX-License-Identifier: LGPL-2.1-or-later
// objectdetectionoverlay, which GStreamer has since 1.24, draws what drmtensordecode found.
#include <string>
#include <vector>

#include "support/analytics.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/float_tensors.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::test::add_tensor;

constexpr int kWidth = 200;
constexpr int kHeight = 100;
constexpr gsize kBytes = 4 * kWidth * kHeight;

// A black frame with one object of this score, at 50, 30, of 50x40.
GstBuffer *new_black_frame(gfloat score)
{
  GstBuffer *frame = gst_buffer_new_allocate(nullptr, kBytes, nullptr);
  gst_buffer_memset(frame, 0, 0, kBytes);
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(frame, "objects");
  meta->placement = {100, 100, 0.5, 1, 0, 0};
  add_tensor(meta, "boxes", {1, 1, 4}, {0.3F, 0.25F, 0.7F, 0.5F});
  add_tensor(meta, "scores", {1, 1}, {score});
  add_tensor(meta, "classes", {1, 1}, {0});
  add_tensor(meta, "count", {1}, {1});
  return frame;
}

struct Row {
  const char *name;
  gfloat score;
  const char *detections;
  bool drawn;
};

// one after the other through the same elements
const Row kRows[] = {
    {"an object", 0.9F, "class 0 90% 50 30 50 40", true},
    {"an object below the threshold", 0.1F, "", false},
    {"an object again", 0.6F, "class 0 60% 50 30 50 40", true},
};

void check_picture(const guint8 *pixels, const Row &row)
{
  const auto bright = [&](gsize x, gsize y) { return pixels[4 * (y * kWidth + x)] > 64; };
  fail_unless(bright(50, 50) == row.drawn, "%s: the box's left edge", row.name);
  fail_unless((bright(99, 50) || bright(100, 50)) == row.drawn, "%s: the box's right edge", row.name);
  fail_unless(bright(75, 30) == row.drawn, "%s: the box's upper edge", row.name);
  fail_unless((bright(75, 69) || bright(75, 70)) == row.drawn, "%s: the box's lower edge", row.name);
  fail_if(bright(75, 50), "%s: inside of the box", row.name);
  fail_if(bright(20, 50) || bright(150, 50) || bright(75, 90), "%s: outside of the box", row.name);
}

GST_START_TEST(test_frames)
{
  GstHarness *harness = gst_harness_new_parse("drmtensordecode ! objectdetectionoverlay draw-labels=false");
  gst_harness_set_src_caps_str(harness, gstdrm::test::plain_caps("BGRx", kWidth, kHeight).c_str());
  for (const Row &row : kRows) {
    gstdrm::test::say(row.name);
    const auto output = GstPtr<GstBuffer>::adopt(gst_harness_push_and_pull(harness, new_black_frame(row.score)));
    fail_unless(static_cast<bool>(output));
    const std::string found = gstdrm::test::detections_of(output.get());
    fail_unless(found == row.detections, "%s: '%s'", row.name, found.c_str());
    GstMapInfo map;
    fail_unless(gst_buffer_map(output.get(), &map, GST_MAP_READ));
    check_picture(map.data, row);
    gst_buffer_unmap(output.get(), &map);
  }
  gst_harness_teardown(harness);
}
GST_END_TEST

Suite *upstream_overlay_suite()
{
  Suite *suite = suite_create("upstream-overlay");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_frames);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(upstream_overlay)
