// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of format sets: ownership, lookups, and the two ways between sets and caps.
#include <string>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "core/format_set.hpp"
#include "support/check_main.hpp"
#include "support/gpu_table.hpp"

namespace {

using gstdrm::Format;
using gstdrm::kModImplicit;

const guint32 kNv12 = gstdrm::make_fourcc('N', 'V', '1', '2');
const guint32 kXr24 = gstdrm::make_fourcc('X', 'R', '2', '4');
const guint32 kNv42 = gstdrm::make_fourcc('N', 'V', '4', '2');
const guint64 kY = G_GUINT64_CONSTANT(0x0100000000000002);

GstDrmFormatSet *new_set(const std::vector<Format> &pairs)
{
  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (const Format &pair : pairs)
    gst_drm_format_set_add(set, pair.fourcc, pair.modifier);
  return set;
}

std::string text_of(const GstDrmFormatSet *set)
{
  if (!set)
    return "any";
  gchar *text = gst_drm_format_set_to_string(set);
  std::string copy = text;
  g_free(text);
  return copy;
}

GST_START_TEST(test_fill_and_read)
{
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new();
  fail_unless_equals_int(gst_drm_format_set_get_size(set), 0);
  fail_unless(gst_drm_format_set_add(set, kXr24, kY));
  fail_unless(gst_drm_format_set_add(set, kXr24, GST_DRM_MODIFIER_LINEAR));
  fail_unless(gst_drm_format_set_add(set, kNv12, GST_DRM_MODIFIER_IMPLICIT));
  fail_if(gst_drm_format_set_add(set, kXr24, kY));
  fail_if(gst_drm_format_set_add(set, 0, kY));
  fail_if(gst_drm_format_set_add(set, 7, kY));
  fail_unless(text_of(set) == "{ NV12 (implicit), XR24, XR24:0x0100000000000002 }", "got %s", text_of(set).c_str());
  fail_unless(gst_drm_format_set_contains(set, kXr24, kY));
  fail_if(gst_drm_format_set_contains(set, kNv12, kY));

  guint32 fourcc = 0;
  guint64 modifier = 1;
  fail_unless(gst_drm_format_set_get(set, 1, &fourcc, &modifier));
  fail_unless(fourcc == kXr24 && modifier == GST_DRM_MODIFIER_LINEAR);
  fail_unless(gst_drm_format_set_get(set, 0, nullptr, nullptr));
  fail_if(gst_drm_format_set_get(set, 3, &fourcc, &modifier));
}
GST_END_TEST

GST_START_TEST(test_shared_is_immutable)
{
  g_autoptr(GstDrmFormatSet) set = new_set({{kNv12, 0}});
  GstDrmFormatSet *second = gst_drm_format_set_ref(set);
  gboolean added = TRUE;
  EXPECT_CRITICAL(added = gst_drm_format_set_add(set, kXr24, 0));
  fail_if(added);
  fail_unless_equals_int(gst_drm_format_set_get_size(set), 1);
  g_autoptr(GstDrmFormatSet) copy = gst_drm_format_set_copy(set);
  fail_unless(gst_drm_format_set_add(copy, kXr24, 0));
  fail_unless_equals_int(gst_drm_format_set_get_size(set), 1);
  gst_drm_format_set_unref(second);
  fail_unless(gst_drm_format_set_add(set, kXr24, 0), "its only owner may fill it");
}
GST_END_TEST

GST_START_TEST(test_boxed)
{
  GValue value = G_VALUE_INIT;
  g_value_init(&value, GST_TYPE_DRM_FORMAT_SET);
  GstDrmFormatSet *set = new_set({{kNv12, 0}});
  g_value_take_boxed(&value, set);
  GValue copy = G_VALUE_INIT;
  g_value_init(&copy, GST_TYPE_DRM_FORMAT_SET);
  g_value_copy(&value, &copy);
  fail_unless(g_value_get_boxed(&copy) == set, "a copy of the value shares the set");
  g_value_unset(&value);
  fail_unless_equals_int(
      gst_drm_format_set_get_size(static_cast<GstDrmFormatSet *>(g_value_get_boxed(&copy))), 1);
  g_value_unset(&copy);
}
GST_END_TEST

GST_START_TEST(test_modifiers)
{
  g_autoptr(GstDrmFormatSet) set = new_set({{kXr24, kY}, {kXr24, 0}, {kNv12, kModImplicit}});
  guint n = 0;
  guint64 *modifiers = gst_drm_format_set_get_modifiers(set, kXr24, &n);
  fail_unless_equals_int(n, 2);
  fail_unless(modifiers[0] == GST_DRM_MODIFIER_LINEAR && modifiers[1] == kY);
  g_free(modifiers);
  fail_unless(gst_drm_format_set_get_modifiers(set, kNv42, &n) == nullptr);
  fail_unless_equals_int(n, 0);
}
GST_END_TEST

GST_START_TEST(test_fourccs)
{
  g_autoptr(GstDrmFormatSet) set = new_set({{kXr24, kY}, {kXr24, 0}, {kNv12, kModImplicit}});
  guint n = 0;
  guint32 *fourccs = gst_drm_format_set_get_fourccs(set, &n);
  fail_unless_equals_int(n, 2);
  fail_unless(fourccs[0] == kNv12 && fourccs[1] == kXr24);
  g_free(fourccs);
  g_autoptr(GstDrmFormatSet) empty = gst_drm_format_set_new();
  fail_unless(gst_drm_format_set_get_fourccs(empty, &n) == nullptr);
  fail_unless_equals_int(n, 0);
}
GST_END_TEST

// NULL is any format in an intersection, and a mistake everywhere else.
GST_START_TEST(test_null_is_any)
{
  g_autoptr(GstDrmFormatSet) set = new_set({{kXr24, kY}, {kNv12, kModImplicit}});
  for (const auto flags : {GST_DRM_FORMAT_SET_FLAG_NONE, GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT}) {
    g_autoptr(GstDrmFormatSet) left = gst_drm_format_set_intersect_full(nullptr, set, flags);
    g_autoptr(GstDrmFormatSet) right = gst_drm_format_set_intersect_full(set, nullptr, flags);
    fail_unless(gst_drm_format_set_is_equal(left, set) && gst_drm_format_set_is_equal(right, set));
    fail_unless(gst_drm_format_set_add(left, kNv42, 0), "a new set");
    fail_unless(gst_drm_format_set_intersect_full(nullptr, nullptr, flags) == nullptr);
  }
  fail_unless(gst_drm_format_set_intersect(nullptr, nullptr) == nullptr);
  guint n = 0;
  EXPECT_CRITICAL(gst_drm_format_set_union(set, nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_union(nullptr, set));
  EXPECT_CRITICAL(gst_drm_format_set_subtract(set, nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_subtract(nullptr, set));
  EXPECT_CRITICAL(gst_drm_format_set_is_subset(set, nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_is_equal(nullptr, set));
  EXPECT_CRITICAL(gst_drm_format_set_contains(nullptr, kNv12, 0));
  EXPECT_CRITICAL(gst_drm_format_set_get_size(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_get(nullptr, 0, nullptr, nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_get_modifiers(nullptr, kNv12, &n));
  EXPECT_CRITICAL(gst_drm_format_set_get_fourccs(nullptr, &n));
  EXPECT_CRITICAL(gst_drm_format_set_get_fourccs(set, nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_copy(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_ref(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_unref(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_to_caps(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_to_raw_caps(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_to_string(nullptr));
  EXPECT_CRITICAL(gst_drm_format_set_new_from_caps(nullptr));
}
GST_END_TEST

GST_START_TEST(test_algebra)
{
  g_autoptr(GstDrmFormatSet) a = new_set({{kXr24, kY}, {kXr24, 0}, {kNv12, kModImplicit}});
  g_autoptr(GstDrmFormatSet) b = new_set({{kXr24, kY}, {kNv12, 0}});
  g_autoptr(GstDrmFormatSet) both = gst_drm_format_set_intersect(a, b);
  g_autoptr(GstDrmFormatSet) legacy =
      gst_drm_format_set_intersect_full(a, b, GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT);
  g_autoptr(GstDrmFormatSet) strict = gst_drm_format_set_intersect_full(a, b, GST_DRM_FORMAT_SET_FLAG_NONE);
  g_autoptr(GstDrmFormatSet) all = gst_drm_format_set_union(a, b);
  g_autoptr(GstDrmFormatSet) rest = gst_drm_format_set_subtract(a, b);
  fail_unless(text_of(both) == "{ XR24:0x0100000000000002 }", "got %s", text_of(both).c_str());
  fail_unless(text_of(legacy) == "{ NV12, XR24:0x0100000000000002 }", "got %s", text_of(legacy).c_str());
  fail_unless(gst_drm_format_set_is_equal(strict, both));
  fail_unless(text_of(all) == "{ NV12, NV12 (implicit), XR24, XR24:0x0100000000000002 }", "got %s", text_of(all).c_str());
  fail_unless(text_of(rest) == "{ NV12 (implicit), XR24 }", "got %s", text_of(rest).c_str());
  fail_unless(gst_drm_format_set_is_subset(both, a));
  fail_if(gst_drm_format_set_is_subset(a, both));
  fail_if(gst_drm_format_set_is_equal(a, b));
  g_autoptr(GstDrmFormatSet) none = gst_drm_format_set_intersect(rest, b);
  fail_unless(text_of(none) == "{ }", "got %s", text_of(none).c_str());
}
GST_END_TEST

struct FromRow {
  const char *name;
  const char *caps;
  const char *set;
};

constexpr FromRow kFrom[] = {
    {"any caps", "ANY", "any"},
    {"empty caps", "EMPTY", "{ }"},
    {"one pair", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002",
     "{ NV12:0x0100000000000002 }"},
    {"a list", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ XR24, NV12, NV12:0x0100000000000002 }",
     "{ NV12, NV12:0x0100000000000002, XR24 }"},
    {"spaces", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ \"R8  \", \"R8  :0x0100000000000001\" }",
     "{ R8  , R8  :0x0100000000000001 }"},
    {"not canonical, twice", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ NV12:0x100000000000002, NV12:0x0100000000000002 }",
     "{ NV12:0x0100000000000002 }"},
    {"malformed left out", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ NV12, NV12:2, NV12:0x00ffffffffffffff, NV12:0x0000000000000000, X, XR24 }",
     "{ NV12, XR24 }"},
    {"only malformed", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV1", "{ }"},
    {"no drm-format", "video/x-raw(memory:DMABuf), format=DMA_DRM", "any"},
    {"no format", "video/x-raw(memory:DMABuf)", "any"},
    {"drm-format without format", "video/x-raw(memory:DMABuf), drm-format=XR24", "{ XR24 }"},
    {"implicit", "video/x-raw(memory:DMABuf), format=NV12", "{ NV12 (implicit) }"},
    {"implicit list", "video/x-raw(memory:DMABuf), format={ NV12, BGRx }", "{ NV12 (implicit), XR24 (implicit) }"},
    {"a tiling with a name is explicit", "video/x-raw(memory:DMABuf), format=NV12_4L4", "{ NV12:0x0600000000000001 }"},
    {"DMA_DRM in a list", "video/x-raw(memory:DMABuf), format={ DMA_DRM, NV12 }, drm-format=XR24", "{ XR24 }"},
    {"DMA_DRM in a list, any", "video/x-raw(memory:DMABuf), format={ DMA_DRM, NV12 }", "any"},
    {"format without fourcc", "video/x-raw(memory:DMABuf), format={ v210, NV12 }", "{ NV12 (implicit) }"},
    {"unknown format", "video/x-raw(memory:DMABuf), format=FOO", "{ }"},
    {"drm-format with another format", "video/x-raw(memory:DMABuf), format=NV12, drm-format=XR24", "{ }"},
    {"drm-format of another type", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(int)7", "{ }"},
    {"system memory", "video/x-raw, format=NV12", "{ }"},
    {"DMA_DRM without feature", "video/x-raw, format=DMA_DRM, drm-format=NV12", "{ }"},
    {"other memory", "video/x-raw(memory:GLMemory), format=NV12", "{ }"},
    {"other media", "image/jpeg(memory:DMABuf)", "{ }"},
    {"two structures", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12; video/x-raw(memory:DMABuf), format=BGRx; video/x-raw, format=RGBA",
     "{ NV12, XR24 (implicit) }"},
    {"two features", "video/x-raw(memory:DMABuf, meta:GstVideoOverlayComposition), format=DMA_DRM, drm-format=NV12", "{ NV12 }"},
    {"any features", "video/x-raw(ANY), format=DMA_DRM, drm-format=NV12", "{ NV12 }"},
};

GST_START_TEST(test_from_caps)
{
  const FromRow &row = kFrom[__i__];
  g_autoptr(GstCaps) caps = gst_caps_from_string(row.caps);
  fail_unless(caps != nullptr, "row %s", row.name);
  GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(caps);
  fail_unless(text_of(set) == row.set, "row %s: got %s, expected %s", row.name, text_of(set).c_str(), row.set);
  if (set)
    gst_drm_format_set_unref(set);
}
GST_END_TEST

// Lists that no text can say: with a NULL string, and a list in a list. GStreamer says CRITICAL when it has to write one.
GST_START_TEST(test_strings_that_are_none)
{
  GValue inner = G_VALUE_INIT;
  gst_value_list_init(&inner, 2);
  for (const char *text : {static_cast<const char *>(nullptr), "XR24"}) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_STRING);
    g_value_set_string(&item, text);
    gst_value_list_append_and_take_value(&inner, &item);
  }
  for (const bool nested : {false, true}) {
    GValue list = G_VALUE_INIT;
    gst_value_list_init(&list, 1);
    gst_value_list_append_value(&list, &inner);
    GstStructure *structure = gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", "width", G_TYPE_INT, 64,
                                                "height", G_TYPE_INT, 64, nullptr);
    gst_structure_set_value(structure, "drm-format", nested ? &list : &inner);
    g_autoptr(GstCaps) caps = gst_caps_new_full(structure, nullptr);
    gst_caps_set_features_simple(caps, gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
    g_value_unset(&list);

    GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(caps);
    fail_unless(text_of(set) == "{ XR24 }", "got %s", text_of(set).c_str());
    gst_drm_format_set_unref(set);
    g_autoptr(GstCaps) common = gst_drm_caps_intersect(caps, caps);
    fail_unless_equals_string(gst_structure_get_string(gst_caps_get_structure(common, 0), "drm-format"), "XR24");

    GstDrmVideoInfo info;
    GError *error = nullptr;
    fail_if(gst_drm_video_info_from_caps_full(&info, caps, &error));
    fail_unless(strstr(error->message, "drm-format=(GstValueList)unreadable") &&
                    strstr(error->message, "field drm-format is not fixed") && strstr(error->message, "width=(gint)64"),
                "%s", error->message);
    g_clear_error(&error);
  }
  g_value_unset(&inner);
}
GST_END_TEST

struct ToRow {
  const char *name;
  std::vector<Format> pairs;
  const char *caps;
  const char *raw;
};

const ToRow kTo[] = {
    {"empty", {}, "EMPTY", "EMPTY"},
    {"one linear", {{kNv12, 0}}, "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string)NV12",
     "video/x-raw, format=(string)NV12"},
    {"sorted", {{kXr24, kY}, {kXr24, 0}, {kNv12, 0}},
     "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string){ NV12, XR24, XR24:0x0100000000000002 }",
     "video/x-raw, format=(string){ NV12, BGRx }"},
    {"one tiled", {{kXr24, kY}}, "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string)XR24:0x0100000000000002",
     "EMPTY"},
    {"one implicit", {{kNv12, kModImplicit}}, "video/x-raw(memory:DMABuf), format=(string)NV12", "EMPTY"},
    {"mixed", {{kNv12, kModImplicit}, {kXr24, 0}, {kXr24, kModImplicit}},
     "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string)XR24; "
     "video/x-raw(memory:DMABuf), format=(string){ NV12, BGRx }",
     "video/x-raw, format=(string)BGRx"},
    {"implicit without a name", {{kNv42, kModImplicit}}, "EMPTY", "EMPTY"},
    {"linear without a name", {{kNv42, 0}}, "video/x-raw(memory:DMABuf), format=(string)DMA_DRM, drm-format=(string)NV42",
     "EMPTY"},
};

GST_START_TEST(test_to_caps)
{
  const ToRow &row = kTo[__i__];
  g_autoptr(GstDrmFormatSet) set = new_set(row.pairs);
  g_autoptr(GstCaps) caps = gst_drm_format_set_to_caps(set);
  gchar *text = gst_caps_to_string(caps);
  fail_unless(g_str_equal(text, row.caps), "row %s: got %s", row.name, text);
  g_free(text);
  g_autoptr(GstCaps) raw = gst_drm_format_set_to_raw_caps(set);
  text = gst_caps_to_string(raw);
  fail_unless(g_str_equal(text, row.raw), "row %s: got %s", row.name, text);
  g_free(text);
}
GST_END_TEST

// Whole GPUs, with and without implicit members, through caps and their text form.
GST_START_TEST(test_round_trip)
{
  const std::string &name = gstdrm::test::gpu_table_names()[static_cast<std::size_t>(__i__)];
  std::vector<Format> pairs = gstdrm::test::load_gpu_table(name);
  pairs.push_back({kNv12, kModImplicit});
  pairs.push_back({kXr24, kModImplicit});
  g_autoptr(GstDrmFormatSet) set = new_set(pairs);
  g_autoptr(GstCaps) caps = gst_drm_format_set_to_caps(set);
  g_autoptr(GstDrmFormatSet) again = gst_drm_format_set_new_from_caps(caps);
  fail_unless(gst_drm_format_set_is_equal(set, again), "%s: %s", name.c_str(), text_of(again).c_str());

  gchar *text = gst_caps_to_string(caps);
  g_autoptr(GstCaps) parsed = gst_caps_from_string(text);
  g_free(text);
  fail_unless(parsed != nullptr);
  g_autoptr(GstDrmFormatSet) from_text = gst_drm_format_set_new_from_caps(parsed);
  fail_unless(gst_drm_format_set_is_equal(set, from_text), "%s: %s", name.c_str(), text_of(from_text).c_str());
}
GST_END_TEST

// Many threads take and drop references while they read.
gpointer read_often(gpointer data)
{
  auto *set = static_cast<GstDrmFormatSet *>(data);
  gboolean all = TRUE;
  for (int i = 0; i < 2000; ++i) {
    GstDrmFormatSet *mine = gst_drm_format_set_ref(set);
    all = all && gst_drm_format_set_contains(mine, kNv12, 0);
    gst_drm_format_set_unref(mine);
  }
  return GINT_TO_POINTER(all);
}

GST_START_TEST(test_threads)
{
  g_autoptr(GstDrmFormatSet) set = new_set({{kNv12, 0}, {kXr24, kY}});
  std::vector<GThread *> threads;
  for (int i = 0; i < 4; ++i)
    threads.push_back(g_thread_new("reader", read_often, set));
  for (GThread *thread : threads)
    fail_unless(GPOINTER_TO_INT(g_thread_join(thread)));
  fail_unless(gst_drm_format_set_add(set, kNv42, 0), "all references but one are gone");
}
GST_END_TEST

Suite *formatset_suite()
{
  Suite *suite = suite_create("formatset");
  TCase *tcase = tcase_create("formatset");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_fill_and_read);
  tcase_add_test(tcase, test_shared_is_immutable);
  tcase_add_test(tcase, test_boxed);
  tcase_add_test(tcase, test_modifiers);
  tcase_add_test(tcase, test_fourccs);
  tcase_add_test(tcase, test_null_is_any);
  tcase_add_test(tcase, test_algebra);
  tcase_add_loop_test(tcase, test_from_caps, 0, G_N_ELEMENTS(kFrom));
  tcase_add_test(tcase, test_strings_that_are_none);
  tcase_add_loop_test(tcase, test_to_caps, 0, G_N_ELEMENTS(kTo));
  tcase_add_loop_test(tcase, test_round_trip, 0, static_cast<int>(gstdrm::test::gpu_table_names().size()));
  tcase_add_test(tcase, test_threads);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(formatset)
