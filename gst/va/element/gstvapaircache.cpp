// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvapaircache.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmformatset.h>

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

TrialSize size_in(const GstCaps *one, const TrialSize &wanted, const Capabilities &capabilities)
{
  const auto fixed = GstPtr<GstCaps>::adopt(gst_caps_copy(one));
  GstStructure *structure = gst_caps_get_structure(fixed.get(), 0);
  TrialSize size = wanted;
  gst_structure_fixate_field_nearest_int(structure, "width", wanted.width);
  gst_structure_fixate_field_nearest_int(structure, "height", wanted.height);
  gst_structure_get_int(structure, "width", &size.width);
  gst_structure_get_int(structure, "height", &size.height);
  const auto limit = [](int side, std::uint32_t least, std::uint32_t most) {
    return std::clamp(side, static_cast<int>(least), static_cast<int>(most));
  };
  return {limit(size.width, capabilities.min_width, capabilities.max_width),
          limit(size.height, capabilities.min_height, capabilities.max_height)};
}

bool has_any(std::span<const Format> pairs, const FormatSet &of)
{
  return std::any_of(pairs.begin(), pairs.end(),
                     [&of](const Format &pair) { return of.contains(pair); });
}

} // namespace

FormatSet untried_pairs(const GstCaps *downstream, const Capabilities &capabilities,
                        const FormatSet &known, const FormatSet &tried)
{
  const FormatSetPtr set(gst_drm_format_set_new_from_caps(downstream));
  if (!set) // any format, so no list
    return {};
  const auto listed = FormatSet::subtract(FormatSet::subtract(from_public(*set), known), tried);
  std::vector<Format> pairs;
  for (const Format &pair : listed.pairs()) {
    if (pair.modifier != kModImplicit && capabilities.formats.contains_fourcc(pair.fourcc))
      pairs.push_back(pair);
  }
  return FormatSet::from_pairs(std::move(pairs));
}

FormatSet PairCache::known(const Device &device) const
{
  const std::lock_guard lock(lock_);
  return FormatSet::unite(device.capabilities.formats, learned_);
}

void PairCache::reset()
{
  impossible_ = {};
  const std::lock_guard lock(lock_);
  learned_ = {};
}

// Allocates one surface for each fourcc of the list.
FormatSet PairCache::try_list(GstElement *element, const Device &device, const FormatSet &listed,
                              const TrialSize &size)
{
  if (size.width != impossible_.size.width || size.height != impossible_.size.height)
    impossible_ = {size, {}};
  const auto untried = FormatSet::subtract(listed, impossible_.pairs);
  FormatSet found;
  for (std::size_t i = 0; i < untried.size();) {
    const auto fourcc = untried.pairs()[i].fourcc;
    const auto pairs = untried.of_fourcc(fourcc);
    i += pairs.size();
    std::vector<std::uint64_t> modifiers;
    for (const Format &pair : pairs)
      modifiers.push_back(pair.modifier);
    const auto frame = allocate_frame(device, fourcc, static_cast<std::uint32_t>(size.width),
                                      static_cast<std::uint32_t>(size.height), modifiers);
    if (frame) {
      found.add(frame->exported.format);
      continue;
    }
    GST_DEBUG_OBJECT(element, "not learned: %s", frame.error().message.c_str());
    impossible_.pairs = FormatSet::unite(
        impossible_.pairs, FormatSet::from_pairs(std::vector<Format>(pairs.begin(), pairs.end())));
  }
  return found;
}

void PairCache::learn(GstElement *element, GstPad *pad, const Device &device, const TrialSize &size,
                      const FormatSet &refused)
{
  const Capabilities &capabilities = device.capabilities;
  if (!capabilities.takes_modifiers || capabilities.lists_modifiers)
    return;
  const auto any =
      GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw(memory:DMABuf),format=DMA_DRM"));
  const auto all = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(pad, nullptr));
  const auto peer = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(any.get(), all.get())));
  const auto before = FormatSet::subtract(known(device), capabilities.formats);
  FormatSet found;
  for (guint i = 0; i < gst_caps_get_size(peer.get()); ++i) {
    const auto one = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(peer.get(), i));
    const auto listed = untried_pairs(one.get(), capabilities, capabilities.formats, refused);
    std::vector<Format> open;
    for (const Format &pair : listed.pairs())
      if (!has_any(listed.of_fourcc(pair.fourcc), FormatSet::unite(before, found)))
        open.push_back(pair);
    if (!open.empty())
      found =
          FormatSet::unite(found, try_list(element, device, FormatSet::from_pairs(std::move(open)),
                                           size_in(one.get(), size, capabilities)));
  }
  for (const Format &pair : found.pairs())
    GST_INFO_OBJECT(element, "downstream lists %s, and the driver makes it",
                    describe_format(pair).c_str());
  const std::lock_guard lock(lock_);
  learned_ = FormatSet::unite(learned_, found);
}

} // namespace gstdrm::va
