// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmSyncMeta without fences: who shares it, who owns descriptors. With real fences: tests/device/core/sync.cpp.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace {

int new_memfd()
{
  return memfd_create("sync-test", MFD_CLOEXEC);
}

GST_START_TEST(test_add_once)
{
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  fail_unless(gst_buffer_get_drm_sync_meta(buffer) == nullptr);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(buffer);
  fail_unless(meta != nullptr);
  fail_unless(gst_buffer_add_drm_sync_meta(buffer) == meta);
  fail_unless(gst_buffer_get_drm_sync_meta(buffer) == meta);
  fail_unless_equals_int(gst_drm_sync_meta_dup_acquire_fence(meta), -1);
  fail_unless_equals_int(gst_drm_sync_meta_dup_release_fence(meta), -1);
  gst_drm_sync_meta_clear(meta);
}
GST_END_TEST

GST_START_TEST(test_copies_share)
{
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(buffer);
  g_autoptr(GstBuffer) shallow = gst_buffer_copy(buffer);
  g_autoptr(GstBuffer) region = gst_buffer_copy_region(buffer, GST_BUFFER_COPY_ALL, 16, 16);
  g_autoptr(GstBuffer) second = gst_buffer_copy(shallow);
  for (GstBuffer *copy : {shallow, region, second}) {
    GstDrmSyncMeta *copied = gst_buffer_get_drm_sync_meta(copy);
    fail_unless(copied != nullptr);
    fail_unless(copied->state == meta->state, "a copy that shares the memory shares the fences");
  }
}
GST_END_TEST

GST_START_TEST(test_other_memory_does_not_share)
{
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  gst_buffer_add_drm_sync_meta(buffer);
  g_autoptr(GstBuffer) deep = gst_buffer_copy_deep(buffer);
  fail_unless(gst_buffer_get_drm_sync_meta(deep) == nullptr, "a deep copy has memory of its own");
  g_autoptr(GstBuffer) filtered = gst_buffer_new_allocate(nullptr, 64, nullptr);
  gst_buffer_copy_into(filtered, buffer, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  fail_unless(gst_buffer_get_drm_sync_meta(filtered) == nullptr, "so has the output of a filter");
}
GST_END_TEST

GST_START_TEST(test_state_outlives_the_first_buffer)
{
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  gst_buffer_add_drm_sync_meta(buffer);
  g_autoptr(GstBuffer) copy = gst_buffer_copy(buffer);
  gst_buffer_unref(buffer);
  fail_unless_equals_int(gst_drm_sync_meta_dup_acquire_fence(gst_buffer_get_drm_sync_meta(copy)), -1);
}
GST_END_TEST

GST_START_TEST(test_tagged_as_memory)
{
  fail_unless(gst_meta_api_type_has_tag(GST_DRM_SYNC_META_API_TYPE, g_quark_from_static_string("memory-reference")));
}
GST_END_TEST

// No sync_file: refused, and closed all the same.
GST_START_TEST(test_no_fence)
{
  g_autoptr(GstBuffer) buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(buffer);
  for (const auto add : {gst_drm_sync_meta_add_acquire_fence, gst_drm_sync_meta_add_release_fence}) {
    const int fd = new_memfd();
    GError *error = nullptr;
    fail_if(add(meta, fd, &error));
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC));
    g_clear_error(&error);
    fail_unless(fcntl(fd, F_GETFD) == -1, "the descriptor was not closed");
    fail_if(add(meta, -1, nullptr));
  }
  fail_unless_equals_int(gst_drm_sync_meta_dup_acquire_fence(meta), -1);
  fail_unless_equals_int(gst_drm_sync_meta_dup_release_fence(meta), -1);
}
GST_END_TEST

GST_START_TEST(test_closed_on_a_mistake)
{
  const int fd = new_memfd();
  EXPECT_CRITICAL(gst_drm_sync_meta_add_acquire_fence(nullptr, fd, nullptr));
  fail_unless(fcntl(fd, F_GETFD) == -1, "the descriptor was not closed");
}
GST_END_TEST

