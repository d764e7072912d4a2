// SPDX-License-Identifier: LGPL-2.1-or-later
// What every element has: one type of `zero-copy` and of `implicit-modifier`, one name and one set of counters in `drm-stats`,
// no more than one probe on a source pad, and locks that tests can ask for.
#include <array>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/drm.h>

#include "support/check_main.hpp"
#include "support/held_locks.hpp"

namespace {

constexpr const char *kElements[] = {"dmabufupload",      "dmabufdownload",  "egldmabufupload",
                                     "egldmabufdownload", "kmsdmabufsink",   "metisdmabufinfer",
                                     "vadmabufsrc",       "vadmabufconvert", "drmtensordecode",
                                     "drmoverlay",        "dmabufrelabel"};

// An element of a plugin that this build does not have is left out.
GstElement *make(int row)
{
  gstdrm::test::say(kElements[row]);
  return gst_element_factory_make(kElements[row], nullptr);
}

GST_START_TEST(test_zero_copy)
{
  GstElement *element = make(__i__);
  if (!element)
    return;
  const GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "zero-copy");
  fail_unless(spec && spec->value_type == GST_TYPE_DRM_ZERO_COPY, "%s",
              spec ? g_type_name(spec->value_type) : "none");
  fail_unless((spec->flags & GST_PARAM_MUTABLE_READY) != 0);
  gint value = -1;
  g_object_get(element, "zero-copy", &value, nullptr);
  fail_unless_equals_int(value, GST_DRM_ZERO_COPY_PREFER);
  gst_util_set_object_arg(G_OBJECT(element), "zero-copy", "require");
  g_object_get(element, "zero-copy", &value, nullptr);
  fail_unless_equals_int(value, GST_DRM_ZERO_COPY_REQUIRE);
  gst_object_unref(element);
}
GST_END_TEST

GST_START_TEST(test_implicit_modifier)
{
  GstElement *element = make(__i__);
  if (!element)
    return;
  const GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "implicit-modifier");
  const bool has_none = g_strv_contains(std::array<const gchar *, 3>{"drmtensordecode", "dmabufrelabel", nullptr}.data(), kElements[__i__]);
  if (has_none) {
    fail_unless(spec == nullptr);
    gst_object_unref(element);
    return;
  }
  fail_unless(spec && spec->value_type == GST_TYPE_DRM_IMPLICIT_MODIFIER, "%s",
              spec ? g_type_name(spec->value_type) : "none");
  fail_unless((spec->flags & GST_PARAM_MUTABLE_READY) != 0);
  gint value = -1;
  g_object_get(element, "implicit-modifier", &value, nullptr);
  fail_unless_equals_int(value, GST_DRM_IMPLICIT_MODIFIER_AUTO);
  for (const auto &[name, expected] :
       {std::pair("refuse", GST_DRM_IMPLICIT_MODIFIER_REFUSE), std::pair("linear", GST_DRM_IMPLICIT_MODIFIER_LINEAR),
        std::pair("driver", GST_DRM_IMPLICIT_MODIFIER_DRIVER)}) {
    gst_util_set_object_arg(G_OBJECT(element), "implicit-modifier", name);
    g_object_get(element, "implicit-modifier", &value, nullptr);
    fail_unless_equals_int(value, expected);
  }
  gst_object_unref(element);
}
GST_END_TEST

GST_START_TEST(test_drm_stats)
{
  GstElement *element = make(__i__);
  if (!element)
    return;
  GstStructure *stats = nullptr;
  g_object_get(element, "drm-stats", &stats, nullptr);
  fail_unless(gst_structure_has_name(stats, "drm-stats"), "%s", gst_structure_get_name(stats));
  for (const char *field :
       {"frames", "imports", "import-hits", "releases", "copies", "bytes-copied", "waits"}) {
    guint64 number = 7;
    fail_unless(gst_structure_get_uint64(stats, field, &number), "no %s", field);
    fail_unless_equals_uint64(number, 0);
  }
  fail_unless_equals_string(gst_structure_get_string(stats, "last-copy-reason"), "");
  gst_structure_free(stats);
  gst_object_unref(element);
}
GST_END_TEST

// What gst-inspect-1.0 says of a property is what a new element has, and takes again.
GST_START_TEST(test_defaults)
{
  GstElement *element = make(__i__);
  if (!element)
    return;
  g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL));
  guint n = 0;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &n);
  for (guint i = 0; i < n; i++) {
    if (specs[i]->owner_type != G_OBJECT_TYPE(element) ||
        (specs[i]->flags & G_PARAM_READWRITE) != G_PARAM_READWRITE)
      continue;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, specs[i]->value_type);
    g_object_get_property(G_OBJECT(element), specs[i]->name, &value);
    fail_unless(g_param_value_defaults(specs[i], &value), "%s", specs[i]->name);
    g_object_set_property(G_OBJECT(element), specs[i]->name, &value);
    g_value_unset(&value);
  }
  g_free(specs);
  gst_object_unref(element);
}
GST_END_TEST

// Each probe costs every caps query that passes the pad.
GST_START_TEST(test_probes)
{
  GstElement *element = make(__i__);
  if (!element)
    return;
  for (GList *pad = element->srcpads; pad; pad = pad->next)
    fail_unless(GST_PAD_CAST(pad->data)->num_probes <= 1);
  gst_object_unref(element);
}
GST_END_TEST

// Of the element's plugin, and of the library, which has a list of its own.
GST_START_TEST(test_locks)
{
  GstElement *element = make(__i__);
  if (!element)
    return;
  const auto modules = gstdrm::test::NoLocks().modules();
  fail_unless(gstdrm::OrderedMutex::kChecks ? modules >= 2 : modules == 0, "%zu modules", modules);
  gst_object_unref(element);
}
GST_END_TEST

Suite *common_properties_suite()
{
  Suite *suite = suite_create("common properties");
  TCase *tcase = tcase_create("every element");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_zero_copy, 0, G_N_ELEMENTS(kElements));
  tcase_add_loop_test(tcase, test_implicit_modifier, 0, G_N_ELEMENTS(kElements));
  tcase_add_loop_test(tcase, test_drm_stats, 0, G_N_ELEMENTS(kElements));
  tcase_add_loop_test(tcase, test_defaults, 0, G_N_ELEMENTS(kElements));
  tcase_add_loop_test(tcase, test_locks, 0, G_N_ELEMENTS(kElements));
  tcase_add_loop_test(tcase, test_probes, 0, G_N_ELEMENTS(kElements));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(common_properties)
