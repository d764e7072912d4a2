// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tensor_plan.hpp"

#include <limits>

#include <gst/drm/core/limits.hpp>

namespace gstdrm::metis {

namespace {

// Channels with padding: hardware pads to what one of its vectors holds.
constexpr std::size_t kMaxChannels = 1024;

Error refused(const Model &model, const std::string &why)
{
  return {ErrorCode::Unsupported,
          "No picture can be made the input of model \"" + model.name + "\", dimensions " +
              (model.input.dims.empty() ? "none" : dims_text(model.input.dims)) + ": " + why +
              ". Correct the model's description, or choose another model."};
}

Result<Span> span_of(const Model &model, std::size_t dim, const char *name, std::size_t limit)
{
  const std::size_t total = model.input.dims[dim];
  const Padding padding = model.input.padding.empty() ? Padding{} : model.input.padding[dim];
  if (total == 0 || total > limit)
    return refused(model, std::string(name) + " has to be 1 to " + std::to_string(limit));
  if (padding.before >= total || padding.after >= total - padding.before)
    return refused(model, std::string("the padding of ") + name + ", " +
                              std::to_string(padding.before) + " before and " +
                              std::to_string(padding.after) + " after, leaves nothing of " +
                              std::to_string(total));
  return Span{padding.before, total - padding.before - padding.after, total};
}

// False when the products do not fit.
bool lay_out(TensorPlan &plan)
{
  const std::size_t channels_in_row = plan.interleaved ? plan.channels.total : 1;
  plan.n_planes = plan.interleaved ? 1 : plan.channels.total;
  plan.pixel_bytes = channels_in_row * plan.element_bytes;
  std::size_t all = 0;
  return !__builtin_mul_overflow(plan.pixel_bytes, plan.width.total, &plan.row_bytes) &&
         !__builtin_mul_overflow(plan.row_bytes, plan.height.total, &plan.plane_bytes) &&
         !__builtin_mul_overflow(plan.plane_bytes, plan.n_planes, &all) &&
         all <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
}

} // namespace

Result<TensorPlan> make_tensor_plan(const Model &model)
{
  const bool interleaved = model.image.layout == TensorLayout::Nhwc;
  if (model.input.dims.size() != 4)
    return refused(model, std::string("four are wanted, ") +
                              (interleaved ? "N, H, W and C" : "N, C, H and W"));
  if (!model.input.padding.empty() && model.input.padding.size() != 4)
    return refused(model, "padding is given for " + std::to_string(model.input.padding.size()) +
                              " of them");
  const auto batch = span_of(model, 0, "N", 1);
  const auto height = span_of(model, interleaved ? 1 : 2, "H", kMaxFrameSize);
  const auto width = span_of(model, interleaved ? 2 : 3, "W", kMaxFrameSize);
  const auto channels = span_of(model, interleaved ? 3 : 1, "C", kMaxChannels);
  for (const auto *span : {&batch, &height, &width, &channels})
    if (!*span)
      return span->error();
  if (channels->size != 3)
    return refused(model, "C without padding is " + std::to_string(channels->size) +
                              " and has to be 3 (R, G and B)");
  TensorPlan plan;
  plan.height = *height;
  plan.width = *width;
  plan.channels = *channels;
  plan.interleaved = interleaved;
  plan.is_float = model.input.type == TensorType::Float32;
  plan.element_bytes = bytes_of(model.input.type);
  if (!lay_out(plan))
    return refused(model, "their product is larger than memory");
  return plan;
}

} // namespace gstdrm::metis