// A caller in C passes any number; C++ would not let one be read as the enum.
__attribute__((no_sanitize("undefined"))) GstDrmAccess access_of(int number)
{
  GstDrmAccess access{};
  memcpy(&access, &number, sizeof access);
  return access;
}

GST_START_TEST(test_functions_on_no_fence)
{
  const int fd = new_memfd();
  GError *error = nullptr;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
  fail_if(gst_drm_fence_get_state(fd, &state, &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC));
  g_clear_error(&error);
  fail_if(gst_drm_fence_wait(fd, GST_CLOCK_TIME_NONE, &state, &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC));
  g_clear_error(&error);
  fail_unless_equals_int(gst_drm_dmabuf_export_fence(fd, GST_DRM_ACCESS_READ, &error), -1);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_UNSUPPORTED));
  g_clear_error(&error);
  fail_if(gst_drm_dmabuf_import_fence(fd, fd, GST_DRM_ACCESS_WRITE, &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_UNSUPPORTED));
  g_clear_error(&error);
  fail_unless(fcntl(fd, F_GETFD) != -1, "these only borrow");
  for (const int access : {0, 4, 4 | GST_DRM_ACCESS_READ, 4 | GST_DRM_ACCESS_READ | GST_DRM_ACCESS_WRITE}) {
    EXPECT_CRITICAL(fail_unless_equals_int(gst_drm_dmabuf_export_fence(fd, access_of(access), nullptr), -1));
    EXPECT_CRITICAL(fail_if(gst_drm_dmabuf_import_fence(fd, fd, access_of(access), nullptr)));
  }
  for (const int access : {1, 2, 3}) { // good ones: it is the descriptor that is refused
    fail_unless_equals_int(gst_drm_dmabuf_export_fence(fd, access_of(access), &error), -1);
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_UNSUPPORTED));
    g_clear_error(&error);
    fail_if(gst_drm_dmabuf_import_fence(fd, fd, access_of(access), &error));
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_UNSUPPORTED));
    g_clear_error(&error);
  }
  close(fd);
}
GST_END_TEST

struct QueryRow {
  const char *name;
  const char *params; // of an entry that somebody adds; nullptr: without any
  gboolean announced;
};

const QueryRow kQueryRows[] = {
    {"a consumer's entry, without parameters", nullptr, FALSE},
    {"the documented parameters", "GstDrmSyncMeta, release-fences=(boolean)true", TRUE},
    {"said to be false", "GstDrmSyncMeta, release-fences=(boolean)false", FALSE},
    {"another type", "GstDrmSyncMeta, release-fences=(int)1", FALSE},
    {"another field", "GstDrmSyncMeta, something=(boolean)true", FALSE},
};

GST_START_TEST(test_who_honours_release_fences)
{
  const QueryRow &row = kQueryRows[__i__];
  GstQuery *query = gst_query_new_allocation(nullptr, FALSE);
  GstStructure *params = row.params ? gst_structure_from_string(row.params, nullptr) : nullptr;
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, params);
  g_clear_pointer(&params, gst_structure_free);
  fail_unless_equals_int(gst_drm_query_has_release_fences(query), row.announced);
  gst_drm_query_announce_release_fences(query);
  gst_drm_query_announce_release_fences(query); // once is enough
  fail_unless(gst_drm_query_has_release_fences(query), "%s", row.name);
  fail_unless_equals_int(gst_query_get_n_allocation_metas(query), row.announced ? 1 : 2);
  gst_query_unref(query);
}
GST_END_TEST

Suite *syncmeta_suite()
{
  Suite *suite = suite_create("syncmeta");
  TCase *tcase = tcase_create("syncmeta");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_add_once);
  tcase_add_test(tcase, test_copies_share);
  tcase_add_test(tcase, test_other_memory_does_not_share);
  tcase_add_test(tcase, test_state_outlives_the_first_buffer);
  tcase_add_test(tcase, test_tagged_as_memory);
  tcase_add_test(tcase, test_no_fence);
  tcase_add_test(tcase, test_closed_on_a_mistake);
  tcase_add_test(tcase, test_functions_on_no_fence);
  tcase_add_loop_test(tcase, test_who_honours_release_fences, 0, G_N_ELEMENTS(kQueryRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(syncmeta)
