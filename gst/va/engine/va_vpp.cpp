// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_vpp.hpp"

#include <algorithm>
#include <string>

#include <gst/drm/core/log.hpp>

#include "va_driver_facts.hpp"

namespace gstdrm::va {

VARectangle rectangle(const Rect &rect)
{
  return {static_cast<std::int16_t>(rect.x), static_cast<std::int16_t>(rect.y),
          static_cast<std::uint16_t>(rect.width), static_cast<std::uint16_t>(rect.height)};
}

VAProcColorStandardType standard_of(Matrix matrix)
{
  switch (matrix) {
  case Matrix::Bt709:
    return VAProcColorStandardBT709;
  case Matrix::Bt2020:
    return VAProcColorStandardBT2020;
  case Matrix::Bt601:
    break;
  }
  return VAProcColorStandardBT601;
}

Result<VideoContext> open_video_processing(const std::shared_ptr<Display> &display)
{
  VAConfigID config_id = VA_INVALID_ID;
  VAStatus status = vaCreateConfig(display->count(), VAProfileNone, VAEntrypointVideoProc, nullptr,
                                   0, &config_id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateConfig for video processing", status);
  VideoContext made;
  made.config = Config(display, config_id);
  VAContextID context_id = VA_INVALID_ID;
  status = vaCreateContext(display->count(), config_id, 0, 0, 0, nullptr, 0, &context_id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateContext for video processing", status);
  made.context = Context(display, context_id);
  return made;
}

Result<void> draw_picture(const Context &context, const Surface &target, std::span<VABufferID> ids)
{
  auto &display = context.display();
  VAStatus status = vaBeginPicture(display.count(), context.id(), target.id());
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaBeginPicture", status);
  const VAStatus rendered =
      vaRenderPicture(display.count(), context.id(), ids.data(), static_cast<int>(ids.size()));
  // After a failure too, or the context would still be between vaBeginPicture() and vaEndPicture().
  status = vaEndPicture(display.count(), context.id());
  if (rendered != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaRenderPicture", rendered);
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaEndPicture", status);
  return {};
}

Result<std::unique_ptr<Compositor>> Compositor::create(const std::shared_ptr<Display> &display,
                                                       std::span<const VASurfaceID> sources,
                                                       Matrix matrix)
{
  auto context = open_video_processing(display);
  if (!context)
    return context.error();
  std::unique_ptr<Compositor> compositor(new Compositor(std::move(context).value()));
  compositor->from_.resize(sources.size());
  compositor->to_.resize(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (auto added = compositor->add_piece(display, sources[i], matrix, i); !added)
      return added.error();
  }
  compositor->at_once_ =
      keeps_one_parameter(display->vendor()) ? 1 : std::max<std::size_t>(1, sources.size());
  return compositor;
}

Result<void> Compositor::add_piece(const std::shared_ptr<Display> &display, VASurfaceID source,
                                   Matrix matrix, std::size_t index)
{
  VAProcPipelineParameterBuffer parameters{};
  parameters.surface = source;
  parameters.surface_region = &from_[index];
  parameters.output_region = &to_[index];
  parameters.surface_color_standard = standard_of(matrix);
  parameters.output_color_standard = parameters.surface_color_standard;
  // A transparent background (alpha 0, va_vpp.h): later pieces must not erase the earlier ones.
  VABufferID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateBuffer(display->count(), context_.context.id(), VAProcPipelineParameterBufferType,
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
  const std::span<VABufferID> all(ids_);
  for (std::size_t i = 0; i < all.size(); i += at_once_) {
    if (auto drawn = draw_picture(context_.context, target, all.subspan(i, at_once_)); !drawn)
      return drawn;
  }
  GSTDRM_TRACE("surface 0x%x: %zu pieces are composed", target.id(), pieces.size());
  return {};
}

} // namespace gstdrm::va
