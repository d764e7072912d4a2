// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglformats.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/format_list.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-strings.hpp>
#include <gst/gl/gl.h>

#include "engine/egl_image.hpp"
#include "engine/gl_planes.hpp"
#include "gsteglcaps.hpp"

namespace gstdrm {

namespace {

struct Names {
  std::vector<std::pair<std::uint32_t, GstVideoFormat>> by_fourcc; // sorted
  std::vector<GstVideoFormat> frames, plain, textures;
};

// Sets take fourccs of printable characters alone.
std::uint32_t own_number(GstVideoFormat format) noexcept
{
  constexpr std::uint32_t kDigits = 64; // from '0' on all are printable
  const auto number = static_cast<std::uint32_t>(format);
  return kOwnNumbers | ('0' + number / kDigits) << 16 | ('0' + number % kDigits) << 24;
}

// GStreamer's frame copy and its textures know pixels that lie in rows.
bool has_rows(GstVideoFormat format)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info(format);
  return !GST_VIDEO_FORMAT_INFO_IS_TILED(info) && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE(info);
}

std::vector<GstVideoFormat> gl_memory_formats()
{
  std::vector<GstVideoFormat> formats;
  const auto caps = GstPtr<GstCaps>::adopt(
      gst_caps_from_string("video/x-raw, format=" GST_GL_MEMORY_VIDEO_FORMATS_STR));
  for_each_string(gst_structure_get_value(gst_caps_get_structure(caps.get(), 0), "format"),
                  [&](const char *text) { formats.push_back(gst_video_format_from_string(text)); });
  return formats;
}

Names find_names()
{
  Names names;
  const std::vector<GstVideoFormat> gl = gl_memory_formats();
  std::vector<Format> pairs;
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  for (guint i = 0; i < n_formats; i++) {
    guint64 modifier = kModImplicit;
    const guint32 fourcc = gst_drm_format_from_video_format(formats[i], &modifier);
    // a palette is not part of a DRM framebuffer
    if (fourcc == 0 || modifier != kModLinear ||
        GST_VIDEO_FORMAT_INFO_HAS_PALETTE(gst_video_format_get_info(formats[i])) ||
        gst_drm_format_to_video_format(fourcc, modifier) != formats[i])
      continue;
    names.by_fourcc.emplace_back(fourcc, formats[i]);
    pairs.push_back({fourcc, kModLinear});
    if (std::find(gl.begin(), gl.end(), formats[i]) != gl.end())
      names.textures.push_back(formats[i]);
  }
  std::vector<GstVideoFormat> others;
  for (const GstVideoFormat format : gl) {
    guint64 modifier = 0;
    if (gst_drm_format_from_video_format(format, &modifier) != 0 || !has_rows(format))
      continue;
    names.by_fourcc.emplace_back(own_number(format), format);
    others.push_back(format);
    // GstGLColorConvert ends the process on textures of GBRA (video_format_to_gl_reorder())
    if (format != GST_VIDEO_FORMAT_GBRA)
      names.textures.push_back(format);
  }
  std::sort(names.by_fourcc.begin(), names.by_fourcc.end());
  for (const Format &pair : FormatList(FormatSet::from_pairs(std::move(pairs))).pairs())
    names.frames.push_back(gst_drm_format_to_video_format(pair.fourcc, kModLinear));
  names.plain = names.frames;
  names.plain.insert(names.plain.end(), others.begin(), others.end());
  return names;
}

const Names &names()
{
  static const Names found = find_names();
  return found;
}

EGLint colour_space(GstVideoColorMatrix matrix) noexcept
{
  switch (matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT601:
  case GST_VIDEO_COLOR_MATRIX_FCC: // nearest to it, and 240M to BT.709
    return EGL_ITU_REC601_EXT;
  case GST_VIDEO_COLOR_MATRIX_BT709:
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return EGL_ITU_REC709_EXT;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return EGL_ITU_REC2020_EXT;
  default: // the extension has no other
    return 0;
  }
}

EGLint sample_range(GstVideoColorRange range) noexcept
{
  if (range == GST_VIDEO_COLOR_RANGE_0_255)
    return EGL_YUV_FULL_RANGE_EXT;
  return range == GST_VIDEO_COLOR_RANGE_16_235 ? EGL_YUV_NARROW_RANGE_EXT : 0;
}

// The pairs of one kind of colours.
FormatSet of_colours(const FormatSet &formats, Colours colours)
{
  return pairs_where(formats, [=](Format pair) { return colours_of(pair.fourcc) == colours; });
}

// The pairs whose planes can be drawn. `exacter`: those of which the driver's own conversion is
// less exact; else the other ones.
FormatSet drawn_of(const UploadDevice &device, bool exacter)
{
  if (!device.has_rg_textures)
    return {};
  return pairs_where(device.planes, [&](Format pair) {
    return egl::can_draw_planes(pair, device.images.texture_2d) &&
           egl::is_drawn_exacter(pair.fourcc) == exacter;
  });
}

// The pairs whose GL memory has the frame's own format.
FormatSet with_texture_names(const FormatSet &formats)
{
  return pairs_where(formats, [](Format pair) {
    return std::ranges::find(texture_names(), name_of(pair.fourcc)) != texture_names().end();
  });
}

FormatSet linear_pairs(const std::vector<GstVideoFormat> &formats)
{
  std::vector<Format> pairs;
  for (const GstVideoFormat name : formats)
    pairs.push_back({fourcc_of(name), kModLinear});
  return FormatSet::from_pairs(std::move(pairs));
}

} // namespace

