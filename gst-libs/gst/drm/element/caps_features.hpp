// SPDX-License-Identifier: LGPL-2.1-or-later
// Features of caps. Header only.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// The meta that changes no memory: overlays go on with their frames.
inline constexpr const char *kOverlays = GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION;

// Appends what is there, with overlays beside the frames.
inline void append_with_overlays(GstCaps *caps)
{
  GstCaps *with = gst_caps_copy(caps);
  for (guint i = 0; i < gst_caps_get_size(with); i++)
    gst_caps_features_add(gst_caps_get_features(with, i), kOverlays);
  gst_caps_append(caps, with);
}

// Whether a structure of the caps has features that pass the test. Of ANY caps, and of none, no.
template <typename Test> bool any_features(const GstCaps *caps, Test test)
{
  if (!caps || gst_caps_is_any(caps))
    return false;
  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    if (test(gst_caps_get_features(caps, i)))
      return true;
  return false;
}

inline bool is_dma_drm(const GstStructure *structure)
{
  return g_strcmp0(gst_structure_get_string(structure, "format"), "DMA_DRM") == 0;
}

// Whether a structure of the caps has format=DMA_DRM. Of ANY caps, no.
inline bool names_dma_drm(const GstCaps *caps)
{
  for (guint i = 0; !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++)
    if (is_dma_drm(gst_caps_get_structure(caps, i)))
      return true;
  return false;
}

inline GstPtr<GstCaps> without_dma_drm(const GstCaps *caps)
{
  auto kept = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  gst_caps_filter_and_map_in_place(
      kept.get(),
      [](GstCapsFeatures *, GstStructure *structure, gpointer) noexcept -> gboolean {
        return !is_dma_drm(structure);
      },
      nullptr);
  return kept;
}

// Whether a structure has formats, and DMA_DRM is none of them.
inline bool has_named_formats(const GstStructure *structure)
{
  const GValue *formats = gst_structure_get_value(structure, "format");
  GValue dma_drm = G_VALUE_INIT;
  g_value_init(&dma_drm, G_TYPE_STRING);
  g_value_set_static_string(&dma_drm, "DMA_DRM");
  const bool named = formats && !gst_value_intersect(nullptr, formats, &dma_drm);
  g_value_unset(&dma_drm);
  return named;
}

// Leaves out structures with a drm-format and other formats than DMA_DRM, which contradict
// themselves: a filter `video/x-raw(memory:DMABuf),drm-format=…` makes them of implicit caps.
// Consumes the caps.
inline GstCaps *without_contradictions(GstCaps *caps)
{
  if (gst_caps_is_any(caps))
    return caps;
  caps = gst_caps_make_writable(caps);
  for (guint i = gst_caps_get_size(caps); i-- > 0;) {
    const GstStructure *structure = gst_caps_get_structure(caps, i);
    if (gst_structure_has_field(structure, "drm-format") && has_named_formats(structure))
      gst_caps_remove_structure(caps, i);
  }
  return caps;
}

// Whether a structure names DMA buffers and no modifier: memory:DMABuf without DMA_DRM.
inline bool has_implicit(const GstCaps *caps)
{
  for (guint i = 0; caps && !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++)
    if (has_named_formats(gst_caps_get_structure(caps, i)) &&
        gst_caps_features_contains(gst_caps_get_features(caps, i), "memory:DMABuf"))
      return true;
  return false;
}

} // namespace gstdrm
