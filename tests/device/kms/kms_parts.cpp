// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of which the display shows a part that does not begin at the first pixel: by the plane's
// source rectangle, and where the driver refuses that, by a framebuffer of the part, or not at all.
// The box's vkms is started with vkms.tiled=1, so that it lists X tiles as well.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

// Rows of the whole are whole X tiles: 512 bytes and 8 rows each.
constexpr int kWidth = 640, kHeight = 480, kWholeWidth = 768, kWholeHeight = 544;
constexpr unsigned kFrames = 3;

// Of the planes of vkms, which share it.
unsigned plane_property(const char *name)
{
  const int fd = drmOpen("vkms", nullptr);
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
  drmClose(fd);
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
    {"tiled", "XR24:0x0100000000000001", 33, 17, false, 1},
    {"tiled, the source rectangle is refused", "XR24:0x0100000000000001", 33, 17, true, 0},
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

// The same picture in X tiles (drm_fourcc.h, I915_FORMAT_MOD_X_TILED).
GstPtr<GstBuffer> tiled(GstBuffer *linear)
{
  constexpr std::size_t kTileBytes = 512, kTileRows = 8, kStride = kWholeWidth * 4;
  auto picture = GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(linear));
  GstMapInfo from, to;
  ck_assert(gst_buffer_map(linear, &from, GST_MAP_READ));
  ck_assert(gst_buffer_map(picture.get(), &to, GST_MAP_WRITE));
  for (std::size_t i = 0; i < from.size; i += kTileBytes) {
    const std::size_t row = i / kStride, column = i % kStride / kTileBytes;
    std::copy_n(from.data + i, kTileBytes,
                to.data + row / kTileRows * kTileRows * kStride +
                    (column * kTileRows + row % kTileRows) * kTileBytes);
  }
  gst_buffer_unmap(picture.get(), &to);
  gst_buffer_unmap(linear, &from);
  return picture;
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
  const GstVideoInfo whole = video_info(plain_caps("BGRx", kWholeWidth, kWholeHeight));
  const auto noise = make_noise(whole, 5);
  const auto all = reference(whole, noise.get(), kWholeWidth, kWholeHeight);
  Sink sink("zero-copy=require");
  ck_assert(sink.set_caps(dma_drm_caps(row.drm_format, kWidth, kHeight)));
  if (row.refused)
    refuse_commits_that_set(plane_property("SRC_X"), plane_property("SRC_Y"));
  const bool is_tiled = std::strchr(row.drm_format, ':') != nullptr;
  const auto frame = frame_of(whole, is_tiled ? tiled(noise.get()).get() : noise.get(), row);
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
