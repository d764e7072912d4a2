// SPDX-License-Identifier: LGPL-2.1-or-later
// What an allocator says that it can make: all of it can be made, and the recipe of docs/library.md
// works with it.
#include <string>

#include "support/check_main.hpp"
#include "support/frames.hpp"

namespace {

using namespace gstdrm::test;

GstDrmAllocator *new_memfd()
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, &error);
  fail_unless(allocator != nullptr, "%s", error ? error->message : "no error");
  return allocator;
}

// --- an allocator from elsewhere -----------------------------------------------------------------

enum class Answers { Null, Nothing, Set };

Answers answers = Answers::Null;

struct Foreign {
  GstDrmAllocator parent;
};

struct ForeignClass {
  GstDrmAllocatorClass parent_class;
};

GType foreign_get_type();
G_DEFINE_TYPE(Foreign, foreign, GST_TYPE_DRM_ALLOCATOR)

GstDrmFormatSet *foreign_get_formats(GstDrmAllocator *)
{
  if (answers == Answers::Null)
    return nullptr;
  GstDrmFormatSet *set = gst_drm_format_set_new();
  if (answers == Answers::Set)
    gst_drm_format_set_add(set, kNv12, kXTiled);
  return set;
}

void foreign_class_init(ForeignClass *klass)
{
  klass->parent_class.get_formats = foreign_get_formats;
}

void foreign_init(Foreign *) {}

struct ForeignRow {
  const char *name;
  Answers answers;
  const char *text; // nullptr: what a linear allocator says
};

const ForeignRow kForeign[] = {
    {"NULL is linear of everything known", Answers::Null, nullptr},
    {"an empty set stays empty", Answers::Nothing, "{ }"},
    {"a set is passed on", Answers::Set, "{ NV12:0x0100000000000001 }"},
};

std::string text_of(const GstDrmFormatSet *set)
{
  gchar *text = gst_drm_format_set_to_string(set);
  std::string copy = text;
  g_free(text);
  return copy;
}