GstVideoFormat name_of(std::uint32_t fourcc) noexcept
{
  const auto &known = names().by_fourcc;
  const auto found =
      std::lower_bound(known.begin(), known.end(), fourcc,
                       [](const auto &each, std::uint32_t wanted) { return each.first < wanted; });
  return found != known.end() && found->first == fourcc ? found->second : GST_VIDEO_FORMAT_UNKNOWN;
}

std::uint32_t fourcc_of(GstVideoFormat name) noexcept
{
  guint64 modifier = kModImplicit;
  const guint32 fourcc = gst_drm_format_from_video_format(name, &modifier);
  if (fourcc == 0 && name_of(own_number(name)) == name)
    return own_number(name);
  return modifier == kModLinear ? fourcc : 0;
}

const std::vector<GstVideoFormat> &frame_names()
{
  return names().frames;
}

const std::vector<GstVideoFormat> &plain_names()
{
  return names().plain;
}

const std::vector<GstVideoFormat> &texture_names()
{
  return names().textures;
}

Colours colours_of(std::uint32_t fourcc) noexcept
{
  static const std::array<std::uint32_t, 9> parts = {
      DRM_FORMAT_C8,   DRM_FORMAT_R8,   DRM_FORMAT_R10,    DRM_FORMAT_R12,   DRM_FORMAT_R16,
      DRM_FORMAT_RG88, DRM_FORMAT_GR88, DRM_FORMAT_RG1616, DRM_FORMAT_GR1616};
  if (std::find(parts.begin(), parts.end(), fourcc & ~kFourccBigEndian) != parts.end())
    return Colours::Other;
  if (is_own_number(fourcc))
    return GST_VIDEO_FORMAT_INFO_IS_YUV(gst_video_format_get_info(name_of(fourcc))) ? Colours::Yuv
                                                                                    : Colours::Rgb;
  return fourcc_is_yuv(fourcc) ? Colours::Yuv : Colours::Rgb;
}

bool has_fields(const GstStructure *structure)
{
  const GValue *mode = gst_structure_get_value(structure, "interlace-mode");
  bool progressive = mode == nullptr;
  if (mode)
    for_each_string(mode,
                    [&](const char *text) { progressive |= g_str_equal(text, "progressive"); });
  return !progressive;
}

bool shares_chroma_rows(std::uint32_t fourcc) noexcept
{
  const FourccInfo *info = fourcc_info(fourcc);
  if (!info || !info->is_yuv)
    return false;
  return std::any_of(info->planes.begin(), info->planes.begin() + info->n_planes,
                     [](const PlaneInfo &plane) { return plane.vsub * plane.block_height > 1; });
}

FormatSet plane_pairs(const egl::DisplayFormats &listed)
{
  std::vector<std::uint64_t> modifiers;
  for (const std::uint32_t fourcc : {DRM_FORMAT_R8, DRM_FORMAT_R16})
    for (const Format &pair : listed.texture_2d.of_fourcc(fourcc))
      modifiers.push_back(pair.modifier);
  std::vector<Format> pairs;
  for (const FourccInfo &info : known_fourccs()) {
    for (const std::uint64_t modifier : modifiers) {
      const Format pair{info.fourcc, modifier};
      const bool opaque = modifier != kModLinear && modifier != kModImplicit;
      if ((!opaque || listed.texture_2d.contains(pair) || listed.external_only.contains(pair)) &&
          egl::has_all_planes(listed.texture_2d, pair))
        pairs.push_back(pair);
    }
  }
  return FormatSet::from_pairs(std::move(pairs));
}

egl::DisplayFormats with_linear(const egl::DisplayFormats &listed)
{
  const auto extend = [](const FormatSet &set) {
    std::vector<Format> pairs(set.pairs().begin(), set.pairs().end());
    for (const Format &pair : set.pairs())
      if (pair.modifier == kModImplicit)
        pairs.push_back({pair.fourcc, kModLinear});
    return FormatSet::from_pairs(std::move(pairs));
  };
  return {extend(listed.texture_2d), extend(listed.external_only)};
}

egl::DisplayFormats with_implicit(const egl::DisplayFormats &listed)
{
  FormatSet external_only = with_implicit(listed.external_only, ImplicitModifier::Driver);
  FormatSet texture_2d = FormatSet::subtract(
      with_implicit(listed.texture_2d, ImplicitModifier::Driver), external_only);
  return {std::move(texture_2d), std::move(external_only)};
}

