// SPDX-License-Identifier: LGPL-2.1-or-later
// What this machine's devices list. Natively there is none, and no driver of EGL or Vulkan is let in: what a real
// device says is looked at in the box (tests/device/core/drm_nodes.cpp).
#include "hostile_values.hpp"

namespace gstdrm::test::hostile {

namespace {

void no_drivers()
{
  for (const char *list : {"__EGL_VENDOR_LIBRARY_FILENAMES", "VK_ICD_FILENAMES", "VK_DRIVER_FILES"})
    g_setenv(list, "/dev/null", TRUE);
  g_setenv("WAYLAND_DISPLAY", "/dev/null", TRUE); // no compositor listens there
}

using Enumerate = GPtrArray *(*)(void) noexcept;

template <Enumerate enumerate> void list_row()
{
  no_drivers();
  for (int i = 0; i < 2; i++) { // the second time everything is loaded
    GPtrArray *list = enumerate();
    fail_unless(list != nullptr);
    g_ptr_array_unref(list);
  }
}

// Whatever there is, with numbers that no source has.
void for_each_source(void (*call)(GstDrmSource *))
{
  no_drivers();
  GPtrArray *list = gst_drm_enumerate_all();
  for (guint i = 0; i < list->len; i++)
    call(static_cast<GstDrmSource *>(g_ptr_array_index(list, i)));
  g_ptr_array_unref(list);
}

void check_text(const gchar *text, bool may_be_null)
{
  fail_unless(may_be_null || text);
  fail_unless(!text || *text);
}

const Rows kRows = {
    {"gst_drm_source_get_type", type_row<gst_drm_source_get_type>},
    {"gst_drm_source_ref", [] { for_each_source([](GstDrmSource *s) { fail_unless(gst_drm_source_ref(s) == s); gst_drm_source_unref(s); }); }},
    {"gst_drm_source_unref", [] { for_each_source([](GstDrmSource *s) { gst_drm_source_unref(gst_drm_source_ref(s)); }); }},
    {"gst_drm_source_get_kind", [] { for_each_source([](GstDrmSource *s) { fail_unless(gst_drm_source_get_kind(s) <= GST_DRM_SOURCE_KIND_WAYLAND); }); }},
    {"gst_drm_source_get_name", [] { for_each_source([](GstDrmSource *s) { check_text(gst_drm_source_get_name(s), false); }); }},
    {"gst_drm_source_get_description", [] { for_each_source([](GstDrmSource *s) { check_text(gst_drm_source_get_description(s), true); }); }},
    {"gst_drm_source_get_device", [] { for_each_source([](GstDrmSource *s) { check_text(gst_drm_source_get_device(s), true); }); }},
    {"gst_drm_source_get_driver", [] { for_each_source([](GstDrmSource *s) { check_text(gst_drm_source_get_driver(s), true); }); }},
    {"gst_drm_source_get_problem", [] { for_each_source([](GstDrmSource *s) { check_text(gst_drm_source_get_problem(s), true); }); }},
    {"gst_drm_source_get_formats", [] { for_each_source([](GstDrmSource *s) { gst_drm_format_set_unref(gst_drm_source_get_formats(s)); }); }},
    {"gst_drm_source_get_external_only", [] { for_each_source([](GstDrmSource *s) { gst_drm_format_set_unref(gst_drm_source_get_external_only(s)); }); }},
    {"gst_drm_source_get_n_planes", [] { for_each_source([](GstDrmSource *s) {
       for (const guint32 fourcc : kFourccs)
         for (const guint64 modifier : kModifiers)
           fail_unless(gst_drm_source_get_n_planes(s, fourcc, modifier) <= 4);
     }); }},
    {"gst_drm_enumerate_kms", list_row<gst_drm_enumerate_kms>},
    {"gst_drm_enumerate_gbm", list_row<gst_drm_enumerate_gbm>},
    {"gst_drm_enumerate_egl", list_row<gst_drm_enumerate_egl>},
    {"gst_drm_enumerate_va", list_row<gst_drm_enumerate_va>},
    {"gst_drm_enumerate_v4l2", list_row<gst_drm_enumerate_v4l2>},
    {"gst_drm_enumerate_vulkan", list_row<gst_drm_enumerate_vulkan>},
    {"gst_drm_enumerate_wayland", list_row<gst_drm_enumerate_wayland>},
    {"gst_drm_enumerate_wayland_surface", [] {
       GPtrArray *list = nullptr;
       EXPECT_CRITICAL(list = gst_drm_enumerate_wayland_surface(nullptr, nullptr));
       fail_unless(list && list->len == 0);
       g_ptr_array_unref(list);
     }},
    {"gst_drm_enumerate_all", list_row<gst_drm_enumerate_all>},
};

} // namespace

const Rows &source_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
