// SPDX-License-Identifier: LGPL-2.1-or-later
// What the sink offers in the allocation query: scanout memory of its own for every linear format,
// also where the caps say memory:DMABuf; and how many buffers it holds, always.
#include <memory>
#include <string>

#include <fcntl.h>
#include <xf86drmMode.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_support.hpp"
#include "support/asked_constraints.hpp"

using namespace gstdrm::test;

namespace {

constexpr guint kHeld = 4; // on screen, in flight, two waiting

struct Row {
  const char *name;
  std::string caps;
  bool need_pool;
  bool offered;
};

const Row kRows[] = {
    {"plain XR24", plain_caps("BGRx", 640, 480), true, true},
    {"plain NV12", plain_caps("NV12", 640, 480), true, true},
    {"DMA_DRM XR24", dma_drm_caps("XR24", 640, 480), true, true},
    {"DMA_DRM NV12", dma_drm_caps("NV12", 1920, 1080), true, true},
    {"DMA_DRM XR24, no pool wanted", dma_drm_caps("XR24", 640, 480), false, false},
    {"DMA_DRM XR24, a tiling", dma_drm_caps("XR24:0x0100000000000001", 640, 480), true, false},
};

// The entry states the sizes of framebuffers that the driver tells itself.
void check_sizes(GstQuery *query)
{
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query);
  ck_assert_uint_eq(all->len, 1);
  // "/dev/dri/card0 (vkms)"
  const std::string device =
      gst_drm_constraints_get_device(static_cast<const GstDrmConstraints *>(all->pdata[0]));
  const gstdrm::UniqueFd fd(open(device.substr(0, device.find(' ')).c_str(), O_RDWR | O_CLOEXEC));
  ck_assert_msg(static_cast<bool>(fd), "%s", device.c_str());
  const std::unique_ptr<drmModeRes, decltype(&drmModeFreeResources)> sizes(
      drmModeGetResources(fd.get()), drmModeFreeResources);
  ck_assert(sizes);
  ck_assert_uint_gt(sizes->max_width, 0);
  check_entry_range(query, "kmsdmabufsink", GST_DRM_CONSTRAINT_WIDTH, MAX(sizes->min_width, 1),
                    sizes->max_width);
  check_entry_range(query, "kmsdmabufsink", GST_DRM_CONSTRAINT_HEIGHT, MAX(sizes->min_height, 1),
                    sizes->max_height);
}

} // namespace

GST_START_TEST(test_what_is_offered)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Sink sink;
  ck_assert(
      sink.set_caps(dma_drm_caps("XR24", 1024, 768))); // whatever; the query has caps of its own
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(row.caps.c_str()));
  GstQuery *query = gst_query_new_allocation(caps.get(), row.need_pool);
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  ck_assert(gst_pad_query(pad.get(), query));
  ck_assert(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  ck_assert(gst_query_find_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr));
  ck_assert_uint_eq(gst_query_get_n_allocation_pools(query), 1);
  check_entry(query, "kmsdmabufsink", GST_DRM_CONSTRAINT_BUFFERS_HELD, kHeld);
  check_sizes(query);
  GstBufferPool *offered = nullptr;
  guint size = 0, least = 0, most = 0;
  gst_query_parse_nth_allocation_pool(query, 0, &offered, &size, &least, &most);
  gst_query_unref(query);
  const auto pool = GstPtr<GstBufferPool>::adopt(offered);
  ck_assert_uint_ge(size, 640 * 480);
  ck_assert_uint_eq(least, kHeld);
  ck_assert_int_eq(static_cast<bool>(pool), row.offered);
  if (!pool)
    return;
  // frames of that pool are shown without a copy
  ck_assert(sink.set_caps(row.caps));
  ck_assert(gst_buffer_pool_set_active(pool.get(), TRUE));
  for (guint i = 0; i < 3 * kHeld; i++) {
    GstBuffer *buffer = nullptr;
    ck_assert_int_eq(gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr), GST_FLOW_OK);
    ck_assert(gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer, 0)));
    ck_assert_int_eq(sink.push(buffer), GST_FLOW_OK);
  }
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), 3 * kHeld);
  ck_assert_uint_eq(sink.stat("copies"), 0);
  ck_assert_uint_le(sink.stat("imports"), kHeld + 1); // one per buffer
  ck_assert(sink.set_state(GST_STATE_NULL));
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

namespace {

struct DrainRow {
  const char *name;
  const char *properties;
  std::string caps;
  bool stays; // the picture
};

const DrainRow kDrainRows[] = {
    {"DMA_DRM NV12", "", dma_drm_caps("NV12", 640, 480), true},
    {"plain BGRx in dma-bufs", "", plain_caps("BGRx", 640, 480), true},
    {"no copy is allowed", "zero-copy=require", dma_drm_caps("XR24", 640, 480), false},
};

void count_end(gpointer count, GstMiniObject *)
{
  (*static_cast<guint *>(count))++;
}

} // namespace

// A DRAIN query: every buffer is back before the answer, and the picture stays where it can be
// copied; then frames go on as before.
GST_START_TEST(test_drain_gives_everything_back)
{
  const DrainRow &row = kDrainRows[__i__];
  g_print("# %s\n", row.name);
  const bool nv12 = row.caps.find("NV12") != std::string::npos;
  const GstVideoInfo info = video_info(plain_caps(nv12 ? "NV12" : "BGRx", 640, 480));
  const GstPtr<GstBuffer> picture = make_noise(info, 7);
  Sink sink(row.properties);
  ck_assert(sink.set_caps(row.caps));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  guint ended = 0, pushed = 0;
  const auto push = [&] {
    GstBuffer *buffer = to_dmabuf(info, picture.get(), Shape::Tight).release();
    gst_mini_object_weak_ref(GST_MINI_OBJECT(buffer), count_end, &ended);
    ck_assert_int_eq(sink.push(buffer), GST_FLOW_OK);
    pushed++;
  };
  const auto drain = [&pad] {
    GstQuery *query = gst_query_new_drain();
    ck_assert(gst_pad_query(pad.get(), query));
    gst_query_unref(query);
  };
  drain(); // nothing to give back
  for (int round = 0; round < 2; round++) {
    for (guint i = 0; i < 3; i++)
      push();
    ck_assert_uint_lt(ended, pushed);
    for (int again = 0; again < 2; again++) { // the second finds nothing of upstream's
      drain();
      ck_assert_uint_eq(ended, pushed);
      const GstPtr<GstSample> sample = sink.snapshot();
      ck_assert_int_eq(static_cast<bool>(sample), row.stays);
      if (sample)
        ck_assert_int_le(largest_difference(sample.get(), reference(info, picture.get(), 640, 480)),
                         2);
    }
    ck_assert_uint_eq(sink.stat("copies"), row.stays ? static_cast<unsigned>(round) + 1 : 0);
  }
  push();
  sink.eos();
  ck_assert_uint_ge(sink.stat("shown"), pushed - 2);
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert(sample);
  ck_assert_int_le(largest_difference(sample.get(), reference(info, picture.get(), 640, 480)), 2);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

static Suite *kms_allocation_suite(void)
{
  Suite *s = suite_create("kms-allocation");
  TCase *tc = tcase_create("allocation");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_loop_test(tc, test_what_is_offered, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tc, test_drain_gives_everything_back, 0, G_N_ELEMENTS(kDrainRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_allocation)
