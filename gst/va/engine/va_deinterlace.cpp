// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_deinterlace.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "va_driver_facts.hpp"
#include "va_vpp.hpp"

namespace gstdrm::va {
namespace {

struct Algorithm {
  VAProcDeinterlacingType type;
  const char *name;
};

const Algorithm &facts_of(Deinterlacing algorithm)
{
  static constexpr std::array<Algorithm, 4> kAlgorithms{
      {{VAProcDeinterlacingWeave, "weave"},
       {VAProcDeinterlacingBob, "bob"},
       {VAProcDeinterlacingMotionAdaptive, "adaptive"},
       {VAProcDeinterlacingMotionCompensated, "compensated"}}};
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

Result<Buffer> make_filter(const std::shared_ptr<Display> &display, const Context &context,
                           Deinterlacing algorithm, std::uint32_t flags)
{
  VAProcFilterParameterBufferDeinterlacing parameters{};
  parameters.type = VAProcFilterDeinterlacing;
  parameters.algorithm = facts_of(algorithm).type;
  parameters.flags = flags;
  VABufferID id = VA_INVALID_ID;
  const VAStatus status =
      vaCreateBuffer(display->count(), context.id(), VAProcFilterParameterBufferType,
                     sizeof parameters, 1, &parameters, &id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Allocation, "vaCreateBuffer of a filter", status);
  return Buffer(display, id);
}

// Number of earlier frames that the driver needs. nullopt if it needs more than kMostBefore, or
// later frames, which would delay the stream.
std::optional<std::uint32_t> frames_before(const std::shared_ptr<Display> &display,
                                           const Context &context, Deinterlacing algorithm)
{
  const auto filter = make_filter(display, context, algorithm, 0);
  if (!filter)
    return std::nullopt;
  VABufferID id = filter->id();
  VAProcPipelineCaps caps{};
  const VAStatus status =
      vaQueryVideoProcPipelineCaps(display->count(), context.id(), &id, 1, &caps);
  if (status != VA_STATUS_SUCCESS)
    return std::nullopt;
  GSTDRM_DEBUG("%s: deinterlacing %s needs %u frames before and %u behind", display->node().c_str(),
               facts_of(algorithm).name, caps.num_forward_references, caps.num_backward_references);
  if (caps.num_backward_references > 0 || caps.num_forward_references > kMostBefore)
    return std::nullopt;
  return caps.num_forward_references; // va_vpp.h calls earlier frames "forward"
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

bool contains(const std::vector<DeinterlaceMethod> &list, const DeinterlaceMethod &one)
{
  return std::find(list.begin(), list.end(), one) != list.end();
}

} // namespace

std::vector<DeinterlaceMethod> query_deinterlacing(const std::shared_ptr<Display> &display)
{
  std::vector<DeinterlaceMethod> found;
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
    if (algorithm == Deinterlacing::Bob && ignores_bob(display->vendor()))
      continue;
    const bool listed = std::any_of(caps.begin(), end, [algorithm](const auto &one) {
      return one.type == facts_of(algorithm).type;
    });
    const auto before =
        listed ? frames_before(display, made->context, algorithm) : std::optional<std::uint32_t>();
    const bool begins = before == 0U || contains(found, {Deinterlacing::Bob, 0});
    if (before && begins)
      found.push_back({algorithm, *before});
  }
  return found;
}

Result<Deinterlacer::Pair> Deinterlacer::make_pair(const std::shared_ptr<Display> &display,
                                                   const Context &context, Deinterlacing algorithm)
{
  Pair made;
  const std::uint32_t flags[] = {0, VA_DEINTERLACING_BOTTOM_FIELD_FIRST |
                                        VA_DEINTERLACING_BOTTOM_FIELD};
  for (std::size_t i = 0; i < made.buffers.size(); ++i) {
    auto filter = make_filter(display, context, algorithm, flags[i]);
    if (!filter)
      return filter.error();
    made.buffers[i] = std::move(filter).value();
    made.ids[i] = made.buffers[i].id();
  }
  return made;
}

Result<Deinterlacer> Deinterlacer::create(const std::shared_ptr<Display> &display,
                                          const Context &context, const DeinterlaceMethod &how)
{
  Deinterlacer made;
  made.before_ = how.before;
  auto filters = make_pair(display, context, how.algorithm);
  if (!filters)
    return filters.error();
  made.filters_ = std::move(filters).value();
  if (how.before == 0)
    return made;
  auto alone = make_pair(display, context, Deinterlacing::Bob);
  if (!alone)
    return alone.error();
  made.alone_ = std::move(alone).value();
  return made;
}

} // namespace gstdrm::va
