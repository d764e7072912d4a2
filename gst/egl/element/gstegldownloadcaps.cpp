// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldownloadcaps.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/gstdrmcaps-strings.hpp>

#include "gsteglformats.hpp"

namespace gstdrm {
namespace {

constexpr std::array<GstVideoFormat, 8> kTextureFormats{
    GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_RGBx, GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_BGRx,
    GST_VIDEO_FORMAT_ARGB, GST_VIDEO_FORMAT_xRGB, GST_VIDEO_FORMAT_ABGR, GST_VIDEO_FORMAT_xBGR,
};

constexpr std::array<GstVideoFormat, 18> kCopyFormats{
    GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_BGRA,      GST_VIDEO_FORMAT_RGBx,
    GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_RGB16,     GST_VIDEO_FORMAT_BGR,
    GST_VIDEO_FORMAT_RGB,  GST_VIDEO_FORMAT_NV12,      GST_VIDEO_FORMAT_NV21,
    GST_VIDEO_FORMAT_NV16, GST_VIDEO_FORMAT_NV24,      GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_YV12, GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_YUY2,
    GST_VIDEO_FORMAT_UYVY, GST_VIDEO_FORMAT_Y42B,      GST_VIDEO_FORMAT_Y444,
};

void set_names(GstStructure *structure, const auto &formats)
{
  set_strings(structure, "format", formats,
              [](GstVideoFormat format) { return g_strdup(gst_video_format_to_string(format)); });
}

constexpr const char *kGlFeature = GST_CAPS_FEATURE_MEMORY_GL_MEMORY;

// Fields that describe the pixels in memory, which change on the way; all others stay.
constexpr std::array<std::string_view, 5> kChanged{"format", "drm-format", "texture-target",
                                                   "colorimetry", "chroma-site"};

void copy_fields(const GstStructure *from, GstStructure *to)
{
  gst_structure_foreach(
      from,
      [](GQuark field, const GValue *value, gpointer into) noexcept -> gboolean {
        if (std::ranges::find(kChanged, g_quark_to_string(field)) == kChanged.end())
          gst_structure_id_set_value(static_cast<GstStructure *>(into), field, value);
        return TRUE;
      },
      to);
}

bool is_gl(const GstCaps *caps, guint index)
{
  GstCapsFeatures *features = gst_caps_get_features(caps, index);
  return gst_caps_features_is_any(features) || (gst_caps_features_get_size(features) == 1 &&
                                                gst_caps_features_contains(features, kGlFeature));
}

// What leaves of these pairs; nullptr: any.
GstPtr<GstCaps> made_of(const FormatSet *formats, ImplicitModifier implicit_modifier)
{
  if (!formats)
    return implicit_modifier == ImplicitModifier::Linear ? download_src_template()
                                                         : producer_caps(nullptr, {});
  const FormatSet offered = producer_formats(*formats, implicit_modifier);
  return producer_caps(&offered, {});
}

void append_outputs(GstCaps *result, const GstStructure *in, const FormatSet *formats,
                    ImplicitModifier implicit_modifier)
{
  if (formats && formats->empty())
    return;
  const auto made = made_of(formats, implicit_modifier);
  for (guint i = 0; i < gst_caps_get_size(made.get()); i++) {
    copy_fields(in, gst_caps_get_structure(made.get(), i));
    gst_caps_append(result, gst_caps_copy_nth(made.get(), i));
  }
}

// Of pictures with fields.
void append_field_outputs(GstCaps *result, const GstStructure *in, const DownloadFormats &formats)
{
  const FormatSet drawn = formats.drawn ? *formats.drawn : FormatSet();
  const FormatSet shared =
      pairs_where(drawn, [](Format pair) { return shares_chroma_rows(pair.fourcc); });
  const FormatSet whole = FormatSet::subtract(drawn, shared);
  append_outputs(result, in, &whole, formats.implicit_modifier);
  if (!formats.copied)
    return;
  const FormatSet copied =
      FormatSet::unite(*formats.copied, FormatSet::intersect(shared, copy_formats()));
  append_outputs(result, in, &copied, formats.implicit_modifier);
}

GstPtr<GstCaps> within_texture(const GstCaps *caps, std::uint32_t max_size)
{
  if (max_size == 0)
    return GstPtr<GstCaps>::share(const_cast<GstCaps *>(caps));
  const auto most = static_cast<gint>(max_size);
  const auto limit = GstPtr<GstCaps>::adopt(
      gst_caps_new_simple("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, most, "height",
                          GST_TYPE_INT_RANGE, 1, most, nullptr));
  gst_caps_set_features_simple(limit.get(), gst_caps_features_new_any());
  return GstPtr<GstCaps>::adopt(
      gst_caps_intersect_full(const_cast<GstCaps *>(caps), limit.get(), GST_CAPS_INTERSECT_FIRST));
}

GstPtr<GstCaps> outputs_of(const GstCaps *given, const DownloadFormats &formats)
{
  auto result = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const GstPtr<GstCaps> within = within_texture(given, formats.max_size);
  const GstCaps *caps = within.get();
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    if (!is_gl(caps, i))
      continue;
    const GstStructure *in = gst_caps_get_structure(caps, i);
    if (!formats.drawn && !formats.copied)
      append_outputs(result.get(), in, nullptr, formats.implicit_modifier);
    else if (has_fields(in))
      append_field_outputs(result.get(), in, formats);
    else
      for (const FormatSet *set : {formats.drawn, formats.copied})
        if (set)
          append_outputs(result.get(), in, set, formats.implicit_modifier);
  }
  return result;
}

GstPtr<GstCaps> inputs_of(const GstCaps *caps, const DownloadFormats &formats)
{
  auto own = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  if (!formats.drawn && !formats.copied)
    gst_caps_append(own.get(), made_of(nullptr, formats.implicit_modifier).release());
  for (const FormatSet *set : {formats.drawn, formats.copied})
    if (set && !set->empty())
      gst_caps_append(own.get(), made_of(set, formats.implicit_modifier).release());
  const auto possible =
      GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(const_cast<GstCaps *>(caps), own.get()));
  auto result = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(possible.get()); i++) {
    auto gl = download_sink_template();
    copy_fields(gst_caps_get_structure(possible.get(), i), gst_caps_get_structure(gl.get(), 0));
    gst_caps_append(result.get(), gl.release());
  }
  const GstPtr<GstCaps> within = within_texture(result.get(), formats.max_size);
  return GstPtr<GstCaps>::adopt(gst_caps_simplify(gst_caps_copy(within.get())));
}

} // namespace

