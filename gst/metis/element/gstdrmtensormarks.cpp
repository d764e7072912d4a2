// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmtensormarks.hpp"

#include <algorithm>

#include <gst/video/gstvideometa.h>

namespace gstdrm {

namespace {

// The marks go where the GstDrmTensorMeta goes.
gboolean copy_marks(GstBuffer *dest, GstCustomMeta *meta, GstBuffer *, GQuark type, gpointer data,
                    gpointer) noexcept
{
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (data && static_cast<GstMetaTransformCopy *>(data)->region)
      return FALSE;
  } else if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) {
    return FALSE;
  }
  const GstStructure *from = gst_custom_meta_get_structure(meta);
  GstStructure *to =
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(dest, gst_structure_get_name(from)));
  for (gint i = 0; i < gst_structure_n_fields(from); i++) {
    const gchar *field = gst_structure_nth_field_name(from, static_cast<guint>(i));
    gst_structure_set_value(to, field, gst_structure_get_value(from, field));
  }
  return TRUE;
}

std::string decoded_field(const std::string &group)
{
  return "group-" + group;
}

std::string region_field(const std::string &group, guint index)
{
  return "region-" + std::to_string(index) + "-" + group;
}

} // namespace

std::vector<GstDrmTensorMeta *> tensor_metas_of(GstBuffer *buffer)
{
  std::vector<GstDrmTensorMeta *> metas;
  gpointer state = nullptr;
  while (GstMeta *meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, GST_DRM_TENSOR_META_API_TYPE))
    metas.push_back(reinterpret_cast<GstDrmTensorMeta *>(meta));
  return metas;
}

std::string group_of(GstDrmTensorMeta *meta)
{
  const gchar *group = gst_drm_tensor_meta_get_group(meta);
  return group ? group : "";
}

guint index_in_group(GstBuffer *buffer, GstDrmTensorMeta *meta)
{
  guint index = 0;
  for (GstDrmTensorMeta *other : tensor_metas_of(buffer)) {
    if (other == meta)
      break;
    index += group_of(other) == group_of(meta) ? 1 : 0;
  }
  return index;
}

std::set<std::string> names_in(const std::string &list)
{
  std::set<std::string> names;
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    const std::size_t first = list.find_first_not_of(' ', start);
    if (first < end)
      names.insert(list.substr(first, list.find_last_not_of(' ', end - 1) + 1 - first));
    start = end + 1;
  }
  return names;
}

const char *TensorMarks::name()
{
  static constexpr const char *kName = "GstDrmTensorMarks";
  static const gchar *tags[] = {nullptr};
  static const GstMetaInfo *const info =
      gst_meta_register_custom(kName, tags, copy_marks, nullptr, nullptr);
  (void)info;
  return kName;
}

GstStructure *TensorMarks::made(GstBuffer *buffer)
{
  if (!meta_)
    meta_ = gst_buffer_add_custom_meta(buffer, name());
  return gst_custom_meta_get_structure(meta_);
}

guint TensorMarks::decoded(const std::string &group) const
{
  guint count = 0;
  if (meta_)
    gst_structure_get_uint(gst_custom_meta_get_structure(meta_), decoded_field(group).c_str(),
                           &count);
  return count;
}

void TensorMarks::add_decoded(GstBuffer *buffer, const std::string &group)
{
  const auto metas = tensor_metas_of(buffer);
  const auto most = static_cast<guint>(std::count_if(
      metas.begin(), metas.end(), [&](GstDrmTensorMeta *meta) { return group_of(meta) == group; }));
  const guint now = std::min(decoded(group) + 1, most);
  gst_structure_set(made(buffer), decoded_field(group).c_str(), G_TYPE_UINT, now, nullptr);
}

std::optional<gint> TensorMarks::region(const std::string &group, guint index) const
{
  gint id = 0;
  if (!meta_ || !gst_structure_get_int(gst_custom_meta_get_structure(meta_),
                                       region_field(group, index).c_str(), &id))
    return std::nullopt;
  return id;
}

void TensorMarks::set_region(GstBuffer *buffer, const std::string &group, guint index, gint id)
{
  gst_structure_set(made(buffer), region_field(group, index).c_str(), G_TYPE_INT, id, nullptr);
}

} // namespace gstdrm
