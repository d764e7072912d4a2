// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmvideoinfo
 * @title: GstDrmVideoInfo
 * @short_description: a video format of DMA buffers
 *
 * #GstVideoInfo with a DRM fourcc and modifier. For a layout that GstVideoFormat has a name for
 * (linear, and a few tilings) the #GstVideoInfo keeps that format with its planes; for any other it
 * is %GST_DRM_VIDEO_FORMAT_DMA_DRM, which has no planes. In language bindings make one with
 * gst_drm_video_info_new(), then fill it. Defaults, colorimetry among them, follow the
 * fourcc in both cases. Results do not depend on the version of GStreamer.
 */
#include "gstdrmvideoinfo.h"

#include <string>
#include <type_traits>

#include <gst/allocators/gstdmabuf.h>

#include "core/format.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmcaps-words.hpp"
#include "gstdrmformat.h"
#include "gstdrmvideoinfo-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::GstPtr;
using gstdrm::Result;

// What GStreamer is told to parse or print in place of an opaque layout: the fourcc's linear
// format; for a fourcc without a name one of the same colour model, which is all that defaults
// depend on.
GstVideoFormat stand_in_format(const Format &format)
{
  GstVideoFormat named = gst_drm_format_to_video_format(format.fourcc, format.modifier);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    named = gst_drm_format_to_video_format(format.fourcc, GST_DRM_MODIFIER_LINEAR);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    named = gstdrm::fourcc_is_yuv(format.fourcc) ? GST_VIDEO_FORMAT_NV12 : GST_VIDEO_FORMAT_RGBx;
  return named;
}

// Keeps all but the format and what follows from it.
void make_opaque(GstVideoInfo &vinfo)
{
  vinfo.finfo = gst_video_format_get_info(GST_DRM_VIDEO_FORMAT_DMA_DRM);
  vinfo.size = 0;
  for (int i = 0; i < GST_VIDEO_MAX_PLANES; ++i) {
    vinfo.offset[i] = 0;
    vinfo.stride[i] = 0;
  }
}

void fill_video_info(GstDrmVideoInfo *info, const GstVideoInfo &vinfo, const Format &pair)
{
  gst_drm_video_info_init(info);
  info->vinfo = vinfo;
  info->drm_fourcc = pair.fourcc;
  info->drm_modifier = pair.modifier;
}

// What GStreamer makes of plain caps with a format and a size alone. gst_video_info_set_format() is
// not enough: 1.26 gives such caps a chroma site. Returns false if the size is larger than
// GStreamer can describe.
bool default_video_info(GstVideoInfo &vinfo, GstVideoFormat format, gint width, gint height)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, gst_video_format_to_string(format), "width",
      G_TYPE_INT, width, "height", G_TYPE_INT, height, nullptr));
  gst_video_info_init(&vinfo);
  return gst_video_info_from_caps(&vinfo, caps.get());
}

// Which fields the caps did not have that an info was read from, so that they are not written as
// long as they have their defaults; 0 for an info of another origin.
constexpr guint32 kNoColorimetry = 1U << 0;
constexpr guint32 kNoChromaSite = 1U << 1;
template <typename Info> auto &defaulted_fields(Info &info)
{
  static_assert(std::is_same_v<std::remove_const_t<Info>, GstDrmVideoInfo>);
  return info._gst_reserved[0];
}

bool is_opaque(const GstVideoInfo &vinfo)
{
  return gstdrm::format_of(vinfo) == GST_DRM_VIDEO_FORMAT_DMA_DRM;
}

bool has_known_mode(const GstVideoInfo &vinfo)
{
  const gint mode = gstdrm::number_in(vinfo.interlace_mode);
  return mode >= GST_VIDEO_INTERLACE_MODE_PROGRESSIVE && mode <= GST_VIDEO_INTERLACE_MODE_ALTERNATE;
}

// What caps have words for; GStreamer says CRITICAL of anything else.
bool can_be_written(const GstVideoInfo &vinfo)
{
  const auto is_fraction = [](gint n, gint d) {
    return n >= -G_MAXINT && d >= -G_MAXINT && d != 0;
  };
  return GST_VIDEO_INFO_WIDTH(&vinfo) > 0 && GST_VIDEO_INFO_HEIGHT(&vinfo) > 0 &&
         is_fraction(GST_VIDEO_INFO_FPS_N(&vinfo), GST_VIDEO_INFO_FPS_D(&vinfo)) &&
         is_fraction(GST_VIDEO_INFO_PAR_N(&vinfo), GST_VIDEO_INFO_PAR_D(&vinfo)) &&
         has_known_mode(vinfo);
}