bool has_fields(const GstCaps *caps)
{
  return gst_caps_get_size(caps) > 0 && has_fields(gst_caps_get_structure(caps, 0));
}

GstPtr<GstCaps> download_sink_template()
{
  auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_simple(
      "video/x-raw", "width", GST_TYPE_INT_RANGE, 1, G_MAXINT, "height", GST_TYPE_INT_RANGE, 1,
      G_MAXINT, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr));
  gst_caps_set_features(caps.get(), 0, gst_caps_features_new(kGlFeature, nullptr));
  GstStructure *structure = gst_caps_get_structure(caps.get(), 0);
  set_names(structure, kTextureFormats);
  set_strings(structure, "texture-target",
              std::array{GST_GL_TEXTURE_TARGET_2D_STR, GST_GL_TEXTURE_TARGET_EXTERNAL_OES_STR},
              [](const char *target) { return g_strdup(target); });
  return caps;
}

GstPtr<GstCaps> download_src_template()
{
  auto caps = producer_caps(nullptr, {});
  auto implicit = GstPtr<GstCaps>::adopt(gst_caps_copy_nth(caps.get(), 0));
  set_names(gst_caps_get_structure(implicit.get(), 0), frame_names());
  gst_caps_append(caps.get(), implicit.release());
  return caps;
}

