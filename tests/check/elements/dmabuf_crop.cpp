// SPDX-License-Identifier: LGPL-2.1-or-later
// Padded frames with a GstVideoCropMeta through both elements: the right pixels for every format
// and corner, and no copy where the planes allow it.
#include "support/crops.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr Crop kCrops[] = {
    {0, 0, 13, 9}, {1, 0, 13, 9}, {0, 1, 13, 9}, {1, 1, 13, 9},  {2, 2, 12, 8}, {3, 3, 11, 7},
    {4, 4, 9, 5},  {7, 5, 10, 5}, {1, 1, 1, 1},  {16, 9, 1, 1},  {5, 0, 1, 10}, {0, 7, 17, 1},
    {12, 8, 5, 2}, {6, 2, 1, 8},  {15, 9, 2, 1}, {16, 0, 1, 10}, {3, 9, 14, 1},
};
// Every so many of the rectangles, from another one on for each format: all of them in all ways
// take minutes with a sanitizer.
std::vector<Crop> crops_for(std::size_t format, std::size_t first, std::size_t step)
{
  std::vector<Crop> chosen;
  for (std::size_t i = (format + first) % step; i < G_N_ELEMENTS(kCrops); i += step)
    chosen.push_back(kCrops[i]);
  return chosen;
}

constexpr int kFrameWidth = 17;
constexpr int kFrameHeight = 10;

std::string upload()
{
  return std::string("dmabufupload allocator=") + test_kinds().front();
}

std::string with_mode(const std::string &caps, bool fields)
{
  return caps + (fields ? ", interlace-mode=(string)interleaved" : "");
}

GstVideoInfo info_of(const std::string &format, guint width, guint height, bool fields)
{
  return video_info(with_mode(
      plain_caps(format.c_str(), static_cast<int>(width), static_cast<int>(height)), fields));
}

// Every format, from system memory: one copy, of the visible pixels.
GST_START_TEST(test_upload)
{
  const bool fields = __i__ == 1;
  std::size_t n_formats = 0;
  for (const std::string &format : linear_format_names()) {
    const GstVideoInfo whole_info =
        info_of(format, kFrameWidth, kFrameHeight + (fields ? 2 : 0), fields);
    const Harness h(upload());
    guint pushed = 0;
    for (const Crop &crop : crops_for(n_formats++, 0, 3)) {
      if (fields && crop.y % 2 != 0)
        continue;
      const GstVideoInfo info = info_of(format, crop.width, crop.height, fields);
      fail_unless(h.negotiate(with_mode(
          plain_caps(format.c_str(), static_cast<int>(crop.width), static_cast<int>(crop.height)),
          fields)));
      GstBuffer *buffer = new_noise_frame(whole_info, pushed + 1);
      const Picture whole(buffer, whole_info, fields);
      add_crop(buffer, crop);
      const auto out = h.push(buffer);
      check_cropped(whole, Picture(out.get(), info, fields), info, crop, fields, "upload");
      fail_unless(gst_buffer_get_video_crop_meta(out.get()) == nullptr);
      fail_unless_equals_int(gst_buffer_get_video_meta(out.get())->width, crop.width);
      fail_unless_equals_int(gst_buffer_get_video_meta(out.get())->height, crop.height);
      fail_unless_equals_uint64(h.stat("copies"), ++pushed);
    }
  }
}
GST_END_TEST

