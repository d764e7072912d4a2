// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of which the display shows a part that does not begin at the first pixel: by the plane's
// source rectangle, and where the driver refuses that, by a framebuffer of the part, or not at all.
// Tilings are those of a display of another driver, whose pixels the box's vkms takes as linear.
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"
#include "profile_facts.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480, kWholeWidth = 704, kWholeHeight = 544;
constexpr unsigned kFrames = 3;

// Of the device's planes, which share it.
unsigned plane_property(const std::string &card, const char *name)
{
  const int fd = open(card.c_str(), O_RDWR | O_CLOEXEC);
  drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd);
  drmModeObjectProperties *list =
      drmModeObjectGetProperties(fd, planes->planes[0], DRM_MODE_OBJECT_PLANE);
  unsigned id = 0;
  for (std::uint32_t i = 0; i < list->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
    if (std::strcmp(property->name, name) == 0)
      id = property->prop_id;
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
  drmModeFreePlaneResources(planes);
  close(fd);
  ck_assert_uint_ne(id, 0);
  return id;
}

struct Row {
  const char *name;
  const char *drm_format;
  guint x, y;
  bool refused;     // the source rectangle
  unsigned imports; // 0: the frame cannot be shown
};

const Row kRows[] = {
    {"linear", "XR24", 33, 17, false, 1},
    {"linear, the source rectangle is refused", "XR24", 33, 17, true, 2},
    {"tiled", "XR24:0x0500000000000001", 33, 17, false, 1},
    {"tiled, the source rectangle is refused", "XR24:0x0500000000000001", 33, 17, true, 0},
};

std::vector<std::uint8_t> part_of(const std::vector<std::uint8_t> &whole, guint x, guint y)
{
  std::vector<std::uint8_t> part;
  for (guint row = 0; row < kHeight; row++) {
    const auto from = whole.begin() + 4 * ((y + row) * kWholeWidth + x);
    part.insert(part.end(), from, from + 4 * kWidth);
  }
  return part;
}

GstPtr<GstBuffer> frame_of(const GstVideoInfo &whole, GstBuffer *picture, const Row &row)
{
  GstPtr<GstBuffer> frame = to_dmabuf(whole, picture, Shape::Tight);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
  crop->x = row.x;
  crop->y = row.y;
  crop->width = kWidth;
  crop->height = kHeight;
  return frame;
}

} // namespace

GST_START_TEST(test_parts)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  const ConfigfsDevice device("parts" + std::to_string(__i__), facts_of("msm"));
  device.set_display(0, {k640x480});
  const GstVideoInfo whole = video_info(plain_caps("BGRx", kWholeWidth, kWholeHeight));
  const auto noise = make_noise(whole, 5);
  const auto all = reference(whole, noise.get(), kWholeWidth, kWholeHeight);
  Sink sink(("driver-name=\"\" zero-copy=require device=" + device.path()).c_str());
  ck_assert(sink.set_caps(dma_drm_caps(row.drm_format, kWidth, kHeight)));
  if (row.refused)
    refuse_commits_that_set(plane_property(device.path(), "SRC_X"),
                            plane_property(device.path(), "SRC_Y"));
  const auto frame = frame_of(whole, noise.get(), row);
  GstFlowReturn flow = GST_FLOW_OK;
  for (unsigned i = 0; i < kFrames && flow == GST_FLOW_OK; i++)
    flow = sink.push(gst_buffer_ref(frame.get()));
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  gstdrm::test::say(error);
  if (row.imports == 0) {
    ck_assert_int_eq(flow, GST_FLOW_ERROR);
    ck_assert_msg(error.find("Crop at even pixels") != std::string::npos, "%s", error.c_str());
  } else {
    ck_assert_msg(flow == GST_FLOW_OK && error.empty(), "%s", error.c_str());
    ck_assert_uint_eq(sink.stat("imports"), row.imports);
    const auto snapshot = sink.snapshot();
    ck_assert(snapshot);
    ck_assert_int_eq(largest_difference(snapshot.get(), part_of(all, row.x, row.y)), 0);
  }
  ck_assert(sink.set_state(GST_STATE_NULL));
  refuse_commits_that_set(0, 0);
}
GST_END_TEST

static Suite *kms_parts_suite(void)
{
  Suite *s = suite_create("kms-parts");
  TCase *tc = tcase_create("parts");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, test_parts, 0, G_N_ELEMENTS(kRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_parts)