const FormatSet &copy_formats()
{
  static const FormatSet formats = [] {
    std::vector<Format> pairs;
    for (const GstVideoFormat format : kCopyFormats) {
      Format pair;
      pair.fourcc = gst_drm_format_from_video_format(format, &pair.modifier);
      if (pair.fourcc != 0 && pair.modifier == kModLinear)
        pairs.push_back(pair);
    }
    return FormatSet::from_pairs(std::move(pairs));
  }();
  return formats;
}

GstPtr<GstCaps> download_transform(GstPadDirection direction, const GstCaps *caps,
                                   const DownloadFormats &formats)
{
  if (gst_caps_is_any(caps))
    return direction == GST_PAD_SINK ? outputs_of(download_sink_template().get(), formats)
                                     : inputs_of(download_src_template().get(), formats);
  return direction == GST_PAD_SINK ? outputs_of(caps, formats) : inputs_of(caps, formats);
}

// --- colours -------------------------------------------------------------------------------------

GstPtr<GstCaps> with_colours(const GstCaps *caps)
{
  auto complete = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  GstDrmVideoInfo named;
  if (!gst_drm_video_info_from_caps(&named, caps))
    return complete;
  const GstVideoFormat format = gst_drm_format_to_video_format(named.drm_fourcc, kModLinear);
  GstVideoInfo info; // of linear frames of the fourcc
  if (format == GST_VIDEO_FORMAT_UNKNOWN ||
      !gst_video_info_set_format(&info, format, static_cast<guint>(named.vinfo.width),
                                 static_cast<guint>(named.vinfo.height)) ||
      !GST_VIDEO_INFO_IS_YUV(&info))
    return complete;
  GstStructure *structure = gst_caps_get_structure(complete.get(), 0);
  if (!gst_structure_has_field(structure, "colorimetry")) {
    g_autofree gchar *text = gst_video_colorimetry_to_string(&info.colorimetry);
    gst_structure_set(structure, "colorimetry", G_TYPE_STRING, text, nullptr);
  }
  if (!gst_structure_has_field(structure, "chroma-site") &&
      GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, 1) > 0)
    gst_structure_set(structure, "chroma-site", G_TYPE_STRING, "mpeg2", nullptr);
  return complete;
}

egl::YuvConversion conversion_of(const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  egl::YuvConversion conversion;
  GstVideoColorimetry colorimetry{};
  const gchar *text = gst_structure_get_string(structure, "colorimetry");
  if (text && gst_video_colorimetry_from_string(&colorimetry, text)) {
    // FCC's coefficients differ from those of BT.601 by 0.001 to 0.004 (ITU-T H.273, table 4).
    if (colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT601 ||
        colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_FCC)
      conversion.matrix = egl::YuvMatrix::Bt601;
    else if (colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT2020)
      conversion.matrix = egl::YuvMatrix::Bt2020;
    if (colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255)
      conversion.range = egl::YuvRange::Full;
  }
  const gchar *site = gst_structure_get_string(structure, "chroma-site");
  const GstVideoChromaSite siting =
      site ? gst_video_chroma_site_from_string(site) : GST_VIDEO_CHROMA_SITE_MPEG2;
  if (siting != GST_VIDEO_CHROMA_SITE_UNKNOWN) {
    conversion.horizontal =
        siting & GST_VIDEO_CHROMA_SITE_H_COSITED ? egl::Siting::Cosited : egl::Siting::Centred;
    conversion.vertical =
        siting & GST_VIDEO_CHROMA_SITE_V_COSITED ? egl::Siting::Cosited : egl::Siting::Centred;
  }
  return conversion;
}

egl::Picture picture_of(GstVideoFormat format, egl::Target target) noexcept
{
  const GstVideoFormatInfo *info = gst_video_format_get_info(format);
  egl::Picture picture;
  picture.target = target;
  for (std::size_t i = 0; i < picture.order.size(); i++)
    picture.order[i] = i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(info)
                           ? static_cast<std::uint8_t>(GST_VIDEO_FORMAT_INFO_POFFSET(info, i))
                           : egl::Picture::kOpaque;
  return picture;
}

} // namespace gstdrm