// Plain and DMA_DRM frames of every format, to a reader with and without GstVideoMeta: a picture
// that begins at a byte of every plane is not copied for the one, and all are right.
GST_START_TEST(test_download)
{
  const bool dmabuf = __i__ % 2 == 1;
  const bool reads_meta = __i__ / 2 == 1;
  std::size_t n_formats = 0;
  for (const std::string &format : linear_format_names()) {
    const GstVideoInfo whole_info = info_of(format, kFrameWidth, kFrameHeight, false);
    const auto *layout = Picture::fourcc_info_of(whole_info);
    guint64 modifier = 0;
    g_autofree gchar *name = gst_drm_format_to_string(
        gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&whole_info), &modifier),
        GST_DRM_MODIFIER_LINEAR);
    const std::string quoted = std::string("\"") + name + "\"";
    const Harness h("dmabufdownload");
    if (reads_meta)
      gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
    guint copies = 0;
    for (const Crop &crop : crops_for(n_formats++, static_cast<std::size_t>(__i__), 6)) {
      const auto width = static_cast<int>(crop.width);
      const auto height = static_cast<int>(crop.height);
      const GstVideoInfo info = info_of(format, crop.width, crop.height, false);
      if (!has_room_by_default(info))
        continue;
      fail_unless(h.negotiate(dmabuf ? dmabuf_caps(quoted.c_str(), width, height)
                                     : plain_caps(format.c_str(), width, height)),
                  "%s: %s", format.c_str(), h.last_error().c_str());
      GstBuffer *buffer =
          dmabuf ? new_dmabuf_frame(test_kinds().front(),
                                    plain_caps(format.c_str(), kFrameWidth, kFrameHeight))
                 : new_noise_frame(whole_info, crop.x + crop.y);
      const Picture whole(buffer, whole_info, false);
      add_crop(buffer, crop);
      const auto out = h.push(buffer);
      check_cropped(whole, Picture(out.get(), info, false), info, crop, false, "download");
      fail_unless(gst_buffer_get_video_crop_meta(out.get()) == nullptr);
      bool at_a_byte = true;
      for (guint p = 0; p < layout->n_planes; p++) {
        const auto &plane = layout->planes[p];
        at_a_byte &= crop.x % (plane.hsub * plane.block_width) == 0 && crop.y % plane.vsub == 0;
      }
      copies += reads_meta && at_a_byte ? 0 : 1;
      fail_unless(h.stat("copies") == copies, "%s from %u,%u: %u copies, expected %u",
                  format.c_str(), crop.x, crop.y, static_cast<guint>(h.stat("copies")), copies);
    }
  }
}
GST_END_TEST

// A reader that crops by itself gets the very same buffer.
GST_START_TEST(test_reader_crops)
{
  const Harness h("dmabufdownload");
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(dmabuf_caps("NV12", 13, 9)));
  const GstPtr<GstQuery> query = h.ask_allocation(dmabuf_caps("NV12", 13, 9));
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr));
  GstBuffer *buffer = new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", 17, 10));
  add_crop(buffer, {1, 1, 13, 9});
  const auto out = h.push(buffer);
  fail_unless(out.get() == buffer);
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(out.get());
  fail_unless(crop && crop->x == 1 && crop->y == 1);
  fail_unless_equals_int(gst_buffer_get_video_meta(out.get())->width, 17);
  fail_unless_equals_uint64(h.stat("copies"), 0);
}
GST_END_TEST

struct ImportRow {
  const char *name;
  const char *format;
  Crop crop; // of 704x80
  bool plain_output;
  guint64 copies;
};

constexpr ImportRow kImports[] = {
    {"rows below", "NV12", {0, 0, 704, 72}, false, 0},
    {"rows above and below", "NV12", {0, 4, 704, 72}, false, 0},
    {"columns after", "I420", {0, 0, 640, 80}, false, 0},
    {"256 bytes in", "GRAY8", {256, 0, 320, 80}, false, 0},
    {"256 bytes in, chroma 128", "I420", {256, 0, 320, 80}, false, 1},
    {"16 bytes in", "NV12", {16, 0, 640, 80}, false, 1},
    {"16 bytes in, for the CPU", "NV12", {16, 0, 640, 80}, true, 0},
    {"odd, for the CPU", "NV12", {1, 0, 640, 80}, true, 1},
    {"64 pixels in", "BGRx", {64, 8, 640, 64}, false, 0},
};

