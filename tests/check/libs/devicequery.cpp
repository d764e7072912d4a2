// SPDX-License-Identifier: LGPL-2.1-or-later
// The device in the allocation query.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>

#include "support/check_main.hpp"

namespace {

using gstdrm::UniqueFd;

GstQuery *new_query()
{
  g_autoptr(GstCaps) caps = gst_caps_new_empty_simple("video/x-raw");
  return gst_query_new_allocation(caps, FALSE);
}

GST_START_TEST(test_number_of_the_node)
{
  g_autoptr(GstQuery) query = new_query();
  guint64 device = 42;
  fail_if(gst_drm_query_get_device(query, &device));
  fail_unless_equals_uint64(device, 42);
  const UniqueFd node(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  fail_unless(::fstat(node.get(), &status) == 0);
  fail_unless(gst_drm_query_add_device(query, node.get()));
  fail_unless(gst_drm_query_get_device(query, &device));
  fail_unless_equals_uint64(device, status.st_rdev);
  fail_unless(gst_drm_query_get_device(query, nullptr));
}
GST_END_TEST

// The nearest consumer speaks; what others added before is kept.
GST_START_TEST(test_first_answer_stays)
{
  g_autoptr(GstQuery) query = new_query();
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  fail_unless(gst_drm_query_add_device(query, zero.get()));
  guint64 before = 0;
  guint64 after = 0;
  fail_unless(gst_drm_query_get_device(query, &before));
  fail_if(gst_drm_query_add_device(query, null.get()));
  fail_unless(gst_drm_query_get_device(query, &after));
  fail_unless_equals_uint64(before, after);
  guint index = 42;
  fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  fail_unless(gst_query_find_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, &index));
  fail_unless_equals_int(static_cast<int>(index), 1);
}
GST_END_TEST

GST_START_TEST(test_no_device)
{
  g_autoptr(GstQuery) query = new_query();
  fail_if(gst_drm_query_add_device(query, -1));
  char name[] = "/tmp/device-query-XXXXXX";
  const UniqueFd file(::mkstemp(name));
  ::unlink(name);
  fail_if(gst_drm_query_add_device(query, file.get()));
  fail_unless_equals_int(static_cast<int>(gst_query_get_n_allocation_metas(query)), 0);
}
GST_END_TEST

struct ParamsRow {
  const char *params; // nullptr: none
  bool found;
};
const ParamsRow kParams[] = {
    {nullptr, false},
    {"GstDrmDevice, drm-device=(guint64)57984", true},
    {"GstDrmDevice, drm-device=(int)57984", false},
    {"GstDrmDevice", false},
    {"GstDrmSyncMeta, release-fences=(boolean)true", false},
    {"GstDrmSyncMeta, drm-device=(guint64)57984", false},
};

GST_START_TEST(test_params)
{
  const auto &row = kParams[__i__];
  g_autoptr(GstQuery) query = new_query();
  GstStructure *params = row.params ? gst_structure_from_string(row.params, nullptr) : nullptr;
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, params);
  g_clear_pointer(&params, gst_structure_free);
  guint64 device = 0;
  fail_unless_equals_int(gst_drm_query_get_device(query, &device), row.found);
  fail_unless_equals_uint64(device, row.found ? 57984 : 0);
}
GST_END_TEST

GST_START_TEST(test_same_device)
{
  const guint64 unknown = makedev(4095, 77);
  g_autoptr(GError) error = nullptr;
  fail_unless(gst_drm_device_is_same(unknown, unknown, &error));
  g_assert_no_error(error);
  fail_if(gst_drm_device_is_same(unknown, makedev(4095, 78), nullptr));
  fail_if(gst_drm_device_is_same(unknown, makedev(4095, 78), &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_DEVICE) && strstr(error->message, "4095:77"));
}
GST_END_TEST

GST_START_TEST(test_other_queries)
{
  g_autoptr(GstQuery) query = gst_query_new_latency();
  EXPECT_CRITICAL(fail_if(gst_drm_query_add_device(query, 0)));
  EXPECT_CRITICAL(fail_if(gst_drm_query_get_device(query, nullptr)));
}
GST_END_TEST

Suite *devicequery_suite()
{
  Suite *suite = suite_create("device query");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_number_of_the_node);
  tcase_add_test(tcase, test_first_answer_stays);
  tcase_add_test(tcase, test_no_device);
  tcase_add_loop_test(tcase, test_params, 0, G_N_ELEMENTS(kParams));
  tcase_add_test(tcase, test_same_device);
  tcase_add_test(tcase, test_other_queries);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(devicequery)