// Planes of `format` at the size of `vinfo`; everything else of `vinfo` is kept.
bool set_planes(GstVideoInfo &vinfo, GstVideoFormat format)
{
  GstVideoInfo layout;
  gst_video_info_init(&layout);
  if (!has_known_mode(vinfo) ||
      !gst_video_info_set_interlaced_format(&layout, format, GST_VIDEO_INFO_INTERLACE_MODE(&vinfo),
                                            static_cast<guint>(GST_VIDEO_INFO_WIDTH(&vinfo)),
                                            static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&vinfo))))
    return false;
  vinfo.finfo = layout.finfo;
  vinfo.size = layout.size;
  for (int i = 0; i < GST_VIDEO_MAX_PLANES; ++i) {
    vinfo.offset[i] = layout.offset[i];
    vinfo.stride[i] = layout.stride[i];
  }
  return true;
}

// Takes out of `caps`, written from `info` as `format`, what the caps of `info` did not have.
void drop_defaults(GstStructure *structure, const GstDrmVideoInfo &info, GstVideoFormat format)
{
  const guint32 fields = defaulted_fields(info);
  GstVideoInfo defaults;
  if (fields == 0 || !default_video_info(defaults, format, GST_VIDEO_INFO_WIDTH(&info.vinfo),
                                         GST_VIDEO_INFO_HEIGHT(&info.vinfo)))
    return;
  if ((fields & kNoColorimetry) != 0 &&
      gst_video_colorimetry_is_equal(&defaults.colorimetry, &info.vinfo.colorimetry))
    gst_structure_remove_field(structure, "colorimetry");
  if ((fields & kNoChromaSite) != 0 && defaults.chroma_site == info.vinfo.chroma_site)
    gst_structure_remove_field(structure, "chroma-site");
}

Error bad_caps(const GstCaps *caps, const std::string &why)
{
  std::string shown = gstdrm::text_of(caps);
  constexpr std::size_t kLongest = 400; // a list of hundreds of formats says nothing in an error
  if (shown.size() > kLongest)
    shown = shown.substr(0, kLongest) + " …";
  return Error{ErrorCode::Caps, "Caps \"" + shown + "\" are no video format of DMA buffers: " + why,
               0};
}

Result<void> check_fixed(const GstCaps *caps)
{
  if (gst_caps_is_any(caps) || gst_caps_is_empty(caps))
    return bad_caps(caps, "expected exactly one structure");
  if (gst_caps_get_size(caps) != 1)
    return bad_caps(caps, "expected exactly one structure, got " +
                              std::to_string(gst_caps_get_size(caps)));
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    if (!gst_value_is_fixed(gst_structure_get_value(structure, field)))
      return bad_caps(caps, std::string("field ") + field + " is not fixed");
  }
  if (gst_caps_features_is_any(gst_caps_get_features(caps, 0)))
    return bad_caps(caps, "the caps features are ANY");
  if (!gst_structure_has_name(structure, "video/x-raw"))
    return bad_caps(caps, std::string("the media type is ") + gst_structure_get_name(structure) +
                              ", expected video/x-raw");
  return {};
}

// The one memory feature that is neither system memory nor DMABuf, if any.
const gchar *foreign_memory(const GstCapsFeatures *features)
{
  for (guint i = 0; i < gst_caps_features_get_size(features); ++i) {
    const gchar *name = gst_caps_features_get_nth(features, i);
    if (g_str_has_prefix(name, "memory:") &&
        !g_str_equal(name, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY) &&
        !g_str_equal(name, GST_CAPS_FEATURE_MEMORY_DMABUF))
      return name;
  }
  return nullptr;
}

