// SPDX-License-Identifier: LGPL-2.1-or-later
// StreamWaits: a wait that was ended before it began, and the pool after a wait that was ended.
#include "support/dmabuf_elements.hpp"

#include "element/gstdmabufwaits.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::StreamWaits;

GstPtr<GstBufferPool> pool_of(guint most)
{
  auto pool = GstPtr<GstBufferPool>::adopt(gst_buffer_pool_new());
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, nullptr, 64, 0, most);
  fail_unless(gst_buffer_pool_set_config(pool.get(), config));
  fail_unless(gst_buffer_pool_set_active(pool.get(), TRUE));
  return pool;
}

// A flush that comes while the streaming thread is on its way to the pool.
GST_START_TEST(test_ended_before)
{
  const auto pool = pool_of(1);
  StreamWaits waits;
  GstPtr<GstBuffer> buffer;
  waits.end();
  fail_unless_equals_int(waits.acquire(pool.get(), buffer), GST_FLOW_FLUSHING);
  fail_if(buffer);
  waits.allow();
  fail_unless_equals_int(waits.acquire(pool.get(), buffer), GST_FLOW_OK);
  fail_unless(buffer);
  buffer.reset();
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

// end() flushes no pool that nobody waits in: it may be somebody else's.
GST_START_TEST(test_ended_after)
{
  const auto pool = pool_of(2);
  StreamWaits waits;
  GstPtr<GstBuffer> buffer;
  fail_unless_equals_int(waits.acquire(pool.get(), buffer), GST_FLOW_OK);
  waits.end();
  GstBuffer *other = nullptr; // of the pool's other user
  fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool.get(), &other, nullptr), GST_FLOW_OK);
  gst_buffer_unref(other);
  buffer.reset();
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

Suite *dmabuf_waits_suite()
{
  Suite *suite = suite_create("dmabuf-waits");
  TCase *tcase = tcase_create("waits");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_ended_before);
  tcase_add_test(tcase, test_ended_after);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_waits)
