// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetisinferresults.hpp"

#include <array>
#include <memory>
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrmtensormeta.h>

#include "gstdrmanalytics.hpp"
#include "gstdrmwritable.hpp"

namespace gstdrm::metis {

namespace {

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

// The memory gives the block back to its pool when it is freed.
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
  const std::string &name = info.id.empty() ? info.name : info.id;
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

// Width and height of the model's input, without its padding; 0 where its layout does not say.
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

} // namespace

Result<void> attach_tensors(GstPtr<GstBuffer> &buffer, const Model &model, const Outcome &outcome)
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
  std::vector<bool> column_major;
  for (const TensorInfo &output : model.outputs)
    column_major.push_back(output.column_major);
  attach_gst_tensors(buffer.get(), meta, column_major);
  return {};
}

} // namespace gstdrm::metis
