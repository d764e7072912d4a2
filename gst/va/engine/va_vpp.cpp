// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_vpp.hpp"

#include <gst/drm/core/log.hpp>

namespace gstdrm::va {
namespace {

VARectangle rectangle(const Rect &rect)
{
  return {static_cast<std::int16_t>(rect.x), static_cast<std::int16_t>(rect.y),
          static_cast<std::uint16_t>(rect.width), static_cast<std::uint16_t>(rect.height)};
}

} // namespace

Result<std::unique_ptr<Compositor>> Compositor::create(const std::shared_ptr<Display> &display,
                                                       std::span<const VASurfaceID> sources,
                                                       Matrix matrix)
{
  VAConfigID config_id = VA_INVALID_ID;
  VAStatus status = vaCreateConfig(display->count(), VAProfileNone, VAEntrypointVideoProc, nullptr,
                                   0, &config_id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateConfig for video processing", status);
  Config config(display, config_id);
  VAContextID context_id = VA_INVALID_ID;
  status = vaCreateContext(display->count(), config_id, 0, 0, 0, nullptr, 0, &context_id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateContext for video processing", status);
  std::unique_ptr<Compositor> compositor(
      new Compositor(Context(display, context_id), std::move(config)));
  compositor->from_.resize(sources.size());
  compositor->to_.resize(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (auto added = compositor->add_piece(display, sources[i], matrix, i); !added)
      return added.error();
  }
  return compositor;
}

Result<void> Compositor::add_piece(const std::shared_ptr<Display> &display, VASurfaceID source,
                                   Matrix matrix, std::size_t index)
{
  VAProcPipelineParameterBuffer parameters{};
  parameters.surface = source;
  parameters.surface_region = &from_[index];
  parameters.output_region = &to_[index];
  parameters.surface_color_standard =
      matrix == Matrix::Bt709 ? VAProcColorStandardBT709 : VAProcColorStandardBT601;
  parameters.output_color_standard = parameters.surface_color_standard;
  // A transparent background (alpha 0, va_vpp.h): later pieces must not erase the earlier ones.
  VABufferID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateBuffer(display->count(), context_.id(), VAProcPipelineParameterBufferType,
                     sizeof parameters, 1, &parameters, &id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Allocation, "vaCreateBuffer", status);
  buffers_.emplace_back(display, id);
  ids_.push_back(id);
  return {};
}

Result<void> Compositor::compose(const Surface &target, std::span<const Piece> pieces)
{
  for (std::size_t i = 0; i < pieces.size() && i < from_.size(); ++i) {
    from_[i] = rectangle(pieces[i].from);
    to_[i] = rectangle(pieces[i].to);
  }
  auto &display = context_.display();
  VAStatus status = vaBeginPicture(display.count(), context_.id(), target.id());
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaBeginPicture", status);
  const VAStatus rendered =
      vaRenderPicture(display.count(), context_.id(), ids_.data(), static_cast<int>(ids_.size()));
  // Called after a failure too, or the context would remain inside of vaBeginPicture().
  status = vaEndPicture(display.count(), context_.id());
  if (rendered != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaRenderPicture", rendered);
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaEndPicture", status);
  GSTDRM_TRACE("surface 0x%x: %zu pieces are composed", target.id(), pieces.size());
  return {};
}

} // namespace gstdrm::va
