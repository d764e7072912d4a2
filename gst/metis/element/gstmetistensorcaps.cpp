// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetistensorcaps.hpp"

#include <algorithm>
#include <string>

#include <gst/drm/gstdrm-compat-private.h>

namespace gstdrm::metis {

namespace {

constexpr const char *kField = "tensors";

bool asks_for_tensors(const GstCaps *caps)
{
  for (guint i = 0; caps && i < gst_caps_get_size(caps); i++)
    if (gst_structure_has_field(gst_caps_get_structure(caps, i), kField))
      return true;
  return false;
}

// Of the groups that the caps ask for: "a, b".
std::string groups_in(const GstCaps *caps)
{
  std::string names;
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    GstStructure *tensors = nullptr;
    if (!gst_structure_get(gst_caps_get_structure(caps, i), kField, GST_TYPE_STRUCTURE, &tensors,
                           nullptr))
      continue;
    for (gint n = 0; n < gst_structure_n_fields(tensors); n++)
      names += (names.empty() ? "" : ", ") +
               std::string(gst_structure_nth_field_name(tensors, static_cast<guint>(n)));
    gst_structure_free(tensors);
  }
  return names;
}

#ifdef GST_DRM_HAS_TENSOR_CAPS
// As GstTensor can describe it (gstdrmanalytics.hpp).
bool is_plain(const TensorInfo &tensor)
{
  const auto is_padded = [](const Padding &padding) { return padding != Padding{}; };
  return tensor.type == TensorType::Float32 && !tensor.quantisation && !tensor.dims.empty() &&
         std::none_of(tensor.padding.begin(), tensor.padding.end(), is_padded);
}

// A decoder of a number of objects that varies has 0 for it (ssdtensordec), others want the number
// (yolov8tensordec: 1 or more).
enum class Second { AsItIs, Variable };

void set_dims(GstStructure *description, const TensorInfo &tensor, Second second)
{
  GValue dims = G_VALUE_INIT;
  GValue dim = G_VALUE_INIT;
  gst_value_array_init(&dims, static_cast<guint>(tensor.dims.size()));
  g_value_init(&dim, G_TYPE_INT);
  for (std::size_t i = 0; i < tensor.dims.size(); i++) {
    const bool variable = i == 1 && second == Second::Variable;
    g_value_set_int(&dim, variable ? 0 : static_cast<gint>(tensor.dims[i]));
    gst_value_array_append_value(&dims, &dim);
  }
  g_value_unset(&dim);
  gst_structure_take_value(description, "dims", &dims);
}

void append_tensor(GValue *group, const TensorInfo &tensor, Second second)
{
  const std::string &id = tensor.id.empty() ? tensor.name : tensor.id;
  GstStructure *description = gst_structure_new(
      "tensor/strided", "tensor-id", G_TYPE_STRING, id.c_str(), "dims-order", G_TYPE_STRING,
      tensor.column_major ? "col-major" : "row-major", "type", G_TYPE_STRING, "float32", nullptr);
  set_dims(description, tensor, second);
  GstCaps *caps = gst_caps_new_full(description, nullptr);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, GST_TYPE_CAPS);
  gst_value_set_caps(&value, caps);
  gst_caps_unref(caps);
  gst_value_unique_list_append_and_take_value(group, &value);
}

GstPtr<GstCaps> described(const GstCaps *caps, const Model &model, Second second)
{
  GValue group = G_VALUE_INIT;
  g_value_init(&group, GST_TYPE_UNIQUE_LIST);
  for (const TensorInfo &tensor : model.outputs)
    if (is_plain(tensor))
      append_tensor(&group, tensor, second);
  GstStructure *groups = gst_structure_new_empty("tensorgroups");
  gst_structure_take_value(groups, model.name.c_str(), &group);
  auto with = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  gst_caps_set_simple(with.get(), kField, GST_TYPE_STRUCTURE, groups, nullptr);
  gst_structure_free(groups);
  return with;
}
#endif

} // namespace

GstPtr<GstCaps> without_tensors(GstPtr<GstCaps> caps)
{
  if (!asks_for_tensors(caps.get()))
    return caps;
  auto stripped = GstPtr<GstCaps>::adopt(gst_caps_copy(caps.get()));
  for (guint i = 0; i < gst_caps_get_size(stripped.get()); i++)
    gst_structure_remove_field(gst_caps_get_structure(stripped.get(), i), kField);
  return stripped;
}

Result<GstPtr<GstCaps>> with_tensors(GstPtr<GstCaps> caps, const GstCaps *downstream,
                                     const Model &model)
{
  if (!asks_for_tensors(downstream))
    return caps;
#ifdef GST_DRM_HAS_TENSOR_CAPS
  for (const Second second : {Second::AsItIs, Second::Variable}) {
    GstPtr<GstCaps> with = described(caps.get(), model, second);
    if (gst_caps_is_subset(with.get(), downstream))
      return with;
  }
#endif
  if (gst_caps_is_subset(caps.get(), downstream))
    return caps;
  return Error{ErrorCode::Caps,
               "Downstream takes tensors of " + groups_in(downstream) + ", and the model gives " +
                   (model.name.empty() ? "a group without a name" : model.name) +
                   ", perhaps with other ids, types or dimensions. Give the model and its outputs "
                   "the names of that decoder in the model's description, or use drmtensordecode.",
               0};
}

} // namespace gstdrm::metis
