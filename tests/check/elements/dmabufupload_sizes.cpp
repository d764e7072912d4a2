// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload at sizes whose default layout in GStreamer is not what the allocator makes of them:
// larger, smaller, interlaced. What fits nowhere else is copied, what is offered can be configured
// with the size that decoders ask for.
#include "support/crops.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

std::string upload()
{
  return std::string("dmabufupload allocator=") + test_kinds().front();
}

std::string caps_for(const std::string &format, int width, int height, const char *mode)
{
  return plain_caps(format.c_str(), width, height) + ", interlace-mode=(string)" + mode;
}

// One frame copied, and a pool configured as GstVideoDecoder does it: with the larger of the
// offered size and its own, which some writers fill
// (gst_video_decoder_decide_allocation_default()).
void check_size(const Harness &h, const std::string &caps)
{
  const GstVideoInfo info = video_info(caps);
  if (!has_room_by_default(info))
    return;
  const guint64 copies = h.stat("copies") + 1;
  fail_unless(h.negotiate(caps), "%s: %s", caps.c_str(), h.last_error().c_str());
  check_drawn(h.push(new_frame(caps, 5)).get(), info, 5);
  fail_unless_equals_uint64(h.stat("copies"), copies);
  const GstPtr<GstQuery> query = h.ask_allocation(caps);
  GstBufferPool *offered = nullptr;
  guint size = 0;
  guint min = 0;
  gst_query_parse_nth_allocation_pool(query.get(), 0, &offered, &size, &min, nullptr);
  const auto pool = GstPtr<GstBufferPool>::adopt(offered);
  for (bool video_meta : {false, true}) {
    GstStructure *config = gst_buffer_pool_get_config(pool.get());
    gst_buffer_pool_config_set_params(config, caps_of(caps).get(),
                                      MAX(size, static_cast<guint>(info.size)), min, 0);
    if (video_meta)
      gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    fail_unless(gst_buffer_pool_set_config(pool.get(), config), "%s, video meta %d", caps.c_str(),
                video_meta);
  }
  fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE));
  GstBuffer *buffer = acquire(pool);
  draw(buffer, info, 6);
  const auto out = h.push(buffer);
  check_drawn(out.get(), info, 6);
  fail_unless(h.stat("copies") == copies, "%s: a frame of the offered pool was copied",
              caps.c_str());
  gst_buffer_pool_set_active(pool.get(), FALSE);
}

// Heights that GStreamer rounds up, at widths whose rows need no padding and at others.
GST_START_TEST(test_sweep)
{
  static constexpr int kWidths[] = {61, 256};
  static constexpr int kHeights[] = {1, 29, 46};
  static constexpr const char *kModes[] = {"progressive", "interleaved"};
  const std::vector<std::string> formats = linear_format_names();
  for (std::size_t i = static_cast<std::size_t>(__i__); i < formats.size(); i += 4) {
    const Harness h(upload());
    for (int width : kWidths)
      for (int height : kHeights)
        for (const char *mode : kModes)
          check_size(h, caps_for(formats[i], width, height, mode));
  }
}
GST_END_TEST

struct SizeRow {
  const char *format;
  int width;
  int height;
  const char *mode;
};

// Found by trying all of 86400 sizes.
constexpr SizeRow kSizes[] = {
    {"NV12", 1280, 486, "interleaved"},       {"NV12", 1920, 1078, "interleaved"},
    {"I420", 512, 486, "interleaved"},        {"I420_10LE", 1280, 1078, "interleaved"},
    {"I420_10LE", 1280, 1078, "progressive"}, {"GRAY10_LE32", 3840, 477, "progressive"},
    {"GRAY10_LE32", 768, 33, "progressive"},  {"P010_10LE", 1280, 486, "interleaved"},
    {"YUV9", 1024, 33, "interleaved"},        {"NV16", 1280, 487, "interleaved"},
};

GST_START_TEST(test_known)
{
  const SizeRow &row = kSizes[__i__];
  const std::string caps = caps_for(row.format, row.width, row.height, row.mode);
  const std::vector<std::string> formats = linear_format_names();
  if (std::find(formats.begin(), formats.end(), row.format) == formats.end())
    return; // not a linear fourcc in this GStreamer
  check_size(Harness(upload()), caps);
}
GST_END_TEST

// The rows that only interlaced pictures have arrive too: GStreamer reads colour there.
GST_START_TEST(test_field_rows)
{
  static constexpr const char *kFormats[] = {"NV12", "I420", "NV21", "YV12"};
  const std::string caps = caps_for(kFormats[__i__], 1280, 486, "interleaved");
  const GstVideoInfo info = video_info(caps);
  const Harness h(upload());
  const Harness down("dmabufdownload");
  gst_harness_add_propose_allocation_meta(down.get(), GST_VIDEO_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(caps));
  fail_unless(down.negotiate(text_of(h.output_caps().get())));
  GstBuffer *buffer = new_noise_frame(info, 7);
  const Picture before(buffer, info, true);
  const auto out = down.push(h.push(buffer).release());
  check_cropped(before, Picture(out.get(), info, true), info, {0, 0, 1280, 486}, true, "fields");
}
GST_END_TEST

Suite *dmabufupload_sizes_suite()
{
  Suite *suite = suite_create("dmabufupload-sizes");
  TCase *tcase = tcase_create("sizes");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_sweep, 0, 4);
  tcase_add_loop_test(tcase, test_known, 0, G_N_ELEMENTS(kSizes));
  tcase_add_loop_test(tcase, test_field_rows, 0, 4);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabufupload_sizes)
