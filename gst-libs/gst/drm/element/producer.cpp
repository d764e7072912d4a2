// SPDX-License-Identifier: LGPL-2.1-or-later
#include "producer.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/core/reasons.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmcaps-strings.hpp>
#include <gst/drm/gstdrmconstraints.h>
#include <gst/drm/gstdrmformat.h>
#include <gst/drm/gstdrmformatset-private.hpp>
#include <gst/drm/gstdrmsync.h>
#include <gst/video/video.h>

#include "caps_features.hpp"
#include "chain.hpp"
#include "format_sets.hpp"

namespace gstdrm {

namespace {

// What a stream gets where downstream leaves the choice.
constexpr int kDefaultWidth = 640;
constexpr int kDefaultHeight = 480;
constexpr int kDefaultRate = 30; // frames per second

bool is_dmabuf(const GstCaps *caps, guint index)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, index),
                                    GST_CAPS_FEATURE_MEMORY_DMABUF) != FALSE;
}

// The linear pairs of the GstVideoFormats in plain caps.
FormatList plain_formats(const GstStructure *structure)
{
  std::vector<Format> pairs;
  if (const GValue *value = gst_structure_get_value(structure, "format"))
    for_each_string(value, [&pairs](const gchar *name) {
      Format pair;
      pair.fourcc =
          gst_drm_format_from_video_format(gst_video_format_from_string(name), &pair.modifier);
      if (pair.fourcc != 0 && pair.modifier == kModLinear)
        pairs.push_back(pair);
    });
  return FormatList::in_order(std::move(pairs));
}

GstPtr<GstCaps> one_structure(const GstCaps *caps, guint index)
{
  auto one = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(caps, index));
  GstStructure *structure = gst_caps_get_structure(one.get(), 0);
  gst_structure_fixate_field_nearest_int(structure, "width", kDefaultWidth);
  gst_structure_fixate_field_nearest_int(structure, "height", kDefaultHeight);
  gst_structure_fixate_field_nearest_fraction(structure, "framerate", kDefaultRate, 1);
  if (gst_structure_has_field(structure, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction(structure, "pixel-aspect-ratio", 1, 1);
  return one;
}

// Whether the rows of a linear frame are others than GStreamer's own.
bool is_padded(GstBuffer *frame, std::uint32_t fourcc)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  const GstVideoFormat named = gst_drm_format_to_video_format(fourcc, kModLinear);
  GstVideoInfo info;
  if (!meta || named == GST_VIDEO_FORMAT_UNKNOWN ||
      !gst_video_info_set_format(&info, named, meta->width, meta->height) ||
      meta->n_planes != GST_VIDEO_INFO_N_PLANES(&info))
    return false;
  for (guint i = 0; i < meta->n_planes; ++i)
    if (meta->stride[i] != GST_VIDEO_INFO_PLANE_STRIDE(&info, i) ||
        meta->offset[i] != GST_VIDEO_INFO_PLANE_OFFSET(&info, i))
      return true;
  return false;
}

} // namespace

