// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats, sets of them, and caps.
#include "hostile_values.hpp"

#include <algorithm>

namespace gstdrm::test::hostile {

namespace {

// Sets of nothing, of one pair, and of all the hostile pairs that a set takes.
std::vector<GstDrmFormatSet *> hostile_sets()
{
  std::vector<GstDrmFormatSet *> sets{gst_drm_format_set_new(), gst_drm_format_set_new(), gst_drm_format_set_new()};
  gst_drm_format_set_add(sets[1], kNv12, GST_DRM_MODIFIER_IMPLICIT);
  for (const guint32 fourcc : kFourccs)
    for (const guint64 modifier : kModifiers)
      gst_drm_format_set_add(sets[2], fourcc, modifier);
  return sets;
}

void for_each_pair_of_sets(const std::function<void(GstDrmFormatSet *, GstDrmFormatSet *)> &call)
{
  const auto sets = hostile_sets();
  for (GstDrmFormatSet *a : sets)
    for (GstDrmFormatSet *b : sets)
      call(a, b);
  for (GstDrmFormatSet *set : sets)
    gst_drm_format_set_unref(set);
}

void for_each_set(const std::function<void(GstDrmFormatSet *)> &call)
{
  for_each_pair_of_sets([&call](GstDrmFormatSet *a, GstDrmFormatSet *) { call(a); });
}

void unref_set(GstDrmFormatSet *set)
{
  fail_unless(set != nullptr);
  gst_drm_format_set_unref(set);
}

const Rows kRows = {
    {"gst_drm_error_quark", [] { fail_unless(gst_drm_error_quark() == GST_DRM_ERROR); }},
    {"gst_drm_format_parse", [] {
       for (const char *text : kStrings) {
         GError *error = nullptr;
         check(gst_drm_format_parse(text, nullptr, nullptr, &error), error);
       }
     }},
    {"gst_drm_format_to_string", [] {
       for (const guint32 fourcc : kFourccs)
         for (const guint64 modifier : kModifiers)
           g_free(gst_drm_format_to_string(fourcc, modifier));
     }},
    {"gst_drm_modifier_describe", [] {
       for (const guint64 modifier : kModifiers) {
         g_autofree gchar *text = gst_drm_modifier_describe(modifier);
         fail_unless(text && *text);
       }
     }},
    {"gst_drm_format_to_video_format", [] {
       for (const guint32 fourcc : kFourccs)
         for (const guint64 modifier : kModifiers)
           (void)gst_drm_format_to_video_format(fourcc, modifier);
     }},
    {"gst_drm_format_from_video_format", [] {
       for (const gint format : kNumbers)
         (void)gst_drm_format_from_video_format(enum_of<GstVideoFormat>(format), nullptr);
     }},
    {"gst_drm_format_set_get_type", type_row<gst_drm_format_set_get_type>},
    {"gst_drm_format_set_new", [] { unref_set(gst_drm_format_set_new()); }},
    {"gst_drm_format_set_new_from_caps", [] {
       for (auto &caps : hostile_caps())
         if (GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(caps.get()))
           gst_drm_format_set_unref(set);
     }},
    {"gst_drm_format_set_ref", [] { for_each_set([](GstDrmFormatSet *s) { fail_unless(gst_drm_format_set_ref(s) == s); gst_drm_format_set_unref(s); }); }},
    {"gst_drm_format_set_unref", [] { for_each_set([](GstDrmFormatSet *s) { gst_drm_format_set_unref(gst_drm_format_set_ref(s)); }); }},
    {"gst_drm_format_set_copy", [] { for_each_set([](GstDrmFormatSet *s) { unref_set(gst_drm_format_set_copy(s)); }); }},
    {"gst_drm_format_set_add", [] { for_each_set([](GstDrmFormatSet *s) { (void)gst_drm_format_set_add(s, G_MAXUINT32, G_MAXUINT64); }); }},
    {"gst_drm_format_set_contains", [] { for_each_set([](GstDrmFormatSet *s) { fail_if(gst_drm_format_set_contains(s, G_MAXUINT32, G_MAXUINT64)); }); }},
    {"gst_drm_format_set_get_size", [] { for_each_set([](GstDrmFormatSet *s) { fail_unless(gst_drm_format_set_get_size(s) < 1000); }); }},
    {"gst_drm_format_set_get", [] { for_each_set([](GstDrmFormatSet *s) { fail_if(gst_drm_format_set_get(s, G_MAXUINT, nullptr, nullptr)); }); }},
    {"gst_drm_format_set_get_modifiers", [] { for_each_set([](GstDrmFormatSet *s) { guint n = 7; fail_unless(!gst_drm_format_set_get_modifiers(s, G_MAXUINT32, &n) && n == 0); }); }},
    {"gst_drm_format_set_get_fourccs", [] { for_each_set([](GstDrmFormatSet *s) {
       guint n = 7;
       g_autofree guint32 *fourccs = gst_drm_format_set_get_fourccs(s, &n);
       fail_unless(n <= gst_drm_format_set_get_size(s) && (fourccs != nullptr) == (n != 0));
       for (guint i = 0; i < n; ++i)
         fail_unless(std::find(fourccs, fourccs + i, fourccs[i]) == fourccs + i);
     }); }},
    {"gst_drm_format_set_intersect", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { unref_set(gst_drm_format_set_intersect(a, b)); }); }},
    {"gst_drm_format_set_intersect_full", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) {
       for (const gint flags : kNumbers)
         unref_set(gst_drm_format_set_intersect_full(a, b, enum_of<GstDrmFormatSetFlags>(flags)));
     }); }},
    {"gst_drm_format_set_union", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { unref_set(gst_drm_format_set_union(a, b)); }); }},
    {"gst_drm_format_set_subtract", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { unref_set(gst_drm_format_set_subtract(a, b)); }); }},
    {"gst_drm_format_set_is_subset", [] { for_each_set([](GstDrmFormatSet *s) { fail_unless(gst_drm_format_set_is_subset(s, s)); }); }},
    {"gst_drm_format_set_is_equal", [] { for_each_pair_of_sets([](GstDrmFormatSet *a, GstDrmFormatSet *b) { fail_unless(gst_drm_format_set_is_equal(a, b) == (a == b)); }); }},
    {"gst_drm_format_set_to_caps", [] { for_each_set([](GstDrmFormatSet *s) { gst_caps_unref(gst_drm_format_set_to_caps(s)); }); }},
    {"gst_drm_format_set_to_raw_caps", [] { for_each_set([](GstDrmFormatSet *s) { gst_caps_unref(gst_drm_format_set_to_raw_caps(s)); }); }},
    {"gst_drm_format_set_to_string", [] { for_each_set([](GstDrmFormatSet *s) { g_free(gst_drm_format_set_to_string(s)); }); }},
    {"gst_drm_caps_intersect", [] {
       const auto all = hostile_caps();
       for (std::size_t i = 0; i < all.size(); ++i)
         for (const std::size_t step : {0, 1, 5, 21})
           gst_caps_unref(gst_drm_caps_intersect(all[i].get(), all[(i + step) % all.size()].get()));
     }},
};

} // namespace

const Rows &format_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
