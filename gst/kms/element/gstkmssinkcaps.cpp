// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkcaps.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
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

namespace {

// KMS has these three. SMPTE 240M (Kr = 0.212, Kb = 0.087) is nearest to BT.709 (0.2126, 0.0722),
// FCC (0.30, 0.11) to BT.601 (0.299, 0.114).
kms::ColorEncoding encoding_of(const GstVideoInfo &vinfo)
{
  switch (vinfo.colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT709:
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return kms::ColorEncoding::Bt709;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return kms::ColorEncoding::Bt2020;
  default:
    return kms::ColorEncoding::Bt601;
  }
}

kms::Chromaticity chromaticity(const GstVideoMasteringDisplayInfoCoordinates &from)
{
  return {from.x, from.y}; // both in units of 0.00002
}

// Only for streams with an HDR transfer function: a display has no use for the metadata of others.
std::optional<kms::HdrMetadata> hdr_of(const GstVideoInfo &vinfo, const GstCaps *caps)
{
  kms::HdrMetadata hdr;
  if (vinfo.colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084)
    hdr.transfer = kms::TransferFunction::Pq;
  else if (vinfo.colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67)
    hdr.transfer = kms::TransferFunction::Hlg;
  else
    return std::nullopt;
  GstVideoMasteringDisplayInfo mastering;
  if (gst_video_mastering_display_info_from_caps(&mastering, caps)) {
    for (std::size_t i = 0; i < hdr.primaries.size(); i++)
      hdr.primaries[i] = chromaticity(mastering.display_primaries[i]);
    hdr.white_point = chromaticity(mastering.white_point);
    hdr.max_luminance = mastering.max_display_mastering_luminance; // both in 0.0001 cd/m2
    hdr.min_luminance = mastering.min_display_mastering_luminance;
  }
  GstVideoContentLightLevel light;
  if (gst_video_content_light_level_from_caps(&light, caps)) {
    hdr.max_content_light_level = light.max_content_light_level; // both in cd/m2
    hdr.max_frame_average_light_level = light.max_frame_average_light_level;
  }
  return hdr;
}

// The pair as the planes list it. Drivers without modifiers list the implicit one, also for linear
// frames.
Format engine_format(const GstDrmVideoInfo &info, const FormatSet &formats)
{
  const Format format{info.drm_fourcc, info.drm_modifier};
  const Format implicit{info.drm_fourcc, kModImplicit};
  if (format.modifier == kModLinear && !formats.contains(format) && formats.contains(implicit))
    return implicit;
  return format;
}

bool has_dmabuf_feature(const GstCaps *caps)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF);
}

} // namespace

Result<SinkStream> read_stream(const GstCaps *caps, const FormatSet &listed,
                               ImplicitModifier implicit_modifier)
{
  GError *error = nullptr;
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error))
    return take_error(error, ErrorCode::Caps);
  if (Result<void> taken = check_implicit(info, implicit_modifier); !taken)
    return taken.error();
  resolve_implicit(info, implicit_modifier);
  return SinkStream{info, engine_format(info, listed), !has_dmabuf_feature(caps)};
}

kms::Picture picture_of(const SinkStream &stream, const GstCaps *caps)
{
  const GstVideoInfo &vinfo = stream.info.vinfo;
  kms::Picture picture;
  picture.format = stream.format;
  picture.width = static_cast<std::uint32_t>(GST_VIDEO_INFO_WIDTH(&vinfo));
  picture.height = static_cast<std::uint32_t>(GST_VIDEO_INFO_HEIGHT(&vinfo));
  if (GST_VIDEO_INFO_FPS_N(&vinfo) > 0 && GST_VIDEO_INFO_FPS_D(&vinfo) > 0)
    picture.rate = {static_cast<std::uint32_t>(GST_VIDEO_INFO_FPS_N(&vinfo)),
                    static_cast<std::uint32_t>(GST_VIDEO_INFO_FPS_D(&vinfo))};
  picture.encoding = encoding_of(vinfo);
  picture.range = vinfo.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255 ? kms::ColorRange::Full
                                                                         : kms::ColorRange::Limited;
  if (GST_VIDEO_INFO_PAR_N(&vinfo) > 0 && GST_VIDEO_INFO_PAR_D(&vinfo) > 0) {
    picture.par_n = static_cast<std::uint32_t>(GST_VIDEO_INFO_PAR_N(&vinfo));
    picture.par_d = static_cast<std::uint32_t>(GST_VIDEO_INFO_PAR_D(&vinfo));
  }
  picture.hdr = hdr_of(vinfo, caps);
  if (GST_VIDEO_INFO_FLAG_IS_SET(&vinfo, GST_VIDEO_FLAG_PREMULTIPLIED_ALPHA))
    picture.alpha = kms::Alpha::Premultiplied;
  return picture;
}

} // namespace gstdrm
