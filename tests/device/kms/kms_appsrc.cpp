// SPDX-License-Identifier: LGPL-2.1-or-later
// An application that makes its own frames: appsrc, a GstDrmBufferPool, kmsdmabufsink. Buffers come
// back with release fences where the application announces them, as docs/buffers.md says how.
#include <gst/app/gstappsrc.h>

#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

constexpr guint kFrames = 60;

enum class Announce { Nothing, Pad };

struct Row {
  const char *name;
  const char *between;
  Announce announce;
  guint fences; // expected
};

const Row kRows[] = {
    {"the application announces nothing", "", Announce::Nothing, 0},
    {"gst_drm_pad_announce_release_fences()", "", Announce::Pad, kFrames - 1},
    {"behind a queue", "queue !", Announce::Pad, kFrames - 1},
};

GstBufferPool *new_pool(GstCaps *caps)
{
  GError *error = nullptr;
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error));
  ck_assert_msg(allocator, "%s", error ? error->message : "?");
  GstBufferPool *pool = gst_drm_buffer_pool_new(allocator.get());
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, 640 * 480 * 4, 4, 4);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  ck_assert(gst_buffer_pool_set_config(pool, config));
  ck_assert(gst_buffer_pool_set_active(pool, TRUE));
  return pool;
}

} // namespace

GST_START_TEST(test_application)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  GError *error = nullptr;
  const std::string line = std::string("appsrc name=source format=time block=true max-buffers=1 ! ") + row.between +
                           " kmsdmabufsink name=sink mode=match driver-name=vkms sync=false zero-copy=require enable-last-sample=false";
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(line.c_str(), &error));
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "?");
  const auto source = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "source"));
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(source.get(), "src"));
  if (row.announce == Announce::Pad)
    ck_assert_uint_ne(gst_drm_pad_announce_release_fences(pad.get()), 0);
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_drm_caps("XR24", 640, 480).c_str()));
  gst_app_src_set_caps(GST_APP_SRC(source.get()), caps.get());
  GstBufferPool *pool = new_pool(caps.get());
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  for (guint i = 0; i < kFrames; i++) {
    GstBuffer *buffer = nullptr;
    ck_assert_int_eq(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
    ck_assert_uint_gt(gst_buffer_memset(buffer, 0, static_cast<guint8>(i), 4096), 0);
    ck_assert_int_eq(gst_app_src_push_buffer(GST_APP_SRC(source.get()), buffer), GST_FLOW_OK);
  }
  gst_app_src_end_of_stream(GST_APP_SRC(source.get()));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  ck_assert(message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS);
  GstStructure *stats = nullptr;
  g_object_get(sink.get(), "drm-stats", &stats, nullptr);
  guint64 fences = 0, shown = 0;
  ck_assert(gst_structure_get_uint64(stats, "release-fences", &fences));
  ck_assert(gst_structure_get_uint64(stats, "shown", &shown));
  gst_structure_free(stats);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
  ck_assert_uint_eq(shown, kFrames);
  ck_assert_uint_eq(fences, row.fences);
}
GST_END_TEST

static Suite *kms_appsrc_suite(void)
{
  Suite *s = suite_create("kms-appsrc");
  TCase *tc = tcase_create("appsrc");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_loop_test(tc, test_application, 0, G_N_ELEMENTS(kRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_appsrc)
