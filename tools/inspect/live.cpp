// SPDX-License-Identifier: LGPL-2.1-or-later
#include "live.hpp"

#include <sys/utsname.h>

#include "drivers.hpp"

namespace inspect {

namespace {

std::string text_of(const gchar *text)
{
  return text ? text : "";
}

const char *kind_name(GstDrmSourceKind kind)
{
  switch (kind) {
  case GST_DRM_SOURCE_KIND_KMS:
    return "kms";
  case GST_DRM_SOURCE_KIND_GBM:
    return "gbm";
  case GST_DRM_SOURCE_KIND_EGL:
    return "egl";
  case GST_DRM_SOURCE_KIND_VA:
    return "va";
  case GST_DRM_SOURCE_KIND_V4L2:
    return "v4l2";
  case GST_DRM_SOURCE_KIND_VULKAN:
    return "vulkan";
  case GST_DRM_SOURCE_KIND_WAYLAND:
    return "wayland";
  }
  return "unknown";
}

Source read_source(const GstDrmSource *raw)
{
  Source source;
  source.kind = kind_name(gst_drm_source_get_kind(raw));
  source.name = text_of(gst_drm_source_get_name(raw));
  source.device = text_of(gst_drm_source_get_device(raw));
  source.driver = text_of(gst_drm_source_get_driver(raw));
  source.description = text_of(gst_drm_source_get_description(raw));
  source.problem = text_of(gst_drm_source_get_problem(raw));
  const Set formats(gst_drm_source_get_formats(raw));
  const Set external(gst_drm_source_get_external_only(raw));
  Pair pair;
  for (guint i = 0; gst_drm_format_set_get(formats.get(), i, &pair.fourcc, &pair.modifier); i++) {
    pair.external_only =
        gst_drm_format_set_contains(external.get(), pair.fourcc, pair.modifier) != FALSE;
    pair.planes = gst_drm_source_get_n_planes(raw, pair.fourcc, pair.modifier);
    source.pairs.push_back(pair);
  }
  return source;
}

void add_all(GPtrArray *list, Machine &machine)
{
  for (guint i = 0; i < list->len; i++)
    machine.sources.push_back(read_source(static_cast<GstDrmSource *>(g_ptr_array_index(list, i))));
  g_ptr_array_unref(list);
}

} // namespace

// In the order of gst_drm_enumerate_all().
Machine read_machine()
{
  Machine machine;
  machine.is_live = true;
  utsname system{};
  if (::uname(&system) == 0)
    machine.kernel = std::string(system.sysname) + " " + system.release;
  const Text version(gst_version_string());
  machine.gstreamer = version.get();
  add_all(gst_drm_enumerate_kms(), machine);
  ask_drivers("gbm", machine);
  ask_drivers("egl", machine);
  add_all(gst_drm_enumerate_va(), machine); // its plugin starts a process for each driver
  add_all(gst_drm_enumerate_v4l2(), machine);
  ask_drivers("vulkan", machine);
  add_all(gst_drm_enumerate_wayland(), machine);
  return machine;
}

} // namespace inspect