// The pair that fixed caps stand for, in any of their three forms: DMA_DRM; memory:DMABuf with a
// GstVideoFormat (implicit modifier); plain video/x-raw (linear).
Result<Format> pair_of_caps(const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const GstCapsFeatures *features = gst_caps_get_features(caps, 0);
  const bool dmabuf = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF);
  const gchar *name = gst_structure_get_string(structure, "format");
  const bool has_drm_format = gst_structure_has_field(structure, "drm-format");
  if (const gchar *memory = foreign_memory(features))
    return bad_caps(caps, std::string(memory) + " is not memory of DMA buffers");
  if (!name)
    return bad_caps(caps, "no format");
  if (has_drm_format && !dmabuf)
    return bad_caps(caps, "drm-format without the caps feature memory:DMABuf");

  if (g_str_equal(name, "DMA_DRM")) {
    if (!dmabuf)
      return bad_caps(caps, "format=DMA_DRM without the caps feature memory:DMABuf");
    const gchar *text = gst_structure_get_string(structure, "drm-format");
    if (!text)
      return bad_caps(caps, has_drm_format ? "drm-format is no string"
                                           : "format=DMA_DRM without drm-format");
    Result<Format> pair = gstdrm::parse_format(text);
    return pair ? pair : bad_caps(caps, pair.error().message);
  }

  if (has_drm_format)
    return bad_caps(caps,
                    std::string("drm-format next to format=") + name + ", expected format=DMA_DRM");
  Format pair;
  pair.fourcc =
      gst_drm_format_from_video_format(gst_video_format_from_string(name), &pair.modifier);
  if (pair.fourcc == 0)
    return bad_caps(caps, std::string("no DRM fourcc for format=") + name);
  if (dmabuf && pair.modifier == gstdrm::kModLinear)
    pair.modifier = gstdrm::kModImplicit;
  return pair;
}

// GStreamer warns of a mode that it does not know, and goes on without.
void drop_unknown_multiview_mode(GstStructure *structure)
{
  const gchar *mode = gst_structure_get_string(structure, "multiview-mode");
  if (!mode)
    return;
  auto *modes = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_VIDEO_MULTIVIEW_MODE));
  const GEnumValue *known = g_enum_get_value_by_nick(modes, mode);
  if (!known || known->value == GST_VIDEO_MULTIVIEW_MODE_NONE)
    gst_structure_remove_field(structure, "multiview-mode");
  g_type_class_unref(modes);
}

Result<GstVideoInfo> parse_vinfo(const GstCaps *caps, const Format &pair)
{
  for (const char *field : {"width", "height"}) {
    gint size = 0;
    if (!gst_structure_get_int(gst_caps_get_structure(caps, 0), field, &size))
      return bad_caps(caps, std::string("no ") + field);
    if (size <= 0)
      return bad_caps(caps, std::string(field) + " is " + std::to_string(size));
  }
  const auto plain = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  GstStructure *structure = gst_caps_get_structure(plain.get(), 0);
  gst_structure_set(structure, "format", G_TYPE_STRING,
                    gst_video_format_to_string(stand_in_format(pair)), nullptr);
  gst_structure_remove_field(structure, "drm-format");
  drop_unknown_multiview_mode(structure);

  // The caps feature is what keeps fields away from those who would take them for frames.
  if (g_strcmp0(gst_structure_get_string(structure, "interlace-mode"), "alternate") == 0 &&
      !gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                  GST_CAPS_FEATURE_FORMAT_INTERLACED))
    return bad_caps(
        caps,
        "interlace-mode=alternate without the caps feature " GST_CAPS_FEATURE_FORMAT_INTERLACED);

  GstVideoInfo vinfo;
  gst_video_info_init(&vinfo);
  if (!gst_video_info_from_caps(&vinfo, plain.get()))
    return bad_caps(
        caps, "GStreamer cannot read the remaining fields, see the debug category video-info");
  // set_default_colorimetry() has both: GStreamer 1.22 forgets the chroma-site of the caps where
  // they have no colorimetry, and gives none by default where they have one.
  if (const gchar *site = gst_structure_get_string(structure, "chroma-site")) {
    if (const auto read = gst_video_chroma_site_from_string(site))
      vinfo.chroma_site = read;
  } else if (vinfo.chroma_site == GST_VIDEO_CHROMA_SITE_UNKNOWN &&
             gst_structure_has_field(structure, "colorimetry")) {
    gst_structure_remove_field(structure, "colorimetry");
    GstVideoInfo defaults;
    gst_video_info_init(&defaults);
    if (gst_video_info_from_caps(&defaults, plain.get()))
      vinfo.chroma_site = defaults.chroma_site;
  }
  if (gst_drm_format_to_video_format(pair.fourcc, pair.modifier) == GST_VIDEO_FORMAT_UNKNOWN)
    make_opaque(vinfo);
  return vinfo;
}

