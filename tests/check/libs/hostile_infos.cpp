// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmVideoInfo, and the types that take no argument.
#include "hostile_values.hpp"

#include <cstring>

namespace gstdrm::test::hostile {

namespace {

// Each pair with a sane size, and a few pairs with each size.
void formats_and_sizes(const std::function<void(guint32, guint64, guint, guint)> &call)
{
  for (const guint32 fourcc : kFourccs)
    for (const guint64 modifier : kModifiers)
      call(fourcc, modifier, 640, 480);
  for (const guint64 modifier : {GST_DRM_MODIFIER_LINEAR, GST_DRM_MODIFIER_IMPLICIT, kYTiled, kVivante})
    for (const gint width : kNumbers)
      for (const gint height : kNumbers)
        call(kNv12, modifier, static_cast<guint>(width), static_cast<guint>(height));
}

const Rows kRows = {
    {"gst_drm_video_info_get_type", type_row<gst_drm_video_info_get_type>},
    {"gst_drm_video_info_init", [] { infos([](GstDrmVideoInfo *i) { gst_drm_video_info_init(i); fail_unless(i->drm_fourcc == 0); }); }},
    {"gst_drm_video_info_new", [] { gst_drm_video_info_free(gst_drm_video_info_new()); }},
    {"gst_drm_video_info_copy", [] { infos([](GstDrmVideoInfo *i) { gst_drm_video_info_free(gst_drm_video_info_copy(i)); }); }},
    {"gst_drm_video_info_new_from_caps", [] {
       for (auto &caps : hostile_caps())
         gst_drm_video_info_free(gst_drm_video_info_new_from_caps(caps.get()));
     }},
    {"gst_drm_video_info_new_from_format", [] { formats_and_sizes([](guint32 fourcc, guint64 modifier, guint width, guint height) {
       GError *error = nullptr;
       GstDrmVideoInfo *info = gst_drm_video_info_new_from_format(fourcc, modifier, width, height, &error);
       check(info != nullptr, error);
       if (info)
         gst_drm_video_info_free(info);
     }); }},
    {"gst_drm_video_info_set_format", [] { formats_and_sizes([](guint32 fourcc, guint64 modifier, guint width, guint height) {
       GError *error = nullptr;
       GstDrmVideoInfo info;
       std::memset(&info, 0x5a, sizeof info);
       const GstDrmVideoInfo before = info;
       const bool set = gst_drm_video_info_set_format(&info, fourcc, modifier, width, height, &error);
       check(set, error);
       fail_unless(set ? info.drm_fourcc == fourcc && info.drm_modifier == modifier : std::memcmp(&info, &before, sizeof info) == 0);
     }); }},
    {"gst_drm_video_info_get_fourcc", [] { infos([](GstDrmVideoInfo *i) { fail_unless(gst_drm_video_info_get_fourcc(i) == i->drm_fourcc); }); }},
    {"gst_drm_video_info_get_modifier", [] { infos([](GstDrmVideoInfo *i) { fail_unless(gst_drm_video_info_get_modifier(i) == i->drm_modifier); }); }},
    {"gst_drm_video_info_free", [] { gst_drm_video_info_free(nullptr); }},
    {"gst_drm_video_info_from_caps", [] {
       GstDrmVideoInfo info;
       for (auto &caps : hostile_caps())
         (void)gst_drm_video_info_from_caps(&info, caps.get());
     }},
    {"gst_drm_video_info_from_caps_full", [] {
       GstDrmVideoInfo info;
       for (auto &caps : hostile_caps()) {
         GError *error = nullptr;
         check(gst_drm_video_info_from_caps_full(&info, caps.get(), &error), error);
       }
     }},
    {"gst_drm_video_info_to_caps", [] { infos([](GstDrmVideoInfo *i) {
       GstCaps *caps = gst_drm_video_info_to_caps(i);
       if (caps)
         fail_unless(gst_caps_is_fixed(caps), "%" GST_PTR_FORMAT, caps);
       gst_clear_caps(&caps);
     }); }},
    {"gst_drm_video_info_from_video_info", [] { infos([](GstDrmVideoInfo *i) {
       for (const guint64 modifier : kModifiers) {
         GstDrmVideoInfo other;
         (void)gst_drm_video_info_from_video_info(&other, &i->vinfo, modifier);
       }
     }); }},
    {"gst_drm_video_info_to_video_info", [] { infos([](GstDrmVideoInfo *i) { GstVideoInfo plain; (void)gst_drm_video_info_to_video_info(i, &plain); }); }},
    {"gst_drm_video_info_is_equal", [] { infos([](GstDrmVideoInfo *a) {
       GstDrmVideoInfo sane;
       gst_drm_video_info_init(&sane);
       (void)gst_drm_video_info_is_equal(a, &sane);
       (void)gst_drm_video_info_is_equal(&sane, a);
       fail_unless(gst_drm_video_info_is_equal(a, a));
     }); }},
    {"gst_drm_is_dma_drm_caps", [] {
       for (auto &caps : hostile_caps())
         (void)gst_drm_is_dma_drm_caps(caps.get());
     }},
    {"gst_drm_implicit_modifier_get_type", type_row<gst_drm_implicit_modifier_get_type>},
    {"gst_drm_zero_copy_get_type", type_row<gst_drm_zero_copy_get_type>},
};

} // namespace

const Rows &video_info_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
