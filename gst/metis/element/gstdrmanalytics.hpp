// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's own metas for the results of models: GstAnalyticsRelationMeta since 1.24,
// GstTensorMeta since 1.26. Only this header depends on the version.
#pragma once

#include "config.h"

#ifdef HAVE_GST_ANALYTICS
// without it the header warns that the API is unstable
#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>
#endif

#include <gst/drm/gstdrmtensormeta.h>

#include "gstdrmdetections.hpp"

namespace gstdrm {

// Adds the objects as detections to the buffer's relations, and relates those that have an id to
// their track, as ioutracker does. Does nothing before 1.24. Adds the meta even without objects,
// because objectdetectionoverlay draws its last boxes again if it is missing.
inline void attach_analytics([[maybe_unused]] GstBuffer *buffer,
                             [[maybe_unused]] const std::vector<FoundObject> &objects)
{
#ifdef HAVE_GST_ANALYTICS
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta(buffer);
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta(buffer);
  for (const FoundObject &object : objects) {
    if (object.whole)
      continue; // of a region, which is an object already
    GstAnalyticsODMtd detection;
    gst_analytics_relation_meta_add_od_mtd(relations, g_quark_from_string(object.name.c_str()),
                                           object.x, object.y, object.width, object.height,
                                           static_cast<gfloat>(object.score), &detection);
    GstAnalyticsTrackingMtd track;
    if (object.id != 0 && gst_analytics_relation_meta_add_tracking_mtd(relations, object.id,
                                                                       object.first_seen, &track)) {
      gst_analytics_tracking_mtd_update_last_seen(&track, object.last_seen);
      gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                               detection.id, track.id);
    }
  }
#endif
}

#ifdef HAVE_GST_TENSORS
// GstTensor has neither quantisation, nor padding, nor a tensor without dimensions.
inline bool is_plain(const GstDrmTensor &tensor)
{
  if (!tensor.memory || tensor.quantised || tensor.type != GST_DRM_TENSOR_TYPE_FLOAT32 ||
      tensor.n_dims == 0)
    return false;
  for (guint i = 0; i < tensor.n_dims; i++)
    if (tensor.dims[i].padding_before != 0 || tensor.dims[i].padding_after != 0)
      return false;
  return tensor.size == gst_drm_tensor_get_n_values(&tensor) * sizeof(gfloat);
}

// (transfer full) A GstTensor of the same memory.
inline GstTensor *share_tensor(const GstDrmTensor &tensor, bool column_major)
{
  const bool whole =
      tensor.offset == 0 && tensor.size == gst_memory_get_sizes(tensor.memory, nullptr, nullptr);
  GstBuffer *data = gst_buffer_new();
  gst_buffer_append_memory(data, whole ? gst_memory_ref(tensor.memory)
                                       : gst_memory_share(tensor.memory,
                                                          static_cast<gssize>(tensor.offset),
                                                          static_cast<gssize>(tensor.size)));
  gsize dims[GST_DRM_TENSOR_MAX_DIMS];
  for (guint i = 0; i < tensor.n_dims; i++)
    dims[i] = tensor.dims[i].size;
  return gst_tensor_new_simple(
      tensor.name ? g_quark_from_string(tensor.name) : 0, GST_TENSOR_DATA_TYPE_FLOAT32, data,
      column_major ? GST_TENSOR_DIM_ORDER_COL_MAJOR : GST_TENSOR_DIM_ORDER_ROW_MAJOR, tensor.n_dims,
      dims);
}
#endif

// Adds a GstTensorMeta with those tensors that GstTensor can describe, without a copy. Does nothing
// if there are none, nor before 1.26. Each model has a meta of its own, because decoders count its
// tensors. `column_major` has the dimension order of each tensor.
inline void attach_gst_tensors([[maybe_unused]] GstBuffer *buffer,
                               [[maybe_unused]] GstDrmTensorMeta *from,
                               [[maybe_unused]] const std::vector<bool> &column_major = {})
{
#ifdef HAVE_GST_TENSORS
  std::vector<guint> plain;
  for (guint i = 0; i < gst_drm_tensor_meta_get_n_tensors(from); i++)
    if (is_plain(*gst_drm_tensor_meta_get_tensor(from, i)))
      plain.push_back(i);
  if (plain.empty())
    return;
  auto *meta = reinterpret_cast<GstTensorMeta *>(
      gst_buffer_add_meta(buffer, gst_tensor_meta_get_info(), nullptr));
  GstTensor **tensors = g_new(GstTensor *, plain.size());
  for (std::size_t i = 0; i < plain.size(); i++)
    tensors[i] = share_tensor(*gst_drm_tensor_meta_get_tensor(from, plain[i]),
                              plain[i] < column_major.size() && column_major[plain[i]]);
  gst_tensor_meta_set(meta, static_cast<guint>(plain.size()), tensors);
#endif
}

} // namespace gstdrm
