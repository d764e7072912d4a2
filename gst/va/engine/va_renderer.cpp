// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_renderer.hpp"

#include <array>
#include <optional>
#include <span>

#include <gst/drm/core/log.hpp>

#include "va_driver_facts.hpp"

namespace gstdrm::va {

Result<std::unique_ptr<Renderer>> Renderer::create(const Device &device,
                                                   const RenderRequest &request)
{
  auto plan = make_plan(request.pattern, request.width, request.height, request.argb,
                        device.capabilities.max_width);
  if (!plan)
    return plan.error();
  // the ball and the counter's cells may be smaller than the smallest surface
  pad_pictures(*plan, device.capabilities.min_width, device.capabilities.min_height);
  std::unique_ptr<Renderer> renderer(
      new Renderer(device.display, request, std::move(plan).value()));
  auto prepared =
      device.capabilities.has_vpp ? renderer->prepare_device() : renderer->prepare_cpu();
  if (!prepared)
    return prepared.error();
  GSTDRM_DEBUG("%s of %ux%u is drawn by %s", fourcc_to_string(request.fourcc).c_str(),
               request.width, request.height,
               device.capabilities.has_vpp ? "video processing" : "the CPU");
  return renderer;
}

// Uploads a prepared picture in the format of the frames, which needs no conversion, if the CPU can
// write it; else in a common format of the same colour model (RGB or YUV), or of the other.
Result<Surface> Renderer::upload(const Picture &picture)
{
  const auto *target = format_by_drm(request_.fourcc);
  const bool yuv = target && target->model == Model::Yuv;
  const std::uint32_t own = target ? target->va_fourcc : 0;
  const auto candidates = yuv ? std::array<std::uint32_t, 5>{own, VA_FOURCC_NV12, VA_FOURCC_YUY2,
                                                             VA_FOURCC_BGRX, VA_FOURCC_BGRA}
                              : std::array<std::uint32_t, 5>{own, VA_FOURCC_BGRX, VA_FOURCC_BGRA,
                                                             VA_FOURCC_RGBA, VA_FOURCC_NV12};
  std::optional<Error> first; // of the preferred format
  for (const std::uint32_t fourcc : candidates) {
    const auto *format = format_by_va(fourcc);
    if (!format || !can_write(fourcc))
      continue;
    auto surface = create_surface(display_, *format, picture.width, picture.height, {});
    if (!surface) {
      first = first.value_or(surface.error());
      continue;
    }
    auto written = uploader_.upload(*surface, *format, picture, request_.colours);
    if (written) {
      GSTDRM_DEBUG("a picture of %ux%u is uploaded as %s", picture.width, picture.height,
                   fourcc_to_string(format->drm_fourcc).c_str());
      return surface;
    }
    first = first.value_or(written.error());
  }
  return *first; // the CPU writes BGRX, so at least one format was tried
}

Result<void> Renderer::prepare_device()
{
  for (auto &picture : plan_.pictures) {
    auto surface = upload(picture);
    if (!surface)
      return surface.error();
    sources_.push_back(std::move(surface).value());
    picture.argb = {};
  }
  auto context = open_video_processing(display_);
  if (!context)
    return context.error();
  context_ = std::move(context).value();
  from_.resize(plan_.pieces.size());
  to_.resize(plan_.pieces.size());
  for (std::size_t i = 0; i < plan_.pieces.size(); ++i)
    if (auto added = add_piece(i); !added)
      return added.error();
  return {};
}

Result<void> Renderer::add_piece(std::size_t index)
{
  VAProcPipelineParameterBuffer parameters{};
  parameters.surface = sources_[plan_.pieces[index].picture].id();
  parameters.surface_region = &from_[index];
  parameters.output_region = &to_[index];
  parameters.surface_color_standard = standard_of(request_.colours.matrix);
  parameters.output_color_standard = parameters.surface_color_standard;
  // A transparent background (alpha 0, va_vpp.h): later pieces must not erase the earlier ones.
  VABufferID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateBuffer(display_->count(), context_.context.id(), VAProcPipelineParameterBufferType,
                     sizeof parameters, 1, &parameters, &id);
  if (status != VA_STATUS_SUCCESS)
    return display_->error(ErrorCode::Allocation, "vaCreateBuffer", status);
  buffers_.emplace_back(display_, id);
  ids_.push_back(id);
  return {};
}

// Draws each piece from its place in its picture to its place in the target, in order.
Result<void> Renderer::compose(const Surface &target)
{
  for (std::size_t i = 0; i < plan_.pieces.size(); ++i) {
    from_[i] = rectangle(plan_.pieces[i].from);
    to_[i] = rectangle(plan_.pieces[i].to);
  }
  const std::span<VABufferID> all(ids_);
  const std::size_t at_once = keeps_one_parameter(display_->vendor()) ? 1 : all.size();
  for (std::size_t i = 0; i < all.size(); i += at_once)
    if (auto drawn = draw_picture(context_.context, target, all.subspan(i, at_once)); !drawn)
      return drawn;
  GSTDRM_TRACE("surface 0x%x: %zu pieces are composed", target.id(), all.size());
  return {};
}

Result<void> Renderer::prepare_cpu()
{
  const auto *format = format_by_drm(request_.fourcc);
  if (!format || !can_write(format->va_fourcc))
    return Error{ErrorCode::Unsupported,
                 display_->node() + " (" + display_->vendor() + ") has no video processing, and " +
                     fourcc_to_string(request_.fourcc) + " cannot be written by the CPU here"};
  canvas_ = {
      request_.width, request_.height,
      std::vector<std::uint32_t>(static_cast<std::size_t>(request_.width) * request_.height)};
  return {};
}

Result<std::uint64_t> Renderer::render(const Surface &target, std::uint64_t frame,
                                       std::uint64_t timestamp_ns)
{
  move_pieces(plan_, frame, timestamp_ns);
  if (!uses_cpu()) {
    if (auto composed = compose(target); !composed)
      return composed.error();
    return std::uint64_t{0};
  }
  draw(plan_, canvas_);
  return uploader_.upload(target, *format_by_drm(request_.fourcc), canvas_, request_.colours);
}

} // namespace gstdrm::va
