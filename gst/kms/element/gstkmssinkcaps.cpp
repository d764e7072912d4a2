// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkcaps.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/format_sets.hpp>
#include <gst/video/video.h>

namespace gstdrm {

namespace {

void set_sizes(GstCaps *caps, const kms::SizeLimits &limits)
{
  const auto range_or_value = [caps](const char *field, std::uint32_t low, std::uint32_t high) {
    if (low == high)
      gst_caps_set_simple(caps, field, G_TYPE_INT, static_cast<gint>(low), nullptr);
    else
      gst_caps_set_simple(caps, field, GST_TYPE_INT_RANGE, static_cast<gint>(low),
                          static_cast<gint>(high), nullptr);
  };
  range_or_value("width", limits.min_width, std::min(limits.max_width, kMaxFrameSize));
  range_or_value("height", limits.min_height, std::min(limits.max_height, kMaxFrameSize));
  gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
}

// Each structure once per size, the best size first: a converter takes the first that it can make.
GstPtr<GstCaps> with_only_sizes(GstPtr<GstCaps> caps, const kms::SizeLimits &limits)
{
  if (limits.only.empty())
    return caps;
  auto expanded = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(caps.get()); i++)
    for (const auto &[width, height] : limits.only) {
      GstStructure *structure = gst_structure_copy(gst_caps_get_structure(caps.get(), i));
      gst_structure_set(structure, "width", G_TYPE_INT, static_cast<gint>(width), "height",
                        G_TYPE_INT, static_cast<gint>(height), nullptr);
      gst_caps_append_structure_full(expanded.get(), structure,
                                     gst_caps_features_copy(gst_caps_get_features(caps.get(), i)));
    }
  return expanded;
}

// Every GstVideoFormat that has a fourcc: a plane may list any of them.
std::vector<GstVideoFormat> known_formats(bool linear_only)
{
  std::vector<GstVideoFormat> formats;
  auto *type = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_VIDEO_FORMAT));
  for (guint i = 0; i < type->n_values; i++) {
    const auto format = static_cast<GstVideoFormat>(type->values[i].value);
    guint64 modifier = 0;
    if (gst_drm_format_from_video_format(format, &modifier) != 0 &&
        (!linear_only || modifier == kModLinear))
      formats.push_back(format);
  }
  g_type_class_unref(type);
  return formats;
}

void append_plain(GstCaps *caps, const std::vector<GstVideoFormat> &formats, const char *feature)
{
  GValue list = G_VALUE_INIT;
  gst_value_list_init(&list, static_cast<guint>(formats.size()));
  for (const GstVideoFormat format : formats) {
    GValue name = G_VALUE_INIT;
    g_value_init(&name, G_TYPE_STRING);
    g_value_set_string(&name, gst_video_format_to_string(format));
    gst_value_list_append_and_take_value(&list, &name);
  }
  GstStructure *structure = gst_structure_new_empty("video/x-raw");
  gst_structure_take_value(structure, "format", &list);
  gst_caps_append_structure_full(caps, structure,
                                 feature ? gst_caps_features_new_single(feature) : nullptr);
}

// The same caps with overlays beside the frames, after those without: elements that attach a
// composition look for the feature (GstBaseTextOverlay).
void append_with_overlays(GstCaps *caps)
{
  const guint n = gst_caps_get_size(caps);
  for (guint i = 0; i < n; i++) {
    GstCapsFeatures *features = gst_caps_features_copy(gst_caps_get_features(caps, i));
    gst_caps_features_add(features, GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION);
    gst_caps_append_structure_full(caps, gst_structure_copy(gst_caps_get_structure(caps, i)),
                                   features);
  }
}

GstCaps *make_template_caps()
{
  GstCaps *caps = gst_caps_new_empty();
  gst_caps_append_structure_full(
      caps, gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", nullptr),
      gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
  append_plain(caps, known_formats(true), nullptr);
  // the implicit modifier: answered only where the driver enumerates no explicit ones
  append_plain(caps, known_formats(false), GST_CAPS_FEATURE_MEMORY_DMABUF);
  set_sizes(caps, {1, 1, kMaxFrameSize, kMaxFrameSize, {}});
  append_with_overlays(caps);
  return caps;
}

// The linear pairs of a plane's formats. The pairs of a driver without modifiers count as linear
// here: plain video/x-raw promises no more, and such a driver's own CPU buffers are linear.
FormatSetPtr linear_of(const FormatSet &formats)
{
  FormatSetPtr set(gst_drm_format_set_new());
  for (const Format &format : formats.pairs())
    if (format.modifier == kModLinear || format.modifier == kModImplicit)
      gst_drm_format_set_add(set.get(), format.fourcc, kModLinear);
  return set;
}

// For Driver the display lists the implicit pairs itself, less what it refused.
FormatSet dmabuf_formats(const FormatSet &formats, ImplicitModifier implicit_modifier)
{
  switch (implicit_modifier) {
  case ImplicitModifier::Linear:
    return with_implicit(FormatSet::unite(formats, from_public(*linear_of(formats))),
                         implicit_modifier);
  case ImplicitModifier::Driver:
    return formats;
  default:
    return with_implicit(formats, implicit_modifier);
  }
}

} // namespace

GstPadTemplate *sink_pad_template()
{
  const auto caps = GstPtr<GstCaps>::adopt(make_template_caps());
  return gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps.get());
}

GstPtr<GstCaps> display_caps(const kms::Display &display, ZeroCopy zero_copy,
                             ImplicitModifier implicit_modifier)
{
  const FormatSet formats = display.formats();
  const FormatSetPtr dmabufs = to_public(dmabuf_formats(formats, implicit_modifier));
  auto caps = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(dmabufs.get()));
  if (zero_copy == ZeroCopy::Prefer)
    gst_caps_append(caps.get(), gst_drm_format_set_to_raw_caps(linear_of(formats).get()));
  const kms::SizeLimits limits = display.limits();
  set_sizes(caps.get(), limits);
  caps = with_only_sizes(std::move(caps), limits);
  if (display.can_overlay())
    append_with_overlays(caps.get());
  return caps;
}

std::string describe_formats(const kms::Display &display)
{
  gchar *text = gst_drm_format_set_to_string(to_public(display.formats()).get());
  std::string copy = text;
  g_free(text);
  return copy;
}

} // namespace gstdrm
