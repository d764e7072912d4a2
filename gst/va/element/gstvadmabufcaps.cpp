// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufcaps.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/gstdrmformat.h>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/video/video.h>

namespace gstdrm::va {
namespace {

constexpr int kDefaultWidth = 640;
constexpr int kDefaultHeight = 480;
constexpr int kDefaultRate = 30; // frames per second

bool is_dmabuf(const GstCaps *caps, guint index)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, index),
                                    GST_CAPS_FEATURE_MEMORY_DMABUF) != FALSE;
}

// The linear pairs of the GstVideoFormats in plain caps.
FormatSet plain_formats(const GstStructure *structure)
{
  std::vector<Format> pairs;
  const auto add = [&pairs](const GValue *name) {
    const gchar *text = G_VALUE_HOLDS_STRING(name) ? g_value_get_string(name) : nullptr;
    Format pair;
    pair.fourcc = gst_drm_format_from_video_format(
        text ? gst_video_format_from_string(text) : GST_VIDEO_FORMAT_UNKNOWN, &pair.modifier);
    if (pair.fourcc != 0 && pair.modifier == kModLinear)
      pairs.push_back(pair);
  };
  const GValue *value = gst_structure_get_value(structure, "format");
  if (value && G_VALUE_HOLDS_STRING(value))
    add(value);
  else if (value && GST_VALUE_HOLDS_LIST(value))
    for (guint i = 0; i < gst_value_list_get_size(value); ++i)
      add(gst_value_list_get_value(value, i));
  return FormatSet::from_pairs(std::move(pairs));
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

} // namespace

GstPtr<GstCaps> device_caps(const Capabilities *capabilities)
{
  GstPtr<GstCaps> caps;
  int min_width = 1;
  int min_height = 1;
  int max_width = kMaxFrameSize;
  int max_height = kMaxFrameSize;
  if (capabilities) {
    const auto set = to_public(capabilities->formats);
    caps.reset(gst_drm_format_set_to_caps(set.get()));
    gst_caps_append(caps.get(), gst_drm_format_set_to_raw_caps(set.get()));
    min_width = static_cast<int>(capabilities->min_width);
    min_height = static_cast<int>(capabilities->min_height);
    max_width = static_cast<int>(capabilities->max_width);
    max_height = static_cast<int>(capabilities->max_height);
  } else {
    caps.reset(gst_caps_from_string("video/x-raw(memory:DMABuf); video/x-raw"));
    gst_structure_set(gst_caps_get_structure(caps.get(), 0), "format", G_TYPE_STRING, "DMA_DRM",
                      nullptr);
  }
  gst_caps_set_simple(caps.get(), "width", GST_TYPE_INT_RANGE, min_width, max_width, "height",
                      GST_TYPE_INT_RANGE, min_height, max_height, "framerate",
                      GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
  return caps;
}

std::vector<Offer> make_offers(const GstCaps *common, const Capabilities &capabilities)
{
  std::vector<Offer> offers;
  for (guint i = 0; i < gst_caps_get_size(common); ++i) {
    const auto one = one_structure(common, i);
    const bool plain = !is_dmabuf(common, i);
    FormatSet downstream;
    if (plain) {
      downstream = plain_formats(gst_caps_get_structure(one.get(), 0));
    } else {
      const FormatSetPtr set(gst_drm_format_set_new_from_caps(one.get()));
      downstream = set ? from_public(*set) : capabilities.formats;
    }
    for (auto &candidate : rank_candidates(capabilities.formats, downstream))
      offers.push_back({one, plain, std::move(candidate)});
  }
  return offers;
}

GstPtr<GstCaps> settle(const Offer &offer, std::uint64_t modifier)
{
  auto caps = GstPtr<GstCaps>::adopt(gst_caps_copy(offer.caps.get()));
  const auto fourcc = offer.candidate.fourcc;
  GstStructure *structure = gst_caps_get_structure(caps.get(), 0);
  if (offer.is_plain || modifier == kModImplicit) {
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

} // namespace gstdrm::va