GST_START_TEST(test_subclass)
{
  const ForeignRow &row = kForeign[__i__];
  answers = row.answers;
  auto *allocator = static_cast<GstDrmAllocator *>(g_object_new(foreign_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  g_autoptr(GstDrmFormatSet) set = gst_drm_allocator_get_formats(allocator);
  fail_unless(set != nullptr, "%s", row.name);
  if (row.text) {
    fail_unless(text_of(set) == row.text, "%s: got %s", row.name, text_of(set).c_str());
  } else {
    GstDrmAllocator *linear = new_memfd();
    g_autoptr(GstDrmFormatSet) expected = gst_drm_allocator_get_formats(linear);
    fail_unless(gst_drm_format_set_is_equal(set, expected), "%s: got %s", row.name, text_of(set).c_str());
    gst_object_unref(linear);
  }
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_subclass_without_the_vfunc)
{
  auto *allocator = static_cast<GstDrmAllocator *>(g_object_new(foreign_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  GstDrmAllocatorClass *klass = GST_DRM_ALLOCATOR_GET_CLASS(allocator);
  klass->get_formats = nullptr;
  g_autoptr(GstDrmFormatSet) set = gst_drm_allocator_get_formats(allocator);
  fail_unless(set && gst_drm_format_set_contains(set, kNv12, GST_DRM_MODIFIER_LINEAR));
  klass->get_formats = foreign_get_formats;
  gst_object_unref(allocator);
}
GST_END_TEST

// --- linear allocators ---------------------------------------------------------------------------

GST_START_TEST(test_all_can_be_made)
{
  GstDrmAllocator *allocator = new_memfd();
  g_autoptr(GstDrmFormatSet) set = gst_drm_allocator_get_formats(allocator);
  fail_unless(gst_drm_format_set_get_size(set) >= gstdrm::known_fourccs().size());
  for (guint i = 0; i < gst_drm_format_set_get_size(set); ++i) {
    guint32 fourcc = 0;
    guint64 modifier = 1;
    fail_unless(gst_drm_format_set_get(set, i, &fourcc, &modifier));
    fail_unless_equals_uint64(modifier, GST_DRM_MODIFIER_LINEAR);
    GError *error = nullptr;
    GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, fourcc, 48, 48, &modifier, 1, nullptr, nullptr, &error);
    fail_unless(buffer != nullptr, "%s: %s", gstdrm::fourcc_to_string(fourcc).c_str(), error ? error->message : "?");
    gst_buffer_unref(buffer);
  }
  gst_object_unref(allocator);
}
GST_END_TEST

// No video format that dmabufupload takes is missing, the big-endian ones included.
GST_START_TEST(test_holds_all_video_formats)
{
  GstDrmAllocator *allocator = new_memfd();
  g_autoptr(GstDrmFormatSet) set = gst_drm_allocator_get_formats(allocator);
  guint linear = 0, big_endian = 0;
  guint n = 0;
  const GstVideoFormat *all = gst_video_formats_raw(&n);
  for (guint i = 0; i < n; ++i) {
    guint64 modifier = 1;
    const guint32 fourcc = gst_drm_format_from_video_format(all[i], &modifier);
    if (fourcc == 0 || modifier != GST_DRM_MODIFIER_LINEAR)
      continue;
    ++linear;
    big_endian += fourcc >> 31;
    fail_unless(gst_drm_format_set_contains(set, fourcc, modifier), "%s is missing",
                gst_video_format_to_string(all[i]));
  }
  fail_unless(linear > 40 && big_endian > 2, "%u, %u big-endian", linear, big_endian);
  fail_if(gst_drm_format_set_contains(set, kNv12, kXTiled));
  fail_if(gst_drm_format_set_contains(set, kNv12, GST_DRM_MODIFIER_IMPLICIT));
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_caller_owns_the_set)
{
  GstDrmAllocator *allocator = new_memfd();
  g_autoptr(GstDrmFormatSet) set = gst_drm_allocator_get_formats(allocator);
  fail_unless(gst_drm_format_set_add(set, kNv12, kXTiled));
  g_autoptr(GstDrmFormatSet) again = gst_drm_allocator_get_formats(allocator);
  fail_if(gst_drm_format_set_contains(again, kNv12, kXTiled));
  gst_object_unref(allocator);
}
GST_END_TEST

// --- the recipe: intersect your allocator's set with the peer's ----------------------------------

struct RecipeRow {
  const char *name;
  const char *peer;
  bool nv12; // is in the result
};

const RecipeRow kRecipes[] = {
    {"a list", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ NV12, NV12:0x0100000000000001, XR24 }", true},
    {"one other format", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24", false},
    {"tiled only", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000001", false},
    {"DMA_DRM of any format", "video/x-raw(memory:DMABuf), format=DMA_DRM", true},
    {"ANY", "ANY", true},
    {"EMPTY", "EMPTY", false},
};

GST_START_TEST(test_recipe)
{
  const RecipeRow &row = kRecipes[__i__];
  GstDrmAllocator *allocator = new_memfd();
  g_autoptr(GstCaps) caps = gst_caps_from_string(row.peer);
  g_autoptr(GstDrmFormatSet) mine = gst_drm_allocator_get_formats(allocator);
  g_autoptr(GstDrmFormatSet) peer = gst_drm_format_set_new_from_caps(caps);
  g_autoptr(GstDrmFormatSet) common = gst_drm_format_set_intersect(mine, peer);
  fail_unless(common != nullptr && gst_drm_format_set_is_subset(common, mine), "%s", row.name);
  guint n = 0;
  guint64 *modifiers = gst_drm_format_set_get_modifiers(common, kNv12, &n);
  fail_unless_equals_int(n, row.nv12 ? 1 : 0);
  if (row.nv12)
    gst_buffer_unref(gst_drm_allocator_alloc_frame(allocator, kNv12, 64, 64, modifiers, n, nullptr, nullptr, nullptr));
  g_free(modifiers);
  gst_object_unref(allocator);
}
GST_END_TEST

Suite *allocator_formats_suite()
{
  Suite *suite = suite_create("allocator_formats");
  TCase *tcase = tcase_create("allocator_formats");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_subclass, 0, G_N_ELEMENTS(kForeign));
  tcase_add_test(tcase, test_subclass_without_the_vfunc);
  tcase_add_test(tcase, test_all_can_be_made);
  tcase_add_test(tcase, test_holds_all_video_formats);
  tcase_add_test(tcase, test_caller_owns_the_set);
  tcase_add_loop_test(tcase, test_recipe, 0, G_N_ELEMENTS(kRecipes));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(allocator_formats)
