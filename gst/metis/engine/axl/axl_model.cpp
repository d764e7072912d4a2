// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axl_model.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <drm_fourcc.h>

#include <gst/drm/core/format.hpp>

namespace gstdrm::metis {

namespace {

// A dimension of 0, and no dimensions at all, say nothing.
bool agree(const std::vector<std::size_t> &described, const std::vector<std::size_t> &real)
{
  return described.empty() ||
         std::equal(described.begin(), described.end(), real.begin(), real.end(),
                    [](std::size_t a, std::size_t b) { return a == 0 || a == b; });
}

bool is_complete(const TensorInfo &tensor)
{
  return !tensor.dims.empty() && tensor.n_elements() > 0;
}

Error contradiction(const Model &model, const AxlDevice &device, const std::string &what)
{
  return Error{ErrorCode::Unsupported,
               "The description of the model " + model.name + " does not fit what " +
                   device.name() + " has loaded as model " + std::to_string(*model.device_id) +
                   ": " + what + ". Correct the description, or load the model that belongs to it.",
               EINVAL};
}

// A driver that describes models it cannot have is as good as one with another interface.
bool is_sane(const axl_model_info &info)
{
  return info.result_ndims >= 1 && info.result_ndims <= AXL_MAX_DIMS &&
         info.result_type <= AXL_TENSOR_FLOAT32 && info.input_pixfmt == AXL_PIXFMT_NV12;
}

Result<void> complete(TensorInfo &output, const axl_model_info &info, const Model &model,
                      const AxlDevice &device)
{
  if (!is_sane(info))
    return contradiction(model, device, "the driver's own description makes no sense");
  static constexpr TensorType kTypes[] = {TensorType::UInt8, TensorType::Int8, TensorType::Float32};
  const std::vector<std::size_t> dims(info.result_dims, info.result_dims + info.result_ndims);
  if (!agree(output.dims, dims))
    return contradiction(model, device,
                         "the output has the dimensions " + dims_text(dims) + ", not " +
                             dims_text(output.dims));
  output.dims = dims;
  output.type = kTypes[info.result_type];
  if (info.scale_1e9 != 0)
    output.quantisation = Quantisation{static_cast<double>(info.scale_1e9) * 1e-9, info.zero_point};
  if (!is_complete(output) || output.size_bytes() != info.result_size)
    return contradiction(model, device,
                         "an output of " + dims_text(dims) + " does not have " +
                             std::to_string(info.result_size) + " bytes");
  return {};
}

Result<void> check_frame(const FrameLayout &frame, const AxlModel &model, const AxlDevice &device)
{
  const std::string size = std::to_string(frame.width) + "x" + std::to_string(frame.height);
  if (frame.format.fourcc != DRM_FORMAT_NV12 || frame.format.modifier != DRM_FORMAT_MOD_LINEAR)
    return Error{ErrorCode::Format,
                 device.name() + " takes linear NV12 alone, not " + describe_format(frame.format) +
                     ". Convert the frame before it.",
                 0};
  if (frame.width % 2 != 0 || frame.height % 2 != 0)
    return Error{ErrorCode::Layout,
                 device.name() + " takes NV12 of even width and height, and the frame has " + size +
                     ". Crop or scale it.",
                 0};
  if (frame.planes[0].object.identity != frame.planes[1].object.identity)
    return Error{ErrorCode::Layout,
                 device.name() +
                     " takes both planes of NV12 in one dma-buf, and this frame has two. Let "
                     "upstream allocate each frame as one dma-buf.",
                 0};
  if (model.input_width != 0 &&
      (frame.width != model.input_width || frame.height != model.input_height))
    return Error{ErrorCode::Layout,
                 "The model " + model.model.name + " takes frames of " +
                     std::to_string(model.input_width) + "x" + std::to_string(model.input_height) +
                     ", and the frame has " + size + ". Scale it before.",
                 0};
  return {};
}

} // namespace

Result<AxlModel> complete_model(const Model &description, AxlDevice &device)
{
  if (!description.device_id)
    return Error{ErrorCode::Unsupported,
                 "The model " + description.name + " has no number on " + device.name() +
                     ". Name the model that the device has loaded in the model's description.",
                 0};
  AxlModel model{description, *description.device_id};
  if (model.model.outputs.empty())
    model.model.outputs.emplace_back();
  if (model.model.outputs.size() != 1)
    return Error{ErrorCode::Unsupported,
                 device.name() + " writes one output into one dma-buf, and the model " +
                     description.name + " has " + std::to_string(description.outputs.size()) + ".",
                 0};
  Result<std::optional<axl_model_info>> info = device.query_model(model.id);
  if (!info)
    return info.error();
  TensorInfo &output = model.model.outputs[0];
  if (*info) {
    if (Result<void> completed = complete(output, **info, description, device); !completed)
      return completed.error();
    model.input_width = (*info)->input_width;
    model.input_height = (*info)->input_height;
  } else if (!is_complete(output)) {
    return Error{ErrorCode::Unsupported,
                 "The driver of " + device.name() + " cannot say what model " +
                     std::to_string(model.id) +
                     " computes. Give the output's type and dimensions in "
                     "the model's description.",
                 0};
  }
  return model;
}

Result<void> check_request(const Request &request, const AxlModel &model, const AxlDevice &device)
{
  if (!request.frame)
    return Error{ErrorCode::Layout, device.name() + " takes frames, and the request has none.", 0};
  if (Result<void> checked = check_frame(*request.frame, model, device); !checked)
    return checked.error();
  if (request.outputs.size() != 1 || request.outputs[0].fd < 0)
    return Error{ErrorCode::Layout,
                 device.name() + " writes one output into a dma-buf, and the request has " +
                     std::to_string(request.outputs.size()) + " outputs or no dma-buf.",
                 0};
  const std::size_t wanted = model.model.outputs[0].size_bytes();
  if (request.outputs[0].size_bytes < wanted)
    return Error{ErrorCode::Layout,
                 "The model " + model.model.name + " has a result of " + std::to_string(wanted) +
                     " bytes, and the request has room for " +
                     std::to_string(request.outputs[0].size_bytes) + ".",
                 0};
  return {};
}

} // namespace gstdrm::metis