GstPtr<GstCaps> producer_caps(const FormatSet *formats, const FrameSizes &sizes)
{
  GstPtr<GstCaps> caps;
  if (formats) {
    const FormatSetPtr set = to_public(*formats);
    caps.reset(made(gst_drm_format_set_to_caps(set.get())));
    gst_caps_append(caps.get(), made(gst_drm_format_set_to_raw_caps(set.get())));
  } else {
    caps.reset(gst_caps_from_string("video/x-raw(memory:DMABuf); video/x-raw"));
    gst_structure_set(gst_caps_get_structure(caps.get(), 0), "format", G_TYPE_STRING, "DMA_DRM",
                      nullptr);
  }
  gst_caps_set_simple(caps.get(), "width", GST_TYPE_INT_RANGE, static_cast<int>(sizes.min_width),
                      static_cast<int>(sizes.max_width), "height", GST_TYPE_INT_RANGE,
                      static_cast<int>(sizes.min_height), static_cast<int>(sizes.max_height),
                      "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
  return caps;
}

namespace {

// Of less than 8 bits a component.
bool is_coarse(std::uint32_t fourcc)
{
  const GstVideoFormatInfo *info =
      gst_video_format_get_info(gst_drm_format_to_video_format(fourcc, kModLinear));
  for (guint i = 0; i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(info); ++i)
    if (GST_VIDEO_FORMAT_INFO_DEPTH(info, i) < 8)
      return true;
  return false;
}

} // namespace

// In downstream's order, but plain caps last: they promise no DMA buffers. Of these the coarse
// formats are last: elements that list plain formats list all that they can read, in any order.
std::vector<Offer> make_offers(const GstCaps *common, const FormatSet &formats,
                               ImplicitModifier implicit_modifier)
{
  std::vector<Offer> offers;
  for (const bool plain : {false, true})
    for (guint i = 0; i < gst_caps_get_size(common); ++i) {
      if (is_dmabuf(common, i) == plain)
        continue;
      const auto one = one_structure(common, i);
      const std::optional<FormatList> downstream =
          plain ? plain_formats(gst_caps_get_structure(one.get(), 0)) : formats_of_caps(one.get());
      for (auto &candidate :
           rank_candidates(formats, downstream ? *downstream : FormatList(formats))) {
        const bool is_implicit_linear = implicit_modifier == ImplicitModifier::Linear &&
                                        std::erase(candidate.modifiers, kModImplicit) > 0 &&
                                        candidate.modifiers.empty();
        if (is_implicit_linear)
          candidate.modifiers = {kModLinear};
        offers.push_back({one, plain, is_implicit_linear, std::move(candidate)});
      }
    }
  std::stable_partition(offers.begin(), offers.end(), [](const Offer &offer) {
    return !offer.is_plain || !is_coarse(offer.candidate.fourcc);
  });
  return offers;
}

GstPtr<GstCaps> settle(const Offer &offer, std::uint64_t modifier)
{
  auto caps = GstPtr<GstCaps>::adopt(gst_caps_copy(offer.caps.get()));
  const auto fourcc = offer.candidate.fourcc;
  GstStructure *structure = gst_caps_get_structure(caps.get(), 0);
  if (offer.is_plain || offer.is_implicit_linear || modifier == kModImplicit) {
    const GstVideoFormat named = gst_drm_format_to_video_format(fourcc, kModLinear);
    gst_structure_set(structure, "format", G_TYPE_STRING, gst_video_format_to_string(named),
                      nullptr);
    gst_structure_remove_field(structure, "drm-format");
  } else {
    g_autofree gchar *text = gst_drm_format_to_string(fourcc, modifier);
    gst_structure_set(structure, "format", G_TYPE_STRING, "DMA_DRM", "drm-format", G_TYPE_STRING,
                      text, nullptr);
  }
  return GstPtr<GstCaps>::adopt(gst_caps_fixate(caps.release()));
}

bool Producer::is_last_choice(const Offer &offer) const
{
  return choice_.caps && choice_.fourcc == offer.candidate.fourcc &&
         choice_.modifiers == offer.candidate.modifiers &&
         gst_caps_is_equal(choice_.offered.get(), offer.caps.get());
}

// The caps with the modifier that the allocator chose of all; empty with a reason where it cannot.
GstPtr<GstCaps> Producer::try_offer(const Offer &offer, GstDrmAllocator *allocator,
                                    Agreement &agreement)
{
  if (is_last_choice(offer))
    return choice_.caps;
  const GstStructure *structure = gst_caps_get_structure(offer.caps.get(), 0);
  gint width = 0;
  gint height = 0;
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  const auto &modifiers = offer.candidate.modifiers;
  guint64 modifier = 0;
  g_autoptr(GError) error = nullptr;
  const auto first = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator, offer.candidate.fourcc, static_cast<guint>(width), static_cast<guint>(height),
      modifiers.data(), static_cast<guint>(modifiers.size()), nullptr, &modifier, &error));
  if (!first) {
    const char *why = error ? error->message : "the allocator gave no reason";
    GST_CAT_DEBUG_OBJECT(category_, element_, "%s", why);
    add_reason(agreement.refusals,
               {ErrorCode::Allocation, why, out_of_descriptors(kDescriptorsOfFrame)});
    return {};
  }
  GST_CAT_INFO_OBJECT(category_, element_, "%s chosen of %zu common modifiers",
                      describe_format({offer.candidate.fourcc, modifier}).c_str(),
                      modifiers.size());
  choice_ = {settle(offer, modifier), modifiers, offer.candidate.fourcc, offer.caps,
             is_padded(first.get(), offer.candidate.fourcc)};
  return choice_.caps;
}

