// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetistensors.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrm-compat-private.h>
#include <gst/drm/gstdrmtensormeta.h>

#include "gstdrmanalytics.hpp"
#include "gstdrmpassthrough.hpp"
#include "gstdrmtensormarks.hpp"

namespace gstdrm::metis {

namespace {

// By which decoders know the tensor.
const std::string &id_of(const TensorInfo &tensor)
{
  return tensor.id.empty() ? tensor.name : tensor.id;
}

using BlockOwner = std::shared_ptr<const TensorBlock>;

void delete_owner(gpointer owner) noexcept
{
  delete static_cast<BlockOwner *>(owner);
}

GQuark owner_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-metis-tensor-block");
  return quark;
}

// The block returns to its pool when the memory is freed.
GstPtr<GstMemory> memory_of(const BlockOwner &block, gsize size)
{
  auto owner = std::make_unique<BlockOwner>(block);
  if (block->fd() < 0)
    return GstPtr<GstMemory>::adopt(gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0),
                                                           block->data(), block->size_bytes(), 0,
                                                           size, owner.release(), delete_owner));
  static GstAllocator *const allocator = [] {
    GstAllocator *made = gst_dmabuf_allocator_new();
    GST_OBJECT_FLAG_SET(made, GST_OBJECT_FLAG_MAY_BE_LEAKED); // lives as long as the process
    return made;
  }();
  auto memory = GstPtr<GstMemory>::adopt(gst_dmabuf_allocator_alloc_with_flags(
      allocator, block->fd(), size, GST_FD_MEMORY_FLAG_DONT_CLOSE));
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory.get()), owner_quark(), owner.release(),
                            delete_owner);
  return memory;
}

GstDrmTensorType type_of(TensorType type)
{
  switch (type) {
  case TensorType::UInt8:
    return GST_DRM_TENSOR_TYPE_UINT8;
  case TensorType::Int8:
    return GST_DRM_TENSOR_TYPE_INT8;
  default:
    return GST_DRM_TENSOR_TYPE_FLOAT32;
  }
}

Result<GstDrmTensor> describe(const TensorInfo &info)
{
  GstDrmTensor tensor;
  gst_drm_tensor_init(&tensor);
  if (info.dims.size() > GST_DRM_TENSOR_MAX_DIMS)
    return Error{ErrorCode::Unsupported,
                 "Tensor " + info.name + " has " + std::to_string(info.dims.size()) +
                     " dimensions, and a GstDrmTensor has 8 at most.",
                 0};
  const std::string &name = id_of(info);
  tensor.name = name.empty() ? nullptr : name.c_str();
  tensor.type = type_of(info.type);
  tensor.n_dims = static_cast<guint>(info.dims.size());
  for (std::size_t i = 0; i < info.dims.size(); i++) {
    tensor.dims[i].size = info.dims[i];
    if (i < info.padding.size()) {
      tensor.dims[i].padding_before = info.padding[i].before;
      tensor.dims[i].padding_after = info.padding[i].after;
    }
  }
  if (info.quantisation) {
    tensor.quantised = TRUE;
    tensor.scale = info.quantisation->scale;
    tensor.zero_point = info.quantisation->zero_point;
  }
  tensor.size = info.size_bytes();
  return tensor;
}

// Sets width and height of the model's input without its padding; 0 if it has not 4 dimensions.
void set_placement(GstDrmTensorPlacement &placement, const Model &model, const Placement &frame)
{
  if (model.input.dims.size() == 4) {
    const bool nchw = model.image.layout == TensorLayout::Nchw;
    placement.input_height = static_cast<guint>(model.input.values_along(nchw ? 2 : 1));
    placement.input_width = static_cast<guint>(model.input.values_along(nchw ? 3 : 2));
  }
  placement.scale_x = frame.scale_x;
  placement.scale_y = frame.scale_y;
  placement.offset_x = frame.offset_x;
  placement.offset_y = frame.offset_y;
}

constexpr const char *kField = "tensors";

bool asks_for_tensors(const GstCaps *caps)
{
  for (guint i = 0; caps && i < gst_caps_get_size(caps); i++)
    if (gst_structure_has_field(gst_caps_get_structure(caps, i), kField))
      return true;
  return false;
}

// The names of the groups that the caps ask for: "a, b".
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
// Whether a GstTensor can describe it (gstdrmanalytics.hpp).
bool is_plain_tensor(const TensorInfo &tensor)
{
  const auto is_padded = [](const Padding &padding) { return padding != Padding{}; };
  return tensor.type == TensorType::Float32 && !tensor.quantisation && !tensor.dims.empty() &&
         std::none_of(tensor.padding.begin(), tensor.padding.end(), is_padded);
}

// The second dimension is the number of objects. Decoders for a variable number have 0 in their
// caps (ssdtensordec), others 1 or more (yolov8tensordec).
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
  const std::string &id = id_of(tensor);
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
    if (is_plain_tensor(tensor))
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

Result<void> attach_tensors(GstPtr<GstBuffer> &buffer, const Model &model, const Outcome &outcome,
                            std::optional<gint> region)
{
  if (Result<void> writable = make_writable(buffer); !writable)
    return writable;
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(
      buffer.get(), model.name.empty() ? nullptr : model.name.c_str());
  if (!model.decoder.empty())
    gst_drm_tensor_meta_set_decoder(meta, model.decoder.c_str());
  if (outcome.format)
    set_placement(meta->placement, model, outcome.format->placement);
  for (std::size_t i = 0; i < outcome.outputs.size(); i++) {
    Result<GstDrmTensor> tensor = describe(model.outputs[i]);
    if (!tensor)
      return tensor.error();
    const GstPtr<GstMemory> memory = memory_of(outcome.outputs[i], tensor->size);
    tensor->memory = memory.get();
    GError *error = nullptr;
    if (!gst_drm_tensor_meta_add_tensor(meta, &*tensor, &error))
      return take_error(error);
  }
  if (region) { // GStreamer's decoders would place the objects of a region in the whole frame
    TensorMarks(buffer.get())
        .set_region(buffer.get(), group_of(meta), index_in_group(buffer.get(), meta), *region);
    return {};
  }
  std::vector<bool> column_major;
  for (const TensorInfo &output : model.outputs)
    column_major.push_back(output.column_major);
  attach_gst_tensors(buffer.get(), meta, column_major);
  return {};
}

} // namespace gstdrm::metis
