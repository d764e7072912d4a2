// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvalearner.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>

#include "gstvadmabufcaps.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

// The size of surfaces that show which modifiers a driver takes.
constexpr std::uint32_t kTrialWidth = 640;
constexpr std::uint32_t kTrialHeight = 480;

} // namespace

FormatSet Learner::known(const Device &device) const
{
  const std::lock_guard lock(lock_);
  return FormatSet::unite(device.capabilities.formats, learned_);
}

void Learner::reset()
{
  tried_ = {};
  const std::lock_guard lock(lock_);
  learned_ = {};
}

void Learner::learn(GstElement *element, GstPad *pad, const Device &device)
{
  const Capabilities &capabilities = device.capabilities;
  if (!capabilities.takes_modifiers || capabilities.lists_modifiers)
    return;
  const auto any =
      GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw(memory:DMABuf),format=DMA_DRM"));
  const auto peer = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(pad, any.get()));
  const auto untried = untried_pairs(peer.get(), capabilities, known(device), tried_);
  tried_ = FormatSet::unite(tried_, untried);
  FormatSet found;
  for (std::size_t i = 0; i < untried.size();) {
    const auto fourcc = untried.pairs()[i].fourcc;
    std::vector<std::uint64_t> modifiers;
    for (; i < untried.size() && untried.pairs()[i].fourcc == fourcc; ++i)
      modifiers.push_back(untried.pairs()[i].modifier);
    const auto frame = allocate_frame(
        device, fourcc, std::clamp(kTrialWidth, capabilities.min_width, capabilities.max_width),
        std::clamp(kTrialHeight, capabilities.min_height, capabilities.max_height), modifiers);
    if (frame)
      found.add(frame->exported.format);
    else
      GST_DEBUG_OBJECT(element, "not learned: %s", frame.error().message.c_str());
  }
  for (const Format &pair : found.pairs())
    GST_INFO_OBJECT(element, "downstream lists %s, and the driver makes it",
                    describe_format(pair).c_str());
  const std::lock_guard lock(lock_);
  learned_ = FormatSet::unite(learned_, found);
}

} // namespace gstdrm::va
