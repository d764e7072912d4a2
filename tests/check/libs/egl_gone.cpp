// SPDX-License-Identifier: LGPL-2.1-or-later
// An EGL display whose device is removed while the library lists it: a source has all of its pairs, or a reason and none.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <drm_fourcc.h>
#include <gst/drm/drm.h>

#include "fake_egl.hpp"
#include "support/check_main.hpp"
#include "support/source_pairs.hpp"
#include "support/threads.hpp"

namespace {

using gstdrm::test::answer_questions;
using gstdrm::test::forget_format;
using gstdrm::test::Pairs;
using gstdrm::test::pairs_of;

// The plugins for OpenGL do not load with the libEGL that is in place here, and the registry, which all programs share, would
// say so.
[[gnu::constructor]] void leave_the_registry_alone()
{
  setenv("GST_REGISTRY_UPDATE", "no", 1);
}

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

// The one source there is.
const GstDrmSource *only_source(const List &list)
{
  fail_unless_equals_int(list->len, 1);
  return static_cast<const GstDrmSource *>(g_ptr_array_index(list.get(), 0));
}

GST_START_TEST(test_gone)
{
  answer_questions(~0U);
  const List all(gst_drm_enumerate_egl());
  const Pairs whole = pairs_of(only_source(all));
  const unsigned questions = gstdrm::test::questions_answered();
  fail_unless_equals_int(whole.size(), 8);
  fail_unless(gst_drm_source_get_problem(only_source(all)) == nullptr);
  for (unsigned n = 0; n < questions; n++) {
    answer_questions(n);
    const List list(gst_drm_enumerate_egl());
    const gchar *problem = gst_drm_source_get_problem(only_source(list));
    fail_unless(problem && std::strstr(problem, "removed?"), "%u answers", n);
    fail_unless(pairs_of(only_source(list)).empty(), "%u answers", n);
  }
  answer_questions(questions);
  const List again(gst_drm_enumerate_egl());
  fail_unless(pairs_of(only_source(again)) == whole);
}
GST_END_TEST

// The others are all there, and the display is still asked.
GST_START_TEST(test_unknown_format)
{
  answer_questions(~0U);
  forget_format(DRM_FORMAT_P010);
  const List list(gst_drm_enumerate_egl());
  fail_unless(gst_drm_source_get_problem(only_source(list)) == nullptr);
  const Pairs found = pairs_of(only_source(list));
  fail_unless_equals_int(found.size(), 6);
  fail_if(found.contains({DRM_FORMAT_P010, DRM_FORMAT_MOD_LINEAR}));
  forget_format(0);
}
GST_END_TEST

// As NVIDIA's driver is without nvidia-drm.
GST_START_TEST(test_gpu_without_node)
{
  answer_questions(~0U);
  const List software(gst_drm_enumerate_egl());
  fail_unless_equals_string(gst_drm_source_get_name(only_source(software)), "egl:software");
  gstdrm::test::be_gpu_without_node(true);
  const List list(gst_drm_enumerate_egl());
  gstdrm::test::be_gpu_without_node(false);
  fail_unless_equals_string(gst_drm_source_get_name(only_source(list)), "egl:device");
  fail_unless(gst_drm_source_get_device(only_source(list)) == nullptr);
  fail_unless_equals_int(pairs_of(only_source(list)).size(), 8);
}
GST_END_TEST

GST_START_TEST(test_threads)
{
  answer_questions(~0U);
  std::atomic<guint> pairs{0};
  const auto lists = [&pairs] {
    for (int i = 0; i < 50; i++) {
      const List list(gst_drm_enumerate_egl());
      for (guint j = 0; j < list->len; j++)
        pairs.fetch_add(static_cast<guint>(pairs_of(static_cast<const GstDrmSource *>(g_ptr_array_index(list.get(), j))).size()), std::memory_order_relaxed);
    }
  };
  gstdrm::test::at_once({lists, lists, lists});
  fail_unless_equals_int(pairs, 3 * 50 * 8);
}
GST_END_TEST

Suite *egl_gone_suite()
{
  Suite *suite = suite_create("egl_gone");
  TCase *tcase = tcase_create("devices");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_gone);
  tcase_add_test(tcase, test_unknown_format);
  tcase_add_test(tcase, test_gpu_without_node);
  tcase_add_test(tcase, test_threads);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_gone)