// As upstream's gst_video_info_dma_drm_from_caps(), which gives a linear format its defaults and
// any other none.
guint32 defaulted_fields_of(const GstCaps *caps, const Format &pair)
{
  if (pair.modifier == gstdrm::kModLinear || pair.modifier == gstdrm::kModImplicit)
    return 0;
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  return (gst_structure_has_field(structure, "colorimetry") ? 0 : kNoColorimetry) |
         (gst_structure_has_field(structure, "chroma-site") ? 0 : kNoChromaSite);
}

Result<void> from_caps(GstDrmVideoInfo *info, const GstCaps *caps)
{
  const Result<void> fixed = check_fixed(caps);
  if (!fixed)
    return fixed.error();
  const Result<Format> pair = pair_of_caps(caps);
  if (!pair)
    return pair.error();
  const Result<GstVideoInfo> vinfo = parse_vinfo(caps, *pair);
  if (!vinfo)
    return vinfo.error();
  fill_video_info(info, *vinfo, *pair);
  defaulted_fields(*info) = defaulted_fields_of(caps, *pair);
  return {};
}

Result<void> check_pair(const Format &pair)
{
  if (!gstdrm::fourcc_is_valid(pair.fourcc))
    return Error{ErrorCode::Format, gstdrm::fourcc_to_string(pair.fourcc) +
                                        " is no fourcc: it has to be 4 printable ASCII characters"};
  if (pair.modifier == gstdrm::kModImplicit &&
      gst_drm_format_to_video_format(pair.fourcc, GST_DRM_MODIFIER_LINEAR) ==
          GST_VIDEO_FORMAT_UNKNOWN)
    return Error{ErrorCode::Format,
                 gstdrm::describe_format(pair) +
                     " has no caps, for no GstVideoFormat names its fourcc; give a modifier"};
  return {};
}

Result<GstVideoInfo> make_vinfo(const Format &pair, guint width, guint height)
{
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  if (width == 0 || height == 0)
    return Error{ErrorCode::Layout, "A picture of " + size + " has no pixels"};
  GstVideoInfo vinfo;
  if (width > G_MAXINT || height > G_MAXINT ||
      !default_video_info(vinfo, stand_in_format(pair), static_cast<gint>(width),
                          static_cast<gint>(height)))
    return Error{ErrorCode::Layout, gstdrm::describe_format(pair) + " of " + size +
                                        " is larger than GStreamer can describe"};
  if (gst_drm_format_to_video_format(pair.fourcc, pair.modifier) == GST_VIDEO_FORMAT_UNKNOWN)
    make_opaque(vinfo);
  return vinfo;
}

Result<void> set_format(GstDrmVideoInfo *info, const Format &pair, guint width, guint height)
{
  if (const Result<void> checked = check_pair(pair); !checked)
    return checked;
  const Result<GstVideoInfo> vinfo = make_vinfo(pair, width, height);
  if (!vinfo)
    return vinfo.error();
  fill_video_info(info, *vinfo, pair);
  return {};
}

} // namespace

GType gst_drm_video_info_get_type(void) noexcept
{
  static const GType type = g_boxed_type_register_static(
      "GstDrmVideoInfo", reinterpret_cast<GBoxedCopyFunc>(gst_drm_video_info_copy),
      reinterpret_cast<GBoxedFreeFunc>(gst_drm_video_info_free));
  return type;
}

/**
 * gst_drm_video_info_init:
 * @info: a #GstDrmVideoInfo to fill
 *
 * Sets @info to no format: fourcc 0, %GST_DRM_MODIFIER_IMPLICIT.
 *
 * Since: 0.1
 */
void gst_drm_video_info_init(GstDrmVideoInfo *info) noexcept
{
  g_return_if_fail(info != nullptr);

  *info = GstDrmVideoInfo{};
  gst_video_info_init(&info->vinfo);
  info->drm_modifier = GST_DRM_MODIFIER_IMPLICIT;
}

/**
 * gst_drm_video_info_new: (constructor)
 *
 * Makes an info without a format.
 *
 * Returns: (transfer full): a new #GstDrmVideoInfo, set as gst_drm_video_info_init() does
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new(void) noexcept
{
  GstDrmVideoInfo *info = g_new(GstDrmVideoInfo, 1);
  gst_drm_video_info_init(info);
  return info;
}

/**
 * gst_drm_video_info_get_fourcc:
 * @info: a #GstDrmVideoInfo
 *
 * The field drm_fourcc, for language bindings, to which the size of #GstVideoInfo is not known.
 *
 * Returns: the DRM fourcc; 0 while unset
 *
 * Since: 0.1
 */