UploadFormats::UploadFormats(const UploadDevice &device)
    : is_known_(true), takes_plain_(device.takes_plain),
      max_size_(std::min(device.max_size, kMaxFrameSize))
{
  using egl::Shape;
  using egl::Target;
  const auto add = [&](const TextureForm &form, bool keeps_colours, FormatSet pairs,
                       bool is_copy = false) {
    // the device's own pairs have them, less what was refused
    if (device.implicit_modifier != ImplicitModifier::Driver)
      pairs = with_implicit(pairs, device.implicit_modifier);
    if (pairs.empty())
      return;
    all_ = FormatSet::unite(all_, pairs);
    const bool mixes_fields = !keeps_colours && !is_copy;
    FormatSet with_fields =
        mixes_fields
            ? pairs_where(pairs, [](Format pair) { return !shares_chroma_rows(pair.fourcc); })
            : pairs;
    ways_.push_back({form, is_copy, keeps_colours, std::move(pairs), std::move(with_fields)});
  };
  const FormatSet images = device.images.all();
  const FormatSet converted = of_colours(device.images.texture_2d, Colours::Yuv);
  const FormatSet drawn = drawn_of(device, true);
  add({Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA}, true,
      of_colours(device.images.texture_2d, Colours::Rgb));
  add({Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA}, false,
      FormatSet::subtract(converted, drawn));
  if (device.has_rg_textures)
    add({Shape::PerPlane, Target::Texture2D, GST_VIDEO_FORMAT_UNKNOWN}, true,
        with_texture_names(device.planes));
  add({Shape::Drawn, Target::Texture2D, GST_VIDEO_FORMAT_RGBA}, false, drawn);
  if (device.has_external_textures) {
    add({Shape::OneImage, Target::External, GST_VIDEO_FORMAT_RGBA}, true,
        of_colours(images, Colours::Rgb));
    add({Shape::OneImage, Target::External, GST_VIDEO_FORMAT_RGBA}, false,
        of_colours(images, Colours::Yuv));
  }
  add({Shape::Drawn, Target::Texture2D, GST_VIDEO_FORMAT_RGBA}, false,
      FormatSet::subtract(drawn_of(device, false), converted));
  if (!device.can_copy)
    return;
  // what downstream cannot take as it is is converted on the way, by the CPU
  add({Shape::PerPlane, Target::Texture2D, GST_VIDEO_FORMAT_UNKNOWN}, true,
      linear_pairs(texture_names()), true);
  const FormatSet linear = linear_pairs(plain_names());
  add({Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA}, true,
      of_colours(linear, Colours::Rgb), true);
  add({Shape::OneImage, Target::Texture2D, GST_VIDEO_FORMAT_RGBA}, false,
      FormatSet::subtract(linear, of_colours(linear, Colours::Rgb)), true);
}

egl::ColorHints color_hints(const GstVideoColorimetry &colorimetry,
                            GstVideoChromaSite chroma_site) noexcept
{
  egl::ColorHints hints;
  if (colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_RGB)
    return hints;
  hints.space = colour_space(colorimetry.matrix);
  hints.range = sample_range(colorimetry.range);
  if (chroma_site != GST_VIDEO_CHROMA_SITE_UNKNOWN) {
    const auto siting = [chroma_site](int cosited) {
      return chroma_site & cosited ? EGL_YUV_CHROMA_SITING_0_EXT : EGL_YUV_CHROMA_SITING_0_5_EXT;
    };
    hints.siting_horizontal = siting(GST_VIDEO_CHROMA_SITE_H_COSITED);
    hints.siting_vertical = siting(GST_VIDEO_CHROMA_SITE_V_COSITED);
  }
  return hints;
}

egl::YuvColours yuv_colours(const GstVideoColorimetry &colorimetry,
                            GstVideoChromaSite chroma_site) noexcept
{
  egl::YuvColours colours;
  colours.luma = kBt601Luma;
  gdouble red = 0;
  gdouble blue = 0;
  if (gst_video_color_matrix_get_Kr_Kb(colorimetry.matrix, &red, &blue))
    colours.luma = {red, blue};
  if (colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255)
    colours.range = egl::YuvRange::Full;
  if (chroma_site == GST_VIDEO_CHROMA_SITE_UNKNOWN)
    return colours; // as in MPEG-2
  const auto siting = [chroma_site](int cosited) {
    return (chroma_site & cosited) != 0 ? egl::Siting::Cosited : egl::Siting::Centred;
  };
  colours.horizontal = siting(GST_VIDEO_CHROMA_SITE_H_COSITED);
  colours.vertical = siting(GST_VIDEO_CHROMA_SITE_V_COSITED);
  return colours;
}

GstVideoColorimetry rgb_colorimetry(const GstVideoColorimetry &colorimetry) noexcept
{
  GstVideoColorimetry rgb = colorimetry;
  rgb.matrix = GST_VIDEO_COLOR_MATRIX_RGB;
  rgb.range = GST_VIDEO_COLOR_RANGE_0_255;
  return rgb;
}

} // namespace gstdrm
