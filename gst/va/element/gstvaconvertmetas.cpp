// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvaconvertmetas.hpp"

#include <gst/drm/drm.h>
#include <gst/video/video.h>

namespace gstdrm::va {
namespace {

// GStreamer 1.22 scales a region of interest and leaves its parameters, such as a detector's
// confidence, behind (gstvideometa.c, gst_video_region_of_interest_meta_transform()).
void copy_parameters(const GstMeta *meta, GstBuffer *out)
{
  // GstMeta is the first member
  const auto *from =
      static_cast<const GstVideoRegionOfInterestMeta *>(static_cast<const void *>(meta));
  gpointer state = nullptr;
  GstVideoRegionOfInterestMeta *last = nullptr;
  while (GstMeta *other = gst_buffer_iterate_meta_filtered(
             out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *region = static_cast<GstVideoRegionOfInterestMeta *>(static_cast<void *>(other));
    if (region->id == from->id && region->roi_type == from->roi_type && !region->params)
      last = region;
  }
  for (const GList *at = last ? from->params : nullptr; at; at = at->next)
    gst_video_region_of_interest_meta_add_param(
        last, gst_structure_copy(static_cast<const GstStructure *>(at->data)));
}

} // namespace

// What is said of memory ends here; what is said of places in the picture is scaled with it.
bool keeps_meta(const GstMeta *meta, GstBuffer *in, GstBuffer *out, const ConvertStream &stream)
{
  const GType api = meta->info->api;
  if (api == GST_VIDEO_META_API_TYPE || api == GST_VIDEO_CROP_META_API_TYPE ||
      api == GST_PARENT_BUFFER_META_API_TYPE ||
      gst_meta_api_type_has_tag(api, _gst_meta_tag_memory))
    return false;
  static const GQuark size_tag = g_quark_from_static_string(GST_META_TAG_VIDEO_SIZE_STR);
  if (!gst_meta_api_type_has_tag(api, size_tag))
    return true;
  const Conversion &conversion = stream.conversion;
  if (conversion.orientation != Orientation::Identity || conversion.borders ||
      gst_buffer_get_video_crop_meta(in) || !meta->info->transform_func)
    return false;
  GstVideoInfo from = stream.in.vinfo; // GStreamer does not say const
  GstVideoInfo to = stream.out.vinfo;
  GstVideoMetaTransform scale = {&from, &to};
  if (meta->info->transform_func(out, const_cast<GstMeta *>(meta), in,
                                 gst_video_meta_transform_scale_get_quark(), &scale) &&
      api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
    copy_parameters(meta, out);
  return false;
}

} // namespace gstdrm::va