guint32 gst_drm_video_info_get_fourcc(const GstDrmVideoInfo *info) noexcept
{
  g_return_val_if_fail(info != nullptr, 0);

  return info->drm_fourcc;
}

/**
 * gst_drm_video_info_get_modifier:
 * @info: a #GstDrmVideoInfo
 *
 * The field drm_modifier, for language bindings.
 *
 * Returns: the modifier, %GST_DRM_MODIFIER_IMPLICIT included
 *
 * Since: 0.1
 */
guint64 gst_drm_video_info_get_modifier(const GstDrmVideoInfo *info) noexcept
{
  g_return_val_if_fail(info != nullptr, GST_DRM_MODIFIER_IMPLICIT);

  return info->drm_modifier;
}

/**
 * gst_drm_video_info_copy:
 * @info: a #GstDrmVideoInfo
 *
 * Makes a copy on the heap.
 *
 * Returns: (transfer full): a copy of @info
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_copy(const GstDrmVideoInfo *info) noexcept
{
  g_return_val_if_fail(info != nullptr, nullptr);

  GstDrmVideoInfo *copy = g_new(GstDrmVideoInfo, 1);
  *copy = *info;
  return copy;
}

/**
 * gst_drm_video_info_free: (skip)
 * @info: (nullable) (transfer full): a #GstDrmVideoInfo
 *
 * Frees what gst_drm_video_info_new() and its kin made.
 *
 * Since: 0.1
 */
void gst_drm_video_info_free(GstDrmVideoInfo *info) noexcept
{
  g_free(info);
}

/**
 * gst_drm_video_info_to_caps:
 * @info: a #GstDrmVideoInfo
 *
 * Writes DMA_DRM caps, also for a linear format; for %GST_DRM_MODIFIER_IMPLICIT the caps have the
 * fourcc's GstVideoFormat and no drm-format. Of an info that was read from caps with an explicit
 * modifier that is not linear, colorimetry and chroma-site are left out where those caps did not
 * have them and they still are the defaults.
 *
 * Returns: (transfer full) (nullable): new fixed caps with the feature memory:DMABuf; %NULL where
 * @info has no valid fourcc, an implicit modifier and a fourcc that no GstVideoFormat names, or a
 * size, a rate or an interlace mode that caps have no words for
 *
 * Since: 0.1
 */
GstCaps *gst_drm_video_info_to_caps(const GstDrmVideoInfo *info) noexcept
try {
  g_return_val_if_fail(info != nullptr, nullptr);

  const Format pair{info->drm_fourcc, info->drm_modifier};
  if (!gstdrm::fourcc_is_valid(pair.fourcc)) {
    GST_DEBUG("no caps for an invalid fourcc: %s", gstdrm::fourcc_to_string(pair.fourcc).c_str());
    return nullptr;
  }
  const GstVideoFormat linear =
      gst_drm_format_to_video_format(pair.fourcc, GST_DRM_MODIFIER_LINEAR);
  if (pair.modifier == gstdrm::kModImplicit && linear == GST_VIDEO_FORMAT_UNKNOWN) {
    GST_DEBUG("no caps for %s: no GstVideoFormat names it", gstdrm::describe_format(pair).c_str());
    return nullptr;
  }

  GstVideoInfo vinfo = info->vinfo;
  if (!can_be_written(vinfo)) {
    GST_DEBUG("no caps for %dx%d, %d/%d frames a second, pixels of %d/%d and interlace mode %d",
              vinfo.width, vinfo.height, vinfo.fps_n, vinfo.fps_d, vinfo.par_n, vinfo.par_d,
              gstdrm::number_in(vinfo.interlace_mode));
    return nullptr;
  }
  vinfo.finfo = gst_video_format_get_info(stand_in_format(pair));
  GstCaps *caps = gst_video_info_to_caps(&vinfo);
  if (!caps)
    return nullptr;
  GstStructure *structure = gst_caps_get_structure(caps, 0);
  if (pair.modifier != gstdrm::kModImplicit)
    gst_structure_set(structure, "format", G_TYPE_STRING, "DMA_DRM", "drm-format", G_TYPE_STRING,
                      gstdrm::format_to_text(pair).chars.data(), nullptr);
  drop_defaults(structure, *info, GST_VIDEO_INFO_FORMAT(&vinfo));
  GstCapsFeatures *features = gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF);
  if (GST_VIDEO_INFO_INTERLACE_MODE(&vinfo) == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    gst_caps_features_add(features, GST_CAPS_FEATURE_FORMAT_INTERLACED);
  gst_caps_set_features(caps, 0, features);
  return caps;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_video_info_from_video_info:
 * @info: a #GstDrmVideoInfo to fill
 * @vinfo: a #GstVideoInfo
 * @modifier: the modifier, %GST_DRM_MODIFIER_IMPLICIT included
 *
 * The video format of @vinfo, laid out in memory as @modifier says. Where @vinfo has a tiled
 * format,
 * @modifier has to be the modifier of that tiling.
 *
 * Returns: %FALSE where the format of @vinfo has no fourcc, or is a tiling other than @modifier
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_video_info(GstDrmVideoInfo *info, const GstVideoInfo *vinfo,
                                            guint64 modifier) noexcept
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(vinfo != nullptr, FALSE);

  guint64 own_modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(gstdrm::format_of(*vinfo), &own_modifier);
  if (fourcc == 0)
    return FALSE;
  GstVideoInfo laid_out = *vinfo;
  if (modifier != own_modifier) {
    if (own_modifier != GST_DRM_MODIFIER_LINEAR)
      return FALSE;
    const GstVideoFormat named = gst_drm_format_to_video_format(fourcc, modifier);
    if (named == GST_VIDEO_FORMAT_UNKNOWN)
      make_opaque(laid_out);
    else if (!set_planes(laid_out, named))
      return FALSE;
  }
  fill_video_info(info, laid_out, {fourcc, modifier});
  return TRUE;
}

