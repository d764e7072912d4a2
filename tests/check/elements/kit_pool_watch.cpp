// SPDX-License-Identifier: LGPL-2.1-or-later
// What is posted of a pool that waits for its buffers: once, where the wait is none of a pipeline's everyday.
#include "support/descriptors.hpp"
#include "support/dmabuf_elements.hpp"

#include <gst/drm/element/pool_watch.hpp>

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

struct Row {
  const char *name;
  GstState state;
  const char *rate; // nullptr: no caps
  bool told;
};
const Row kRows[] = {
    {"plays", GST_STATE_PLAYING, "framerate=(fraction)30/1", true},
    {"no rate", GST_STATE_PLAYING, "framerate=(fraction)0/1", true},
    {"no caps", GST_STATE_PLAYING, nullptr, true},
    {"four a second", GST_STATE_PLAYING, "framerate=(fraction)4/1", true},
    {"slides", GST_STATE_PLAYING, "framerate=(fraction)1/1", false},
    {"nearly four a second", GST_STATE_PLAYING, "framerate=(fraction)15/4", false},
    {"very slow", GST_STATE_PLAYING, "framerate=(fraction)1/2147483647", false},
    {"very fast", GST_STATE_PLAYING, "framerate=(fraction)2147483647/1", true},
    {"paused", GST_STATE_PAUSED, "framerate=(fraction)30/1", false},
    {"ends", GST_STATE_READY, nullptr, false},
};

// The harness's element, whose source pad has such caps.
void set_state(const Harness &h, const Row &row)
{
  if (row.rate)
    fail_unless(h.negotiate(std::string("video/x-raw, format=(string)NV12, width=(int)64, height=(int)48, ") + row.rate));
  gst_element_set_state(h.element(), row.state);
}

GST_START_TEST(test_exhausted)
{
  const Row &row = kRows[__i__];
  const Harness h("identity name=i");
  set_state(h, row);
  gstdrm::PoolNotices notices(h.element(), ", or pray");
  notices.post_exhausted();
  notices.post_exhausted();
  const auto messages = h.messages(GST_MESSAGE_WARNING);
  if (!row.told) {
    fail_unless(messages.empty(), "%s", row.name);
    return;
  }
  CHECK_ONE_MESSAGE(messages, "i waits for a free buffer");
  fail_unless(messages[0].find("shorten queues), or pray.") != std::string::npos, "%s", messages[0].c_str());
}
GST_END_TEST

// The pool may be kept by what is downstream.
GST_START_TEST(test_outlives_the_element)
{
  auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("identity", nullptr))));
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  gst_element_set_state(element.get(), GST_STATE_PLAYING);
  gstdrm::PoolNotices notices(element.get());
  gst_element_set_state(element.get(), GST_STATE_NULL);
  gst_element_set_bus(element.get(), nullptr);
  gst_bus_set_flushing(bus.get(), TRUE); // messages hold their sources
  gst_bus_set_flushing(bus.get(), FALSE);
  element.reset();
  notices.post_exhausted();
  g_autoptr(GError) error = g_error_new_literal(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, "no more");
  notices.post_failed(nullptr, error);
  fail_if(gst_bus_pop_filtered(bus.get(), static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR)));
}
GST_END_TEST

// With and without GstVideoMeta, where frames have GStreamer's default layout: what is missing, and not what the layout may be.
GST_START_TEST(test_no_descriptor_left)
{
  const Harness h("identity name=i");
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr));
  const auto pool = GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator.get()));
  const auto caps = caps_of("video/x-raw, format=NV12, width=130, height=50, framerate=30/1");
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps.get(), 0, 1, 0);
  if (__i__ > 0)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  fail_unless(gst_buffer_pool_set_config(pool.get(), config));
  gstdrm::watch_pool(pool.get(), h.element(), gstdrm::PoolSignals::All);
  fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE));
  GstBuffer *kept = nullptr;
  GstBuffer *none = nullptr;
  fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool.get(), &kept, nullptr), GST_FLOW_OK);
  {
    const FewDescriptors few(0);
    fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool.get(), &none, nullptr), GST_FLOW_ERROR);
  }
  const auto messages = h.messages(GST_MESSAGE_ERROR);
  CHECK_ONE_MESSAGE(messages, "i cannot make another buffer");
  fail_unless(messages[0].find("Too many open files") != std::string::npos, "%s", messages[0].c_str());
  gst_buffer_unref(kept);
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

Suite *kit_pool_watch_suite()
{
  Suite *suite = suite_create("kit-pool-watch");
  TCase *tcase = tcase_create("notices");
  tcase_add_loop_test(tcase, test_exhausted, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_outlives_the_element);
  tcase_add_loop_test(tcase, test_no_descriptor_left, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_pool_watch)
