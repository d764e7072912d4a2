// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_deinterlace.hpp"

#include <algorithm>
#include <string>

#include <gst/drm/core/log.hpp>

#include "va_vpp.hpp"

namespace gstdrm::va {
namespace {

VAProcDeinterlacingType type_of(Deinterlacing algorithm)
{
  switch (algorithm) {
  case Deinterlacing::Bob:
    return VAProcDeinterlacingBob;
  case Deinterlacing::Adaptive:
    return VAProcDeinterlacingMotionAdaptive;
  case Deinterlacing::Compensated:
    return VAProcDeinterlacingMotionCompensated;
  case Deinterlacing::Weave:
    break;
  }
  return VAProcDeinterlacingWeave;
}

Result<Buffer> make_filter(const std::shared_ptr<Display> &display, const Context &context,
                           Deinterlacing algorithm, std::uint32_t flags)
{
  VAProcFilterParameterBufferDeinterlacing parameters{};
  parameters.type = VAProcFilterDeinterlacing;
  parameters.algorithm = type_of(algorithm);
  parameters.flags = flags;
  VABufferID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateBuffer(display->count(), context.id(), VAProcFilterParameterBufferType,
                     sizeof parameters, 1, &parameters, &id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Allocation, "vaCreateBuffer of a filter", status);
  return Buffer(display, id);
}

// Whether the driver makes a frame of one frame alone.
bool needs_one_frame(const std::shared_ptr<Display> &display, const Context &context,
                     Deinterlacing algorithm)
{
  const auto filter = make_filter(display, context, algorithm, 0);
  if (!filter)
    return false;
  VABufferID id = filter->id();
  VAProcPipelineCaps caps{};
  const VAStatus status =
      vaQueryVideoProcPipelineCaps(display->count(), context.id(), &id, 1, &caps);
  if (status != VA_STATUS_SUCCESS)
    return false;
  const bool alone = caps.num_forward_references == 0 && caps.num_backward_references == 0;
  GSTDRM_DEBUG("%s: deinterlacing %s needs %u frames before and %u behind", display->node().c_str(),
               name_of(algorithm), caps.num_forward_references, caps.num_backward_references);
  return alone;
}

bool has_filter(Display &display, const Context &context)
{
  std::array<VAProcFilterType, VAProcFilterCount> filters{};
  unsigned count = filters.size();
  if (vaQueryVideoProcFilters(display.count(), context.id(), filters.data(), &count) !=
      VA_STATUS_SUCCESS)
    return false;
  const auto end = filters.begin() + std::min<unsigned>(count, filters.size());
  return std::find(filters.begin(), end, VAProcFilterDeinterlacing) != end;
}

} // namespace

const char *name_of(Deinterlacing algorithm)
{
  switch (algorithm) {
  case Deinterlacing::Bob:
    return "bob";
  case Deinterlacing::Adaptive:
    return "adaptive";
  case Deinterlacing::Compensated:
    return "compensated";
  case Deinterlacing::Weave:
    break;
  }
  return "weave";
}

std::vector<Deinterlacing> query_deinterlacing(const std::shared_ptr<Display> &display)
{
  std::vector<Deinterlacing> found;
  const auto made = open_video_processing(display);
  if (!made || !has_filter(*display, made->context))
    return found;
  std::array<VAProcFilterCapDeinterlacing, VAProcDeinterlacingCount> caps{};
  unsigned count = caps.size();
  if (vaQueryVideoProcFilterCaps(display->count(), made->context.id(), VAProcFilterDeinterlacing,
                                 caps.data(), &count) != VA_STATUS_SUCCESS)
    return found;
  const auto end = caps.begin() + std::min<unsigned>(count, caps.size());
  for (const Deinterlacing algorithm : {Deinterlacing::Weave, Deinterlacing::Bob,
                                        Deinterlacing::Adaptive, Deinterlacing::Compensated}) {
    const bool listed = std::any_of(
        caps.begin(), end, [algorithm](const auto &one) { return one.type == type_of(algorithm); });
    if (listed && needs_one_frame(display, made->context, algorithm))
      found.push_back(algorithm);
  }
  return found;
}

Result<Deinterlacer> Deinterlacer::create(const std::shared_ptr<Display> &display,
                                          const Context &context, Deinterlacing algorithm)
{
  Deinterlacer made;
  const std::uint32_t flags[] = {0, VA_DEINTERLACING_BOTTOM_FIELD_FIRST |
                                        VA_DEINTERLACING_BOTTOM_FIELD};
  for (std::size_t i = 0; i < made.buffers_.size(); ++i) {
    auto filter = make_filter(display, context, algorithm, flags[i]);
    if (!filter)
      return filter.error();
    made.buffers_[i] = std::move(filter).value();
    made.ids_[i] = made.buffers_[i].id();
  }
  return made;
}

} // namespace gstdrm::va