namespace {

// An offer in its turn. Early: not where downstream lists it.
struct Turn {
  const Offer *offer;
  bool is_early;
};

// In the order of `offers`, but the fourcc first among those of its kind. Plain ones come a second
// time, at their own place.
std::vector<Turn> nearest_first(const std::vector<Offer> &offers, std::uint32_t nearest)
{
  std::vector<Turn> turns;
  for (const bool plain : {false, true}) {
    for (const Offer &offer : offers)
      if (offer.is_plain == plain && offer.candidate.fourcc == nearest)
        turns.push_back({&offer, plain});
    for (const Offer &offer : offers)
      if (offer.is_plain == plain && (plain || offer.candidate.fourcc != nearest))
        turns.push_back({&offer, false});
  }
  return turns;
}

// Without DMA_DRM where a filter on the way would end the stream.
GstPtr<GstCaps> for_filters_after(GstPad *pad, GstPtr<GstCaps> common)
{
  if (!names_dma_drm(common.get()))
    return common;
  auto others = without_dma_drm(common.get());
  if (leads_through_filter_without_dma_drm(pad))
    return others;
  // whoever asks for DMA_DRM behind a videocrop gets it: an application may add the meta
  if (!gst_caps_is_empty(others.get()) && leads_to_refused_crop(pad))
    return others;
  return common;
}

} // namespace

Producer::Agreement Producer::agree(GstPad *pad, const GstCaps *own, const FormatSet &formats,
                                    GstDrmAllocator *allocator, ImplicitModifier implicit_modifier,
                                    std::uint32_t nearest)
{
  const auto asked = GstPtr<GstCaps>::share(const_cast<GstCaps *>(own)); // queries take no const
  // Without a filter: an empty answer to one is a failed stream for the elements downstream, and
  // here there may be other formats to ask for.
  const auto peer = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(pad, nullptr));
  Agreement agreement;
  agreement.common = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(peer.get(), asked.get())));
  agreement.common = for_filters_after(pad, std::move(agreement.common));
  GST_CAT_DEBUG_OBJECT(category_, element_,
                       "own %" GST_PTR_FORMAT ", peer %" GST_PTR_FORMAT ", common %" GST_PTR_FORMAT,
                       asked.get(), peer.get(), agreement.common.get());
  const auto offers = make_offers(agreement.common.get(), formats, implicit_modifier);
  if (offers.empty())
    return agreement;
  agreement.outcome = Outcome::NotAllocated;
  for (const auto &[offer, is_early] : nearest_first(offers, nearest)) {
    auto caps = try_offer(*offer, allocator, agreement);
    // A reader of plain caps may know GStreamer's own rows alone, and what it lists first may have
    // them: padded rows would be copied.
    if (!caps || (is_early && choice_.is_padded))
      continue;
    agreement.caps = std::move(caps);
    agreement.outcome = Outcome::Agreed;
    break;
  }
  return agreement;
}

namespace {

using Waits = std::function<bool()>;

void announce(GstQuery *query, gpointer data)
{
  const auto &waits = *static_cast<const Waits *>(data);
  if (!waits || waits())
    gst_drm_query_announce_release_fences(query);
}

void delete_waits(gpointer data) noexcept
{
  delete static_cast<Waits *>(data);
}

} // namespace

void set_up_producer_pad(GstPad *src, std::function<bool()> waits)
{
  auto kept = std::make_unique<Waits>(std::move(waits));
  if (gst_drm_pad_gather_constraints(src, logging<announce>, kept.get(), delete_waits) != 0)
    kept.release(); // the probe has it
}

} // namespace gstdrm