/**
 * gst_drm_video_info_to_video_info:
 * @info: a #GstDrmVideoInfo
 * @vinfo: a #GstVideoInfo to fill
 *
 * The same video format without DMA buffers. For an opaque layout @vinfo gets the fourcc's linear
 * GstVideoFormat with its default planes, which say nothing of the DMA buffer's own.
 *
 * Returns: %FALSE where no GstVideoFormat names the fourcc
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_to_video_info(const GstDrmVideoInfo *info, GstVideoInfo *vinfo) noexcept
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(vinfo != nullptr, FALSE);

  GstVideoInfo plain = info->vinfo;
  if (is_opaque(plain)) {
    const GstVideoFormat linear =
        gst_drm_format_to_video_format(info->drm_fourcc, GST_DRM_MODIFIER_LINEAR);
    if (linear == GST_VIDEO_FORMAT_UNKNOWN || !set_planes(plain, linear))
      return FALSE;
  }
  *vinfo = plain;
  return TRUE;
}

/**
 * gst_drm_video_info_is_equal:
 * @a: a #GstDrmVideoInfo
 * @b: a #GstDrmVideoInfo
 *
 * Compares two infos.
 *
 * Returns: %TRUE where fourcc, modifier and #GstVideoInfo are equal
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_is_equal(const GstDrmVideoInfo *a, const GstDrmVideoInfo *b) noexcept
{
  g_return_val_if_fail(a != nullptr, FALSE);
  g_return_val_if_fail(b != nullptr, FALSE);

  if (a->drm_fourcc != b->drm_fourcc || a->drm_modifier != b->drm_modifier)
    return FALSE;
  if (!a->vinfo.finfo || !b->vinfo.finfo)
    return a->vinfo.finfo == b->vinfo.finfo; // zeroed, never filled
  return gst_video_info_is_equal(&a->vinfo, &b->vinfo);
}

/**
 * gst_drm_video_info_new_from_caps: (constructor)
 * @caps: fixed #GstCaps
 *
 * See gst_drm_video_info_from_caps().
 *
 * Returns: (transfer full) (nullable): a new #GstDrmVideoInfo; %NULL where @caps are no video
 * format of DMA buffers
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new_from_caps(const GstCaps *caps) noexcept
{
  g_return_val_if_fail(GST_IS_CAPS(caps), nullptr);

  GstDrmVideoInfo *info = gst_drm_video_info_new();
  if (!gst_drm_video_info_from_caps(info, caps)) {
    gst_drm_video_info_free(info);
    return nullptr;
  }
  return info;
}

/**
 * gst_drm_video_info_from_caps:
 * @info: a #GstDrmVideoInfo to fill
 * @caps: fixed #GstCaps
 *
 * Reads caps in any of three forms:
 *
 * - `video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=…`: the pair that drm-format says;
 * - `video/x-raw(memory:DMABuf), format=<GstVideoFormat>` without drm-format:
 *   %GST_DRM_MODIFIER_IMPLICIT, or the modifier of a tiling that the format names;
 * - plain `video/x-raw, format=<GstVideoFormat>`: %GST_DRM_MODIFIER_LINEAR, or the modifier of a
 * tiling that the format names.
 *
 * @info is left alone on failure. gst_drm_video_info_from_caps_full() says why it failed.
 *
 * Returns: %FALSE where @caps are not fixed or no video format of DMA buffers
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_caps(GstDrmVideoInfo *info, const GstCaps *caps) noexcept
{
  return gst_drm_video_info_from_caps_full(info, caps, nullptr);
}

/**
 * gst_drm_video_info_from_caps_full:
 * @info: a #GstDrmVideoInfo to fill
 * @caps: fixed #GstCaps
 * @error: location for a #GError, or %NULL
 *
 * As gst_drm_video_info_from_caps(), and says what is wrong.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_CAPS where @caps are not fixed or no video format of DMA
 * buffers
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_caps_full(GstDrmVideoInfo *info, const GstCaps *caps,
                                           GError **error) noexcept
try {
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(GST_IS_CAPS(caps), FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<void> result = from_caps(info, caps);
  if (!result) {
    GST_DEBUG("%s", result.error().message.c_str());
    gstdrm::propagate(error, result.error());
    return FALSE;
  }
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_is_dma_drm_caps:
 * @caps: #GstCaps
 *
 * Tells caps that carry a drm-format from others.
 *
 * Returns: %TRUE where @caps are fixed and have the feature memory:DMABuf and `format=DMA_DRM`;
 * whether their drm-format is one is not looked at
 *
 * Since: 0.1
 */