// Upstream's own dmabufs: no copy where a device can begin to read.
GST_START_TEST(test_upload_dmabuf)
{
  const ImportRow &row = kImports[__i__];
  const Harness h(upload());
  if (row.plain_output) {
    gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  }
  const std::string coded = plain_caps(row.format, 704, 80);
  const GstVideoInfo info = info_of(row.format, row.crop.width, row.crop.height, false);
  fail_unless(h.negotiate(plain_caps(row.format, info.width, info.height)));
  const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame(test_kinds().front(), coded, 3));
  add_crop(kept.get(), row.crop);
  const Picture whole(kept.get(), video_info(coded), false);
  const auto out = h.push(gst_buffer_ref(kept.get()));
  fail_unless(h.stat("copies") == row.copies, "%s: %u copies", row.name,
              static_cast<guint>(h.stat("copies")));
  check_cropped(whole, Picture(out.get(), info, false), info, row.crop, false, row.name);
  if (row.copies == 0) {
    fail_unless(gst_buffer_peek_memory(out.get(), 0) == gst_buffer_peek_memory(kept.get(), 0));
    fail_unless(gst_buffer_get_parent_buffer_meta(out.get()) != nullptr);
  }
  fail_unless(gst_buffer_get_video_crop_meta(out.get()) == nullptr);
  // upstream's own buffer is as it was
  fail_unless_equals_int(gst_buffer_get_video_meta(kept.get())->width, 704);
  fail_unless(gst_buffer_get_video_crop_meta(kept.get()) != nullptr);
  GstDrmVideoInfo drm;
  GstDrmFrame frame;
  GError *error = nullptr;
  fail_unless(gst_drm_video_info_from_caps(&drm, h.output_caps().get()));
  fail_unless(gst_drm_frame_from_buffer(&frame, out.get(), &drm, &error), "%s",
              error ? error->message : "");
}
GST_END_TEST

// In passthrough: what can be cut without a copy is, tiled layouts at the right and lower edge.
GST_START_TEST(test_passthrough)
{
  const bool tiled = __i__ % 2 == 1;
  const bool corner = __i__ / 2 == 1;
  const Harness h(upload());
  fail_unless(h.negotiate(dmabuf_caps(tiled ? "NV12:0x0100000000000001" : "NV12", 640, 64)));
  GstBuffer *buffer = new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", 768, 96));
  add_crop(buffer, {0, corner ? 2U : 0U, 640, 64});
  if (tiled && corner) {
    fail_unless_equals_int(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "has to be cropped", "before it gets here");
    return;
  }
  const auto out = h.push(buffer);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(out.get());
  fail_unless_equals_int(meta->width, 640);
  fail_unless_equals_int(meta->height, 64);
  fail_unless_equals_int(meta->offset[0], corner ? 2 * 768 : 0);
  fail_unless_equals_int(meta->offset[1], 768 * 96 + (corner ? 768 : 0));
}
GST_END_TEST

struct RefusedRow {
  const char *name;
  Crop crop;
  bool fields;
  const char *says;
};

// of a frame of 64x48 where the caps say 32x32
constexpr RefusedRow kRefused[] = {
    {"too far right", {33, 0, 32, 32}, false, "of a frame of 64x48"},
    {"too far down", {0, 17, 32, 32}, false, "of a frame of 64x48"},
    {"overflow", {G_MAXUINT - 15, 0, 32, 32}, false, "of a frame of 64x48"},
    {"overflow of both", {G_MAXUINT, G_MAXUINT, 32, 32}, false, "of a frame of 64x48"},
    {"another size", {0, 0, 16, 32}, false, "the caps say 32x32"},
    {"no size", {0, 0, 0, 0}, false, "the caps say 32x32"},
    {"larger than the caps", {0, 0, 64, 48}, false, "the caps say 32x32"},
    {"the other field", {0, 1, 32, 32}, true, "fields"},
};

GST_START_TEST(test_refused)
{
  const RefusedRow &row = kRefused[__i__ / 2];
  const bool down = __i__ % 2 == 1;
  const std::string caps = with_mode(plain_caps("NV12", 32, 32), row.fields);
  const Harness h(down ? "dmabufdownload" : upload());
  fail_unless(h.negotiate(caps));
  GstBuffer *buffer = new_noise_frame(info_of("NV12", 64, 48, row.fields), 1);
  add_crop(buffer, row.crop);
  fail_unless(gst_harness_push(h.get(), buffer) == GST_FLOW_ERROR, "%s", row.name);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "GstVideoCropMeta", row.says);
  (void)h.push(new_frame(caps));
}
GST_END_TEST

Suite *dmabuf_crop_suite()
{
  Suite *suite = suite_create("dmabuf-crop");
  TCase *tcase = tcase_create("crop");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_upload, 0, 2);
  tcase_add_loop_test(tcase, test_download, 0, 4);
  tcase_add_test(tcase, test_reader_crops);
  tcase_add_loop_test(tcase, test_upload_dmabuf, 0, G_N_ELEMENTS(kImports));
  tcase_add_loop_test(tcase, test_passthrough, 0, 4);
  tcase_add_loop_test(tcase, test_refused, 0, 2 * G_N_ELEMENTS(kRefused));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_crop)
