// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_renderer.hpp"

#include <array>

#include <gst/drm/core/log.hpp>

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
  Error first{ErrorCode::Unsupported, {}}; // of the preferred format
  for (const std::uint32_t fourcc : candidates) {
    const auto *format = format_by_va(fourcc);
    if (!format || !can_write(fourcc))
      continue;
    auto surface = create_surface(display_, *format, picture.width, picture.height, {});
    if (!surface) {
      if (first.message.empty())
        first = surface.error();
      continue;
    }
    auto written = uploader_.upload(*surface, *format, picture, request_.colours);
    if (written) {
      GSTDRM_DEBUG("a picture of %ux%u is uploaded as %s", picture.width, picture.height,
                   fourcc_to_string(format->drm_fourcc).c_str());
      return surface;
    }
    if (first.message.empty())
      first = written.error();
  }
  if (first.message.empty())
    first.message = "No format that the CPU can write a pattern in";
  return first;
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
  std::vector<VASurfaceID> ids;
  for (const auto &piece : plan_.pieces)
    ids.push_back(sources_[piece.picture].id());
  auto compositor = Compositor::create(display_, ids, request_.colours.matrix);
  if (!compositor)
    return compositor.error();
  compositor_ = std::move(compositor).value();
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
  if (compositor_) {
    if (auto composed = compositor_->compose(target, plan_.pieces); !composed)
      return composed.error();
    return std::uint64_t{0};
  }
  draw(plan_, canvas_);
  return uploader_.upload(target, *format_by_drm(request_.fourcc), canvas_, request_.colours);
}

} // namespace gstdrm::va