gboolean gst_drm_is_dma_drm_caps(const GstCaps *caps) noexcept
{
  g_return_val_if_fail(GST_IS_CAPS(caps), FALSE);

  if (!gst_caps_is_fixed(caps) ||
      !gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF))
    return FALSE;
  return g_strcmp0(gst_structure_get_string(gst_caps_get_structure(caps, 0), "format"),
                   "DMA_DRM") == 0;
}

/**
 * gst_drm_video_info_set_format:
 * @info: a #GstDrmVideoInfo to fill
 * @fourcc: a DRM fourcc
 * @modifier: its modifier, %GST_DRM_MODIFIER_IMPLICIT included
 * @width: pixels, from 1 on
 * @height: pixels, from 1 on
 * @error: location for a #GError, or %NULL
 *
 * A progressive picture of this format and size, with everything else as GStreamer has it by
 * default for the fourcc, and no frame rate: what gst_drm_video_info_from_caps() makes of caps that
 * say no more. @info is left alone on failure.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_FORMAT where @fourcc is not 4 printable ASCII characters, or
 * @modifier is implicit and no GstVideoFormat names @fourcc; with %GST_DRM_ERROR_LAYOUT where the
 * size is 0 or larger than a #GstVideoInfo can describe
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_set_format(GstDrmVideoInfo *info, guint32 fourcc, guint64 modifier,
                                       guint width, guint height, GError **error) noexcept
try {
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<void> set = set_format(info, {fourcc, modifier}, width, height);
  if (!set) {
    GST_DEBUG("%s", set.error().message.c_str());
    gstdrm::propagate(error, set.error());
    return FALSE;
  }
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_video_info_new_from_format: (constructor)
 * @fourcc: a DRM fourcc
 * @modifier: its modifier, %GST_DRM_MODIFIER_IMPLICIT included
 * @width: pixels, from 1 on
 * @height: pixels, from 1 on
 * @error: location for a #GError, or %NULL
 *
 * See gst_drm_video_info_set_format().
 *
 * Returns: (transfer full) (nullable): a new #GstDrmVideoInfo; %NULL with the errors of
 * gst_drm_video_info_set_format()
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new_from_format(guint32 fourcc, guint64 modifier, guint width,
                                                    guint height, GError **error) noexcept
{
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  GstDrmVideoInfo *info = gst_drm_video_info_new();
  if (!gst_drm_video_info_set_format(info, fourcc, modifier, width, height, error)) {
    gst_drm_video_info_free(info);
    return nullptr;
  }
  return info;
}
