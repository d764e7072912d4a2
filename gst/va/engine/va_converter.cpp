// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_converter.hpp"

#include <array>
#include <string>

#include <gst/drm/core/log.hpp>

#include "va_driver_facts.hpp"

namespace gstdrm::va {
namespace {

constexpr std::uint32_t kOpaqueBlack = 0xff000000; // opaque: a transparent background is not drawn

struct State {
  std::uint32_t rotation;
  std::uint32_t mirror;
  const char *text;
};
State state_of(Orientation orientation)
{
  switch (orientation) {
  case Orientation::Right90:
    return {VA_ROTATION_90, VA_MIRROR_NONE, "by 90 degrees"};
  case Orientation::Half:
    return {VA_ROTATION_180, VA_MIRROR_NONE, "by 180 degrees"};
  case Orientation::Left90:
    return {VA_ROTATION_270, VA_MIRROR_NONE, "by 270 degrees"};
  case Orientation::FlipHorizontal:
    return {VA_ROTATION_NONE, VA_MIRROR_HORIZONTAL, "left to right"};
  case Orientation::FlipVertical:
    return {VA_ROTATION_NONE, VA_MIRROR_VERTICAL, "upside down"};
  case Orientation::Identity:
    break;
  }
  return {VA_ROTATION_NONE, VA_MIRROR_NONE, "not at all"};
}

} // namespace

class Converter::Source {
public:
  Source(Surface made) : surface(std::move(made)) {}

  // Made for the first frame of this kind.
  [[nodiscard]] Buffer &parameters(Fields fields, bool alone)
  {
    return parameters_[alone ? 1 : 0][static_cast<std::size_t>(fields)];
  }

  Surface surface;
  // The parameter buffers point to these; drivers read them in vaRenderPicture, or, as i965
  // does, in vaEndPicture.
  VARectangle part{};
  std::array<VASurfaceID, kMostBefore> before{VA_INVALID_ID, VA_INVALID_ID};

private:
  std::array<std::array<Buffer, 3>, 2> parameters_;
};

Result<std::unique_ptr<Converter>> Converter::create(const Device &device,
                                                     const Conversion &conversion)
{
  auto context = open_video_processing(device.display);
  if (!context)
    return context.error();
  std::unique_ptr<Converter> converter(new Converter(device, conversion));
  converter->context_ = std::move(context).value();
  converter->to_ = rectangle(conversion.area);
  if (auto turns = converter->check_orientation(); !turns)
    return turns.error();
  if (auto prepared = converter->prepare_borders(device); !prepared)
    return prepared.error();
  if (conversion.deinterlacing) {
    auto made = Deinterlacer::create(device.display, converter->context_.context,
                                     *conversion.deinterlacing);
    if (!made)
      return made.error();
    converter->deinterlacer_ = std::move(made).value();
  }
  return converter;
}

// Draws black before each frame: consumers may have drawn into the borders of the surface.
Result<void> Converter::prepare_borders(const Device &device)
{
  if (!conversion_.borders || draws_background(display_->vendor()))
    return {};
  RenderRequest request;
  request.pattern = Pattern::Solid;
  request.fourcc = conversion_.target_fourcc;
  request.width = conversion_.target.width;
  request.height = conversion_.target.height;
  request.argb = kOpaqueBlack;
  request.colours = conversion_.colours.to;
  auto made = Renderer::create(device, request);
  if (!made)
    return made.error();
  borders_ = std::move(made).value();
  return {};
}

// va_vpp.h: hardware ignores rotations that it does not support.
Result<void> Converter::check_orientation()
{
  const State state = state_of(conversion_.orientation);
  if (conversion_.orientation == Orientation::Identity)
    return {};
  VAProcPipelineCaps caps{};
  const VAStatus status =
      vaQueryVideoProcPipelineCaps(display_->count(), context_.context.id(), nullptr, 0, &caps);
  if (status != VA_STATUS_SUCCESS)
    return display_->error(ErrorCode::Unsupported, "vaQueryVideoProcPipelineCaps", status);
  const bool rotates = (caps.rotation_flags & 1U << state.rotation) != 0;
  const bool mirrors = (caps.mirror_flags & state.mirror) == state.mirror;
  if (state.mirror == VA_MIRROR_NONE ? rotates : mirrors)
    return {};
  return Error{ErrorCode::Unsupported, display_->node() + " (" + display_->vendor() +
                                           ") does not turn pictures " + state.text};
}

Result<std::shared_ptr<Converter::Source>> Converter::import(const FrameLayout &layout)
{
  auto surface = import_surface(display_, imports_, layout);
  if (!surface)
    return surface.error();
  auto source = std::make_shared<Source>(std::move(surface).value());
  if (auto prepared = prepare(*source, Fields::Progressive, true); !prepared)
    return prepared.error();
  return source;
}

Result<void> Converter::prepare(Source &source, Fields fields, bool alone)
{
  Buffer &buffer = source.parameters(fields, alone);
  if (buffer)
    return {};
  const State state = state_of(conversion_.orientation);
  VAProcPipelineParameterBuffer parameters{};
  parameters.surface = source.surface.id();
  parameters.surface_region = &source.part;
  parameters.output_region = &to_;
  tell(colours_, conversion_.colours, parameters);
  parameters.output_background_color = conversion_.borders ? kOpaqueBlack : 0;
  parameters.rotation_state = state.rotation;
  parameters.mirror_state = state.mirror;
  parameters.filters = deinterlacer_.filter(fields, alone);
  parameters.num_filters = parameters.filters ? 1 : 0;
  if (!alone) {
    parameters.forward_references = source.before.data();
    parameters.num_forward_references = conversion_.deinterlacing->before;
  }
  VABufferID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateBuffer(display_->count(), context_.context.id(), VAProcPipelineParameterBufferType,
                     sizeof parameters, 1, &parameters, &id);
  if (status != VA_STATUS_SUCCESS)
    return display_->error(ErrorCode::Allocation, "vaCreateBuffer", status);
  buffer = Buffer(display_, id);
  return {};
}

Result<void> Converter::draw(Source &source, const Rect &part, const Surface &target, Fields fields,
                             Before before)
{
  if (!conversion_.deinterlacing)
    fields = Fields::Progressive;
  const bool alone = fields == Fields::Progressive || conversion_.deinterlacing->before == 0 ||
                     before.size() < conversion_.deinterlacing->before;
  if (auto prepared = prepare(source, fields, alone); !prepared)
    return prepared;
  source.part = rectangle(part);
  for (std::size_t i = 0; !alone && i < conversion_.deinterlacing->before; ++i)
    source.before[i] = before[i]->surface.id();
  if (borders_)
    if (const auto black = borders_->render(target, 0, 0); !black)
      return black.error();
  VABufferID id = source.parameters(fields, alone).id();
  GSTDRM_TRACE("surface 0x%x is drawn into surface 0x%x", source.surface.id(), target.id());
  return draw_picture(context_.context, target, {&id, 1});
}

} // namespace gstdrm::va
