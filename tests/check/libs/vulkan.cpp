// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library lists of Vulkan's physical devices, through Vulkan's real loader: the test
// driver plays real GPUs' tables (tests/vulkan-driver), and lies.
#include <cstring>
#include <memory>
#include <string>

#include <gst/drm/drm.h>

#include "gst/drm/core/format.hpp"
#include "gst/drm/enumerate/vulkan_formats.hpp"
#include "support/check_main.hpp"
#include "support/gpu_table.hpp"
#include "support/source_pairs.hpp"

namespace {

using gstdrm::Format;
using gstdrm::test::Pairs;
using gstdrm::test::pairs_of;

constexpr guint64 kTiled = 0x0500000000000003; // QCOM_TILED3

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

GstDrmSource *at(const List &list, guint index)
{
  return static_cast<GstDrmSource *>(g_ptr_array_index(list.get(), index));
}

List ask(const std::string &settings, const char *manifest = GST_DRM_TEST_VULKAN_MANIFEST)
{
  g_setenv("VK_ICD_FILENAMES", manifest, TRUE);
  g_setenv("VK_DRIVER_FILES", manifest, TRUE); // what newer loaders read first
  g_setenv("GST_DRM_VULKAN_TEST", settings.c_str(), TRUE);
  return List(gst_drm_enumerate_vulkan());
}

std::string table_setting(const std::string &name)
{
  return "table=" + std::string(g_getenv("GST_DRM_TEST_DATA")) + "/egl-formats/" + name + ".txt";
}

// Vulkan has one name for A and X: what the table has of one of them, a device has of both.
Pairs expected(const std::string &table, bool drawn)
{
  Pairs pairs;
  for (const gstdrm::test::GpuRow &row : gstdrm::test::load_gpu_rows(table)) {
    if (row.format.modifier == gstdrm::kModImplicit || (drawn && row.external_only))
      continue;
    VkFormat vulkan = VK_FORMAT_UNDEFINED;
    for (const gstdrm::VulkanName &name : gstdrm::kVulkanNames)
      if (name.fourcc == row.format.fourcc)
        vulkan = name.format;
    for (const gstdrm::VulkanName &name : gstdrm::kVulkanNames)
      if (name.format == vulkan)
        pairs.insert({name.fourcc, row.format.modifier});
  }
  return pairs;
}

GST_START_TEST(test_tables_of_real_gpus)
{
  for (const std::string &name : gstdrm::test::gpu_table_names()) {
    const List list = ask(table_setting(name) + ",node=226:250,name=" + name);
    fail_unless_equals_int(list->len, 2);
    for (guint i = 0; i < 2; i++) {
      const GstDrmSource *source = at(list, i);
      const bool drawn = i == 1;
      fail_unless_equals_int(gst_drm_source_get_kind(source), GST_DRM_SOURCE_KIND_VULKAN);
      fail_unless_equals_string(gst_drm_source_get_name(source),
                                drawn ? "vulkan:226:250:drawn" : "vulkan:226:250:sampled");
      fail_unless_equals_string(gst_drm_source_get_driver(source), name.c_str());
      fail_unless(gst_drm_source_get_problem(source) == nullptr);
      fail_unless(gst_drm_source_get_device(source) == nullptr); // no node of that number here
      const Pairs wanted = expected(name, drawn);
      const Pairs found = pairs_of(source);
      fail_unless(!wanted.empty());
      fail_unless(found == wanted, "%s: %zu pairs for %zu", name.c_str(), found.size(),
                  wanted.size());
      for (const Format &format : found)
        fail_unless(gst_drm_source_get_n_planes(source, format.fourcc, format.modifier) >= 1);
    }
  }
}
GST_END_TEST

// The device's own count stands before what the library knows of the pair; nonsense does not.
GST_START_TEST(test_plane_counts)
{
  const List list = ask(table_setting("freedreno-a660") + ",planes=4");
  fail_unless_equals_int(gst_drm_source_get_n_planes(at(list, 0), DRM_FORMAT_XRGB8888, kTiled), 4);
  const List nonsense = ask(table_setting("freedreno-a660") + ",planes=77");
  fail_unless(gst_drm_source_get_n_planes(at(nonsense, 0), DRM_FORMAT_NV12, 0) <= 4);
}
GST_END_TEST

GST_START_TEST(test_listed_and_not_imported)
{
  const List list = ask(table_setting("freedreno-a660") + ",refuse=0x0500000000000003");
  for (guint i = 0; i < list->len; i++) {
    Pairs wanted = expected("freedreno-a660", i == 1);
    std::erase_if(wanted, [](const Format &format) { return format.modifier == kTiled; });
    fail_unless(pairs_of(at(list, i)) == wanted);
  }
}
GST_END_TEST

GST_START_TEST(test_names_are_different)
{
  const List list = ask(table_setting("llvmpipe") + ",devices=3");
  const char *names[] = {"vulkan:software:sampled",   "vulkan:software:drawn",
                         "vulkan:software-2:sampled", "vulkan:software-2:drawn",
                         "vulkan:software-3:sampled", "vulkan:software-3:drawn"};
  fail_unless_equals_int(list->len, G_N_ELEMENTS(names));
  for (guint i = 0; i < list->len; i++)
    fail_unless_equals_string(gst_drm_source_get_name(at(list, i)), names[i]);
}
GST_END_TEST

// A device that cannot be asked says why.
GST_START_TEST(test_problems)
{
  const struct {
    const char *setting;
    const char *problem;
  } rows[] = {
      {"version=1.0", "test is a device of Vulkan 1.0"},
      {"without=VK_EXT_image_drm_format_modifier", "has no VK_EXT_image_drm_format_modifier"},
      {"without=VK_EXT_external_memory_dma_buf", "has no VK_EXT_external_memory_dma_buf"},
  };
  for (const auto &row : rows) {
    const List list = ask(table_setting("llvmpipe") + "," + row.setting);
    fail_unless_equals_int(list->len, 1);
    const gchar *problem = gst_drm_source_get_problem(at(list, 0));
    fail_unless(problem && std::strstr(problem, row.problem), "%s: %s", row.setting, problem);
    fail_unless(pairs_of(at(list, 0)).empty());
  }
  // without the number of its node
  const List list = ask(table_setting("llvmpipe") +
                        ",node=226:128,without=" VK_EXT_PHYSICAL_DEVICE_DRM_EXTENSION_NAME);
  fail_unless_equals_string(gst_drm_source_get_name(at(list, 0)), "vulkan:device:sampled");
  const List gpu = ask(table_setting("llvmpipe") + ",gpu=1");
  fail_unless_equals_string(gst_drm_source_get_name(at(gpu, 0)), "vulkan:device:sampled");
}
GST_END_TEST

// Lists that change while they are read, and counts that are no counts.
GST_START_TEST(test_hostile_counts)
{
  const Pairs all = expected("amd-navi31", false);
  for (const char *lie : {"grows", "shrinks", "huge", "more", "no-end"}) {
    const List list = ask(table_setting("amd-navi31") + ",lie=" + lie);
    fail_unless_equals_int(list->len, 2);
    for (const Format &format : pairs_of(at(list, 0)))
      fail_unless(all.contains(format), "%s: 0x%016" G_GINT64_MODIFIER "x", lie, format.modifier);
    fail_unless(g_utf8_validate(gst_drm_source_get_driver(at(list, 0)), -1, nullptr));
  }
  fail_unless(pairs_of(at(ask(table_setting("amd-navi31") + ",lie=huge"), 0)) == all);
}
GST_END_TEST

// Removed while it is asked: a source has all of its pairs, or none and a reason.
GST_START_TEST(test_gone)
{
  const Pairs whole[] = {expected("llvmpipe", false), expected("llvmpipe", true)};
  guint with_a_problem = 0;
  guint n = 0;
  for (bool failed = true; failed && n < 1000; n++) {
    const List list = ask(table_setting("llvmpipe") + ",gone=" + std::to_string(n));
    failed = false;
    fail_unless_equals_int(list->len, 2);
    for (guint i = 0; i < list->len; i++) {
      const bool problem = gst_drm_source_get_problem(at(list, i)) != nullptr;
      failed = failed || problem;
      with_a_problem += problem ? 1 : 0;
      const Pairs found = pairs_of(at(list, i));
      fail_unless(problem ? found.empty() : found == whole[i],
                  "%u answers: source %u has %zu pairs", n, i, found.size());
      if (problem)
        fail_unless(std::strstr(gst_drm_source_get_problem(at(list, i)), "removed?") != nullptr);
    }
  }
  fail_unless(n > 10 && with_a_problem >= n - 1, "%u lists, %u problems", n, with_a_problem);
}
GST_END_TEST

GST_START_TEST(test_without_a_driver)
{
  fail_unless_equals_int(ask("", "/dev/null")->len, 0);
  fail_unless_equals_int(ask("", "/nonexistent.json")->len, 0);
  fail_unless_equals_int(ask("nonsense=1")->len, 0);
  fail_unless_equals_int(ask("devices=0")->len, 0);
}
GST_END_TEST

Suite *vulkan_suite()
{
  Suite *suite = suite_create("vulkan");
  TCase *tcase = tcase_create("devices");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_tables_of_real_gpus);
  tcase_add_test(tcase, test_plane_counts);
  tcase_add_test(tcase, test_listed_and_not_imported);
  tcase_add_test(tcase, test_names_are_different);
  tcase_add_test(tcase, test_problems);
  tcase_add_test(tcase, test_hostile_counts);
  tcase_add_test(tcase, test_gone);
  tcase_add_test(tcase, test_without_a_driver);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(vulkan)
